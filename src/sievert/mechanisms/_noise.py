"""Noise on tables, sums and maps: the families whose channels have no list of outputs."""

from __future__ import annotations

import math
from fractions import Fraction

from sievert.channels import CellNoise, PlanarNoise, Privacy, SumNoise, TableNoise
from sievert.errors import MechanismError, QueryError
from sievert.mechanisms._family import privacy
from sievert.numerics import log_fraction, read_eps
from sievert.policies import Policy, Query, Statistic
from sievert.spaces import Region

__all__ = ["eps_of_unit", "noise_on_cells", "noise_on_map"]

# ε for a cell's width that the exact sampler of planar noise takes.
LEAST_STEP = Fraction(1, 2**24)
LARGEST_STEP = 700


def noise_on_cells(
    statistic: Statistic,
    steps: Fraction,
    eps: Fraction | None = None,
    *,
    alpha: Fraction | None = None,
    limits: tuple[int, int] | None = None,
) -> TableNoise:
    """Geometric noise on every cell of a table, which one unit of the policy's distance moves by `steps`.

    Parameters
    ----------
    statistic : the table
    steps : its sensitivity (see `Statistic.sensitivity`)
    eps, alpha : exactly one of the ε promised for the policy, and the ratio e^-ε of one unit of the answer
    limits : least and greatest number of steps that is released; noisy cells beyond are clamped

    Examples
    --------
    >>> from sievert.policies import Policy, Query
    >>> policy = Policy.differential(["a", "b", "c"], 10**6)
    >>> table = Query.histogram().statistic(policy)
    >>> noise = noise_on_cells(table, table.sensitivity(policy).steps, Fraction(1))
    >>> noise.level.exact_eps, noise.epsilon(policy)
    (Fraction(1, 2), Fraction(1, 1))
    """
    make = CellNoise if len(statistic.cells) > 1 else SumNoise
    if eps is not None:
        return make(statistic, privacy(eps / steps if steps else eps, None), limits)
    if statistic.step.denominator != 1:
        raise MechanismError(
            f"alpha is for one unit of the answer, but answers are multiples of {statistic.step}; give eps "
            "instead"
        )
    if alpha is None:
        raise MechanismError("neither eps nor alpha is given; give exactly one (alpha = e^-eps)")
    ratio = Fraction(alpha**statistic.step.numerator)
    return make(statistic, Privacy(max(0.0, -log_fraction(ratio)), ratio), limits)


def eps_of_unit(eps: float, query: Query, policy: Policy) -> Fraction | float:
    """ε of one unit of a query's answers for an ε promised for the policy, exact where it is a fraction.

    >>> from sievert.policies import Policy, Query
    >>> eps_of_unit(0.5, Query.sum(), Policy.differential([0, 1, 3], 10))
    Fraction(1, 6)
    """
    try:
        statistic = query.statistic(policy)
        found = None if statistic is None else statistic.sensitivity(policy).steps * statistic.step
    except QueryError:  # distances of 0, or totals too large for exact arithmetic
        found = None
    if found is None or math.isinf(eps):
        return eps / (query.sensitivity(policy) or 1.0)
    return read_eps(eps) / (found or 1)


def noise_on_map(region: Region, eps: Fraction) -> PlanarNoise:
    """Planar geometric noise on the cells of a region, of ε for each metre, clamped to the region."""
    noise = PlanarNoise(region, eps)
    step = eps * Fraction(str(region.cell))
    if not LEAST_STEP <= step <= LARGEST_STEP:
        raise MechanismError(
            f"eps is {float(eps):g} for each metre, {float(step):.3g} for a cell of {region.cell:g} m; "
            f"planar noise needs {float(LEAST_STEP):.1g} to {LARGEST_STEP} for a cell: choose another "
            "eps, or wider or narrower cells"
        )
    return noise
