"""Proofs about correlated secrets: the best accuracy under a limit.

Accuracy under V_S ≤ τ. A mechanism M [input, guess] is worth Σ_y Q_y·M_y and gives away Σ_y max_w L_w·M_y.
For
*any* prices μ, and weights θ[y,w] ≥ 0 that sum to λ for every y, no private mechanism that gives away at
most τ is worth more than Σμ + λτ, if Q_y - Σ_w θ[y,w]·L_w - μ is never positive on a column that privacy
allows. Which columns it allows decides how that is checked: entry by entry without ε; the least and the
largest entry where all inputs are equally far apart; from the leaves to the root where neighbours are the
edges of a forest; else by multipliers of the edges. Everything is whole numbers and fractions, rounded
upwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from sievert.arrays import ObjectArray
from sievert.numerics import decimal, exact_matmul
from sievert.proofs._base import (
    Proof,
    in_percent_of,
    measured,
    require_channels,
    require_prior,
    rows_from,
    texts_of,
)
from sievert.proofs._neighbours import Neighbours, binary_digits, polar_excess, shown
from sievert.proofs._reading import entries, flag, fraction, fractions, listed, whole

__all__ = ["FrontierProof"]


@dataclass(frozen=True, eq=False)
class FrontierProof(Proof):
    """A private mechanism, what it is worth and gives away, and what none that gives away as little exceeds.

    Attributes
    ----------
    space : which inputs are neighbours
    prior : probability of each input
    gain : worth of each guess for each input [guess, input]
    joints : for each secret, the probability of its values together with each input [value, input]
    wants : for each secret, the gain of somebody who wants it [guess of it, value]; None is one guess
    limits : what may be given away about each secret
    mechanism : probabilities [input, guess]
    prices, weights, multipliers : the certificate: one price an input, for each secret weights [guess,
        guess of it], and of a "graph" (edge, turned, guess, value)
    given : what the mechanism gives away at most about each secret
    lower, upper : what it is worth at least, and what every other is worth at most
    tails : inputs may stand for others too; the probability of all these others, each of which is worth at
        most 1 and gives away at most 1. `upper` is a bound where they are told apart, `lower` and `given` are
        of a mechanism that does not
    robust : the joints are others that may be true, so that their inputs need not have the prior's
        probabilities
    """

    kind: ClassVar[str] = "inference frontier"
    found: ClassVar[tuple[str, ...]] = (
        "mechanism",
        "prices",
        "weights",
        "multipliers",
        "given",
        "lower",
        "upper",
    )
    grounds: ClassVar[str] = (
        "weak duality: prices that no private column exceeds bound every mechanism within the limits"
    )
    space: Neighbours
    prior: ObjectArray
    gain: ObjectArray
    joints: tuple[ObjectArray, ...]
    wants: tuple[ObjectArray | None, ...]
    limits: tuple[Fraction, ...]
    mechanism: ObjectArray
    prices: ObjectArray
    weights: tuple[ObjectArray, ...]
    multipliers: tuple[tuple[int, int, int, Fraction], ...]
    given: tuple[Fraction, ...]
    lower: Fraction
    upper: Fraction
    tails: Fraction = Fraction(0)
    robust: bool = False

    def data(self) -> dict[str, Any]:
        return {
            "space": self.space.to_data(),
            "prior": [str(v) for v in self.prior],
            "gain": texts_of(self.gain),
            "joints": [texts_of(table) for table in self.joints],
            "wants": [None if table is None else texts_of(table) for table in self.wants],
            "limits": [str(v) for v in self.limits],
            "mechanism": texts_of(self.mechanism),
            "prices": [str(v) for v in self.prices],
            "weights": [texts_of(table) for table in self.weights],
            "multipliers": [[e, t, y, str(v)] for e, t, y, v in self.multipliers],
            "given": [str(v) for v in self.given],
            "lower": str(self.lower),
            "upper": str(self.upper),
            "tails": str(self.tails),
            "robust": self.robust,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> FrontierProof:
        return cls(
            Neighbours.from_data(data["space"]),
            rows_from([data["prior"]])[0],
            rows_from(data["gain"]),
            tuple(rows_from(table) for table in listed(data["joints"])),
            tuple(None if table is None else rows_from(table) for table in listed(data["wants"])),
            tuple(fractions(data["limits"])),
            rows_from(data["mechanism"]),
            rows_from([data["prices"]])[0],
            tuple(rows_from(table) for table in listed(data["weights"])),
            tuple(
                (whole(e, 0), whole(t, 0), whole(y, 0), fraction(v))
                for e, t, y, v in entries(data["multipliers"], 4)
            ),
            tuple(fractions(data["given"])),
            fraction(data["lower"]),
            fraction(data["upper"]),
            fraction(data["tails"]),
            flag(data["robust"]),
        )

    @cached_property
    def leaks(self) -> tuple[ObjectArray, ...]:
        """For each secret, what each of its guesses gains together with each input [guess of it, input]."""
        return tuple(
            joint if want is None else exact_matmul(want, joint)
            for joint, want in zip(self.joints, self.wants, strict=True)
        )

    @property
    def within(self) -> bool:
        """Whether the mechanism gives away no more than the limits."""
        return all(away <= limit for away, limit in zip(self.given, self.limits, strict=True))

    def check(self) -> None:
        """ValueError unless mechanism and bound are what is claimed."""
        m, n = self.gain.shape
        blocks = len(self.joints)
        shapes = (
            self.space.size == n
            and self.prior.shape == self.prices.shape == (n,)
            and self.mechanism.shape == (n, m)
            and blocks == len(self.wants) == len(self.limits) == len(self.weights) == len(self.given) > 0
            and all(joint.shape[1] == n for joint in self.joints)
            and all(
                want is None or want.shape[1] == len(joint)
                for want, joint in zip(self.wants, self.joints, strict=True)
            )
        )
        if not shapes or any(w.shape != (m, len(t)) for w, t in zip(self.weights, self.leaks, strict=True)):
            raise ValueError("the parts of the proof do not fit each other")
        require_prior(self.prior, n)
        self._check_joints()
        self.space.check()
        self._check_mechanism()
        self._check_bound()
        if self.within and self.lower > self.upper:
            raise ValueError("the lower bound exceeds the upper bound")

    def _check_joints(self) -> None:
        for joint in self.joints:
            require_prior(joint.ravel(), joint.size)
            if not self.robust and any(joint.sum(axis=0) != self.prior):
                raise ValueError("a secret's joint does not have the prior's probabilities")
        if not 0 <= self.tails <= 1:
            raise ValueError("what inputs stand for has no probability")
        if self.tails and (any(want is not None for want in self.wants) or any(self.gain.ravel() > 1)):
            raise ValueError("what inputs stand for may be worth or give away more than 1")

    def _check_mechanism(self) -> None:
        require_channels(("the mechanism", self.mechanism), rounding=Fraction(0))
        self.space.require_private(self.mechanism)
        worth = (self.gain.T * self.prior[:, None] * self.mechanism).sum()
        if worth < self.lower:
            raise ValueError(f"the mechanism is worth {float(worth):.12g}, less than is claimed")
        for table, claimed in zip(self.leaks, self.given, strict=True):
            away = sum(exact_matmul(table, self.mechanism).max(axis=0).tolist(), Fraction(0))
            if away > claimed:
                raise ValueError(f"the mechanism gives away {float(away):.12g}, more than is claimed")

    def _check_bound(self) -> None:
        # A mechanism that tells the others apart is worth at most `tails` more than it is on the inputs, and
        # gives away at most `tails` less.
        total = sum(self.prices, self.tails)
        functionals = self.gain * self.prior[None, :] - self.prices[None, :]
        for table, weights, limit in zip(self.leaks, self.weights, self.limits, strict=True):
            sums = {sum(row, Fraction(0)) for row in weights.tolist()}
            if any(v < 0 for v in weights.ravel()) or len(sums) > 1:
                raise ValueError("weights must be ≥ 0 with one sum for every guess")
            functionals = functionals - exact_matmul(weights, table)
            total += sums.pop() * (limit + self.tails)
        digits = binary_digits(self.prior)
        if max(polar_excess(self.space, functionals, self.multipliers, digits)) > 0:
            raise ValueError("a private column is worth more than the prices allow")
        if total > self.upper:
            raise ValueError(f"the certificate proves only {float(total):.12g}, more than is claimed")

    def proved(self) -> str:
        self.check()
        limits, given = (" and ".join(shown(v) for v in values) for values in (self.limits, self.given))
        kept = f"while the secret is guessed with at most {limits}"
        if any(want is not None for want in self.wants):
            kept = f"while what somebody gains who wants the secret is at most {limits}"
        if self.robust:
            kept += f" in each of {len(self.joints)} joints that may be true"
        if self.tails:
            kept += (
                f", up to others of probability {decimal(self.tails, 15, down=False)} that inputs stand for,"
            )
        upper = decimal(self.upper, 9, down=False)
        if not self.within:
            return (
                f"no more than {upper} is what {self.space.words()} is worth {kept}; the one here gives away "
                f"{given}, which is more, and is worth {decimal(self.lower, 9, down=True)}"
            )
        worth = f"from {decimal(self.lower, 9, down=True)} to {upper}"
        if self.lower == self.upper:
            worth = f"exactly {self.lower}"
        return (
            f"the most that {self.space.words()} is worth {kept} is {worth}; one that gives away at most "
            f"{given} is worth the former"
        )

    def meaning(self) -> str:
        secret = " and ".join(in_percent_of(limit) for limit in self.limits)
        return (
            f"as long as nobody may guess what is secret better than {secret}, no mechanism of this policy "
            f"is worth more than {measured(self.upper, down=False)} to those who use it."
        )
