"""The worked examples of Fernandes, chapters 2 to 4, that are about leakage, and their errata."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sievert as sv

F = Fraction


def values(channel: sv.Channel, prior: Any = None, gain: Any = None) -> tuple[Any, Any]:
    """Prior and average posterior vulnerability."""
    found = sv.leakage(channel, prior, gain)
    return found.prior, found.posterior


def test_fernandes_3_0_bayes_leakage() -> None:
    """Fernandes Ex 2.1 (stand-in): V_1 1/3 → 7/12, additive 1/4, multiplicative 7/4, max case 1."""
    channel = sv.Channel([["1/2", "1/2", 0], [0, "1/4", "3/4"], [0, "1/2", "1/2"]])
    found = sv.leakage(channel)
    assert (found.prior, found.posterior) == (F(1, 3), F(7, 12))
    assert (found.difference, found.factor) == (F(1, 4), F(7, 4))
    assert found.bits == pytest.approx(math.log2(7 / 4))
    assert sv.posterior_vulnerability(channel, case="max").value == 1


def square() -> sv.Metric:
    """Corners of the unit square, Euclidean distance."""
    return sv.metrics.euclidean([[0, 0], [0, 1], [1, 0], [1, 1]])


def test_fernandes_ex_2_3_closeness() -> None:
    """Ex 2.3: guessing a corner V = (3 - √2)/4 = 0.396447 for each guess; any point: the centre, V = 1/2."""
    gain = sv.gains.closeness(square())
    expected = (3 - math.sqrt(2)) / 4
    assert gain.matrix @ np.full(4, 0.25) == pytest.approx([expected] * 4)
    assert f"{float(sv.vulnerability(None, gain)):.6f}" == "0.396447"
    grid = np.linspace(0, 1, 21)
    guesses = [
        [math.hypot(x - a, y - b) for a, b in ((0, 0), (0, 1), (1, 0), (1, 1))] for x in grid for y in grid
    ]
    free = sv.gains.closeness(square(), guesses)
    found = sv.vulnerability(None, free)
    assert float(found) == pytest.approx(0.5)
    assert guesses[found.action] == pytest.approx([math.sqrt(0.5)] * 4)  # type: ignore[call-overload]


def test_fernandes_e2_the_centre_gains_one_half() -> None:
    """E2: the gains of the centre are printed as 1/√2; then V would be 0.707, not the printed 1/2."""
    centre = sv.gains.closeness(square(), [[math.sqrt(0.5)] * 4])
    assert centre.matrix == pytest.approx(np.full((1, 4), 0.5))
    assert float(sv.vulnerability(None, centre)) == pytest.approx(0.5)
    printed = sv.gains.matrix([[1 / math.sqrt(2)] * 4])
    assert float(sv.vulnerability(None, printed)) == pytest.approx(0.7071068)


@pytest.mark.parametrize(
    ("prior", "before", "after"),
    [
        (None, F(1, 2), F(9, 10)),
        (["99/100", "1/100"], F(99, 100), F(99, 100)),
        (["9/10", "1/10"], F(9, 10), F(9, 10)),
        (["8/9", "1/9"], F(8, 9), F(9, 10)),
    ],
)
def test_fernandes_sec_2_2_3_base_rate(prior: list[str] | None, before: Fraction, after: Fraction) -> None:
    channel = sv.Channel([["9/10", "1/10"], ["1/10", "9/10"]])
    assert values(channel, prior) == (before, after)


def test_fernandes_ex_2_2_property_and_e1() -> None:
    """Ex 2.2, E1: the gain is 1 if x is in the guessed set w; "x in W" would gain 1 whatever the guess."""
    salaries = [10, 20, 60, 100]
    gain = sv.gains.property(salaries, [60, 100])
    assert gain.matrix.tolist() == [[0, 0, 1, 1], [1, 1, 0, 0]]
    assert gain.actions == (True, False)
    prior = ["1/2", "1/8", "1/4", "1/8"]
    found = sv.vulnerability(prior, gain)
    assert (found.value, found.action) == (F(5, 8), False)
    printed = sv.gains.matrix([[1, 1, 1, 1], [1, 1, 1, 1]])
    assert sv.vulnerability(prior, printed).value == 1


def test_fernandes_e3_nothing_to_gain_leaks_factor_one() -> None:
    """E3: with prior and posterior 0 the factor is 1, the least possible, not 0."""
    gain = sv.gains.matrix([[0, 1]])
    found = sv.leakage(sv.Channel.identity(2), [1, 0], gain)
    assert (found.prior, found.posterior, found.factor, found.bits) == (0, 0, 1, 0)
    found = sv.leakage(sv.Channel.identity(2), [1.0, 0.0], gain)
    assert (found.factor, found.difference, found.bits) == (1, 0, 0)


def test_fernandes_ex_4_1_the_average_hides_a_breach() -> None:
    """Ex 4.1 (3.7): V_1 = 1/3 + s/3 and factor 1 + s, yet 1 in the max case."""
    for s in (F(1, 100), F(1, 4)):
        half = F(1, 2)
        channel = sv.Channel([[s, half, half - s], [0, half, half], [0, half, half]])
        found = sv.leakage(channel)
        assert (found.posterior, found.factor) == (F(1, 3) + s / 3, 1 + s)
        worst = sv.posterior_vulnerability(channel, case="max")
        assert (worst.value, worst.output, worst.action) == (1, 0, 0)
    assert F(1, 3) + F(1, 300) == F(101, 300)


def fig_4_1() -> tuple[sv.Channel, sv.Channel]:
    """TG at α = 25/27 and R at α = 1/2 on 0…100."""
    geometric = sv.mechanisms.truncated_geometric(101, alpha=F(25, 27))
    return geometric, sv.mechanisms.randomised_response(101, alpha="1/2")


@pytest.mark.parametrize(
    ("radius", "geometric", "response"),
    [
        (0, "0.0479817", "0.0196078"),
        (1, "0.136132", "0.0392157"),
        (5, "0.416865", "0.117647"),
        (20, "0.877448", "0.411765"),
    ],
)
def test_fernandes_fig_4_1_guess_within_a_radius(radius: int, geometric: str, response: str) -> None:
    """Ex 4.1.2 (3.15): an attacker who guesses within ±r under the uniform prior."""
    gain = sv.gains.within(sv.metrics.line(101), radius)
    for channel, printed in zip(fig_4_1(), (geometric, response), strict=True):
        rounded = sv.Channel(channel.matrix)
        assert f"{float(sv.posterior_vulnerability(rounded, None, gain)):.6g}" == printed


def test_fernandes_e12_neighbours_the_geometric_is_safer_only_in_the_max_case() -> None:
    """E12: on {49, 50, 51} TG gives a Bayes attacker more on average, less only in the max case."""
    geometric, response = fig_4_1()
    prior = [F(int(x in (49, 50, 51)), 3) for x in range(101)]
    average = [sv.posterior_vulnerability(c, prior).value for c in (geometric, response)]
    worst = [sv.posterior_vulnerability(c, prior, case="max").value for c in (geometric, response)]
    assert average == [F(14, 39), F(52, 153)]
    assert worst == [F(729, 2029), F(1, 2)]
    assert average[0] > average[1]
    assert worst[0] < worst[1]
    assert [f"{float(v):.6f}" for v in (*average, worst[0])] == ["0.358974", "0.339869", "0.359290"]
    distances = [
        sum(abs(p - q) for p, q in zip(c.exact[49], c.exact[50], strict=True)) / 2  # type: ignore[index]
        for c in (geometric, response)
    ]
    assert distances == [F(1, 26), F(1, 102)]


def program(function: Any, size: int) -> sv.Channel:
    """A deterministic program on 0…size-1 as a channel."""
    outputs = sorted({function(h) for h in range(size)})
    matrix = np.zeros((size, len(outputs)), dtype=np.int64)
    matrix[np.arange(size), [outputs.index(function(h)) for h in range(size)]] = 1
    return sv.Channel(matrix, outputs=outputs)


def test_fernandes_e11_programs_on_fewer_bits() -> None:
    """E11 (Ex 4.1.1 with 10 bits): the low 8 bits leak more than the low 4; mod is the remainder."""
    size = 2**10
    p1 = program(lambda h: h if h % 8 == 0 else 1, size)
    p2 = program(lambda h: h if h % 4 == 0 else 1, size)
    p3, p4 = program(lambda h: h % 2**8, size), program(lambda h: h % 2**4, size)
    factors = [sv.capacity(c).factor for c in (p1, p2, p3, p4)]
    assert factors == [size // 8 + 1, size // 4 + 1, 256, 16]
    assert factors[2] > factors[3]
    assert sv.posterior_vulnerability(sv.Channel(p1.matrix)).value == pytest.approx((size // 8 + 1) / size)
    # With integer division instead of the remainder only 8 values would be revealed.
    divided = program(lambda h: h if h // 8 == 0 else 8, size)
    assert sv.capacity(divided).factor == 9
    bits = [
        float(sv.leakage(sv.Channel(c.matrix), None, sv.losses.shannon(size), kind="additive"))
        for c in (p3, p4)
    ]
    assert bits == pytest.approx([8, 4])


def test_fernandes_quasi_convex_vulnerability_in_the_max_case() -> None:
    """Sec 4.3: Q(π) = 1 - (min π)² is quasi-convex, not convex."""
    gain = sv.gains.of_belief(lambda belief: 1 - float(belief.min()) ** 2, 2, "least likely")
    belief = [np.array(p) for p in ([0.3, 0.7], [0.5, 0.5], [0.7, 0.3])]
    first, middle, last = (gain.function(b) for b in belief)
    assert middle <= max(first, last)
    assert gain.function(np.array([0.4, 0.6])) > (gain.function(np.array([0.3, 0.7])) + middle) / 2
    channel = sv.Channel([[0.9, 0.1], [0.3, 0.7]])
    worst = sv.leakage(channel, [0.5, 0.5], gain, case="max")
    assert worst.posterior > worst.prior == 0.75
    narrow = sv.Channel([["1/3", "2/3"], ["2/3", "1/3"]])
    prior = [0.4, 0.6]
    assert float(sv.posterior_vulnerability(narrow, prior, gain)) < 1
