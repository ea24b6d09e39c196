"""`sievert attack FILE`: what attackers still find in released documents, beside what is promised."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sievert.cli._present import AsJson, Asked, Force, present, progress_bar, real_option

__all__ = ["attack"]


def attack(
    file: Annotated[Path, typer.Argument(help="A TOML file with [documents], whose authors are known.")],
    eps: Annotated[
        list[float] | None, real_option("A level to try; may be given several times (the file's).")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Try to find authors and topics of documents before and after noise.

    Some documents of every author are known and the last one is attacked: by nearest neighbours, character
    n-grams, a linear model, and by an attacker who knows the channel. An attack that fails proves nothing.

    Exit code 0: answered; 2: bad input.
    """
    from sievert.errors import FileError
    from sievert.files import text_scenario
    from sievert.questions.documents import attack_documents
    from sievert.report.documents import attack_lines

    scenario = text_scenario(file)
    if scenario is None:
        raise FileError(f"{file}: has no [documents]; an attack needs documents whose authors are known")
    asked = Asked(scenario.reads(), force)
    with progress_bar():
        found = attack_documents(scenario, eps)
    present(found, attack_lines, asked, json=as_json, title=scenario.title)
