"""The design for a file: the best mechanism on a list of answers, or the noise that a table could get.

Where the answers can be listed and [use] says what they are for, a linear program finds the best of all
mechanisms. A table over all records has too many answers, but few mechanisms apply, and they are weighed; so
are those for a survey, whose frequencies are estimated from many reports.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sievert.channels import Channel
from sievert.channels.priors import as_prior
from sievert.design import (
    Candidates,
    Existence,
    MinimaxRegret,
    PlanarBeside,
    SurveyDesign,
    TableDesign,
    TableDesignProblem,
    Universality,
    as_loss,
    candidates,
    candidates_beside,
    design_question,
    existence_by_theorem,
    is_universally_optimal,
    minimax_regret,
    place_design,
    planar_beside,
    regret_tolerance,
    require_few_entries,
    survey_design,
    table_design,
    universal_by_theorem,
)
from sievert.errors import FileError, MechanismError, TooLargeError
from sievert.files import PolicyScenario, ReleaseModel, dumps, file_eps, moved
from sievert.measures import Gain
from sievert.mechanisms import planar_noise, privacy
from sievert.numerics import abbreviated, non_negative, read_eps
from sievert.policies import Answers
from sievert.proofs import ExactDesignProof, NoiseProof, OptimalDesignProof, Proof, StaircaseProof
from sievert.questions._one_row import OfOneRow, one_row, rows_of_person
from sievert.questions.acceptance import record_belief
from sievert.results import Result
from sievert.spaces import Region
from sievert.tables import channel_bytes, is_text

__all__ = [
    "DesignAnswer",
    "NoiseDesign",
    "ResponseDesign",
    "channel_suffixes",
    "design_of",
    "design_questions",
    "require_named",
]

# Text would round floats on the way through decimals; fractions are text.
EXACT, FLOATS = ".csv", ".npz"
# Reports of a survey that says nothing about their number.
REPORTS = 1000
# Cells of a map that an interior point solves here; on a device with its own memory as many as can be listed.
CITY_CELLS = 1000
# 400 cells to a gap of 1 % take 27 s on two cores (docs/design.md); measured growth in cells and in 1/gap.
MEASURED_CELLS, MEASURED_SECONDS, BY_CELLS, MEASURED_GAP, BY_GAP = 400, 27.0, 3.2, 0.01, 0.34
# Below this gap nothing was measured: a design takes as long or longer.
LEAST_GAP = 1e-6
# A design that takes longer than the first is announced, and than the second not begun; a grid of a minute.
LONG, LONGEST, MINUTE_CELLS = 15.0, 600.0, 500
# Answers up to which other priors are asked about with so many linear programs, and by theorems alone.
LARGEST_UNIVERSAL, EFFORT, LARGEST_BY_THEOREM = 12, 2000, 200


WEIGHED = (
    "mechanisms are weighed beside each other, and none is said to be the best of all; `sievert release "
    "--proof` proves what the one that is chosen keeps"
)


@dataclass(frozen=True)
class DesignAnswer(OfOneRow):
    """The best mechanism for a file's use, with the standard ones beside it."""

    title: str
    policy: str
    query: str
    use: str
    found: Candidates
    verified: str = field(default="")
    universal: Universality | None = None
    exists: Existence | None = None
    regret: MinimaxRegret | None = None
    beside: PlanarBeside | None = None

    @property
    def mechanism(self) -> Channel:
        """What the file asks for: the best for its prior, or of least regret where that is unknown."""
        return self.found.optimal.mechanism if self.regret is None else self.regret.mechanism

    def whatever_the_prior(self) -> list[str]:
        """Sentences about other priors than the file's."""
        if self.regret is not None:
            return [_sentence(self.regret)]
        said = [_sentence(self.universal)] if self.universal is not None else []
        if self.exists is not None and not self.universal:
            said.append(_sentence(self.exists))
        return said

    def __str__(self) -> str:
        best = self.found.optimal
        if self.regret is not None:
            return f"For ε = {self.found.eps:.6g} ({self.use}): {self.regret}.{one_row(self.rows_per_person)}"
        gap = best.nearness if best.gap == 0 else f"proved to be {best.nearness}"
        which = "The best mechanism found before the interrupt" if best.interrupted else "The best mechanism"
        return (
            f"{which} with ε = {self.found.eps:.6g} loses {float(best.loss):.6g} on average "
            f"({self.use}), {gap}; without any release the loss is {best.without_release:.6g}."
            f"{one_row(self.rows_per_person)}"
        )

    @property
    def certificate(self) -> Proof:
        """How far from optimal the mechanism can be at most, or how large its regret."""
        found = None if self.regret is None else self.regret.certificate
        return self.found.optimal.certificate if found is None else found

    @property
    def uncertified(self) -> None:
        """None: what is found is proved."""
        return None

    def files(self, scenario: PolicyScenario, target: Path) -> dict[str, tuple[Path, bytes]]:
        """The mechanism, and a file that names it, ready for `audit` and `release`."""
        return _listed_files(scenario, target, self.mechanism, self.found.optimal.eps)


@dataclass(frozen=True)
class NoiseDesign(OfOneRow):
    """The noise that a table or sum could get, side by side."""

    title: str
    policy: str
    query: str
    found: TableDesign
    verified: str = field(default="")

    def __str__(self) -> str:
        return f"{self.found}{one_row(self.rows_per_person)}"

    @property
    def certificate(self) -> Proof | None:
        """That the chosen noise is enough for what one record can change."""
        return self.found.certificate

    @property
    def uncertified(self) -> str | None:
        """Why there is no certificate; None where there is one."""
        return None if self.certificate is not None else WEIGHED

    def files(self, scenario: PolicyScenario, target: Path) -> dict[str, tuple[Path, bytes]]:
        """A file with the noise that keeps ε and errs least, ready for `audit` and `release`."""
        mechanism = self.found.chosen.mechanism
        assert mechanism is not None
        return {"file": (target, designed_toml(scenario, mechanism, target.parent).encode())}


@dataclass(frozen=True)
class ResponseDesign(OfOneRow):
    """Mechanisms for reports one a record, by the variance of the frequencies estimated from them."""

    title: str
    policy: str
    query: str
    found: SurveyDesign

    def __str__(self) -> str:
        return f"{self.found}.{one_row(self.rows_per_person)}"

    @property
    def certificate(self) -> None:
        """None: no mechanism is proved to be best."""
        return None

    @property
    def uncertified(self) -> str:
        """Why there is no certificate."""
        return WEIGHED

    def files(self, scenario: PolicyScenario, target: Path) -> dict[str, tuple[Path, bytes]]:
        """The mechanism of least variance, and a file that names it, ready for `audit` and `release`."""
        mechanism = self.found.chosen.mechanism
        assert mechanism is not None
        return _listed_files(scenario, target, mechanism, self.found.eps)


def _listed_files(
    scenario: PolicyScenario, target: Path, found: Channel, eps: float
) -> dict[str, tuple[Path, bytes]]:
    channel = target.with_suffix(EXACT if found.form == "exact" else FLOATS)
    mechanism = {"matrix": channel.name, "eps": eps}
    return {
        "file": (target, designed_toml(scenario, mechanism, target.parent).encode()),
        "channel": (channel, channel_bytes(found, channel)),
    }


def channel_suffixes(scenario: PolicyScenario) -> tuple[str, ...]:
    """How a designed channel may be named beside its file; noise for a table is named in the file alone."""
    only_noise = scenario.document.query.is_table and scenario.document.use is None
    return () if only_noise else (EXACT, FLOATS)


def require_named(scenario: PolicyScenario, target: Path) -> None:
    """Refuse, before any work, a place where the designed file would name what is not UTF-8."""
    if not is_text(designed_toml(scenario, {"matrix": target.name}, target.parent)):
        raise FileError(
            f"output is {abbreviated(str(target))}: the designed file would name a path that is not UTF-8; "
            "name another output"
        )


def design_of(
    scenario: PolicyScenario, eps: float | None = None, gap: float | None = None, device: str | None = None
) -> DesignAnswer | NoiseDesign | ResponseDesign:
    """The design for a file: its policy and query, its loss, at its own ε and gap or others."""
    if eps is not None and non_negative("eps", eps, MechanismError, infinite=True) == math.inf:
        raise MechanismError("eps is inf; nothing would be hidden, and no audit accepts it; give a finite ε")
    use = scenario.document.use
    if use is not None and not use.loss.of_one_release:
        return response_design(scenario, eps)
    if scenario.region is not None:
        return _on_map(scenario, eps, gap, device)
    over_all = scenario.document.query.is_table
    if over_all and not scenario.document.query.is_one_table:
        raise FileError(
            f"{scenario.source}, query: noise is weighed one table at a time; design each query in a file of "
            "its own, and read with `sievert release FILE --preview` what all cost and how far off each is"
        )
    if over_all and scenario.document.use is None:
        return noise_design(scenario, eps)
    try:
        return listed_design(scenario, eps, gap, device)
    except TooLargeError:
        if not over_all:
            raise
    return noise_design(scenario, eps)


def _on_map(
    scenario: PolicyScenario, eps: float | None, gap: float | None, device: str | None
) -> DesignAnswer | NoiseDesign:
    """The best of all mechanisms on few cells; otherwise the noise that a place could get."""
    assert scenario.region is not None
    why = 'needs [use], such as loss = "distance", to say what places are for'
    if scenario.document.use is not None:
        cells, near = len(scenario.region), _gap(scenario, gap)
        seconds = map_seconds(cells, near)
        if device is None and (cells > CITY_CELLS or seconds > LONGEST):
            takes = f"{cells} cells take {in_minutes(seconds)} at gap = {near:g}"
            why = f"{takes}; {_faster(scenario.region, near)}"
            return noise_on_places(scenario, eps, why)
        try:
            return listed_design(scenario, eps, gap, device)
        except TooLargeError as problem:
            why = f"{problem}; {_faster(scenario.region, near)}"
    return noise_on_places(scenario, eps, why)


def announced(scenario: PolicyScenario, gap: float | None = None, device: str | None = None) -> str | None:
    """What a design on a map will take, said before it starts; None where that is not long.

    Notes
    -----
    The measured growth of one machine: a guide, no bound. A device of its own is faster, and not foretold.
    """
    use, region = scenario.document.use, scenario.region
    if use is None or region is None or device is not None or not use.loss.of_one_release:
        return None
    near = _gap(scenario, gap)
    seconds = map_seconds(len(region), near)
    if not LONG <= seconds <= LONGEST or len(region) > CITY_CELLS or scenario.prior_unknown:
        return None
    least = " or more" if near < LEAST_GAP else ""
    return (
        f"The best mechanism on {len(region)} cells at gap = {near:g} takes {in_minutes(seconds)}{least}; "
        f"{_faster(region, near)}."
    )


def map_seconds(cells: int, gap: float) -> float:
    """How long the best mechanism on so many cells takes, on two cores of 2024.

    >>> round(map_seconds(400, 0.01)), round(map_seconds(225, 0.001), 1)
    (27, 9.4)
    """
    by_gap = max(1.0, MEASURED_GAP / max(gap, LEAST_GAP)) ** BY_GAP
    return float(MEASURED_SECONDS * (cells / MEASURED_CELLS) ** BY_CELLS * by_gap)


def in_minutes(seconds: float) -> str:
    """A time that is roughly known.

    >>> in_minutes(27), in_minutes(507), in_minutes(20000)
    ('about 30 seconds', 'about 8 minutes', 'about 6 hours')
    """
    if seconds < 95:
        return f"about {10 * max(1, round(seconds / 10))} seconds"
    if seconds < 5400:
        return f"about {round(seconds / 60)} minutes"
    return f"about {round(seconds / 3600)} hours" if seconds < 172_800 else "days"


def _gap(scenario: PolicyScenario, gap: float | None) -> float:
    use = scenario.document.use
    return MEASURED_GAP if use is None else use.gap if gap is None else gap


def _faster(region: Region, gap: float) -> str:
    """Which gap, or which cells, would take less."""
    cells = len(region)
    if cells <= CITY_CELLS and gap < MEASURED_GAP:
        return f"with gap = {MEASURED_GAP:g} {in_minutes(map_seconds(cells, MEASURED_GAP))}"
    if cells <= CITY_CELLS:
        return _with_cells(region, min(MINUTE_CELLS, cells // 2))
    return (
        f"up to about {CITY_CELLS} cells are solved, and this region has {cells}: at gap = {MEASURED_GAP:g} "
        f"{_with_cells(region, CITY_CELLS)}, and {_with_cells(region, MINUTE_CELLS)}"
    )


def _with_cells(region: Region, most: int) -> str:
    """The finest grid of at most so many cells, two digits of their width, and how long it takes."""
    width = region.cell * math.sqrt(len(region) / most)
    digit = 10.0 ** (math.floor(math.log10(width)) - 1)
    step = math.ceil(width / digit)
    while len(coarse := replace(region, cell=step * digit)) > most:
        step += 1
    takes = in_minutes(map_seconds(len(coarse), MEASURED_GAP))
    return f"with cell = {coarse.cell:g} it has {len(coarse)}, {takes}"


def noise_on_places(scenario: PolicyScenario, eps: float | None, why: str) -> NoiseDesign:
    """The noise that places could get, by its mean error; `why` the best of all mechanisms is not known."""
    assert scenario.region is not None
    stated = scenario.document.use is not None and scenario.document.use.prior is not None
    given = stated or scenario.stated_record_prior is not None
    rules = scenario.document.release or ReleaseModel()
    found = place_design(
        planar_noise(scenario.region, read_eps(file_eps(scenario) if eps is None else eps)),
        np.asarray(scenario.use_prior, dtype=np.float64) if given else None,
        scenario.observations,
        rules.confidence,
        why,
    )
    return NoiseDesign(
        scenario.title,
        scenario.policy.describe(),
        scenario.query.words,
        found,
        rows_per_person=rows_of_person(scenario),
    )


def noise_design(scenario: PolicyScenario, eps: float | None = None) -> NoiseDesign:
    """The noise that the table of a file could get, with rows that [release] leaves out."""
    policy, table = scenario.policy, scenario.tabulated
    belief = record_belief(scenario)
    rules = scenario.document.release or ReleaseModel()
    found = table_design(
        TableDesignProblem(
            policy,
            scenario.query,
            table.statistic,
            table.sensitivity,
            file_eps(scenario) if eps is None else eps,
            as_prior(None, len(policy.values)).astype(float) if belief is None else belief,
            scenario.observations,
            rules.confidence,
        )
    )
    proof = found.certificate
    checked = "" if proof is None else str(proof.verify())
    return NoiseDesign(scenario.title, policy.describe(), table.statistic.words, found, checked)


def response_design(scenario: PolicyScenario, eps: float | None = None) -> ResponseDesign:
    """The mechanisms for a survey: one report a record, frequencies estimated from all."""
    words = scenario.use.loss.words()
    if not scenario.query.is_record:
        raise FileError(
            f"{scenario.source}, use.loss: the {words} is for surveys, in which every record reports by "
            'itself (query.kind = "record"); leave [use] out to weigh the noise of a table'
        )
    if scenario.prior_unknown:
        raise FileError(
            f'{scenario.source}, use.prior: "unknown" goes with a loss of one release; give the frequencies '
            "that are expected, or leave it out where all are alike"
        )
    answers = scenario.answers
    gains = [gain.adversary(answers.labels, scenario.distance) for gain in scenario.document.adversary.gains]
    found = survey_design(
        answers,
        file_eps(scenario) if eps is None else eps,
        scenario.use_prior,
        gains=gains,
        reports=scenario.use.reports or REPORTS,
    )
    return ResponseDesign(
        scenario.title,
        scenario.policy.describe(),
        scenario.query.words,
        found,
        rows_per_person=rows_of_person(scenario),
    )


def listed_design(
    scenario: PolicyScenario, eps: float | None = None, gap: float | None = None, device: str | None = None
) -> DesignAnswer:
    """The best of all mechanisms on the listed answers, with the standard ones beside it."""
    answers, loss = scenario.answers, scenario.use_loss
    prior = None if scenario.prior_unknown else scenario.use_prior
    # Mechanisms on the answers are weighed by what they tell about the answer.
    about_record = scenario.gains_about == "record"
    models = [Gain.resolve("identity")] if about_record else scenario.document.adversary.gains
    gains = [gain.adversary(answers.labels, scenario.distance) for gain in models]
    alpha = None if eps is not None else _file_alpha(scenario)
    level = None if alpha is not None else file_eps(scenario) if eps is None else eps
    regret = _least_regret(answers, level, loss, alpha) if scenario.prior_unknown else None
    if regret is None:
        near = scenario.use.gap if gap is None else gap
        found = candidates(answers, level, prior, loss, gains=gains, alpha=alpha, gap=near, device=device)
    else:
        found = candidates_beside(regret.mechanism, answers, level, loss, gains, alpha)
    universal, exists = None, None
    if regret is None and len(answers.labels) <= LARGEST_BY_THEOREM:
        universal = _other_priors(found.optimal.mechanism, answers, level, loss, alpha)
        exists = existence_by_theorem(answers.metric, level, loss, alpha=alpha)
    proof = found.optimal.certificate
    if regret is not None and regret.certificate is not None:
        proof = regret.certificate
    return DesignAnswer(
        scenario.title,
        scenario.policy.describe(),
        scenario.query.words,
        scenario.use.loss.words(),
        found,
        str(proof.verify()),
        universal,
        exists,
        regret,
        None if regret is not None else _beside(scenario, found),
        rows_per_person=rows_of_person(scenario),
    )


def design_questions(
    scenario: PolicyScenario, proof: Proof, eps: float | None = None
) -> list[dict[str, Any]]:
    """What a proof of this kind about the design for a file may be about; no program is solved.

    Only the least regret, which is found in fractions, is looked for anew.
    """
    use = scenario.document.use
    if use is not None and not use.loss.of_one_release:
        return []
    if isinstance(proof, NoiseProof | StaircaseProof):
        return _noise_questions(scenario, eps)
    if use is None and scenario.document.query.is_table:
        return []
    alpha = None if eps is not None else _file_alpha(scenario)
    level = None if alpha is not None else file_eps(scenario) if eps is None else eps
    answers, loss = scenario.answers, scenario.use_loss
    if isinstance(proof, OptimalDesignProof | ExactDesignProof):
        prior = None if scenario.prior_unknown else scenario.use_prior
        asked = design_question(proof, answers, level, prior, loss, alpha=alpha)
        return [] if asked is None else [asked]
    found = _least_regret(answers, level, loss, alpha).certificate if scenario.prior_unknown else None
    return [found.question()] if found is not None and found.kind == proof.kind else []


def _noise_questions(scenario: PolicyScenario, eps: float | None) -> list[dict[str, Any]]:
    """The noise that a table gets where the best of all mechanisms is not asked for, or cannot be found."""
    if scenario.region is not None or not scenario.document.query.is_one_table:
        return []
    if scenario.document.use is not None:
        with suppress(TooLargeError):
            require_few_entries(scenario.answers.metric, as_loss(scenario.use_loss, scenario.answers.labels))
            return []
    found = noise_design(scenario, eps).certificate
    return [] if found is None else [found.question()]


def _beside(scenario: PolicyScenario, found: Candidates) -> PlanarBeside | None:
    """Planar geometric noise at the same ε and at the same guess, where places are cells of a map."""
    if scenario.region is None or len(scenario.region) < 2 or not 0 < found.eps < math.inf:
        return None
    noise = planar_noise(scenario.region, read_eps(found.eps))
    belief = np.asarray(scenario.use_prior, dtype=np.float64)
    best = found.optimal
    return planar_beside(best.mechanism, float(best.loss), noise, belief, scenario.use_loss)


def _other_priors(
    mechanism: Channel, answers: Answers, eps: float | None, loss: object, alpha: object
) -> Universality:
    """Whether the mechanism is best whatever the prior; of many answers by theorems alone."""
    if len(answers.labels) <= LARGEST_UNIVERSAL:
        return is_universally_optimal(mechanism, answers, eps, loss, alpha=alpha, effort=EFFORT)
    return universal_by_theorem(mechanism, answers, eps, loss, alpha)


def _least_regret(answers: Answers, eps: float | None, loss: object, alpha: object) -> MinimaxRegret:
    """The mechanism for an unknown prior; where it cannot be found, the key that asks for it is named."""
    try:
        tolerance = regret_tolerance(answers.metric)
        return minimax_regret(answers, eps, loss, alpha=alpha, tolerance=tolerance)
    except TooLargeError as problem:
        raise TooLargeError(
            f'[use] prior is "unknown", and {problem}; or give a prior, and read for which others another '
            "mechanism is better",
            size=problem.size,
        ) from problem


def _sentence(result: Result) -> str:
    text = str(result)
    return f"{text[0].upper()}{text[1:]}."


def _file_alpha(scenario: PolicyScenario) -> object:
    """e^-ε as the file writes it, where that is what it promises for the policy: the design is then exact."""
    family = scenario.document.mechanism
    alpha = None if family is None else family.written().get("alpha")
    if not isinstance(alpha, str):
        return None
    return alpha if scenario.claimed_eps == privacy(None, alpha).eps else None


def designed_toml(scenario: PolicyScenario, mechanism: dict[str, Any], folder: Path) -> str:
    """The file with its mechanism replaced by the designed one.

    Paths are made relative to the folder it is written to.
    """
    content = moved(scenario.document.model_dump(exclude_unset=True), scenario.folder, folder)
    content["mechanism"] = mechanism
    order = ["version", "title", "policy", "query", "mechanism"]
    return dumps({key: content[key] for key in [*order, *content] if key in content})
