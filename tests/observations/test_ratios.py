"""Laws of likelihood ratios, and the largest of many, against listing every release."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from sievert.channels import NoiseLaw
from sievert.observations import likelihood_ratio_law
from tests.observations.test_record_views import LAWS, geometric


def listed(law: NoiseLaw, steps: int, releases: int) -> dict[float, float]:
    """Every sequence of noise within reach, by the log-ratio that it shows."""
    reach = law.beyond(math.log(1e-9))
    once: dict[float, float] = {}
    for z in range(-reach, reach + steps + 1):
        there, nobody = law.log_pmf(np.array([z - steps, z], float))
        key = round(float(there - nobody), 9)
        once[key] = once.get(key, 0.0) + math.exp(nobody)
    found = {0.0: 1.0}
    for _ in range(releases):
        more: dict[float, float] = {}
        for (a, p), (b, q) in product(found.items(), once.items()):
            key = round(a + b, 7)
            more[key] = more.get(key, 0.0) + p * q
        found = more
    return found


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.words())
@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize("releases", [1, 2, 4])
def test_ratios_against_a_list(law: NoiseLaw, steps: int, releases: int) -> None:
    found = likelihood_ratio_law(law, steps, releases)
    expected = listed(law, steps, releases)
    assert (np.diff(found.logs) > 0).all()
    # Many log-ratios, few sums: compared by the mean of functions of them.
    for power in (0.25, 0.5, 1.0):
        mean = float(np.exp(found.log_pmf + power * found.logs).sum())
        assert mean == pytest.approx(sum(p * math.exp(power * a) for a, p in expected.items()), rel=1e-6)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.words())
@pytest.mark.parametrize("releases", [1, 3, 50, 1000])
def test_both_laws_are_laws_and_mirror_each_other(law: NoiseLaw, releases: int) -> None:
    found = likelihood_ratio_law(law, 1, releases)
    assert float(np.exp(found.log_pmf).sum()) == pytest.approx(1.0, rel=1e-11)
    assert float(np.exp(found.log_shown).sum()) == pytest.approx(1.0, rel=1e-11)
    # Noise is symmetric: E ρ^s = E ρ^(1-s).
    low, high = (float(np.exp(found.log_pmf + s * found.logs).sum()) for s in (0.3, 0.7))
    assert low == pytest.approx(high, rel=1e-9)


def test_trimmed_laws_lose_nothing_that_counts() -> None:
    law = likelihood_ratio_law(geometric(0.1), 1, 4000)
    short = law.trimmed()
    assert len(short.logs) < len(law.logs) / 3
    assert float(np.exp(short.log_pmf).sum()) == pytest.approx(1.0, rel=1e-12)
    assert float(np.exp(short.log_shown).sum()) == pytest.approx(1.0, rel=1e-12)
