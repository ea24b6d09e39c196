"""What observations tell, and what reports determine, by their definitions, against 420 digits."""

from __future__ import annotations

from itertools import product

import pytest
from mpmath import exp, findroot, log, mp, mpf

import sievert as sv

EPSILONS = [1e-12, 1e-9, 1e-5, 1e-2, 1.0, 10.0, 60.0, 350.0, 700.0]
PRIORS = {"none": None, "uneven": [0.5, 0.25, 0.25], "skewed": [0.75, 0.125, 0.125]}
LOSSES = {
    "absolute": (sv.losses.absolute(3), [[0, 1, 2], [1, 0, 1], [2, 1, 0]]),
    "risk": (sv.losses.bayes_risk(3), [[0, 1, 1], [1, 0, 1], [1, 1, 0]]),
    "own": (sv.losses.matrix([[0, 1, 5], [2, 0, 1], [1, 1, 0]]), [[0, 1, 5], [2, 0, 1], [1, 1, 0]]),
}


def response(n, eps):
    grown = exp(mpf(eps))
    return [[(grown if i == j else 1) / (grown + n - 1) for j in range(n)] for i in range(n)]


def geometric(n, eps):
    a = exp(-mpf(eps))
    ends = [1 / (1 + a), *[(1 - a) / (1 + a)] * (n - 2), 1 / (1 + a)]
    return [[ends[j] * a ** abs(i - j) for j in range(n)] for i in range(n)]


FAMILIES = {
    "response": (sv.mechanisms.randomised_response, response),
    "geometric": (sv.mechanisms.truncated_geometric, geometric),
}


@pytest.fixture(autouse=True)
def digits(many_digits):
    """Four observations miss by e^-2800."""
    with mp.workdps(1500):
        yield


@pytest.fixture(params=FAMILIES)
def family(request):
    return FAMILIES[request.param]


@pytest.fixture(params=PRIORS)
def prior(request):
    return PRIORS[request.param]


def joint(rows, prior, times):
    """Columns of the joint distribution of the secret and several outputs."""
    belief = [mpf(1) / 3] * 3 if prior is None else [mpf(p) for p in prior]
    found = []
    for outputs in product(range(3), repeat=times):
        column = list(belief)
        for y in outputs:
            column = [p * row[y] for p, row in zip(column, rows, strict=True)]
        found.append(column)
    return found


@pytest.mark.parametrize("times", [1, 2, 4])
@pytest.mark.parametrize("eps", EPSILONS)
def test_success(agrees, family, prior, eps, times):
    mechanism, table = family
    found = sv.success_probability(mechanism(3, eps), prior, times)
    missed = sum(sum(column) - max(column) for column in joint(table(3, eps), prior, times))
    agrees(found.value, 1 - missed)
    agrees(found.missing_bits, -log(missed) / log(2))


@pytest.mark.parametrize("times", [1, 2, 4])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("eps", EPSILONS)
def test_expected_loss(agrees, family, prior, eps, loss, times):
    mechanism, table = family
    given, rows = LOSSES[loss]
    found = sv.observations.expected_loss(mechanism(3, eps), prior, given, times)
    columns = joint(table(3, eps), prior, times)
    true = sum(
        min(sum(w * p for w, p in zip(row, column, strict=True)) for row in rows) for column in columns
    )
    agrees(found.value, true)
    agrees(found.gap, true)  # all three losses are 0 for someone who knows the value


@pytest.mark.parametrize("eps", EPSILONS)
def test_belief_in_a_predicate(agrees, family, prior, eps):
    mechanism, table = family
    columns = joint(table(3, eps), prior, 1)
    for members in ((0,), (1,), (0, 2)):
        found = sv.breaches(mechanism(3, eps), prior, members).predicate
        before = sum(mpf(1) / 3 if prior is None else mpf(prior[i]) for i in members)
        inside = [sum(column[i] for i in members) for column in columns]
        beliefs = [part / sum(column) for part, column in zip(inside, columns, strict=True)]
        changes = [log(max(beliefs) / before) / log(2), -log(min(beliefs) / before) / log(2)]
        agrees(found.bits, max(changes))
        for bits, change in zip((found.up_bits, found.down_bits), changes, strict=True):
            # Where the first order in ε cancels, nothing is left of a float's digits.
            if change > eps / 100 or eps > 1e-4:
                agrees(bits, change)
        after = sum(max(part, sum(column) - part) for part, column in zip(inside, columns, strict=True))
        gained = after - max(before, 1 - before)
        agrees(
            found.average_bits,
            0 if gained < mpf("1e-1000") else log(after / max(before, 1 - before)) / log(2),
        )


@pytest.mark.parametrize("eps", EPSILONS)
def test_shannon_capacity_of_the_truncated_geometric(agrees, eps):
    """Of three values the ends are equally likely under the best prior; how likely is one equation."""
    two = geometric(2, eps)
    noise = sum(-p * log(p) for p in two[0])
    agrees(
        sv.capacity(sv.mechanisms.truncated_geometric(2, eps), kind="shannon").bits, (log(2) - noise) / log(2)
    )
    rows = geometric(3, eps)

    def divergence(row, output):
        return sum(p * log(p / q) for p, q in zip(row, output, strict=True))

    def output(end):
        return [end * (rows[0][y] + rows[2][y]) + (1 - 2 * end) * rows[1][y] for y in range(3)]

    def gap(end):
        return divergence(rows[0], output(end)) - divergence(rows[1], output(end))

    half = mpf("0.5")
    with mp.workdps(400):
        # The middle value is of use only where it tells more than the ends do without it.
        end = half if gap(half) >= 0 else findroot(gap, (mpf("0.33"), half), solver="anderson", tol=1e-300)
        agrees(
            sv.capacity(sv.mechanisms.truncated_geometric(3, eps), kind="shannon").bits,
            divergence(rows[0], output(end)) / log(2),
        )


@pytest.mark.parametrize("n", [2, 3, 4, 6])
@pytest.mark.parametrize("eps", EPSILONS)
def test_unit_capacity_of_the_truncated_geometric(agrees, eps, n):
    """Least Σ π_x·TV(C_x, r): the unit of r goes where most belief is above it."""
    channel, rows = sv.mechanisms.truncated_geometric(n, eps), geometric(n, eps)
    prior = [0.5, *[0.5 / (n - 1)] * (n - 1)]
    segments = []
    for y in range(n):
        column = sorted((rows[x][y], mpf(prior[x])) for x in range(n))
        lowest = mpf(0)
        for k, (entry, _) in enumerate(column):
            segments.append((sum(weight for _, weight in column[k:]), entry - lowest))
            lowest = entry
    left, value = mpf(1), sum(map(mpf, prior))
    for slope, length in sorted(segments, reverse=True):
        value -= slope * min(length, left)
        left -= min(length, left)
    found = sv.capacity(channel, prior, gains="unit", kind="additive")
    agrees(found.difference, value)
    assert found.certificate.verify()
    if n == 2:
        even = sv.capacity(channel, gains="unit", kind="additive")
        agrees(even.difference, (rows[0][0] - rows[1][0]) / 2)
        assert even.certificate.verify()


@pytest.mark.parametrize("eps", EPSILONS)
def test_whatever_the_noise_the_distribution_is_identified(eps):
    for n in (2, 3, 5):
        for channel in (
            sv.mechanisms.randomised_response(n, eps),
            sv.mechanisms.truncated_geometric(n, eps),
            sv.mechanisms.exponential(sv.metrics.line(min(n, 3)), eps),
            sv.mechanisms.exponential(sv.metrics.discrete(n), eps),
        ):
            found = sv.identifiability(channel)
            assert found.complete and all(found.identified) and not found.same


@pytest.mark.parametrize("eps", EPSILONS)
def test_calibration(agrees, eps):
    line = sv.metrics.line(5)
    found = sv.design.calibration(
        sv.mechanisms.truncated_geometric(5, eps), sv.mechanisms.randomised_response(5, eps), line, 2
    )
    agrees(found.first.worst_nats, 4 * mpf(eps))
    agrees(found.first.within_nats, 2 * mpf(eps))
    agrees(found.second.worst_nats, eps)
    agrees(found.second.within_nats, eps)
    a, grown = exp(-mpf(eps)), exp(mpf(eps))
    agrees(found.first.capacity, (2 + 3 * (1 - a)) / (1 + a))
    agrees(found.second.capacity, 5 * grown / (grown + 4))
    # With next to no noise both tell everything.
    assert found.agrees == (() if eps < 20 else ("capacity",))
