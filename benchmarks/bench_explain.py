"""Claims and curves: exact composition against dp-accounting, and curves of channels against their
definition.

The composition peer discretises privacy losses (interval 1e-4, its default) and convolves; ours sums the
outcomes. The note gives the difference of the two values.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from dp_accounting.pld import privacy_loss_distribution

import sievert as sv
from benchmarks.harness import Row, compare, timed
from sievert.channels.divergences import delta_curve
from sievert.limits._closed_guess_bounds import pure_guess
from sievert.limits._composition import composed_delta

PEER = "dp-accounting"
LEVELS = np.linspace(0, 2, 21)


def run() -> list[Row]:
    """Against a peer where there is one, against the plain form elsewhere."""
    return [
        *(_composition(k) for k in (10, 100, 1_000)),
        *(_line_channel(n) for n in (100, 300, 1_000)),
        *(_every_event(m) for m in (8, 10, 12)),
        *(_many_values(v) for v in (1_000, 10_000, 100_000)),
        *(Row("explain, two values", k, _seconds_of_explain(k)) for k in (10, 1_000, 100_000)),
        *(_audit(n) for n in (1_000, 10_000, 100_000)),
    ]


def _composition(releases: int) -> Row:
    """δ at one ε after k releases of randomised response, ε = 0.1 each."""
    eps, level = 0.1, 0.5
    flip = 2 / (1 + math.exp(eps))

    def theirs() -> float:
        one = privacy_loss_distribution.from_randomized_response(flip, 2, value_discretization_interval=1e-4)
        return float(one.self_compose(releases).get_delta_for_epsilon(level))

    def ours() -> float:
        return float(composed_delta(eps, 0.0, releases, level)[0])

    note = f"difference {abs(ours() - theirs()):.0e}"
    return compare("composition", releases, ours, PEER, theirs, repeat=3, clock="cpu", note=note)


def _line_channel(size: int) -> Row:
    """δ(ε) of a truncated geometric channel over the neighbours of a line, 21 levels."""
    channel = sv.mechanisms.truncated_geometric(size, 1.0)
    line = sv.secrets.line(size)
    matrix = channel.rounded()

    def plain() -> list[float]:
        found = []
        for level in LEVELS:
            worst = 0.0
            for i, h in itertools.chain.from_iterable(((k, k + 1), (k + 1, k)) for k in range(size - 1)):
                worst = max(worst, float(np.maximum(matrix[i] - math.exp(level) * matrix[h], 0).sum()))
            found.append(worst)
        return found

    def ours() -> list[float]:
        return delta_curve(channel, line, LEVELS).delta.tolist()

    assert np.allclose(ours(), plain(), atol=1e-12)
    return compare("δ(ε) of an n×n channel", size, ours, "loop over pairs", plain, repeat=1, clock="cpu")


def _every_event(outputs: int) -> Row:
    """The trade-off function by sorting ratios, against every deterministic test."""
    rng = np.random.default_rng(0)
    channel = sv.Channel(rng.dirichlet(np.ones(outputs), 2))
    p, q = np.asarray(channel.matrix, dtype=float)

    def plain() -> float:
        events = itertools.product([0.0, 1.0], repeat=outputs)
        return max(float(np.dot(e, p) - np.dot(e, q)) for e in events)

    def ours() -> float:
        return sv.divergences.tradeoff_function(channel, pair=(0, 1)).advantage

    assert math.isclose(ours(), plain(), abs_tol=1e-12)
    return compare("trade-off of two rows", outputs, ours, "every event", plain, repeat=1, clock="cpu")


def _many_values(values: int) -> Row:
    """Worst guess under an uneven prior: sorted sums, against trying every number of values."""
    prior = np.random.default_rng(0).dirichlet(np.ones(values))

    def plain() -> float:
        ordered = sorted(prior, reverse=True)
        best, total = 0.0, 0.0
        for used, p in enumerate(ordered, start=1):
            total += p
            best = max(best, total / (1 + (used - 1) * math.exp(-2.0)))
        return best

    def ours() -> float:
        return pure_guess(2.0, values, prior)[0]

    assert math.isclose(ours(), plain())
    return compare("worst guess, v values", values, ours, "plain loop", plain, repeat=3, clock="cpu")


def _seconds_of_explain(releases: int) -> float:
    return timed(lambda: sv.explain(eps=0.01, releases=releases), repeat=2, clock="cpu")


def _audit(samples: int) -> Row:
    rng = np.random.default_rng(0)
    first, second = rng.laplace(0, 1, samples), rng.laplace(1, 1, samples)
    found = sv.estimation.audit_outputs(first, second, rng=0)
    seconds = timed(lambda: sv.estimation.audit_outputs(first, second, rng=0), repeat=2, clock="cpu")
    return Row("audit of Laplace noise, ε = 1", samples, seconds, note=f"ε ≥ {found.eps_lower:.3f}")
