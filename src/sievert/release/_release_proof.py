"""The proof that what a release draws from is private, by the channel's own law.

Noise in a table is proved by how far one record moves it; noise on a map by the width of a cell; randomised
response and noise around a number by their level and the policy's neighbours; any other channel by its rows
as the fractions that are drawn.
"""

from __future__ import annotations

from fractions import Fraction
from functools import singledispatch

from sievert.channels import (
    Channel,
    EpsilonOrAlpha,
    GaussianLaw,
    JointNoise,
    PlanarNoise,
    ResponseChannel,
    TableNoise,
)
from sievert.errors import FileError, SievertError, TooLargeError
from sievert.files import (
    DocumentsScenario,
    PolicyScenario,
    Scenario,
    VectorsScenario,
    bind_proof,
    table_noise,
)
from sievert.mechanisms import (
    IrregularGeometricChannel,
    PixelatedLaplaceChannel,
    TruncatedGeometricChannel,
)
from sievert.policies import cell_moves
from sievert.proofs import (
    GaussianNoiseProof,
    JointNoiseProof,
    Neighbours,
    NoiseProof,
    Proof,
    ReleasedProof,
)
from sievert.release._plan import Plan, law_plan, make_plan
from sievert.release._sampled_channel import by_rows

__all__ = ["mechanism_proof", "noise_proof", "released_proof"]

# Neighbours and fractions that a proof lists, and comparisons of two rows entry by entry.
LARGEST_PAIRS, LARGEST_ROWS, MOST_COMPARED = 100_000, 100_000, 2_000_000
# A distance that a fraction with so small a denominator is, but for a share of 1/NEARLY, was that fraction.
SHORT, NEARLY = 10**6, 10**12
NO_EPS = "the noise keeps no ε, and its ρ is proved for one table of Gaussian noise only"
UNMOVED = "no record changes what is released: there is nothing to prove"
JOINT = "several tables have a proof where each keeps an ε that is written as eps, and few values are listed"


def noise_proof(plan: Plan) -> Proof | None:
    """The certificate that the noise in tables is enough for what one record can change."""
    if plan.several is not None:
        return JointNoiseProof.of(plan.several)
    if plan.noise is None or plan.sensitivity is None:
        return None
    return NoiseProof.of(plan.noise, plan.sensitivity)


@singledispatch
def released_proof(scenario: Scenario) -> Proof:
    """The proof of what a release of the file draws from; FileError says why there is none."""
    raise FileError(f"{scenario.source}: is about nothing that can be released")


@released_proof.register
def _of_records(scenario: PolicyScenario) -> Proof:
    found = _proved(make_plan(scenario))
    if isinstance(found, str):
        raise FileError(f"{scenario.source}: what is released has no proof: {found}")
    return found


def _proved(plan: Plan) -> Proof | str:
    """The proof of what is drawn, which holds; a text says why there is none."""
    if not plan.exact:
        return "it is drawn in floating point, and fractions would prove something else"
    try:
        found = certified(plan.channel, plan) if plan.pure_eps is not None else _without_eps(plan)
    except TooLargeError as problem:
        return str(problem)
    if isinstance(found, str):
        return found
    checked = found.verify()
    return found if checked else f"the proof that was tried does not hold: {checked.statement}"


@released_proof.register
def _of_documents(scenario: DocumentsScenario) -> Proof:
    from sievert.questions.documents import promise_of_documents

    scenario.check()
    return promise_of_documents(scenario)


@released_proof.register
def _of_vectors(scenario: VectorsScenario) -> Proof:
    from sievert.questions.vectors import promise_of_vectors

    scenario.check()
    return promise_of_vectors(scenario)


def mechanism_proof(scenario: Scenario) -> Proof | str:
    """The proof of what the mechanism of a file draws from, named after the file; a text says why none.

    A file that says nowhere where its records are has one too.
    """
    try:
        found = _of_law(scenario) if isinstance(scenario, PolicyScenario) else released_proof(scenario)
    except SievertError as problem:
        found = problem.in_file().removeprefix(scenario.source).lstrip(":, ")
    return found if isinstance(found, str) else bind_proof(found, scenario, released=True)


def _of_law(scenario: PolicyScenario) -> Proof | str:
    """The proof of what is drawn; rows that are too many to be listed are not made into fractions first."""
    if table_noise(scenario) is None and by_rows(scenario.channel):
        rows, columns = scenario.channel.shape
        if rows * columns > LARGEST_ROWS:
            return _too_many(rows, columns)
    return _proved(law_plan(scenario))


def _too_many(rows: int, columns: int) -> str:
    return f"a proof would list {rows} by {columns} fractions"


@singledispatch
def certified(channel: Channel, plan: Plan) -> Proof | str:
    """The rows, which are fractions; a text says why there is no proof."""
    rows = channel.entries if channel.form == "exact" else None
    if rows is None or rows.size > LARGEST_ROWS:
        return _too_many(*channel.shape)
    space = _neighbours(plan)
    compared = rows.shape[1] * (len(rows) if space.form == "uniform" else len(space.pairs))
    if compared > MOST_COMPARED:
        return f"a proof would compare {compared} pairs of fractions"
    return ReleasedProof(space, "rows", rows=rows, labels=_labels(channel))


@certified.register
def _of_cells(noise: TableNoise, plan: Plan) -> Proof | str:
    return noise_proof(plan) or UNMOVED


def _without_eps(plan: Plan) -> Proof | str:
    """Gaussian noise in one table, by its ρ; the rest says why not."""
    law = None if plan.noise is None else plan.noise.law
    if not isinstance(law, GaussianLaw) or plan.table is None:
        return NO_EPS
    if plan.scenario.policy.constrained:
        return "public knowledge moves several records at once, and ρ is proved for one"
    moves = cell_moves(plan.scenario.policy, plan.table, plan.scenario.tabulated.absence)
    if len(moves) > LARGEST_PAIRS:
        return f"a proof would list {len(moves)} moves"
    listed = tuple((tuple(step for step in move.steps if step), move.length) for move in moves)
    return GaussianNoiseProof.of(law.variance, listed) if listed else UNMOVED


@certified.register
def _of_several(noise: JointNoise, plan: Plan) -> Proof | str:
    return noise_proof(plan) or JOINT


@certified.register
def _of_map(noise: PlanarNoise, plan: Plan) -> Proof | str:
    """Noise and policy go by the length of a move: the width of a cell decides for all of them."""
    width = Fraction(str(noise.region.cell))
    space = Neighbours("uniform", len(noise.region), (), (width,), plan.unit_eps)
    return ReleasedProof(space, "plane", level=noise.written)


@certified.register
def _of_response(channel: ResponseChannel, plan: Plan) -> Proof | str:
    return ReleasedProof(_neighbours(plan), "response", level=channel.level.written, labels=_labels(channel))


@certified.register
def _of_steps(channel: TruncatedGeometricChannel, plan: Plan) -> Proof | str:
    return _noise(channel, channel.level, [Fraction(k) for k in range(channel.shape[0])], plan)


@certified.register
def _of_points(channel: IrregularGeometricChannel, plan: Plan) -> Proof | str:
    return _noise(channel, channel.level, [Fraction(str(point)) for point in channel.inputs], plan)


@certified.register
def _of_pixels(channel: PixelatedLaplaceChannel, plan: Plan) -> Proof | str:
    return _noise(channel, channel.level, channel.points, plan)


def _noise(channel: Channel, level: EpsilonOrAlpha, places: list[Fraction], plan: Plan) -> Proof:
    space, drawn = _neighbours(plan), level.written
    return ReleasedProof(space, "noise", level=drawn, places=tuple(places), labels=_labels(channel))


def _labels(channel: Channel) -> tuple[str, ...]:
    return tuple(str(name) for name in channel.inputs)


def _neighbours(plan: Plan) -> Neighbours:
    """The inputs that the policy calls neighbours, with the ε that is promised."""
    scenario, size = plan.scenario, plan.channel.shape[0]
    uniform = scenario.policy.record_metric.uniform_distance if scenario.document.query.is_record else None
    if uniform is not None:
        return Neighbours("uniform", size, (), (_length(uniform),), plan.unit_eps)
    edges = scenario.answers.edges
    if len(edges.pairs) > LARGEST_PAIRS:
        raise TooLargeError(f"a proof would list {len(edges.pairs)} neighbours", size=len(edges.pairs))
    lengths = tuple(_length(length) for length in edges.lengths.tolist())
    pairs = tuple((int(a), int(b)) for a, b in edges.pairs.tolist())
    return Neighbours("graph", size, pairs, lengths, plan.unit_eps)


def _length(length: float) -> Fraction:
    """A distance as a short fraction where it is one but for rounding, else its binary value."""
    exact = Fraction(length)
    short = exact.limit_denominator(SHORT)
    return short if abs(short - exact) <= exact / NEARLY else exact
