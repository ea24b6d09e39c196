"""`sievert audit FILE`: does the mechanism keep its promise, and what does it give away?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from secrets import randbelow
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sievert.cli import _described as others
from sievert.cli._options import real_option, whole_option
from sievert.cli._present import AsJson, Force, OutputFiles, present, print_table, progress_bar

if TYPE_CHECKING:
    from sievert.proofs import Proof
    from sievert.questions.audit import Audit
    from sievert.questions.samples import SamplesAnswer

__all__ = ["audit"]


def audit(
    file: Annotated[
        Path | None, typer.Argument(help="The TOML file that describes policy, query and mechanism.")
    ] = None,
    samples: Annotated[
        Path | None,
        typer.Option(
            help="Audit a black box: a table of runs with the columns input and output, or a "
            "folder or pattern of them."
        ),
    ] = None,
    eps: Annotated[
        float | None,
        real_option("With --samples: the claimed ε (the file's)."),
    ] = None,
    delta: Annotated[
        float | None,
        real_option("With --samples: the claimed δ (the file's)."),
    ] = None,
    confidence: Annotated[float, real_option("With --samples: how sure to be.")] = 0.95,
    seed: Annotated[
        int | None,
        whole_option("With --samples: for the split into halves."),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a self-contained HTML report here.")] = None,
    proof: Annotated[
        Path | None,
        typer.Option(
            help="Save the proof of what is drawn (with --samples, of the leak) here, for `sievert verify`."
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Check a mechanism against its policy and say what it gives away.

    With --samples only the outputs are looked at: runs can refute a claim, but a pass proves nothing.

    Exit code 0: the promise and every limit of [accept] hold; 1: one does not; 2: bad input.
    """
    from sievert.errors import MechanismError
    from sievert.files import load_policy_scenario

    if samples is not None:
        if report is not None:
            raise MechanismError("--report goes without --samples; use --json to keep what the runs show")
        from sievert.questions.samples import samples_audit

        scenario = None if file is None else load_policy_scenario(file)
        asked = OutputFiles(
            [samples] if scenario is None else [samples, *scenario.reads()], force, proof=proof
        )
        if seed is None and proof is not None:
            # A check of the proof splits the runs as they were split here.
            seed = randbelow(2**32)
        shown = samples_audit(samples, scenario, eps, delta, confidence, seed)
        told = {"eps": eps, "delta": delta, "confidence": confidence, "seed": seed}
        about = (samples,) if file is None else (file, samples)
        _present(shown, asked, as_json, lambda: _proof_of(shown, about, told), about)
        return
    if file is None:
        raise MechanismError("give a file, or runs of a black box with --samples RUNS.csv")
    if eps is not None or delta is not None or seed is not None:
        raise MechanismError("--eps, --delta and --seed go with --samples; the file states its own claim")
    if others.audit(file, force, as_json, report, proof):
        return
    from sievert.questions.audit import audit as run_audit
    from sievert.release import mechanism_proof
    from sievert.report.audit import page_of, table

    scenario = load_policy_scenario(file)
    asked = OutputFiles(scenario.reads(), force, report=report, proof=proof)
    with progress_bar():
        found = run_audit(scenario)
    _present(
        found,
        asked,
        as_json,
        lambda: mechanism_proof(scenario),
        (file,),
        page_of(found, scenario),
        lambda: print_table(*table(found), named=True),
    )


def _proof_of(found: SamplesAnswer, about: tuple[Path, ...], told: Mapping[str, Any]) -> Proof | str:
    """The proof of what the runs show, named after them and the file; else why there is none."""
    from sievert.files import digest_of

    certificate = found.audit.certificate
    if certificate is None:
        return str(found.audit.uncertified)
    options = {name: value for name, value in told.items() if value is not None}
    return certificate.with_identity(digest_of(*about, **options), options)


def _present(
    found: Audit | SamplesAnswer,
    asked: OutputFiles,
    as_json: bool,
    proof: Callable[[], Proof | str],
    about: tuple[Path, ...],
    page: Callable[[str], str] | None = None,
    table: Callable[[], None] | None = None,
) -> None:
    from sievert.report.audit import lines

    passed = found.passed
    present(
        found,
        lines,
        asked,
        json=as_json,
        page=page,
        good=passed,
        holds=passed,
        table=table,
        data={"passed": passed},
        proof=proof,
        about=about,
    )
