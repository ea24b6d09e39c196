"""`sievert init`: six questions, and a commented file that can be audited at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sievert.cli._options import number, real_option, whole_number, whole_option
from sievert.cli._present import folded
from sievert.errors import FileError, SievertError

if TYPE_CHECKING:
    from sievert.files import InitAnswers

__all__ = ["init"]

FIRST = Path("sievert.toml")
# How often a question is asked.
TRIES = 4
# Proposed values that a question shows.
SHOWN = 6
OPTIONS = {
    "policy": "--values",
    "policy.records": "--records",
    "query": "--query",
    "mechanism.eps": "--eps",
    "adversary.observations": "--releases",
    "accept.guess": "--guess",
}

# The answers, the file that they make, and what it says of itself.
Written = tuple["InitAnswers", str, str]


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

    Six questions are asked, unless options answer some: then nothing is asked, and the rest has defaults. An
    answer that cannot be is asked for again. No private value is looked at. Exit code 0: written; 2: bad
    input, or the file is there already.
    """
    import os
    import shlex

    from sievert.files import InitAnswers, PolicyScenario, initial_file, public_values, values_of
    from sievert.questions import audit_headline
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
    place = None if data is None else os.path.relpath(data, file.parent)

    def tried(chosen: Mapping[str, Any]) -> Written:
        taken = {name: item for name, item in chosen.items() if item is not None}
        said = {"values": proposed, "public": "values" not in taken, **taken}
        answers = InitAnswers(**said, data=place, column=released)
        text = initial_file(answers)
        return answers, text, str(audit_headline(PolicyScenario.from_text(text, file.parent, str(file))))

    given: dict[str, Any] = {"values": values, "records": records, "computed": query}
    given |= {"eps": eps, "releases": releases, "guess": guess}
    if all(item is None for item in given.values()):
        answers, text, found = _asked(proposed, tried)
    elif values is None and proposed is None:
        raise FileError("--values is missing: what can one record be? Write no,yes or 0..120")
    else:
        try:
            answers, text, found = tried({**given, "values": None if values is None else values_of(values)})
        except FileError as problem:
            raise _by_option(problem) from None
    asked.write_text(file, text)
    print(f"Wrote {file}.\n\n{folded(found)}\n")
    name = shlex.quote(str(file))
    print(f"Look at all of it: sievert audit {name} --report page.html")
    print(f"Change it and see: sievert studio {name}")
    print(f"Choose the noise:  sievert explain {name} --guess {answers.accepted:g}")


def _by_option(problem: FileError) -> FileError:
    """The same problem, by the option that wrote its key."""
    paths = [".".join(map(str, problem.key[:length])) for length in range(len(problem.key), 0, -1)]
    option = next((OPTIONS[path] for path in paths if path in OPTIONS), None)
    return problem if option is None else FileError(f"{option}: {problem}", key=problem.key)


def _asked(proposed: Any, tried: Callable[[Mapping[str, Any]], Written]) -> Written:
    """The six questions; an empty answer takes what stands in brackets.

    An answer that no file can hold is asked for again; those before it stand.
    """
    from sievert.files import half_way, values_of

    print("Six questions; an empty answer takes what stands in brackets.\n")
    shown = None if proposed is None else f"{_listed(proposed)}: of the public column"
    chosen: dict[str, Any] = {}

    def ask(name: str, question: str, default: str | None, reads: Callable[[str], Any]) -> Written:
        for left in reversed(range(TRIES)):
            answer = _ask(question, default)
            try:
                chosen[name] = reads(answer)
                return tried(chosen)
            except (SievertError, typer.BadParameter) as problem:
                if not left:
                    raise
                said = problem.on_command_line() if isinstance(problem, SievertError) else problem.message
                print(folded(f"{said.removesuffix('.')}.", "   "))
                print("   Please answer again.")
        raise AssertionError("the last answer was taken or raised")

    first = "1. What can one record be? (no,yes or 0..120)"
    values = ask("values", first, shown, lambda said: None if said == shown else values_of(said))[0].values
    ask("records", "2. How many records are there?", "100", whole_number)
    ask("computed", "3. What is published? (record, count: VALUES, sum or histogram)", "histogram", str)
    ask("eps", "4. How much noise: ε in nats? Smaller hides more", "1", number)
    ask("releases", "5. How often is it published about the same people?", "1", whole_number)
    accepted = f"{half_way(values):g}"
    return ask("guess", "6. The best guess about one record that you accept?", accepted, number)


def _listed(values: Any) -> str:
    """The values that are proposed, as many as a line has room for."""
    if isinstance(values, range):
        return f"{values[0]}..{values[-1]}"
    few = ",".join(map(str, values[:SHOWN]))
    return few if len(values) <= SHOWN else f"{few},… ({len(values)} values)"


def _ask(question: str, default: str | None) -> str:
    """One answer; where nobody is there to give it, what to do instead."""
    try:
        return str(typer.prompt(question, default=default))
    except typer.Abort as problem:
        if isinstance(problem.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise FileError(
            f"nobody answered “{question}”; give options: --values no,yes --query histogram --eps 1"
        ) from None
