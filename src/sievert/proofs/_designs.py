"""Proof in fractions that a mechanism is private and optimal: its loss equals its certificate's bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray, ObjectArray
from sievert.numerics import UNIT, decimal, eps_in_words
from sievert.proofs._base import Proof, measured, rows_from
from sievert.proofs._design import SCALE, costs, loss_above, parts_of_one, require_rows
from sievert.proofs._reading import entries, floats, fraction, fractions, whole
from sievert.proofs._space import ProofSpace, exact_power

__all__ = [
    "ExactDesignProof",
    "LeakageDesignProof",
    "below",
    "exact_loss",
    "exact_vulnerability",
    "vulnerability_above",
]


@dataclass(frozen=True, eq=False)
class ExactDesignProof(Proof):
    """A mechanism, and multipliers y ≥ 0 on c[x,w] ≥ alpha^length·c[z,w] that prove it optimal.

    `multipliers` are [arc, output, value]; arc 2e is edge e as listed, 2e + 1 reversed. The bound is the one
    of `sievert.proofs._design`, in fractions.
    """

    kind: ClassVar[str] = "exact optimal design"
    found: ClassVar[tuple[str, ...]] = ("channel", "multipliers")
    grounds: ClassVar[str] = (
        "strong duality of linear programming: the mechanism's loss equals its multipliers' bound"
    )
    space: ProofSpace
    alpha: Fraction
    prior: ObjectArray
    loss: ObjectArray
    channel: ObjectArray
    multipliers: tuple[tuple[int, int, Fraction], ...]

    def data(self) -> dict[str, Any]:
        return {
            "space": self.space.to_data(),
            "alpha": str(self.alpha),
            "prior": [str(value) for value in self.prior],
            "loss": [[str(value) for value in row] for row in self.loss],
            "channel": [[str(value) for value in row] for row in self.channel],
            "multipliers": [[arc, output, str(value)] for arc, output, value in self.multipliers],
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> ExactDesignProof:
        return cls(
            ProofSpace.from_data(data["space"]),
            fraction(data["alpha"]),
            _row(data["prior"]),
            rows_from(data["loss"]),
            rows_from(data["channel"]),
            tuple(
                (whole(arc), whole(output), fraction(value))
                for arc, output, value in entries(data["multipliers"], 3)
            ),
        )

    def value(self) -> Fraction:
        """The loss of the mechanism, after checking that it is a private channel."""
        n, m = self.channel.shape
        if self.loss.shape != (m, n) or self.prior.shape != (n,) or self.space.size != n:
            raise ValueError("prior, loss, mechanism and space do not fit each other")
        if (self.prior < 0).any() or self.prior.sum() != 1:
            raise ValueError("the prior is not a distribution")
        if (self.channel < 0).any() or (self.channel.sum(axis=1) != 1).any():
            raise ValueError("the mechanism's rows are not distributions")
        for (a, b), length in zip(self.space.pairs.tolist(), self.space.lengths.tolist(), strict=True):
            factor = self.factor(length)
            for x, z in ((a, b), (b, a)):
                if (self.channel[x] < factor * self.channel[z]).any():
                    raise ValueError(f"the mechanism is not private between points {x} and {z}")
        return Fraction((self.prior[:, None] * self.loss.T * self.channel).sum())

    def bound(self) -> Fraction:
        """The least loss of any private mechanism that the multipliers prove."""
        bracket = self.prior[:, None] * self.loss.T
        for arc, output, value in self.multipliers:
            if value < 0 or not 0 <= arc < 2 * len(self.space.pairs) or not 0 <= output < bracket.shape[1]:
                raise ValueError("multipliers must be ≥ 0, on arcs and outputs that exist")
            left, right = self.space.pairs[arc >> 1].tolist()[:: -1 if arc & 1 else 1]
            bracket[left, output] -= value
            bracket[right, output] += self.factor(float(self.space.lengths[arc >> 1])) * value
        return sum((min(row) for row in bracket.tolist()), Fraction(0))

    def factor(self, length: float) -> Fraction:
        """alpha^length, exactly."""
        return exact_power(self.alpha, length)

    def proved(self) -> str:
        if not 0 <= self.alpha <= 1:
            raise ValueError("alpha must be from 0 to 1")
        value, bound = self.value(), self.bound()
        if value != bound:
            raise ValueError(f"the mechanism loses {value} but the certificate proves only {bound}")
        return (
            f"the mechanism on {self.space.size} inputs is private with e^-ε = {self.alpha} and loses "
            f"exactly {value}; no private mechanism loses less"
        )

    def meaning(self) -> str:
        return (
            f"users of this mechanism lose {self.value()} on average, and with no mechanism that is as "
            "private would they lose less."
        )


def _row(values: Any) -> ObjectArray:
    array = np.empty(len(values), dtype=object)
    array[:] = fractions(values)
    return array


# ── Proof that a mechanism leaks least for what it may lose, or loses least for what it may leak ────────────
# The certificate is a strategy of the adversary: for each output y a mixture s[y,·] of guesses. The best
# guess is at least as good as any mixture, and with a price μ ≥ 0 on the side constraint every mechanism
# has
#
#     least leakage:  V ≥ Σ_x min_y π_x·(Σ_g s[y,g]·G[g,x] + μ·ℓ[y,x]) - μ·budget
#     least loss:     U ≥ Σ_x min_y π_x·(ℓ[y,x] + μ·Σ_g s[y,g]·G[g,x]) - μ·budget
# The smallest float above 0: products below the normal floats are off by half of it.
LEAST = 2.0**-1074
WORDS = {
    "least leakage": ("lets the adversary reach at most", "loses"),
    "least loss": ("loses at most", "lets the adversary reach"),
}


@dataclass(frozen=True, eq=False)
class LeakageDesignProof(Proof):
    """A mechanism within a budget, what it reaches, and what no mechanism within the budget goes below.

    Attributes
    ----------
    family : "least leakage" (budget on the loss) or "least loss" (budget on the vulnerability)
    prior, loss, gain : loss [output, input], gain [guess, input]; an adversary's loss is a negative gain
    counts : mechanism in parts of 2^53, [input, output]
    strategy, price : mixtures [output, guess] and μ
    """

    kind: ClassVar[str] = "leakage design"
    found: ClassVar[tuple[str, ...]] = ("counts", "strategy", "price", "lower", "upper")
    grounds: ClassVar[str] = "weak duality: a best guess is at least as good as any mixture of guesses"
    family: str
    prior: FloatArray
    loss: FloatArray
    gain: FloatArray
    budget: float
    counts: NDArray[np.int64]
    strategy: FloatArray
    price: float
    lower: float
    upper: float

    def data(self) -> dict[str, Any]:
        return {
            "family": self.family,
            "prior": self.prior.tolist(),
            "loss": self.loss.tolist(),
            "gain": self.gain.tolist(),
            "budget": self.budget,
            "counts": self.counts.tolist(),
            "strategy": self.strategy.tolist(),
            "price": self.price,
            "lower": self.lower,
            "upper": self.upper,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> LeakageDesignProof:
        tables = {name: floats(data[name]) for name in ("prior", "loss", "gain", "strategy")}
        return cls(
            str(data["family"]),
            tables["prior"],
            tables["loss"],
            tables["gain"],
            float(fraction(data["budget"])),
            parts_of_one(data["counts"]),
            tables["strategy"],
            float(fraction(data["price"])),
            float(fraction(data["lower"])),
            float(fraction(data["upper"])),
        )

    def check(self) -> None:
        """ValueError unless the mechanism is within the budget and both bounds hold."""
        if self.family not in WORDS:
            raise ValueError(f"unknown family {self.family!r}")
        n, m = self.counts.shape
        if self.prior.shape != (n,) or self.loss.shape != (m, n) or self.gain.shape[1:] != (n,):
            raise ValueError("prior, loss, gain and mechanism do not fit each other")
        if not all(np.isfinite(table).all() for table in (self.prior, self.loss, self.gain)):
            raise ValueError("prior, loss and gain must be finite")
        if (self.prior < 0).any() or abs(float(self.prior.sum()) - 1) > 1e-8:
            raise ValueError("the prior is not a distribution")
        require_rows(self.counts)
        lost = loss_above(costs(self.prior, self.loss), self.counts)
        reached = vulnerability_above(self.prior, self.gain, self.counts)
        leaks = self.family == "least leakage"
        side, value = (lost, reached) if leaks else (reached, lost)
        if not side <= self.budget:
            # Too close for floats: decided in fractions.
            exact = (
                exact_loss(self.prior, self.loss, self.counts)
                if leaks
                else exact_vulnerability(self.prior, self.gain, self.counts)
            )
            if exact > Fraction(self.budget):
                raise ValueError("the mechanism exceeds its budget")
        if not value <= self.upper:
            raise ValueError("the mechanism may exceed what is claimed for it")
        lower = below(self.family, self.prior, self.loss, self.gain, self.budget, self.strategy, self.price)
        if not lower >= self.lower:
            raise ValueError(f"the certificate proves only {lower!r}, less than the {self.lower!r} claimed")
        if self.lower > self.upper:
            raise ValueError("the lower bound exceeds the upper bound")

    def proved(self) -> str:
        self.check()
        first, second = WORDS[self.family]
        low, high = (
            decimal(Fraction(self.lower), 12, down=True),
            decimal(Fraction(self.upper), 12, down=False),
        )
        return (
            f"the mechanism on {len(self.prior)} inputs {first} {high} and {second} at most "
            f"{eps_in_words(Fraction(self.budget))}; no mechanism within that goes below {low}"
        )

    def meaning(self) -> str:
        first, second = WORDS[self.family]
        return (
            f"this mechanism {first} {measured(self.upper, down=False)}, and no other that {second} "
            f"{eps_in_words(Fraction(self.budget))} at most comes below {measured(self.lower, down=True)}."
        )


def vulnerability_above(prior: FloatArray, gain: FloatArray, counts: NDArray[np.int64]) -> float:
    """A float proved to be at least Σ_y max_g Σ_x π_x·G[g,x]·C[x,y]."""
    joint = prior[:, None] * (counts.astype(np.float64) / SCALE)
    scores = gain @ joint
    # One product into the joint, one into the score, a sum over the inputs, and the error's own addition.
    error = (len(prior) + 6) * UNIT * 1.01 * (np.abs(gain) @ joint)
    # A product that underflows is off by less than LEAST, before and after the gain multiplies it.
    possible = (prior[:, None] > 0) & (counts > 0)
    error += ((np.abs(gain) + (gain != 0)) @ possible) * LEAST
    reached = (scores + error).max(axis=0)
    return float(np.nextafter(math.fsum(reached), np.inf)) if reached.any() else 0.0


def below(
    family: str,
    prior: FloatArray,
    loss: FloatArray,
    gain: FloatArray,
    budget: float,
    strategy: FloatArray,
    price: float,
) -> float:
    """A float proved to be at most what every mechanism within the budget reaches."""
    if strategy.shape != (len(loss), len(gain)) or not (strategy >= 0).all():
        raise ValueError("the strategy needs a weight ≥ 0 for each output and guess")
    if not price >= 0:
        raise ValueError("the price of the budget must be a number ≥ 0")
    share = strategy.sum(axis=1)
    slack = (len(gain) + 4) * UNIT
    if (share > 1 + slack).any() or (bool((gain < 0).any()) and (share < 1 - slack).any()):
        raise ValueError("the strategy's weights must sum to 1 for each output (at most 1 if gains are ≥ 0)")
    # Weights that sum to 1 + δ are weights over 1 + δ: the value moves by δ times itself.
    expected, size = strategy @ gain, strategy @ np.abs(gain)
    first, second = (expected, price * loss) if family == "least leakage" else (loss, price * expected)
    sizes = (size, price * np.abs(loss)) if family == "least leakage" else (np.abs(loss), price * size)
    bracket = prior * (first + second)
    error = prior * (sizes[0] + sizes[1]) * ((2 * len(gain) + 16) * UNIT * 1.01)
    # What underflows in a product or a sum over the guesses may be multiplied by the price.
    error += (len(gain) + 4) * (1 + price) * LEAST
    least = (bracket - error).min(axis=0)
    total = math.fsum([*least.tolist(), -price * budget])
    return float(np.nextafter(total - 4 * UNIT * abs(price * budget), -np.inf))


def exact_loss(prior: FloatArray, loss: FloatArray, counts: NDArray[np.int64]) -> Fraction:
    """Σ π_x·ℓ[y,x]·C[x,y] without any rounding."""
    total = Fraction(0)
    for x, y in np.argwhere(counts).tolist():
        total += Fraction(float(prior[x])) * Fraction(float(loss[y, x])) * int(counts[x, y])
    return total / SCALE


def exact_vulnerability(prior: FloatArray, gain: FloatArray, counts: NDArray[np.int64]) -> Fraction:
    """Σ_y max_g Σ_x π_x·G[g,x]·C[x,y] without any rounding."""
    total = Fraction(0)
    weighted = [
        [Fraction(float(p)) * Fraction(float(g)) for p, g in zip(prior, row, strict=True)] for row in gain
    ]
    for column in counts.T.tolist():
        used = [x for x, count in enumerate(column) if count]
        total += max(sum((row[x] * column[x] for x in used), Fraction(0)) for row in weighted)
    return total / SCALE
