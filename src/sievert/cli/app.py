"""The command `sievert` and its options."""

from __future__ import annotations

from sievert.cli._options import command_group
from sievert.cli.attack import attack
from sievert.cli.audit import audit
from sievert.cli.breach import breach
from sievert.cli.compare import compare
from sievert.cli.design import design
from sievert.cli.estimate import estimate
from sievert.cli.explain import explain
from sievert.cli.infer import infer
from sievert.cli.init import init
from sievert.cli.ledger import ledger
from sievert.cli.limits import limits
from sievert.cli.match import match
from sievert.cli.release import release
from sievert.cli.schema import schema
from sievert.cli.studio import studio
from sievert.cli.verify import verify

__all__ = ["app"]

app = command_group(
    attack,
    audit,
    breach,
    compare,
    design,
    estimate,
    explain,
    infer,
    init,
    ledger,
    limits,
    match,
    release,
    schema,
    studio,
    verify,
)
