"""`sievert init`: six questions, and a commented file that can be audited at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sievert.cli._present import number, real_option, whole_number, whole_option

__all__ = ["init"]

FIRST = Path("sievert.toml")


def init(
    file: Annotated[
        Path, typer.Argument(help="Where to write it; a file that is there is never touched.")
    ] = FIRST,
    values: Annotated[str | None, typer.Option(help="What one record can be: no,yes or 0..120.")] = None,
    records: Annotated[int | None, whole_option("How many records there are; 100 unless given.")] = None,
    query: Annotated[
        str | None, typer.Option(help='What is published: record, "count: yes", sum or histogram.')
    ] = None,
    eps: Annotated[float | None, real_option("Nats; smaller hides more; 1 unless given.")] = None,
    releases: Annotated[int | None, whole_option("How often it is published; once unless given.")] = None,
    guess: Annotated[
        float | None, real_option("The best guess about one record that is accepted, such as 0.6.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--from", help="The data; only the names of its columns are looked at.")
    ] = None,
    column: Annotated[str | None, typer.Option(help="The column that is released.")] = None,
    public_columns: Annotated[
        str | None, typer.Option(help="Columns whose values are public, between commas: these are proposed.")
    ] = None,
) -> None:
    """Write a first file: what must stay hidden, what is published, and what is accepted.

    Six questions are asked, unless options answer some: then nothing is asked, and the rest has defaults. No
    private value is looked at. Exit code 0: written; 2: bad input, or the file is there already.
    """
    import os

    from sievert.errors import FileError
    from sievert.files import FirstAnswers, Scenario, first_file, public_values, values_of
    from sievert.questions import headline
    from sievert.tables import Outputs

    if file.suffix != ".toml":
        raise FileError(f"{file}: a scenario is written to .toml")
    if os.path.lexists(file):
        raise FileError(f"{file}: is there already, and is not overwritten; name another file")
    asked = Outputs([] if data is None else [data], force=False)
    asked.claim("FILE", file)
    public = [name.strip() for name in (public_columns or "").split(",") if name.strip()]
    if data is None and (public or column is not None):
        raise FileError("--column and --public-columns go with --from, the data that has them")
    released, proposed = (column, None) if data is None else public_values(data, column, public)
    given: dict[str, Any] = {
        "values": values,
        "records": records,
        "computed": query,
        "eps": eps,
        "releases": releases,
        "guess": guess,
    }
    if all(item is None for item in given.values()):
        given = _asked(proposed)
    chosen = {name: item for name, item in given.items() if item is not None}
    if "values" in chosen:
        chosen["values"] = values_of(str(chosen["values"]))
    elif proposed is not None:
        chosen["values"] = proposed
    else:
        raise FileError("--values is missing: what can one record be? Write no,yes or 0..120")
    place = None if data is None else os.path.relpath(data, file.parent)
    answers = FirstAnswers(
        **chosen, data=place, column=released, public=proposed is not None and given["values"] is None
    )
    text = first_file(answers)
    found = headline(Scenario.from_text(text, file.parent, str(file)))
    asked.write_text(file, text)
    print(f"Wrote {file}.\n\n{found}\n")
    print(f"Look at all of it: sievert audit {file} --report page.html")
    print(f"Change it and see: sievert studio {file}")
    print(f"Choose the noise:  sievert explain {file} --guess {answers.accepted:g}")


def _asked(proposed: Any) -> dict[str, Any]:
    """The answers to the six questions; an empty one takes what stands in brackets."""
    from sievert.files import half_way, values_of

    print("Six questions; an empty answer takes what stands in brackets.\n")
    shown = None if proposed is None else f"{len(proposed)} values of the public column"
    written = _ask("1. What can one record be? (no,yes or 0..120)", shown)
    values = proposed if written == shown else values_of(written)
    return {
        "values": None if written == shown else written,
        "records": whole_number(_ask("2. How many records are there?", "100")),
        "computed": _ask("3. What is published? (record, count: VALUES, sum or histogram)", "histogram"),
        "eps": number(_ask("4. How much noise: ε in nats? Smaller hides more", "1")),
        "releases": whole_number(_ask("5. How often is it published about the same people?", "1")),
        "guess": number(_ask("6. The best guess about one record that you accept?", f"{half_way(values):g}")),
    }


def _ask(question: str, default: str | None) -> str:
    """One answer; where nobody is there to give it, what to do instead."""
    from sievert.errors import FileError

    try:
        return str(typer.prompt(question, default=default))
    except typer.Abort:
        raise FileError(
            f"nobody answered “{question}”; give options: --values no,yes --query histogram --eps 1"
        ) from None
