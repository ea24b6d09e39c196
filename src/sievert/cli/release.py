"""`sievert release FILE`: run the mechanism on the data and charge the budget; `--preview` first."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sievert.cli.printing import print_sections

if TYPE_CHECKING:
    from sievert.files import Scenario

__all__ = ["release"]


def release(
    file: Annotated[Path, typer.Argument(help="The TOML file that describes policy, mechanism and data.")],
    preview: Annotated[
        bool, typer.Option("--preview", help="Say what it would do; read no data and spend nothing.")
    ] = False,
    output: Annotated[Path | None, typer.Option(help="Write the released table here.")] = None,
    name: Annotated[str | None, typer.Option("--id", help="Name of this release in the ledger.")] = None,
    proof: Annotated[
        Path | None, typer.Option(help="Save the proof that the noise is enough, for `sievert verify`.")
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Give up an interrupted run of this release and begin anew.")
    ] = False,
    wait: Annotated[float, typer.Option(help="Seconds to wait for another release.")] = 60.0,
    anchor: Annotated[
        str | None, typer.Option(help="A hash of the ledger noted earlier; an older copy is refused.")
    ] = None,
    insecure_seed: Annotated[
        int | None, typer.Option(help="Draw from a seed: for demonstrations, NOT private.")
    ] = None,
    despite_accept: Annotated[
        bool, typer.Option("--despite-accept", help="Release what exceeds the limits of [accept].")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Release a table with noise, or rows perturbed one by one, and charge the budget ledger.

    Exit code 0: released (or, with --preview, possible); 1: the ledger or the file's [accept] refuses; 2: bad
    input.
    """
    from sievert.errors import BudgetError, NotAcceptedError
    from sievert.files import load_scenario
    from sievert.release import preview as look
    from sievert.release import run
    from sievert.report.release import preview_lines, release_lines

    scenario = load_scenario(file)
    if proof is not None:
        _save_proof(scenario, proof)
    if preview:
        would = look(scenario, output=output, despite_accept=despite_accept)
        if as_json:
            _print_json({**would.to_dict(), "possible": would.possible})
        else:
            print_sections(would.title, str(would), preview_lines(would), would.possible)
        if not would.possible:
            raise typer.Exit(1)
        return
    try:
        with _bar() as progress:
            done = run(
                scenario,
                output=output,
                id=name,
                insecure_rng=insecure_seed,
                fresh=fresh,
                wait=wait,
                anchor=anchor,
                progress=progress,
                despite_accept=despite_accept,
            )
    except BudgetError as problem:
        if as_json:
            amounts = {
                "requested": problem.requested,
                "remaining": problem.remaining,
                "difference": problem.difference,
            }
            _print_json({"refused": str(problem), **{key: str(value) for key, value in amounts.items()}})
        else:
            typer.echo(f"sievert: {problem}", err=True)
        raise typer.Exit(1) from None
    except NotAcceptedError as problem:
        if as_json:
            _print_json({"refused": str(problem)})
        else:
            typer.echo(f"sievert: {problem}", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        typer.echo(
            "sievert: interrupted; nothing half-written was published. Run the same command again to go on.",
            err=True,
        )
        raise typer.Exit(130) from None
    if as_json:
        _print_json(done.to_dict())
    else:
        print_sections(scenario.title, str(done), release_lines(done), done.secure)


def _save_proof(scenario: Scenario, path: Path) -> None:
    from sievert.errors import FileError
    from sievert.proofs import save_proof
    from sievert.release.plan import make_plan
    from sievert.release.sidecar import noise_proof
    from sievert.tables.atomic import write_text

    certificate = noise_proof(make_plan(scenario))
    if certificate is None:
        raise FileError(f"{path}: this mechanism has no certificate of its own; `sievert audit` checks it")
    write_text(path, save_proof(certificate))


def _print_json(content: dict[str, Any]) -> None:
    typer.echo(json.dumps(content, ensure_ascii=False, indent=2))


@contextmanager
def _bar() -> Iterator[Callable[[str, int, int | None], None]]:
    """A progress bar on a terminal; elsewhere nothing is shown."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("reading", total=None)

        def show(word: str, rows: int, total: int | None) -> None:
            bar.update(task, description=f"{word} {rows:,} rows", completed=rows, total=total)

        yield show
