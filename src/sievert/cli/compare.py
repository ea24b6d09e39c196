"""`sievert compare A.toml B.toml`: can the second mechanism replace the first?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sievert.cli import _described as others
from sievert.cli._present import AsJson, Force, OutputFiles, ProofPath, present

if TYPE_CHECKING:
    from sievert.channels import Channel
    from sievert.files import PolicyScenario
    from sievert.proofs import Proof

__all__ = ["compare"]


def compare(
    first: Annotated[Path, typer.Argument(help="The mechanism in use: .toml, .csv, .npz or .parquet.")],
    second: Annotated[Path, typer.Argument(help="The mechanism that might replace it.")],
    proof: ProofPath = None,
    report: Annotated[Path | None, typer.Option(help="Write a self-contained HTML report here.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Say whether B can replace A against every adversary, and if not, which adversary objects.

    Exit code 0: B can replace A against every adversary; 1: somebody objects, or it cannot be decided.
    """
    if others.compare(first, second, force, as_json, report, proof):
        return
    from sievert.files import PolicyScenario, digest_of
    from sievert.questions.compare import replacement
    from sievert.report.compare import lines, page

    loaded = _one(first), _one(second)
    reads = [
        first,
        second,
        *(path for item in loaded if isinstance(item, PolicyScenario) for path in item.reads()),
    ]
    asked = OutputFiles(reads, force, report=report, proof=proof)
    result = replacement(*loaded, (first.name, second.name))
    main = result.comparison.forward[0]
    certificate = main.certificate
    present(
        result,
        lines,
        asked,
        json=as_json,
        page=lambda command: page(result, command),
        proof=lambda: (
            str(main.uncertified)
            if certificate is None
            else certificate.with_identity(digest_of(first, second))
        ),
        about=(first, second),
        good=result.can_replace is True,
        holds=result.can_replace is True,
        notes=[result.note] if result.note else [],
    )


def _one(path: Path) -> PolicyScenario | Channel | Proof:
    from sievert.channels import Channel
    from sievert.files import PolicyScenario, load
    from sievert.proofs import Proof

    found = load(path)
    assert isinstance(found, PolicyScenario | Channel | Proof)
    return found
