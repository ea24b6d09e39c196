"""Loss functions: the library, their algebra, and which classes they belong to, with witnesses."""

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert import testing
from sievert.errors import GainError
from sievert.measures import losses as algebra
from sievert.measures import single_crossing_order


def expected_loss(channel: sv.Channel, prior: Any = None, loss: Any = None) -> Any:
    """What is lost with the best action for each output."""
    return sv.remap(channel, prior, loss).after


def rows(*columns: Any) -> sv.losses.matrix:  # type: ignore[valid-type]
    """A loss printed with secrets in rows, as the thesis does."""
    return sv.losses.matrix([list(row) for row in zip(*columns, strict=True)])


LINE, DISCRETE = sv.metrics.line, sv.metrics.discrete


class TestExample64:
    """Fernandes, Example 6.4, with its erratum 9."""

    monotone = rows([0, "1/2", "3/5"], ["3/4", "1/4", "3/4"], [1, "2/3", "1/3"])
    extended = rows([1, 0], [0, 1], [1, 0], [0, 0])
    trivial = rows(["1/2", "1/2"], ["3/4", "3/4"], [1, 1])
    both = rows(["1/2", 1], ["1/2", 1], ["1/2", 1], [0, 0])

    def test_monotone_only_on_the_line(self) -> None:
        assert sv.losses.classify_loss(self.monotone, LINE(3)).monotonic == {0: 0, 1: 1, 2: 2}
        assert sv.losses.classify_loss(self.monotone, DISCRETE(3)).monotonic is None

    def test_extended(self) -> None:
        for metric in (LINE(4), DISCRETE(4)):
            found = sv.losses.classify_loss(self.extended, metric)
            assert found.extended_on == (0, 1, 2) and found.monotonic is None

    def test_trivial(self) -> None:
        for metric in (LINE(3), DISCRETE(3)):
            found = sv.losses.classify_loss(self.trivial, metric)
            assert found.trivial == 0 and found.monotonic is not None
            assert "best whatever" in str(found)

    def test_erratum_9(self) -> None:
        """Claimed to be non-monotone, it is monotone on the line, as witnessed."""
        found = sv.losses.classify_loss(self.both, LINE(4))
        assert found.trivial == 0 and found.monotonic is not None
        assert sv.losses.classify_loss(self.both, DISCRETE(4)).monotonic is None


def test_strict_monotonicity() -> None:
    absolute, bayes = sv.losses.absolute(4), sv.losses.bayes_risk(4)
    assert sv.losses.classify_loss(absolute, LINE(4)).strictly_monotonic
    assert sv.losses.classify_loss(absolute, DISCRETE(4)).monotonic is None
    assert sv.losses.classify_loss(bayes, DISCRETE(4)).strictly_monotonic
    found = sv.losses.classify_loss(bayes, LINE(4))
    assert found.monotonic is not None and not found.strictly_monotonic
    # Lem 6.35: strictly monotonic losses have no trivial pair.
    assert sv.losses.classify_loss(absolute, LINE(4)).pairwise_nontrivial


def test_restriction_may_lose_monotonicity_erratum_8() -> None:
    """|w - x| on three guesses over two secrets: three losses at a secret, but only two distances."""
    part = algebra.restricted(sv.losses.absolute(3), [0, 1])
    assert sv.losses.classify_loss(part, LINE(2)).monotonic is None


def test_new_losses_are_monotone_after_all_erratum_10() -> None:
    """(a, 1, b) against (c, 1, d): every non-trivial one is monotone on the line."""
    rng = np.random.default_rng(0)
    seen = 0
    for _ in range(200):
        a, b, c, d = rng.integers(0, 5, 4).tolist()
        found = sv.losses.classify_loss(sv.losses.matrix([[a, 1, b], [c, 1, d]]), LINE(3))
        if found.trivial is None:
            seen += 1
            assert found.monotonic is not None and found.single_crossing is not None
    assert seen > 50


def test_small_trivial_example() -> None:
    found = sv.losses.classify_loss(sv.losses.matrix([[0, 1, 1], [1, 2, 3]]))
    assert found.trivial == 0


def test_properties_pairs_and_shapes() -> None:
    parity = sv.losses.property(4, [0, 2])
    found = sv.losses.classify_loss(parity)
    assert found.blocks is not None and {frozenset(block) for block in found.blocks} == {
        frozenset({0, 2}),
        frozenset({1, 3}),
    }
    assert found.two_actions and found.single_crossing is None
    assert found.trivial_pairs == ((0, 2), (1, 3)) and found.pairs_bipartite
    assert not sv.losses.classify_loss(sv.losses.bayes_risk(3)).pairs_bipartite
    wrong = sv.losses.classify_loss(sv.losses.matrix(np.eye(3, dtype=int)))
    assert len(wrong.trivial_pairs) == 3 and wrong.trivial is None
    squared = sv.losses.classify_loss(sv.losses.squared(5))
    assert squared.monge and squared.symmetric and squared.unimodal
    assert not sv.losses.classify_loss(parity).monge


def test_the_library() -> None:
    assert sv.losses.pinball([0, 2], "1/4").table.tolist() == [[0, F(1, 2)], [F(3, 2), 0]]
    assert sv.losses.tolerance([0, 1, 5], 1).table.tolist() == [[0, 0, 1], [0, 0, 1], [1, 1, 0]]
    assert sv.losses.threshold([1, 5, 9], 5).table.tolist() == [[0, 1, 1], [1, 0, 0]]
    assert sv.losses.distance(LINE([0, 3])).table.tolist() == [[0.0, 3.0], [3.0, 0.0]]
    # The best pinball guess is the quantile.
    channel = sv.Channel([[1], [1], [1], [1]])
    assert sv.remap(channel, None, sv.losses.pinball(4, 0.7)).actions == {0: 2}
    for wrong, message in (
        (lambda: sv.losses.pinball(3, 2), "quantile is 2"),
        (lambda: sv.losses.pinball(3, "much"), "quantile is 'much'"),
        (lambda: sv.losses.tolerance(3, -1), "radius is -1"),
        (lambda: sv.losses.absolute(["a"]), "not a number"),
        (lambda: sv.losses.classify_loss(5), "loss is 5; give sv.losses"),
        (lambda: algebra.scaled(sv.losses.absolute(2), -1), "factor is -1"),
        (lambda: algebra.shifted(sv.losses.absolute(2), [1]), "amounts has 1 entries"),
        (lambda: algebra.lifted(sv.losses.absolute(2), [0]), "only adds secrets"),
        (lambda: algebra.restricted(sv.losses.absolute(2), [7]), "7 is not a secret"),
    ):
        with pytest.raises(GainError, match=message):
            wrong()


def test_single_crossing_orders_actions() -> None:
    shuffled = sv.losses.absolute(4).table[[2, 0, 3, 1]].astype(float)
    assert single_crossing_order(shuffled) == [1, 3, 0, 2]
    # A dominated action is left out.
    assert single_crossing_order(np.array([[0.0, 2.0], [1.0, 3.0], [2.0, 0.0]])) == [0, 2]


@given(st.data())
def test_algebra_of_expected_losses(data: st.DataObject) -> None:
    """Eqs 6.3-6.17 in fractions, on any channel and prior."""
    n = data.draw(st.integers(1, 4))
    channel = data.draw(testing.channels((n, n), form="exact"))
    prior = data.draw(testing.priors(n, exact=True))
    numbers = st.lists(st.integers(0, 5), min_size=n, max_size=n)
    first = sv.losses.matrix(data.draw(st.lists(numbers, min_size=1, max_size=3)))
    second = sv.losses.matrix(data.draw(st.lists(numbers, min_size=1, max_size=3)))

    def value(loss: Any) -> Any:
        return expected_loss(channel, prior, loss)

    assert value(algebra.scaled(first, "3/2")) == F(3, 2) * value(first)
    assert value(algebra.shifted(first, 2)) == value(first) + 2
    amounts = data.draw(numbers)
    shift = sum((p * a for p, a in zip(prior, amounts, strict=True)), F(0))
    assert value(algebra.shifted(first, amounts)) == value(first) + shift
    assert value(algebra.combined(first, second, (2, "1/3"))) == 2 * value(first) + F(1, 3) * value(second)
    bare = algebra.canonical(first)
    least = sum((p * m for p, m in zip(prior, first.table.min(axis=0), strict=True)), F(0))
    assert value(bare) + least == value(first)
