"""What a file with [vectors] promises, in users' units.

An audit reads no private vector: what is promised depends on the distance of two users alone. Only the
attacker who knows people is given some to know, the public vectors of `vectors.known`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sievert.files import VectorsScenario
from sievert.numerics import in_nats, in_percent
from sievert.results import Result
from sievert.vectors import NoisyHash, PaperBounds, ReIdentification, distance_text, paper_bounds

__all__ = ["DISTANCES", "VectorsAudit", "audit_vectors", "failed_limits"]

# Why ξ is a bound.
BOUNDS = {
    "lsh-response": "Bits of orthogonal planes depend on one another and have no account: ξ is the worst "
    "case.",
    "soft-sign": "ξ is an upper bound, about 1 % above the least: losses are taken from above in small cells "
    "of the two projections.",
    "laplace-lsh": "ξ is an upper bound: that of an observer who sees the noisy projections, of which the "
    "bits are the signs. ε times the distance of the vectors, which charges all coordinates, is far more.",
}
DISTANCES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5)


@dataclass(frozen=True)
class VectorsAudit(Result):
    """What a file with [vectors] promises two users at a distance.

    Attributes
    ----------
    distance, delta : what the answers are about, as the file says
    measured : what the distance is: an angle, a Jaccard distance, a distance
    xi : nats that two such users are told apart by, but for a probability δ
    guess : best guess which of the two it is, each as likely before; an upper bound unless `exact`
    worst : nats between any two users under this very hash, without δ: what a release is charged
    curve : ξ at several distances
    bounds : what the paper's bounds say instead (of lsh-response under Gaussian planes)
    threat : how many of the `known` people an attacker traces back (None: the file names none)
    view, quantifier : what the observer sees, and what ξ is about
    exact : whether ξ is exact; a bound otherwise
    sampler : "exact" or "float"
    passed : whether every limit of [accept] holds
    """

    title: str
    mechanism: str
    hash: str
    bits: int
    distance: float
    measured: str
    delta: float
    xi: float
    guess: float
    worst: float
    curve: dict[float, float]
    bounds: PaperBounds | None
    threat: ReIdentification | None
    exact: bool
    sampler: str
    passed: bool
    failed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    view: str = "output+seed"
    quantifier: str = field(default="for each pair fixed before the hash is drawn, over the draw of the hash")

    def __str__(self) -> str:
        most = "" if self.exact else "at most "
        traced = "" if self.threat is None else f"; {self.threat}"
        return (
            f"Somebody within {self._reach()} can be told from you by {in_nats(self.xi)}, but "
            f"for a probability of {self.delta:g}: a guess between the two is right {most}"
            f"{in_percent(self.guess)} of times{traced}."
        )

    def _reach(self) -> str:
        """The distance that the sentence is about: an angle of 9°, a Jaccard distance of 0.2."""
        if self.measured == "angle":
            return f"an angle of {distance_text(self.measured, self.distance)}"
        return f"a {self.measured} of {self.distance:.3g}"


def audit_vectors(scenario: VectorsScenario) -> VectorsAudit:
    """What the file promises, for two users at its distance and for all."""
    scenario.check()
    mechanism, model = scenario.mechanism, scenario.document.vectors
    with scenario.at("mechanism"):
        xi = mechanism.xi(model.distance, model.delta)
        curve = {d: mechanism.xi(d, model.delta) for d in DISTANCES}
        worst, guess = float(mechanism.worst()), mechanism.guess(model.distance)
    threat = None
    if scenario.known is not None:
        with scenario.at("vectors.known"):
            threat = mechanism.threat(scenario.known.rows)
    failed = _failed(scenario, xi, threat)
    return VectorsAudit(
        scenario.title,
        mechanism.words(),
        str(scenario.hashing.identity),
        scenario.hashing.bits,
        model.distance,
        scenario.hashing.measured,
        model.delta,
        xi,
        guess,
        worst,
        curve,
        _bounds(scenario),
        threat,
        mechanism.accounted,
        "exact" if mechanism.exact else "float",
        not failed,
        failed,
        _notes(scenario),
    )


def _bounds(scenario: VectorsScenario) -> PaperBounds | None:
    mechanism, model = scenario.mechanism, scenario.document.vectors
    bits = scenario.hashing.values == 2
    if not isinstance(mechanism, NoisyHash) or not mechanism.accounted or not bits or model.delta == 0:
        return None
    return paper_bounds(
        scenario.hashing.bits, scenario.hashing.collision(model.distance), mechanism.eps, model.delta
    )


def failed_limits(scenario: VectorsScenario) -> tuple[str, ...]:
    """The limits of [accept] that the file exceeds."""
    model, known = scenario.document.vectors, scenario.known
    threat = None if known is None else scenario.mechanism.threat(known.rows)
    return _failed(scenario, scenario.mechanism.xi(model.distance, model.delta), threat)


def _failed(scenario: VectorsScenario, xi: float, threat: ReIdentification | None) -> tuple[str, ...]:
    accept = scenario.document.accept
    if accept is None:
        return ()
    found = []
    if accept.nats is not None and xi > accept.nats:
        found.append(
            f"{in_nats(xi)} at distance {scenario.document.vectors.distance:g}, accepted are {accept.nats:g}"
        )
    if accept.reidentified is not None:
        if threat is None:
            found.append("[accept] reidentified needs vectors.known: public vectors that an attacker knows")
        elif threat.value > accept.reidentified:
            found.append(
                f"{in_percent(threat.value)} of known people are traced back, accepted are "
                f"{in_percent(accept.reidentified)}"
            )
    return tuple(found)


def _notes(scenario: VectorsScenario) -> tuple[str, ...]:
    mechanism, model = scenario.mechanism, scenario.document.vectors
    notes = [
        "The hash is public, and the observer sees it with the code; with a secret hash one code alone would "
        "say nothing, but users must know it.",
        "ξ is about each pair of users over the draw of the hash; under the hash that was drawn a pair may "
        f"lose up to {in_nats(float(mechanism.worst()))}, which is what a release is charged.",
    ]
    if isinstance(mechanism, NoisyHash) and mechanism.accounted:
        notes += mechanism.account(model.distance).warnings(model.delta)
    else:
        notes.append(BOUNDS[mechanism.kind])
    if scenario.known is None:
        notes.append("Name public vectors as vectors.known to see how many people an attacker traces back.")
    return tuple(notes)
