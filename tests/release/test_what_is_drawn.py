"""What is audited is what is drawn, and what it claims is what the ledger is charged, for every kind.

Every exact sampler but the planar one decides a draw by one uniform number. Fed all 2^14 prefixes of it, an
outcome comes out as often as its probability says, to within the prefixes that its boundaries cut: a proof by
finite checks, not a test of chance.
"""

import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

import sievert as sv
from sievert.channels import HistogramNoise, PlanarNoise, ScalarNoise, StaircaseLaw, TableNoise
from sievert.errors import FileError
from sievert.files import PolicyScenario, load_policy_scenario
from sievert.kinds import variant
from sievert.mechanisms import EpsilonFamily, Family, geometric_table_noise
from sievert.observations import likelihood_of
from sievert.policies import Answers, Query
from sievert.release import make_plan
from sievert.sampling import BitSource, SeededBits, for_channel

PREFIXES = 2**14
# An outcome is one interval of the uniform number, or two; each end cuts at most one prefix.
CUT = 4

FILE = """version = 1
[policy]
values = {values}
{policy}
[query]
{query}
[mechanism]
{mechanism}
[data]
input = "data.csv"
column = "value"
[release]
ledger = "budget.toml"
output = "out.csv"
"""
TEXTS, STEPS = '["a", "b", "c"]', "{ range = [0, 3] }"
RECORD, COUNT, SUM, TABLE = (
    'kind = "record"',
    'kind = "count"\nwhere = [1, 2]',
    'kind = "sum"',
    'kind = "histogram"',
)
TRUNCATED, GEOMETRIC = 'kind = "truncated-geometric"\n', 'kind = "geometric"\n'
STAIRS, GAUSSIAN = 'kind = "staircase"\n', 'kind = "gaussian"\n'
RESPONSE = 'kind = "randomised-response"\n'

# Values, policy, query and mechanism of every kind of release from a table.
KINDS: dict[str, tuple[str, str, str, str]] = {
    "response": (TEXTS, "", RECORD, RESPONSE + "eps = 0.7"),
    "response by a ratio": (TEXTS, "", RECORD, RESPONSE + 'alpha = "1/3"'),
    "response by a decimal ratio": (TEXTS, "", RECORD, RESPONSE + "alpha = 0.3"),
    "response on counts": (STEPS, "records = 3", COUNT, RESPONSE + "eps = 0.5"),
    "truncated": (STEPS, "", RECORD, TRUNCATED + "eps = 1.0"),
    "truncated by a ratio": (STEPS, "", RECORD, TRUNCATED + 'alpha = "2/3"'),
    "truncated by a decimal ratio": (STEPS, "", RECORD, TRUNCATED + "alpha = 0.6"),
    "truncated on a line": (STEPS, 'secrets = "line"', RECORD, TRUNCATED + "eps = 0.7"),
    "even numbers": ("{ range = [0, 8], step = 2 }", 'secrets = "line"', RECORD, TRUNCATED + "eps = 1"),
    "decimals": ("[0, 0.1, 0.2, 0.3]", "", RECORD, TRUNCATED + "eps = 0.7"),
    "irregular": ("[0, 1, 5]", "", RECORD, TRUNCATED + "eps = 0.7"),
    "irregular by a ratio": ("[0, 1, 5]", "", RECORD, TRUNCATED + 'alpha = "1/2"'),
    "irregular sums": ("[0, 1, 5]", "records = 2", SUM, TRUNCATED + "eps = 0.7"),
    "clamped": (STEPS, "", RECORD, TRUNCATED + "eps = 0.7\noutputs = [1, 2]"),
    "one value": ("[4]", "", RECORD, TRUNCATED + "eps = 0.7"),
    "exponential": (TEXTS, "", RECORD, 'kind = "exponential"\nlevel = "true"\neps = 0.7'),
    "exponential by a ratio": (STEPS, "", RECORD, 'kind = "exponential"\nlevel = "nominal"\nalpha = "1/4"'),
    "tight": (STEPS, "", RECORD, 'kind = "tight-constraints"\neps = 0.7'),
    "the policy's own": (STEPS, 'secrets = { metric = "line" }', RECORD, 'kind = "metric-channel"'),
    "matrix": (TEXTS, "", RECORD, 'matrix = "channel.csv"\neps = 1.0'),
    "sum of halves": ("[0, 0.5, 2]", "records = 2", SUM, GEOMETRIC + "eps = 0.7"),
    "count": (STEPS, "records = 3", COUNT, GEOMETRIC + "eps = 0.7"),
    "count, clamped": (STEPS, "records = 3", COUNT, TRUNCATED + "eps = 0.7"),
    "count, within outputs": (STEPS, "records = 3", COUNT, GEOMETRIC + "eps = 0.7\noutputs = [0, 1, 2]"),
    "count by a ratio": (STEPS, "records = 3", COUNT, GEOMETRIC + 'alpha = "1/2"'),
    "sum": (STEPS, "records = 3", SUM, GEOMETRIC + "eps = 0.7"),
    "sum, clamped": (STEPS, "records = 3", SUM, TRUNCATED + "eps = 0.7"),
    "sum on a line": (STEPS, 'records = 3\nsecrets = "line"', SUM, TRUNCATED + "eps = 0.7"),
    "sum, somebody absent": (STEPS, 'records = 3\nadjacency = "add-remove"', SUM, TRUNCATED + "eps = 0.7"),
    "histogram": (TEXTS, "records = 3", TABLE, GEOMETRIC + "eps = 0.7"),
    "histogram, clamped": (TEXTS, "records = 3", TABLE, TRUNCATED + "eps = 0.7"),
    "histogram by a ratio": (TEXTS, "records = 3", TABLE, TRUNCATED + 'alpha = "2/3"'),
    "sum with stairs": (STEPS, "records = 3", SUM, STAIRS + "eps = 2.5"),
    "sum with stairs, clamped": (STEPS, "records = 3", SUM, STAIRS + "eps = 0.9\noutputs = [0, 1, 2, 3]"),
    "sum with stairs on a line": (STEPS, 'records = 3\nsecrets = "line"', SUM, STAIRS + "eps = 0.7"),
    "stairs for two steps": (STEPS, "records = 3\nsecrets = { threshold = 2 }", SUM, STAIRS + "eps = 1"),
    "stairs of halves": ("[0, 0.5, 2]", "records = 2", SUM, STAIRS + "eps = 0.7"),
    "stairs, somebody absent": (STEPS, 'records = 3\nadjacency = "add-remove"', SUM, STAIRS + "eps = 2"),
    "count with stairs": (STEPS, "records = 3", COUNT, STAIRS + "eps = 0.7"),
    "histogram with stairs": (TEXTS, "records = 3", TABLE, STAIRS + "eps = 0.7"),
    "table of known sum": (STEPS, "records = 3\npermitted = { total = 4 }", TABLE, GEOMETRIC + "eps = 0.7"),
}  # fmt: skip


# Noise that keeps no ε, which no ledger in ε is charged for.
WITHOUT_EPS: dict[str, tuple[str, str, str, str]] = {
    "gaussian sum": (STEPS, "records = 3", SUM, GAUSSIAN + "sigma = 1.7"),
    "gaussian sum of halves": ("[0, 0.5, 2]", "records = 2", SUM, GAUSSIAN + 'sigma = "1/3"'),
    "gaussian count": (STEPS, "records = 3", COUNT, GAUSSIAN + "sigma = 4"),
    "gaussian histogram": (TEXTS, "records = 3", TABLE, GAUSSIAN + "sigma = 0.6"),
}  # fmt: skip


class EveryPrefix(BitSource):
    """Lane i begins with the i-th of all prefixes; whatever is asked for beyond is half a word."""

    name = "every prefix (not secret)"
    secure = False

    def _words(self, level: int, lanes: Any, dtype: np.dtype[Any]) -> np.ndarray:
        assert dtype == np.uint64
        if level:
            return np.full(len(lanes), 2**63, dtype=np.uint64)
        return (np.asarray(lanes, dtype=np.uint64) << np.uint64(50)) + np.uint64(2**49)


def described(folder: Path, kind: str) -> PolicyScenario:
    values, policy, query, mechanism = {**KINDS, **WITHOUT_EPS}[kind]
    text = FILE.format(values=values, policy=policy, query=query, mechanism=mechanism)
    (folder / "file.toml").write_text(text, encoding="utf-8")
    (folder / "budget.toml").write_text("person = 30.0\n")
    (folder / "channel.csv").write_text("x,a,b,c\na,1/2,1/4,1/4\nb,1/4,1/2,1/4\nc,1/4,1/4,1/2\n")
    first, second = {"[0, 1, 5]": ("1", "5"), "[0, 0.5, 2]": ("0.5", "2"), "[4]": ("4", "4")}.get(
        values, ("0", "2")
    )
    first, second = ("a", "b") if values == TEXTS else (first, second)
    first, second = ("0.1", "0.2") if "0.1" in values else (first, second)
    records = [first, second, second][: 2 if "records = 2" in policy else 3]
    (folder / "data.csv").write_text("\n".join(["value", *records]) + "\n")
    return load_policy_scenario(folder / "file.toml")


def agrees(drawn: np.ndarray, law: Callable[[int], float]) -> None:
    """Each outcome as often as its law says; what never came out has next to no probability."""
    values, counts = np.unique(drawn, return_counts=True)
    expected = np.array([law(int(value)) for value in values])
    assert np.abs(counts - PREFIXES * expected).max() <= CUT
    assert 1 - expected.sum() <= CUT * len(values) / PREFIXES


def law_of_one_cell(noise: TableNoise, true: int) -> Callable[[int], float]:
    """P(first cell = y) from the law of whole tables, the others held fixed."""
    table = np.array([true, *[1] * (len(noise.statistic.cells) - 1)])

    def weight(y: int) -> float:
        return math.exp(noise.log_probability(table, np.array([y, *table[1:]])))

    total = math.fsum(map(weight, range(true - 400, true + 401)))
    return lambda y: weight(y) / total


@pytest.mark.parametrize("kind", [*KINDS, *WITHOUT_EPS])
def test_the_law_of_what_is_drawn_is_the_channel_that_is_audited(tmp_path: Path, kind: str) -> None:
    scenario = described(tmp_path, kind)
    plan = make_plan(scenario)
    if plan.noise is not None:
        for true in (0, 1, 3):
            drawn = plan.sampler(EveryPrefix()).draw(np.full(PREFIXES, true))
            agrees(drawn, law_of_one_cell(plan.noise, true))
        return
    channel = scenario.channel
    with np.errstate(invalid="ignore"):
        apart = np.abs(plan.channel.log_matrix - channel.log_matrix)
    # Fractions next to floats: at most what is mixed in where rounding exceeds the claim.
    assert (np.nan_to_num(apart) <= 1e-9).all()
    for x in range(channel.shape[0]):
        drawn = plan.sampler(EveryPrefix()).draw_positions(np.full(PREFIXES, x))
        agrees(drawn, channel.row(channel.inputs[x]).__getitem__)


@pytest.mark.parametrize("kind", [variant for variant in KINDS if KINDS[variant][2] in (COUNT, SUM)])
def test_noise_without_a_list_is_the_listed_channel(tmp_path: Path, kind: str) -> None:
    """Counts and sums are audited by a channel on their answers; the noise that is drawn has the same law."""
    scenario = described(tmp_path, kind)
    noise = make_plan(scenario).noise
    listed = scenario.channel
    if noise is None or isinstance(listed, TableNoise):
        return
    assert isinstance(noise, ScalarNoise)
    # Noise on all integers is listed with everything beyond the answers as one output at either end, stairs
    # with as many outputs as one has steps.
    stairs = isinstance(noise.law, StaircaseLaw) and noise.limits is None
    width = noise.law.sensitivity if isinstance(noise.law, StaircaseLaw) and stairs else 1
    outputs = range(len(listed.finite().outputs))
    first = listed.finite().outputs[0]
    start = int(first) if not isinstance(first, str) else 0
    start = min(listed.inputs) - width if stairs else start
    for true in listed.inputs:
        law = law_of_one_cell(noise, true)
        row = np.zeros(len(outputs))
        for y in range(true - 400, true + 401):
            place = y - start
            while not 0 <= place < len(row):
                place += width if place < 0 else -width
            row[place] += law(y) if noise.limits is None or _within(noise, y) else 0
        assert row == pytest.approx(listed.finite().row(true), abs=1e-12)


def _within(noise: TableNoise, y: int) -> bool:
    assert noise.limits is not None
    return noise.limits[0] <= y <= noise.limits[1]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_claimed_is_what_the_ledger_is_charged(tmp_path: Path, kind: str) -> None:
    scenario = described(tmp_path, kind)
    claimed, plan = scenario.claimed_eps, make_plan(scenario)
    assert sv.release.preview(scenario).eps == plan.eps
    done = sv.release.run(scenario)
    assert done.eps == plan.eps == 30 - done.remaining
    if plan.noise is not None:
        assert done.eps == plan.noise.epsilon(scenario.policy)
    else:
        # Never below what the drawn channel satisfies, to the last digits of the logarithms.
        assert float(done.eps) >= sv.epsilon(plan.channel, scenario.answers).nats * (1 - 1e-12) - 1e-14
    if kind in ("clamped", "matrix"):  # these satisfy less than they claim, and are charged what they satisfy
        assert done.eps < claimed
        return
    written = scenario.mechanism.promised
    if written is not None:
        assert done.eps == Fraction(str(written))
    elif claimed is not None:
        assert claimed <= done.eps <= claimed + 2e-9


def test_one_record_moves_a_table_of_known_total_by_pairs(tmp_path: Path) -> None:
    plan = make_plan(described(tmp_path, "table of known sum"))
    assert plan.noise is not None and plan.sensitivity is not None
    assert plan.noise.eps_of(plan.sensitivity) == plan.eps == Fraction(7, 10)


MAP = """version = 1
[policy.secrets]
metric = "euclidean"
region = { south = 52.505, west = 13.36, north = 52.512, east = 13.38, cell = 250 }
[mechanism]
kind = "KIND"
eps = 0.004
[data]
input = "places.csv"
column = ["lat", "lon"]
[release]
ledger = "budget.toml"
"""


def test_planar_noise_has_the_law_of_its_channel(tmp_path: Path) -> None:
    """100 000 draws from one corner and one inner cell; fails by chance once in a million (fixed seed)."""
    (tmp_path / "map.toml").write_text(MAP.replace("KIND", "planar-geometric"))
    plan = make_plan(load_policy_scenario(tmp_path / "map.toml"))
    noise = plan.channel
    assert isinstance(noise, PlanarNoise) and plan.places is not None
    assert plan.unit_eps == noise.eps == Fraction(4, 1000) and noise.level.exact_eps == 1
    rows, columns = noise.region.shape
    for cell in ((0, 0), (1, 2)):
        drawn = plan.places.draw(plan.sampler(SeededBits(3)), np.tile(cell, (100_000, 1)))
        counts = np.bincount(drawn[:, 0] * columns + drawn[:, 1], minlength=rows * columns)
        law = noise.law(cell)
        assert law.sum() == pytest.approx(1, abs=1e-12)
        assert chisquare(counts, law.ravel() * 100_000).pvalue > 1e-6
        listed = noise.finite().row(cell)
        assert law.ravel() == pytest.approx(listed, rel=1e-9)
        assert noise.log_probability(cell, (0, 1)) == pytest.approx(math.log(law[0, 1]))


def test_a_channel_on_the_cells_of_a_map(tmp_path: Path) -> None:
    text = MAP.replace('"KIND"', '"exponential"\nlevel = "true"')
    (tmp_path / "map.toml").write_text(text)
    scenario = load_policy_scenario(tmp_path / "map.toml")
    plan = make_plan(scenario)
    assert plan.channel.matrix == pytest.approx(scenario.channel.matrix, rel=1e-9)
    for x in (0, 5):
        drawn = plan.sampler(EveryPrefix()).draw_positions(np.full(PREFIXES, x))
        agrees(drawn, scenario.channel.rounded()[x].__getitem__)


def test_the_law_of_a_small_table_adds_up() -> None:
    """Every output of a clamped table of two cells, and the likelihood ratios that its ε allows."""
    policy = sv.Policy.differential(["a", "b"], 3)
    table = sv.Query.histogram().statistic(policy)
    assert table is not None
    noise = geometric_table_noise(table, table.sensitivity(policy).steps, Fraction(1), limits=(0, 3))
    assert isinstance(noise, HistogramNoise) and noise.epsilon(policy) == 1
    outputs = [np.array([i, j]) for i in range(4) for j in range(4)]
    laws = {
        true: np.exp([noise.log_probability(np.array(true), output) for output in outputs])
        for true in ((3, 0), (2, 1), (1, 2), (0, 3))
    }
    assert all(law.sum() == pytest.approx(1, abs=1e-12) for law in laws.values())
    ratio = np.log(laws[3, 0] / laws[2, 1])
    assert np.abs(ratio).max() == pytest.approx(1)
    # The guess about one record, given the others, is the closed form.
    assert likelihood_of(noise, np.full(2, 0.5)).guess().guess == pytest.approx(
        max(np.maximum(laws[a], laws[b]).sum() / 2 for a, b in (((3, 0), (2, 1)), ((2, 1), (1, 2))))
    )
    drawn = for_channel(noise, insecure_rng=EveryPrefix()).draw(np.full(PREFIXES, 2))
    agrees(drawn, law_of_one_cell(noise, 2))


def test_noise_without_a_list_says_so() -> None:
    policy = sv.Policy.differential(range(12), 10**6)
    table = sv.Query.histogram().statistic(policy)
    assert table is not None
    noise = geometric_table_noise(table, table.sensitivity(policy).steps, Fraction(1, 4))
    for ask in (lambda: noise.shape, lambda: noise.inputs, lambda: noise.matrix, noise.finite):
        with pytest.raises(sv.errors.TooLargeError, match="too many answers and outputs to list"):
            ask()
    assert "discrete Laplace noise, ε = 1/8 for each step of 1" in str(noise)
    again = pickle.loads(pickle.dumps(noise))
    assert again.written == noise.written and str(again) == str(noise)
    simulated = noise.sample([np.full(12, 50)] * 3, rng=1)
    assert simulated.shape == (3, 12)


@pytest.mark.parametrize("law", [sv.mechanisms.randomised_response, sv.mechanisms.truncated_geometric])
def test_a_family_that_breaks_its_own_promise_is_not_drawn(tmp_path: Path, law: Callable[..., Any]) -> None:
    class Lying(EpsilonFamily):
        """Twice the ε that it says."""

        def channel(self, answers: Answers, query: Query) -> sv.Channel:
            assert self.eps is not None
            return law(answers.labels, 2 * self.eps)

    variant(Family, "lying")(Lying)
    try:
        values, policy, query, _ = KINDS["truncated"]
        text = FILE.format(values=values, policy=policy, query=query, mechanism='kind = "lying"\neps = 1.0')
        (tmp_path / "file.toml").write_text(text, encoding="utf-8")
        with pytest.raises(FileError, match="claims ε = 1 but only satisfies ε = "):
            make_plan(load_policy_scenario(tmp_path / "file.toml"))
    finally:
        del Family.registry["lying"]


@pytest.mark.parametrize("sampler", ["exact", "float"])
def test_a_matrix_that_breaks_its_claim_is_not_drawn(tmp_path: Path, sampler: str) -> None:
    path = tmp_path / "file.toml"
    described(tmp_path, "matrix")
    text = path.read_text(encoding="utf-8") + f'sampler = "{sampler}"\n'
    path.write_text(text, encoding="utf-8")
    assert make_plan(load_policy_scenario(path)).exact is (sampler == "exact")
    path.write_text(text.replace("eps = 1.0", "eps = 0.1"), encoding="utf-8")
    with pytest.raises(FileError, match=r"claims ε = 0\.1 but only satisfies ε = 0\.693147"):
        make_plan(load_policy_scenario(path))


def test_a_preview_says_why_another_eps_is_charged_than_audited(tmp_path: Path) -> None:
    """e^-600 in fractions cannot keep ε = 600 and be rounded: what is drawn is mixed, and costs less."""
    path = tmp_path / "file.toml"
    mechanism = 'kind = "exponential"\neps = {}'
    text = FILE.format(values=TEXTS, policy="", query=RECORD, mechanism=mechanism)
    (tmp_path / "budget.toml").write_text("person = 1000.0\n")
    path.write_text(text.format("600.0"), encoding="utf-8")
    found = sv.release.preview(path)
    assert sv.audit(path).epsilon.nats == pytest.approx(600) and found.eps < 30
    (note,) = [warning for warning in found.warnings if "in fractions" in warning]
    assert f"have ε = {float(found.eps):.6g}, which is charged" in note and "has ε = 600" in note
    path.write_text(text.format("1.0"), encoding="utf-8")
    usual = sv.release.preview(path)
    assert usual.eps == 1 and not any("in fractions" in warning for warning in usual.warnings)
