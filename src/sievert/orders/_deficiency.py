"""How far B is from being a post-processing of A: zero iff refined, and what the best adversary wins.

Le Cam's deficiency is the least, over channels R, of the largest row distance TV(B_x, (AR)_x). By duality it
is the most that any prior and any gain in [0, 1] expect more from B than from A; with the prior held uniform
the sum of the row distances takes the place of the largest.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from sievert.arrays import AnyArray
from sievert.channels import Channel
from sievert.errors import ChannelError
from sievert.numerics import choice, one_thread
from sievert.orders._average import measure_deficiency
from sievert.orders._decisions import aligned, best_prior
from sievert.orders._exact import distance_vertex
from sievert.proofs import DeficiencyProof, Proof
from sievert.results import Result

__all__ = ["Deficiency", "deficiency"]
Priors = Literal["worst", "uniform"]
# Entries, and products of entries, of what is written out as a proof.
LARGEST_PROOF, MOST_PRODUCTS = 20_000, 200_000


@dataclass(frozen=True)
class Deficiency(Result):
    """A bracket on the deficiency, with the adversary behind the lower end and R behind the upper.

    Attributes
    ----------
    lower, upper : proved in floats by the adversary and by R
    exact : the value itself where both channels are exact and small, else None
    prior : the adversary's prior
    gain : their gain in [0, 1], as an array [action, secret]
    post : the channel R nearest to doing the job
    certificate : the proof of both ends (None: it would be too long, as `uncertified` says)
    """

    lower: float
    upper: float
    exact: Fraction | None
    prior: AnyArray = field(repr=False)
    gain: AnyArray = field(repr=False)
    post: Channel = field(repr=False)
    certificate: Proof | None = field(default=None, repr=False)
    uncertified: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Numbers and tables as plain data; the proof is saved on its own."""
        data = Result.to_dict(replace(self, certificate=None))
        return {name: value for name, value in data.items() if name != "certificate"}

    def __float__(self) -> float:
        return self.upper

    def __str__(self) -> str:
        value = (
            f"{self.exact}" if self.exact is not None else f"between {self.lower:.6g} and {self.upper:.6g}"
        )
        return f"the best adversary with gains in [0, 1] expects {value} more from the second channel"


def deficiency(less_safe: Channel, safer: Channel, prior: Priors = "worst") -> Deficiency:
    """The most that an adversary with gains in [0, 1] expects more from `safer`; 0 iff it is refined.

    Parameters
    ----------
    less_safe, safer : channels on the same inputs
    prior : "worst" for Le Cam's deficiency, "uniform" for the adversary who holds all secrets equally likely

    Returns
    -------
    Deficiency
        `lower` and `upper`, and `exact` where it can be, with the gain that shows it.

    Notes
    -----
    Exact and small channels give the exact value.

    Cost: a linear program with n·k + m rows, for n inputs, and m and k outputs.

    Examples
    --------
    >>> a = Channel([["4/5", "1/5"], ["2/5", "3/5"]])
    >>> b = Channel([["2/5", "3/5"], ["4/5", "1/5"]])
    >>> deficiency(a, b).exact, deficiency(a, b, "uniform").exact
    (Fraction(1, 15), Fraction(1, 20))
    """
    choice("prior", prior, ("worst", "uniform"), ChannelError)
    first, second = aligned(less_safe, safer)
    if first.form == "exact" and second.form == "exact":
        exact = _exactly(first, second, prior)
        if exact is not None:
            return exact
    a, b = first.rounded(), second.rounded()
    with one_thread(max(*a.shape, *b.shape)):
        found = measure_deficiency(a, b, le_cam=prior == "worst")
    assert found.post is not None
    size = len(a)
    # Where no witness gains anything, the adversary who gains nothing stands for the lower end of 0.
    witness = np.zeros_like(b) if found.witness is None else found.witness
    if prior == "worst":
        belief, upper = best_prior(witness), found.upper
    else:
        belief = np.full(size, 1 / size)
        upper = float(np.abs(b - a @ found.post).sum() / (2 * size))
    post = Channel.trusted(found.post, "float", first.outputs, second.outputs)
    gain = np.clip(_scaled(witness, belief), 0.0, 1.0)
    proof = _proof(a, b, found.post, belief, gain, prior == "worst")
    return Deficiency(found.lower, upper, None, belief, gain, post, *proof)


def _exactly(first: Channel, second: Channel, prior: Priors) -> Deficiency | None:
    n, m = first.shape
    k = second.shape[1]
    vertex = distance_vertex(first.entries, second.entries, "worst" if prior == "worst" else "sum")
    if vertex is None:
        return None
    table = vertex.primal[: m * k].reshape(m, k)
    witness = vertex.dual[: n * k].reshape(n, k)
    if prior == "worst":
        value = vertex.value
        belief = vertex.dual[n * k + m :]
        total = sum(belief.tolist())
        belief = belief / total if total else np.full(n, Fraction(1, n), dtype=object)
    else:
        value = vertex.value / n
        belief = np.full(n, Fraction(1, n), dtype=object)
    post = Channel.trusted(table, "exact", first.outputs, second.outputs)
    gain = _scaled(witness, belief)
    proof = _proof(first.entries, second.entries, table, belief, gain, prior == "worst")
    return Deficiency(float(value), float(value), value, belief, gain, post, *proof)


def _proof(
    a: AnyArray, b: AnyArray, post: AnyArray, prior: AnyArray, gain: AnyArray, worst: bool
) -> tuple[Proof | None, str | None]:
    """The ends in fractions, where these can be written out; else why not."""
    entries = a.size + b.size + post.size + gain.size
    products = post.size * len(a) + gain.size * (a.shape[1] + b.shape[1])
    if entries > LARGEST_PROOF or products > MOST_PRODUCTS:
        return None, f"a proof would hold {entries} fractions, and take {products} products of them"
    proof = DeficiencyProof.of(a, b, post, prior[None, :], gain, worst)
    found = proof.verify()
    return (proof, None) if found else (None, f"the one that was tried does not hold: {found.statement}")


def _scaled(witness: AnyArray, belief: AnyArray) -> AnyArray:
    """G[x,w] = π_x·g[w,x] back to g, each secret's least gain at 0."""
    shifted = witness - witness.min(axis=1)[:, None]
    safe = np.where(belief == 0, 1, belief)
    gain = np.where((belief == 0)[:, None], 0 * shifted, shifted / safe[:, None]).T
    largest = gain.max()
    return np.asarray(gain / largest if largest > 0 else gain)
