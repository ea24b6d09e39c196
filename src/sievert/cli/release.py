"""`sievert release FILE`: run the mechanism on the data and charge the budget; `--preview` first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from sievert.cli import _described as others
from sievert.cli._options import real_option, whole_option
from sievert.cli._present import AsJson, Device, Force, OutputFiles, present, print_json, progress_bar
from sievert.cli._streams import complain, complain_of_data, confirmed_host, say_how_it_fits

__all__ = ["release"]


def release(
    file: Annotated[Path, typer.Argument(help="The TOML file that describes policy, mechanism and data.")],
    preview: Annotated[
        bool, typer.Option("--preview", help="Say what it would do; read no data and spend nothing.")
    ] = False,
    plan: Annotated[
        int | None,
        whole_option("Charge so many releases now; each later one takes a slot. Read no data."),
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Write the released table here.")] = None,
    name: Annotated[str | None, typer.Option("--id", help="Name of this release in the ledger.")] = None,
    proof: Annotated[
        Path | None, typer.Option(help="Save the proof that what is drawn is private, for `sievert verify`.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a self-contained HTML page here.")] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Give up an interrupted run of this release and begin anew.")
    ] = False,
    wait: Annotated[float, real_option("Seconds to wait for another release.")] = 60.0,
    anchor: Annotated[
        str | None, typer.Option(help="A hash of the ledger noted earlier; an older copy is refused.")
    ] = None,
    insecure_seed: Annotated[
        int | None,
        whole_option("NOT private: another seed than the test_seed of a file that is a test."),
    ] = None,
    despite_accept: Annotated[
        bool, typer.Option("--despite-accept", help="Release what breaks [claim] or exceeds [accept].")
    ] = False,
    without_ledger: Annotated[
        bool,
        typer.Option(
            "--without-ledger",
            help="Release noise without ε from a file without a ledger: no charge, no limit.",
        ),
    ] = False,
    details: Annotated[
        bool,
        typer.Option(
            "--details",
            help="Write what in the data did not fit even into a log, and a database's own words on a "
            "terminal; both are private.",
        ),
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST", help="Let the file name this host, such as postgres://host:5432; repeatable."
        ),
    ] = None,
    device: Device = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Release a table with noise, or rows perturbed one by one, and charge the budget ledger.

    Exit code 0: released (or, with --preview, possible); 1: the ledger, [claim] or [accept] refuses; 2: bad
    input; 3: it could not be done now; 4: the data did not fit and nothing was charged.
    """
    from sievert.tables import asking_about_hosts, hosts_allowed

    if plan is not None:
        beside = {
            "--preview": preview,
            "--output": output,
            "--proof": proof,
            "--report": report,
            "--fresh": fresh,
            "--insecure-seed": insecure_seed,
            "--without-ledger": without_ledger,
        }
        _require_alone(
            [option for option, given in beside.items() if given is not None and given is not False]
        )
        with _refusals_said(as_json, details):
            _plan(file, plan, name, wait, anchor, despite_accept, as_json)
        return
    given: dict[str, Any] = {
        "output": output,
        "id": name,
        "insecure_rng": insecure_seed,
        "fresh": fresh,
        "wait": wait,
        "anchor": anchor,
        "despite_accept": despite_accept,
        "without_ledger": without_ledger,
    }
    with (
        _refusals_said(as_json, details),
        hosts_allowed(allow_host or ()),
        asking_about_hosts(confirmed_host),
    ):
        if not others.release(file, preview, force, as_json, report, proof, device=device, **given):
            _release_table(file, preview, force, as_json, report, proof, given)


def _release_table(
    file: Path,
    preview: bool,
    force: bool,
    as_json: bool,
    report: Path | None,
    proof: Path | None,
    given: dict[str, Any],
) -> None:
    """Preview or run a release of a table or of every row by itself."""
    from sievert.files import load_policy_scenario
    from sievert.release import preview as look
    from sievert.release import run
    from sievert.report.release import lines, page

    scenario = load_policy_scenario(file)
    asked = OutputFiles(scenario.reads(), force, proof=proof, report=report)
    law = others.law_of(scenario, required=proof is not None)
    if preview:
        would = look(scenario, **{key: given[key] for key in ("output", "despite_accept", "without_ledger")})
        possible = would.possible
        present(
            would,
            lines,
            asked,
            json=as_json,
            page=lambda command: page(would, scenario, command),
            proof=law,
            about=(file,),
            good=possible,
            holds=possible,
            data={"possible": possible},
        )
        return
    if scenario.document.data is not None:
        scenario.document.data.require_hosts()
    with progress_bar() as show:
        done = run(
            scenario,
            progress=lambda word, rows, total: show(f"{word} rows", rows, total),
            fit=say_how_it_fits,
            **given,
        )
    present(
        done,
        lines,
        asked,
        json=as_json,
        page=lambda command: page(done, scenario, command),
        proof=law if done.secure else lambda: others.SEEDED,
        about=(file,),
        title=scenario.title,
        good=done.secure,
    )


@contextmanager
def _refusals_said(as_json: bool, details: bool) -> Iterator[None]:
    """Say why the budget, the file's own limits or the data refuse a release, in the form asked for."""
    from sievert.errors import BudgetError, DataError, NotAcceptedError

    try:
        yield
    except (BudgetError, NotAcceptedError) as problem:
        if not as_json:
            complain(str(problem))
        else:
            told = ("currency", "requested", "remaining", "difference")
            amounts = told if isinstance(problem, BudgetError) else ()
            print_json({"refused": str(problem)} | {name: str(getattr(problem, name)) for name in amounts})
        raise typer.Exit(problem.exit_code) from None
    except DataError as problem:
        complain_of_data(problem, details)
        raise typer.Exit(problem.exit_code) from None
    except KeyboardInterrupt:
        complain("interrupted; nothing half-written was published. Run the same command again to go on.")
        raise typer.Exit(3) from None


def _require_alone(beside: list[str]) -> None:
    """Refuse what a plan would not heed: it charges, and releases nothing."""
    from sievert.errors import LedgerError

    if beside:
        raise LedgerError(
            f"--plan charges a plan at once and releases nothing, so {beside[0]} has no use beside it; leave "
            "it out (--preview without --plan says what one release costs, sv.release.afford what a total "
            "affords)"
        )


def _plan(
    file: Path, count: int, name: str | None, wait: float, anchor: str | None, despite: bool, as_json: bool
) -> None:
    """Charge a plan; refused like a release."""
    from sievert.release import plan
    from sievert.report.release import lines

    found = plan(file, count, id=name, wait=wait, anchor=anchor, despite_accept=despite)
    present(found, lines, OutputFiles([], False), json=as_json)
