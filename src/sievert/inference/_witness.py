"""Joints that object: who can infer more from B than from A?

Two channels that do not refine each other are told apart by some secret that is only correlated with their
input (Fernandes, eq. 5.3); the linear program finds it, and the proof is checked in fractions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from sievert.arrays import FloatArray, ObjectArray
from sievert.channels import Channel, as_channel
from sievert.inference._correlation import Correlation
from sievert.numerics import (
    require_size,
)
from sievert.orders import aligned
from sievert.orders import refines as refinement
from sievert.programs import LinearProgram, solve
from sievert.proofs import (
    DaleniusProof,
    Proof,
    exact_rows,
)
from sievert.results import Result

__all__ = ["DaleniusWitness", "normalised_rows", "witness"]

LARGEST_PROGRAM = 500_000
# Denominators with which a witness is written, the simplest that still objects.
DENOMINATORS = (20, 1000, 10**6, 10**12)
# A linear program that finds less than this leaves the question to exact refinement.
LEAST_GAP = 1e-9


@dataclass(frozen=True)
class DaleniusWitness(Result):
    """A correlation under which B tells more than A, or the proof that there is none.

    Attributes
    ----------
    holds : whether B is at least as safe as A for every correlation; None where that cannot be decided
    correlation : secret (as many values as B has outputs, at most) against input, where one objects
    before, after : how often the secret is guessed from A and from B
    certificate : the proof of either
    """

    holds: bool | None
    correlation: Correlation | None
    before: Any
    after: Any
    certificate: Proof | None = field(repr=False)

    def __str__(self) -> str:
        if self.holds:
            return "B is A followed by post-processing: no correlated secret is inferred better from it."
        if self.correlation is None:
            return "Undecided: too near the boundary for floats; give both channels in fractions."
        count = self.correlation.shape[0]
        return (
            f"A correlated secret with {count} values is guessed with {float(self.after):.6g} from B and "
            f"{float(self.before):.6g} from A."
        )


def witness(less_safe: Channel, safer: Channel) -> DaleniusWitness:
    """A correlated secret that is inferred better from one channel than from another, or proof that none is.

    Parameters
    ----------
    less_safe : A, the channel that might be replaced
    safer : B, the channel that might replace it, on the same inputs

    Returns
    -------
    DaleniusWitness
        With `correlation`, `before` and `after` where some secret objects to B, and the `certificate` of
        either.

    Notes
    -----
    Maximises ⟨F, B⟩ - Σ_y max_z Σ_x A[x,y]·F[x,z] over F in [0, 1], a linear program with inputs·outputs of B
    variables; the witness is F turned into a joint, checked in fractions. Secrets of two values are not
    enough in general.

    Cost: one linear program; rows of floats stand for rows divided by their sums.

    References
    ----------
    Fernandes, Def 5.3.1 and eq. 5.3.

    Examples
    --------
    >>> import sievert as sv
    >>> a = sv.Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> found = witness(a.then(a), a)
    >>> found.holds, found.before, found.after
    (False, Fraction(5, 8), Fraction(3, 4))
    >>> witness(a, a.then(a)).holds
    True
    """
    first, second = aligned(as_channel(less_safe, "less_safe").finite(), as_channel(safer, "safer").finite())
    a, b = normalised_rows(first), normalised_rows(second)
    inputs, outputs = b.shape
    require_size(
        inputs * outputs * a.shape[1], LARGEST_PROGRAM, "the program of the witness", "merge outputs"
    )
    found = _objection(a.astype(np.float64), b.astype(np.float64))
    for most in DENOMINATORS if found is not None else ():
        assert found is not None
        proof = _proof(a, b, found, most)
        if proof is not None:
            before, after = proof.values()
            correlation = Correlation(proof.joint, secrets=range(len(proof.joint)), uses=first.inputs)
            return DaleniusWitness(False, correlation, before, after, proof)
    verdict = refinement(first, second)
    holds = True if verdict.holds else None
    return DaleniusWitness(holds, None, None, None, verdict.certificate if holds else None)


def normalised_rows(channel: Channel) -> ObjectArray:
    """The rows in fractions, divided by their sums."""
    table = exact_rows(channel.exact_or_rounded())
    return np.asarray(table / table.sum(axis=1)[:, None])


def _objection(a: FloatArray, b: FloatArray) -> FloatArray | None:
    """The gains F [input, guess] of somebody who prefers B; None where the program finds none."""
    (n, m), z = a.shape, b.shape[1]
    cell = np.arange(n * z).reshape(n, z)
    rows, columns, values = [], [], []
    for y in range(m):
        rows.append(np.repeat(y * z + np.arange(z)[None, :], n, axis=0).ravel())
        columns.append(cell.ravel())
        values.append(np.repeat(-a[:, y], z))
        rows.append(y * z + np.arange(z))
        columns.append(np.full(z, n * z + y))
        values.append(np.ones(z))
    places = (np.concatenate(rows), np.concatenate(columns))
    matrix = csc_array((np.concatenate(values), places), shape=(m * z, n * z + m))
    cost = np.concatenate([-b.ravel(), np.ones(m)])
    lower = np.concatenate([np.zeros(n * z), np.full(m, -np.inf)])
    upper = np.concatenate([np.ones(n * z), np.full(m, np.inf)])
    program = LinearProgram(cost, matrix, np.zeros(m * z), np.full(m * z, np.inf), lower, upper)
    found = solve(program, "simplex", tolerance=1e-10, basis=False)
    if not found.optimal or -found.value <= LEAST_GAP:
        return None
    return found.primal[: n * z].reshape(n, z)


def _proof(a: ObjectArray, b: ObjectArray, gains: FloatArray, most: int) -> DaleniusProof | None:
    """The gains in simple fractions as a joint, where they still object."""
    joint = np.empty(gains.T.shape, dtype=object)
    flat = np.clip(gains.T, 0.0, 1.0).ravel().tolist()
    joint.ravel()[:] = [Fraction(value).limit_denominator(most) for value in flat]
    joint = joint[[bool(any(row)) for row in joint.tolist()]]
    total = joint.sum() if joint.size else Fraction(0)
    if not total:
        return None
    proof = DaleniusProof(a, b, joint / total)
    return proof if proof.verify().holds else None
