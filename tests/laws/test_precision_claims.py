"""Claims, trade-offs, worst leakage, protocols and noise in closed form, against 420 digits."""

from __future__ import annotations

import pytest
from mpmath import (
    binomial,
    cosh,
    erf,
    erfc,
    exp,
    expm1,
    findroot,
    log,
    mp,
    mpf,
    ncdf,
    pi,
    quad,
    sqrt,
    tanh,
)

import sievert as sv
from sievert.limits import gaussian_delta, zcdp_delta
from sievert.limits.promises import GaussianClaim

EPSILONS = [1e-12, 1e-9, 1e-5, 1e-2, 1.0, 10.0, 60.0, 350.0, 700.0]


@pytest.fixture(autouse=True)
def digits(many_digits):
    """A probability next to 1 is e^-700 away from it."""
    with mp.workdps(420):
        yield


@pytest.mark.parametrize("eps", EPSILONS)
@pytest.mark.parametrize("n", [2, 3, 1000, 10**6])
def test_variances_of_protocols(agrees, eps, n):
    grown, root = exp(mpf(eps)), exp(mpf(eps) / 2)
    hashing = sv.protocols.local_hashing(n, eps)
    buckets = hashing.buckets
    known = [
        (sv.protocols.randomised_response(n, eps), grown / (grown + n - 1), 1 / (grown + n - 1)),
        (sv.protocols.unary(n, eps), mpf(1) / 2, 1 / (grown + 1)),
        (sv.protocols.unary(n, eps, kind="symmetric"), root / (root + 1), 1 / (root + 1)),
        (hashing, grown / (grown + buckets - 1), mpf(1) / buckets),
    ]
    for protocol, p, q in known:
        agrees(protocol.truth, p)
        agrees(protocol.other, q)
        for f in (0.0, 0.3, 1.0):
            share = mpf(f)
            expected = (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (1000 * (p - q) ** 2)
            agrees(protocol.variances(f, 1000), expected)


@pytest.mark.parametrize("eps", EPSILONS)
def test_worst_leakage(agrees, eps):
    e = mpf(str(eps))
    spaces = [
        (sv.metrics.discrete(4), log(4 / (1 + 3 * exp(-e)))),
        (sv.metrics.line(5), log(1 + 4 * tanh(e / 2))),
        (sv.metrics.cycle(5), log(5 / (1 + 2 * exp(-e) + 2 * exp(-2 * e)))),
        (sv.graphs.cycle(6), log(6 / (1 + 2 * exp(-e) + 2 * exp(-2 * e) + exp(-3 * e)))),
        (sv.metrics.hamming(3, 2), 3 * log(2 / (1 + exp(-e)))),
        (sv.graphs.grid(3, 4), log(1 + 2 * tanh(e / 2)) + log(1 + 3 * tanh(e / 2))),
        (sv.graphs.star(5), e if e <= log(3) else log(1 + 4 * tanh(e / 2))),
        (sv.metrics.line(1), 0),
        (sv.metrics.discrete(5000), log(5000 / (1 + 4999 * exp(-e)))),
    ]
    for space, expected in spaces:
        found = sv.worst_leakage(space, eps)
        assert found.exact is not None, space
        agrees(found.exact.bits, mpf(expected) / log(2))
        assert found.lower.bits <= found.exact.bits <= found.upper.bits
        if expected == 0:
            assert found.upper.bits == found.packing.bits == 0


def test_least_valid_bound_wins_at_tiny_eps():
    found = sv.worst_leakage(sv.graphs.grid(3, 3), 1e-12)
    assert found.upper.bits <= min(found.packing.bits, found.radius.bits * (1 + 1e-3))


@pytest.mark.parametrize("eps", EPSILONS)
@pytest.mark.parametrize("releases", [1, 2, 5, 100])
@pytest.mark.parametrize("delta", [0.0, 1e-12, 0.1])
def test_distinguishing_after_several_releases(agrees, eps, releases, delta):
    p = 1 / (1 + exp(-mpf(eps)))
    apart = sum(
        binomial(releases, k) * (p ** (releases - k) * (1 - p) ** k - p**k * (1 - p) ** (releases - k))
        for k in range((releases + 1) // 2)
    )
    lost = 1 - (1 - mpf(delta)) ** releases
    apart = lost + (1 - lost) * apart
    found = sv.explain(eps=eps, delta=delta, releases=releases)
    agrees(found.distinguishing, apart)
    agrees(found.curve.advantage, apart)
    agrees(found.advantage, apart / 2)
    agrees(found.bits, log(1 + apart) / log(2))
    if apart < 1 and releases < 100:
        agrees(found.odds, (1 + apart) / (1 - apart))


@pytest.mark.parametrize("eps", EPSILONS)
def test_advantage_of_curves(agrees, eps):
    channel = sv.mechanisms.randomised_response(3, eps)
    told = expm1(mpf(eps)) / (exp(mpf(eps)) + 2)
    agrees(sv.divergences.tradeoff_function(channel, pair=(0, 1)).advantage, told)
    agrees(sv.divergences.tradeoff_function(channel, sv.metrics.discrete(3)).advantage, told)
    agrees(sv.observations.average_level(channel).distance, told)
    agrees(sv.observations.average_level(channel).bits, log(1 + told) / log(2))
    agrees(sv.observations.geometric_rate(eps=eps).bits, log(cosh(mpf(eps) / 2)) / log(2))


MUS = [1e-12, 1e-6, 1e-3, 0.1, 0.9, 1.1, 5.0, 20.0]


@pytest.mark.parametrize("mu", MUS)
def test_gaussian_curves(agrees, mu):
    m = mpf(mu)
    with mp.workdps(60 + int(mu * mu)):
        for eps in (0.0, 1e-12, 1e-6, 0.01, 1.0, 10.0, 100.0, 700.0):
            if eps / mu > 1e4:
                continue
            e = mpf(eps)
            exact = erfc((e / m - m / 2) / sqrt(2)) / 2 - exp(e) * erfc((e / m + m / 2) / sqrt(2)) / 2
            agrees(gaussian_delta(mu, eps)[0], exact)
        for share in (1e-300, 1e-100, 1e-10, 0.01, 0.5, 0.99):
            start = sqrt(-2 * log(mpf(share))) if share < 0.4 else mpf(0)
            point = findroot(lambda x, share=share: log(erfc(x / sqrt(2)) / 2) - log(mpf(share)), start)
            agrees(GaussianClaim(1 / mu).tradeoff().at(share), erfc((m - point) / sqrt(2)) / 2)
        agrees(GaussianClaim(1 / mu).tradeoff().advantage, erf(m / sqrt(8)))


@pytest.mark.parametrize("mu", [1e-12, 1e-6, 0.1, 1.1, 5.0, 20.0])
def test_gaussian_guesses(agrees, mu):
    """Among equally likely values by an integral, between two unequal ones by the normal tails."""
    m = 1 / mpf(1 / mu)
    with mp.workdps(40 + int(mu * mu)):
        for share in (0.5, 0.75):
            ratio = log(mpf(share) / (1 - mpf(share)))
            ends = [(m / 2 - ratio / m) / sqrt(2), (-m / 2 - ratio / m) / sqrt(2)]
            gained = (1 - mpf(share)) * erfc(-ends[0]) / 2 - mpf(share) * erfc(-ends[1]) / 2
            found = sv.explain(sigma=1 / mu, prior=[share, 1 - share])
            agrees(found.advantage, gained)
            agrees(found.bits, log(1 + gained / share) / log(2))
    with mp.workdps(40):
        shift = m / sqrt(2)
        if shift > 8:
            return
        for n in (3, 10):
            found = sv.explain(sigma=1 / mu, values=n)
            gained = quad(
                lambda s, n=n: exp(-s * s / 2) * expm1(shift * s - shift**2 / 2) * ncdf(s) ** (n - 1),
                list(range(-14, int(shift) + 16, 2)),
            ) / sqrt(2 * pi)
            agrees(found.advantage, gained)
            agrees(found.bits, log(1 + n * gained) / log(2))
            missed = 1 - mpf(1) / n - gained
            agrees(found.odds, (1 - missed) / missed * (n - 1))


@pytest.mark.parametrize("rho", [1e-12, 1e-9, 1e-5, 1e-2, 1.0, 10.0, 60.0, 700.0])
def test_zero_concentrated_curves(agrees, rho):
    """The least over the orders α = 1 + t of what one Rényi divergence, αρ, says about δ."""
    for eps in (0.0, rho / 2, rho, rho + 3 * rho**0.5, rho + 20 * rho**0.5, 1.0):
        low, high = mpf(-3000), log((mpf(eps) + 1) / (2 * mpf(rho)) + 2)
        for _ in range(300):
            middle = (low + high) / 2
            t = exp(middle)
            rising = (2 * t + 1) * mpf(rho) - mpf(eps) + log(t / (1 + t)) > 0
            low, high = (low, middle) if rising else (middle, high)
        t = exp(high)
        found = exp(t * ((1 + t) * mpf(rho) - mpf(eps)) + (1 + t) * log(t / (1 + t)) - log(t))
        at_zero = min((mpf(rho) / 2).sqrt(), (-expm1(-mpf(rho))).sqrt())
        agrees(zcdp_delta(rho, [eps])[0], min(found, at_zero))
