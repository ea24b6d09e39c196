"""What one release of codes promises a pair of users: the answer's class, its account and its proof."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sievert.errors import FileError
from sievert.files import VectorsScenario
from sievert.numerics import positive, read_eps
from sievert.proofs import CodesProof, Proof
from sievert.questions._answer_base import Answer
from sievert.vectors import Accountant, NoisyHash

__all__ = ["VectorsAnswer", "account_of", "at_level", "promise", "promise_of_vectors"]


@dataclass(frozen=True)
class VectorsAnswer(Answer):
    """The answer to one question about users' vectors."""


def promise_of_vectors(scenario: VectorsScenario) -> Proof:
    """The proof of what one release promises the pair that the file is about."""
    found, why = promise(scenario)
    if found is None:
        raise FileError(f"{scenario.source}: has no certificate: {why}")
    return found


def promise(scenario: VectorsScenario, releases: int = 1) -> tuple[CodesProof | None, str]:
    """ξ at the file's distance and δ with its law, or why there is no proof."""
    mechanism, model = scenario.mechanism, scenario.document.vectors
    if not isinstance(mechanism, NoisyHash):
        return (
            None,
            f"the account of {mechanism.kind} is computed in floating point; lsh-response has a proof",
        )
    if not CodesProof.possible(mechanism.hashing.bits, releases):
        return None, "so many bits and releases have a law too long to check one step at a time"
    law = (account := account_of(mechanism, model.distance, releases)).law
    assert law is not None
    xi = Fraction(account.xi(model.delta))
    delta = read_eps(model.delta)
    return CodesProof.of(law.coordinates, law.distance, law.eps, law.values, releases, xi, delta), ""


def account_of(mechanism: NoisyHash, distance: float, releases: int) -> Accountant:
    """Of releases under the hash that the file names."""
    return mechanism.account(distance).compose(releases, "same")


def at_level(scenario: VectorsScenario, eps: float | None) -> VectorsScenario:
    """The file, or the same at another ε."""
    return scenario if eps is None else scenario.with_eps(positive("eps", eps))
