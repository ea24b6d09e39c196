"""`sievert explain --eps 3 --values 5`: what does this claim mean for one person?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from sievert.cli import _described as others
from sievert.cli._options import real_option, whole_option
from sievert.cli._present import AsJson, Force, OutputFiles, ProofPath, present, print_json

if TYPE_CHECKING:
    from sievert.files import PolicyScenario
    from sievert.limits import WeakestClaim
    from sievert.proofs import Proof
    from sievert.questions.explain import ExplainAnswer

__all__ = ["explain"]

Solve = Literal["eps", "delta", "rho", "sigma", "releases"]


def explain(
    file: Annotated[
        Path | None, typer.Argument(help="A TOML file with a policy, and perhaps a claim and limits.")
    ] = None,
    eps: Annotated[float | None, real_option("ε of each release, in nats.")] = None,
    delta: Annotated[float | None, real_option("δ of each release, with ε (0).")] = None,
    rho: Annotated[
        float | None,
        real_option("ρ of zero-concentrated privacy, instead of ε."),
    ] = None,
    sigma: Annotated[
        float | None,
        real_option("Scale of Gaussian noise, instead of ε."),
    ] = None,
    sensitivity: Annotated[
        float | None,
        real_option("With --sigma: how far one person moves the answer (1)."),
    ] = None,
    values: Annotated[
        int | None,
        whole_option("How many values a person may have (2)."),
    ] = None,
    prior: Annotated[
        str | None, typer.Option(help="What is believed before: probabilities, as 0.6,0.3,0.1.")
    ] = None,
    releases: Annotated[
        int | None,
        whole_option("How many releases with this claim (1)."),
    ] = None,
    guess: Annotated[
        float | None,
        real_option("Backwards: the highest acceptable probability of a right guess."),
    ] = None,
    solve: Annotated[
        str | None, typer.Option(help="With --guess: what to look for (eps; releases if a claim is given).")
    ] = None,
    accuracy: Annotated[
        float | None,
        real_option("Backwards: how far off a released number may be; says which noise that takes."),
    ] = None,
    confidence: Annotated[
        float | None, real_option("With --accuracy: with at least this probability (0.95).")
    ] = None,
    cells: Annotated[int | None, whole_option("With --accuracy: cells of the table (1: a count).")] = None,
    of: Annotated[
        str | None, typer.Option(help="With --accuracy: each cell, all together, or the total (cell).")
    ] = None,
    within: Annotated[
        float | None,
        real_option("Metric privacy: the value is known to within this distance."),
    ] = None,
    centre: Annotated[str | None, typer.Option(help="… of this place (the worst one).")] = None,
    proof: ProofPath = None,
    report: Annotated[Path | None, typer.Option(help="Write a self-contained HTML page here.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Say what a privacy claim lets anybody do to one person, whatever the mechanism.

    Exit code 0: done, and within every limit of the file's [accept]; 1: a limit is exceeded, or the file's
    own mechanism does not keep its claim; 2: bad input.
    """
    if file is not None and others.answer(
        "explain",
        file,
        force,
        as_json,
        report,
        proof,
        eps=eps,
        releases=releases,
        guess=guess,
        without={"delta": delta, "rho": rho, "sigma": sigma, "sensitivity": sensitivity}
        | {"values": values, "prior": prior, "solve": solve, "within": within, "centre": centre},
    ):
        return
    from sievert.errors import MechanismError
    from sievert.limits import explain as explain_claim
    from sievert.questions.explain import explain_file, report_of

    scenario = None if file is None else _scenario(file)
    reads = [] if scenario is None else scenario.reads()
    asked = OutputFiles(reads, force, proof=proof, report=report)
    stated = {"eps": eps, "delta": delta, "rho": rho, "sigma": sigma, "sensitivity": sensitivity}
    claim = {name: value for name, value in stated.items() if value is not None}
    belief = _prior(prior)
    if file is not None and (values is not None or belief is not None):
        raise MechanismError(
            "--values and --prior go without a file; the file's policy and [adversary] say both"
        )
    if accuracy is not None:
        if claim or guess is not None or solve is not None or belief is not None or within is not None:
            raise MechanismError(
                "--accuracy looks for the claim itself; leave out --eps, --rho, --sigma, --guess and --prior"
            )
        _accurate(scenario, accuracy, confidence, cells, of, releases, asked, as_json)
        return
    if (confidence, cells, of) != (None, None, None):
        raise MechanismError("--confidence, --cells and --of go with --accuracy")
    if guess is not None:
        if within is not None or centre is not None:
            raise MechanismError("--within and --centre go without --guess")
        _backwards(scenario, guess, solve, claim, values, belief, releases, asked, as_json)
        return
    if solve is not None:
        raise MechanismError(
            f"--solve {solve} looks for the weakest acceptable claim; say with --guess what is acceptable"
        )
    told: dict[str, Any] = {}
    if file is None and eps is None and rho is None and sigma is None:
        raise MechanismError(
            "give a claim (--eps, --rho or --sigma), a limit (--guess), or a file; for instance: "
            "sievert explain --eps 3 --values 5"
        )
    if scenario is None:
        found = report_of(
            explain_claim(
                **claim,  # type: ignore[arg-type]
                values=values,
                prior=belief,
                releases=1 if releases is None else releases,
                within=within,
                centre=centre,
            )
        )
    else:
        found = explain_file(scenario, releases, within, centre, **claim)
        told = {**claim, "releases": releases, "within": within, "centre": centre}
    _present(found, scenario, told, asked, as_json, holds=found.passed)


def _scenario(file: Path) -> PolicyScenario:
    from sievert.files import load_policy_scenario

    return load_policy_scenario(file)


def _present(
    found: ExplainAnswer,
    scenario: PolicyScenario | None,
    told: dict[str, Any],
    asked: OutputFiles,
    as_json: bool,
    answer: WeakestClaim | None = None,
    holds: bool = True,
) -> None:
    """Show an explanation; where another question was asked, its answer is what the JSON holds."""
    from sievert.report.explain import lines, page

    def certificate() -> Proof | str:
        proof = found.explanation.certificate
        if proof is None:
            return str(found.explanation.uncertified)
        if scenario is None:
            return proof
        from sievert.files import bind_proof

        return bind_proof(proof, scenario, **told)

    present(
        answer if as_json and answer is not None else found,
        lines,
        asked,
        json=as_json,
        page=lambda command: page(found, None if scenario is None else scenario.to_toml(), command),
        proof=certificate,
        about=() if scenario is None else scenario.reads()[:1],
        good=found.passed,
        holds=holds,
        data={"passed": found.passed} if answer is None else None,
    )


def _accurate(
    scenario: PolicyScenario | None,
    within: float,
    confidence: float | None,
    cells: int | None,
    of: str | None,
    releases: int | None,
    asked: OutputFiles,
    as_json: bool,
) -> None:
    from sievert.errors import MechanismError
    from sievert.questions import accuracy_asked, accurate_report

    wanted = accuracy_asked(within, confidence, of)
    if scenario is not None and cells is not None:
        raise MechanismError("--cells goes without a file; the file's query says how many there are")
    found = accurate_report(wanted, 1 if cells is None else cells, scenario, releases)
    told = {"accuracy": within, "confidence": confidence, "of": of, "releases": releases}
    _present(found, scenario, told, asked, as_json)


def _backwards(
    scenario: PolicyScenario | None,
    guess: float,
    solve: str | None,
    claim: dict[str, Any],
    values: int | None,
    prior: list[float] | None,
    releases: int | None,
    asked: OutputFiles,
    as_json: bool,
) -> None:
    from sievert.errors import MechanismError
    from sievert.limits import weakest_claim
    from sievert.numerics import choice
    from sievert.questions.explain import weakest_claim_for_file, weakest_report

    unknown: Any = solve
    if solve is not None:
        choice("--solve", solve, get_args(Solve), MechanismError)
    given = any(name in claim for name in ("eps", "rho", "sigma"))
    unknown = unknown or ("releases" if given else "eps")
    told = {**claim, "releases": releases, "guess": guess, "solve": solve}
    if scenario is None:
        count = 1 if releases is None else releases
        found = weakest_claim(guess, unknown, **claim, values=values, prior=prior, releases=count)
    else:
        found = weakest_claim_for_file(scenario, guess, unknown, releases, **claim)
    if found.explanation is not None:
        _present(weakest_report(found), scenario, told, asked, as_json, found)
        return
    if asked.paths:
        raise MechanismError(f"--proof and --report have nothing to show: {found}")
    if as_json:
        print_json(found.to_dict())
    else:
        print(f"{found}.")


def _prior(text: str | None) -> list[float] | None:
    from sievert.errors import PriorError

    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise PriorError(f"--prior is {text!r}; give probabilities between commas, as 0.6,0.3,0.1") from None
