"""What a claim of privacy means for one person: the best guess before and after, over every mechanism that
keeps the claim.

No mechanism is needed. The attacker knows everything except one person's value; the mechanism is the worst
that the claim allows. `after` is therefore what the claim itself permits, not what one mechanism does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sievert.arrays import FloatArray
from sievert.channels.divergences import Tradeoff
from sievert.errors import LabelError, MechanismError, PolicyError, PriorError
from sievert.limits._complete_guess import GuessBounds, best_guess
from sievert.limits._composition import ComposedClaim, composed_claim
from sievert.limits._targets import Target, checked_prior, is_complete, power, values_of
from sievert.limits.promises import (
    ApproximateClaim,
    Claim,
    GaussianClaim,
    RenyiClaim,
    ZeroConcentratedClaim,
    checked_delta,
    claim_of,
)
from sievert.numerics import abbreviated, is_whole, non_negative, taken, whole
from sievert.policies import Policy, target_of
from sievert.proofs import Proof
from sievert.results import Result, html_table
from sievert.spaces import Metric, column_of, iterable, label

if TYPE_CHECKING:
    from sievert.limits._guess_bounds import BallGuess, DatabaseBits

__all__ = ["Explanation", "explain", "explain_claim", "guess_under", "odds_growth", "records_of_person"]

# Their number is also a float.
MOST_VALUES = 10**18
# ε of the small table beside the asked one, and factors of another parameter.
TABLE_EPS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
# δ at which a curve is read off.
READ_DELTAS = (1e-3, 1e-6, 1e-9)
# Points of a metric whose least distance is looked for.
LARGEST_LISTED = 2_000
TABLE_FACTORS = (0.25, 0.5, 2.0, 4.0)
# What is guessed about a person.
VALUE = "one person's value"
PRESENCE = "whether one person is in the data"


@dataclass(frozen=True)
class Explanation(Result):
    """What a claim lets an attacker do to one person; everything is a probability unless it says otherwise.

    Attributes
    ----------
    claim : the claim in words
    about : what is guessed about the person
    values : how many values the person may have
    before, after : best guess without and with the release(s), at worst over all mechanisms with the claim
    reached : what some mechanism with the claim lets an attacker guess; `exact` when that is `after`
    odds : how many times the odds of a right guess grow (inf when `after` is 1)
    bits : log2(after/before)
    advantage : after - before
    distinguishing : of two neighbouring inputs, right alarms minus false alarms at best (total variation)
    curve : false alarms against misses of whoever tells two neighbouring inputs apart; `between` says which
    totals : the ε of all releases, three ways, for an (ε, δ) claim and more than one release
    equivalents : pairs (δ, ε) that all releases together have, for a claim that is not ε or (ε, δ) itself
    near : for metric privacy, what is learned by someone who knows the value to within a radius
    database : for a policy, the whole database
    person : for a person with several records, what the claim implies for all of them together; the guess
        and the curve are then about a person whose records all say the same
    table : the same question at other parameters: (name, value, after) each
    method, certificate : how `after` was found, and its proof where there is one
    uncertified : why there is no proof, or what it takes as given; None where it proves the whole answer
    by_distance : whether the claim is per unit of distance
    """

    claim: str
    values: int
    before: float
    after: float
    reached: float
    exact: bool
    odds: float
    bits: float
    advantage: float
    distinguishing: float
    curve: Tradeoff = field(repr=False)
    releases: int
    method: str
    totals: ComposedClaim | None = None
    equivalents: tuple[tuple[float, float], ...] = ()
    near: BallGuess | None = None
    database: DatabaseBits | None = None
    policy: str | None = None
    person: str | None = None
    between: str = "two neighbouring databases"
    about: str = VALUE
    table: tuple[tuple[str, float, float], ...] = ()
    certificate: Proof | None = field(default=None, repr=False)
    uncertified: str | None = None
    by_distance: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Numbers and words as plain data; the proof is saved on its own."""
        data = Result.to_dict(replace(self, certificate=None))
        return {name: value for name, value in data.items() if name != "certificate"}

    def _repr_html_(self) -> str:
        shown = {
            "before": f"{self.before:.6g}",
            "after": f"{self.after:.6g}" if self.exact else f"{self.reached:.6g} to {self.after:.6g}",
            "odds grow": f"{self.odds:.6g} times",
            "bits": f"{self.bits:.6g}",
            "right minus false alarms": f"{self.distinguishing:.6g}",
            **{f"after, {name} = {value:g}": f"{after:.6g}" for name, value, after in self.table},
        }
        return html_table(str(self), shown)

    def __float__(self) -> float:
        return self.after

    def __str__(self) -> str:
        releases = "the release" if self.releases == 1 else f"{self.releases} releases"
        reached = "and some mechanism reaches that" if self.exact else "an upper bound"
        if self.values == 1:
            return "There is only one possible value: nothing can be learned."
        return (
            f"{self.claim}: someone who knows everything else guesses {self.guessed} with probability "
            f"{self.before:.4g} before and at most {self.after:.6g} after {releases}, {reached}"
        )

    @property
    def guessed(self) -> str:
        """What is guessed, and among how many values."""
        return f"{self.about} among {self.values}" if self.about == VALUE else self.about


def explain(
    eps: float | None = None,
    *,
    delta: float = 0.0,
    rho: float | None = None,
    values: int | Iterable[object] | None = None,
    prior: object = None,
    releases: int = 1,
    sigma: float | None = None,
    sensitivity: float = 1.0,
    renyi: Mapping[float, float] | None = None,
    policy: Target | None = None,
    within: float | None = None,
    centre: object = None,
) -> Explanation:
    """What a privacy claim means for one person, at worst over all mechanisms that keep it.

    Parameters
    ----------
    eps, delta : (ε, δ)-differential privacy of each release; without eps, delta is where the ε that follows
        is read (`equivalents`), and is not spent
    rho : ρ of zero-concentrated differential privacy, instead of eps
    sigma, sensitivity : scale of Gaussian noise and how far one person moves the answer, instead of eps
    renyi : mapping from order α > 1 to Rényi divergence in nats, instead of eps
    values : how many values the person may have (2 by default), or the list of them
    prior : what the attacker believes about them before (uniform by default)
    releases : how many adaptive releases have the claim each
    policy : a Policy, Metric or Graph that says which values are neighbours (default: any two)
    within, centre : metric privacy: the attacker knows the value to within this distance (of this place);
        eps is then per unit of distance

    Returns
    -------
    Explanation
        The best guess `before` and `after`, what some mechanism `reached`, odds, bits and the claim's curve.

    Notes
    -----
    For ρ and Rényi curves, equally likely values and one release the answer is exact: averaged over all
    permutations of the values, the worst mechanism is randomised response.

    Cost: a closed form for pure ε; for δ, ρ, σ and Rényi curves a search on the claim's curve; with a policy
    that is not complete a linear program.

    Examples
    --------
    >>> import math
    >>> print(explain(eps=math.log(3)))
    ε = 1.09861: someone who knows everything else guesses one person's value among 2 with probability 0.5 \
before and at most 0.75 after the release, and some mechanism reaches that
    >>> round(explain(eps=1.2, delta=0.01).after, 6)
    0.77084
    >>> round(explain(eps=0.5, releases=10).after, 6)
    0.778526
    """
    claim = claim_of(eps, delta, rho, sigma, sensitivity, renyi, releases)
    return explain_claim(
        claim,
        values=values,
        prior=prior,
        policy=policy,
        within=within,
        centre=centre,
        read=checked_delta(delta),
    )


def explain_claim(
    claim: Claim,
    values: int | Iterable[object] | None = None,
    prior: object = None,
    policy: Target | None = None,
    within: float | None = None,
    centre: object = None,
    *,
    about: str = VALUE,
    between: str | None = None,
    read: float = 0.0,
    apart: float | None = None,
) -> Explanation:
    """`explain` for a claim that is already an object; `about` and `between` say what it speaks of.

    `read` is one more δ at which a curve is read off; `apart` how far the two inputs named by `between` are
    apart at most, where the claim is for a unit of distance.
    """
    named = listed(values)
    count = _count(named, prior, policy)
    belief = checked_prior(prior, count, named, policy)
    near = _near(claim, policy, within, centre)
    judged = claim
    if within is not None and policy is None:
        assert isinstance(claim, ApproximateClaim)
        judged = replace(claim, eps=_apart(claim.eps, within))
    guess, before = guess_under(judged, count, belief, policy)
    if judged is not claim:
        near = _anywhere(claim, float(within or 0), count, before, guess)
    people = records_of_person(policy)
    judged = judged.of_group(people)
    pair = judged
    if _by_distance(policy) and apart is None:
        apart = _nearest(policy)
        if apart is not None and between is None:
            between = f"two inputs at distance {apart:.6g}, the nearest there are,"
    if apart is not None and isinstance(judged, ApproximateClaim) and not judged.lost:
        pair = replace(judged, eps=judged.eps * apart)
    curve = pair.tradeoff()
    if people > 1 and isinstance(judged, ApproximateClaim):
        # What follows for a group need not be attained.
        curve = replace(curve, exact=False)
    return Explanation(
        claim=_words(claim, policy, within),
        values=count,
        before=before,
        after=guess.upper,
        reached=guess.lower,
        exact=guess.exact,
        odds=odds_growth(before, guess.upper, guess.miss()),
        bits=math.log1p(guess.gain(before) / before) / math.log(2),
        advantage=guess.gain(before),
        distinguishing=curve.advantage,
        curve=curve,
        releases=getattr(claim, "releases", 1),
        method=guess.method,
        totals=_totals(pair if within is None else claim),
        equivalents=_equivalents(pair, read),
        near=near,
        database=None if policy is None else _database(claim, policy),
        policy=_described(policy),
        person=judged.words if people > 1 else None,
        between=_between(policy, within) if between is None else between,
        about=about,
        table=_table(claim, count, belief, policy, within),
        certificate=guess.certificate,
        uncertified=guess.uncertified,
        by_distance=_by_distance(policy),
    )


def _database(claim: Claim, policy: Target) -> DatabaseBits:
    from sievert.limits._guess_bounds import database_bits

    return database_bits(claim, policy)


def _by_distance(policy: Target | None) -> bool:
    """Whether ε is per unit of distance."""
    inner = policy.secrets if isinstance(policy, Policy) else policy
    return isinstance(inner, Metric) and not is_complete(inner)


def _nearest(policy: Target | None) -> float | None:
    """The least positive distance of a metric without two points at distance 1; else None, or not known."""
    metric = policy.secrets if isinstance(policy, Policy) else policy
    if not isinstance(metric, Metric) or len(metric.points) > LARGEST_LISTED:
        return None
    distances = metric.matrix
    apart = distances[(distances > 0) & (distances < math.inf)]
    if not apart.size or np.isclose(apart, 1.0, rtol=1e-9).any():
        return None
    return float(apart.min())


def _words(claim: Claim, policy: Target | None, within: float | None) -> str:
    if policy is None and within is not None:
        return f"{claim.words} per unit of distance, the value being known to within {within:g}"
    return f"{claim.words} per unit of distance" if _by_distance(policy) else claim.words


def records_of_person(policy: Target | None) -> int:
    """How many records one person may own; 1 under public knowledge, where a guess is about one record."""
    return policy.person_records if isinstance(policy, Policy) and not policy.constrained else 1


def _described(policy: Target | None) -> str | None:
    if not isinstance(policy, Policy):
        return None
    text = policy.describe()
    if policy.person_records == 1 or not policy.constrained:
        return text
    return f"{text} The guesses here are about one of them, all other records known."


def _between(policy: Target | None, within: float | None) -> str:
    if records_of_person(policy) > 1:
        return "two databases that differ in one person's records"
    if policy is None and within is not None:
        return f"two places at distance {2 * within:g}"
    return "two inputs at distance 1" if _by_distance(policy) else "two neighbouring databases"


def guess_under(
    claim: Claim, count: int, prior: FloatArray | None, policy: Target | None, *, upper_only: bool = False
) -> tuple[GuessBounds, float]:
    """Ends of the best guess and the blind guess before."""
    if policy is None:
        before = 1 / count if prior is None else float(prior.max())
        return best_guess(claim, count, prior, upper_only=upper_only), before
    people = records_of_person(policy)
    if people == 1:
        return _policy_guess(claim, policy, prior, upper_only)
    if _by_distance(policy) and isinstance(claim, ApproximateClaim) and claim.lost:
        raise PolicyError(
            f"{claim.words}: what this implies for a person with {people} records depends on the distance; "
            "on a metric give a pure eps, or person_records = 1"
        )
    found, before = _policy_guess(claim.of_group(people), policy, prior, upper_only)
    if isinstance(claim, ApproximateClaim) and not upper_only:
        # Whoever sees one of the person's records sees what they all say.
        one = _policy_guess(claim, policy, prior, False)[0]
        found = replace(found, lower=min(one.lower, found.upper))
    return found, before


def _policy_guess(
    claim: Claim, policy: Target, prior: FloatArray | None, upper_only: bool
) -> tuple[GuessBounds, float]:
    """The guess with its proof; where a bound without one is clearly lower, that, beside what is proved."""
    from sievert.limits._guess_upper_bound import fast_guess_bound, least_guess

    quick = fast_guess_bound(claim, policy, prior) if upper_only else None
    if quick is not None:
        return quick, 1 / len(values_of(policy)) if prior is None else float(prior.max())
    return least_guess(claim, policy, prior)


def listed(values: object) -> object:
    """Values as a list, so that they can be read twice; anything else as it is."""
    named = iterable(values) and not isinstance(values, str)
    return taken("values", values, MechanismError, "values") if named else values


def _count(values: object, prior: object, policy: Target | None) -> int:
    """How many values there are, from whichever argument says so; they must agree."""
    said: list[tuple[str, int]] = []
    if policy is not None:
        said.append(("policy", len(values_of(target_of(policy)))))
    if isinstance(values, bool) or (is_whole(values) and values < 1):
        raise MechanismError(f"values is {abbreviated(values)}; a person has at least one possible value")
    if is_whole(values):
        whole("values", values, MechanismError, most=MOST_VALUES)
        said.append(("values", int(values)))
    elif iterable(values) and not isinstance(values, str):
        items = taken("values", values, MechanismError, "values")
        if not items or len({_written(item) for item in items}) != len(items):
            raise MechanismError(f"values is {abbreviated(items)}; give different values, at least one")
        said.append(("values", len(items)))
    elif values is not None:
        raise MechanismError(
            f"values is {abbreviated(values)}; give how many values there are, or a list of them"
        )
    if prior is not None:
        said.append(("prior", len(column_of(prior, "prior", PriorError).values)))
    counts = {number for _, number in said}
    if len(counts) > 1:
        words = ", ".join(f"{name} has {number}" for name, number in said)
        raise MechanismError(f"{words}; they must speak of the same values")
    return counts.pop() if counts else 2


def _written(value: object) -> str:
    """A value as it is told from others, 1 from True."""
    try:
        return repr(label(value))
    except LabelError as problem:
        raise MechanismError(f"values: {problem}") from None


def _near(claim: Claim, policy: Target | None, within: float | None, centre: object) -> BallGuess | None:
    if within is None:
        if centre is not None:
            raise MechanismError("centre goes with within: how near to it is the person known to be?")
        return None
    if not isinstance(claim, ApproximateClaim) or claim.lost:
        raise MechanismError("within goes with a pure eps per unit of distance")
    radius = non_negative("within", within, MechanismError, infinite=True)
    if policy is None:
        return None
    from sievert.limits._guess_bounds import ball_guess

    found = ball_guess(claim.eps * claim.releases, policy, radius, centre)
    # What one release of the added ε reaches, several releases need not.
    return found if claim.releases == 1 else replace(found, exact=False)


def _anywhere(claim: Claim, radius: float, count: int, before: float, guess: GuessBounds) -> BallGuess:
    """Within a radius of a centre, wherever the places are: at most 2r apart from each other."""
    from sievert.limits._guess_bounds import BallGuess

    assert isinstance(claim, ApproximateClaim)
    total = claim.eps * claim.releases
    return BallGuess(
        "the centre",
        radius,
        count,
        power(total, radius),
        power(total, 2 * radius),
        before,
        guess.upper,
        guess.exact,
    )


def _apart(eps: float, radius: float) -> float:
    """ε between two places that are both within a radius of a third: at most 2r apart."""
    return 0.0 if eps == 0 or radius == 0 else 2 * eps * radius


def odds_growth(before: float, after: float, missed: float | None = None) -> float:
    """Growth of the odds of a right guess; 1 where nothing was left to learn.

    `missed` is 1 - after where it is known without cancellation.
    """
    if before >= 1:
        return 1.0
    wrong = 1 - after if missed is None else missed
    if wrong <= 0:
        return math.inf
    return max(1.0, after * (1 - before) / before / wrong)


def _totals(claim: Claim) -> ComposedClaim | None:
    if not isinstance(claim, ApproximateClaim) or claim.releases == 1:
        return None
    # A total δ must leave room for what the releases may give away outright.
    return composed_claim(
        claim.eps,
        releases=claim.releases,
        delta=claim.lost,
        total_delta=min(1.0, max(1e-6, 2 * claim.releases * claim.lost)),
    )


def _equivalents(claim: Claim, read: float) -> tuple[tuple[float, float], ...]:
    if isinstance(claim, ApproximateClaim):
        return ()
    wanted = sorted({*READ_DELTAS, read} - {0.0}, reverse=True)
    return tuple((delta, claim.epsilon(delta)) for delta in wanted)


def _table(
    claim: Claim, count: int, prior: FloatArray | None, policy: Target | None, within: float | None
) -> tuple[tuple[str, float, float], ...]:
    """The guess at other parameters; left out where each row would need a program."""
    if policy is not None and not is_complete(policy):
        return ()
    rows = []
    people = records_of_person(policy)
    for name, value, other in _variants(claim, within):
        judged = other.of_group(people)
        rows.append((name, value, best_guess(judged, count, prior, upper_only=True).upper))
    return tuple(sorted(rows))


def _variants(claim: Claim, within: float | None) -> list[tuple[str, float, Claim]]:
    if isinstance(claim, ApproximateClaim):
        levels = sorted({*TABLE_EPS, claim.eps} - {math.inf})
        scale = 1.0 if within is None else _apart(1.0, within)
        return [("eps", level, replace(claim, eps=level * scale)) for level in levels]
    if isinstance(claim, GaussianClaim):
        scales = [claim.sigma * factor for factor in (1.0, *TABLE_FACTORS)]
        return [("sigma", sigma, replace(claim, sigma=sigma)) for sigma in scales if sigma > 0]
    if isinstance(claim, ZeroConcentratedClaim):
        rhos = [claim.rho * factor for factor in (1.0, *TABLE_FACTORS)]
        return [("rho", rho, replace(claim, rho=rho)) for rho in rhos if rho > 0]
    if isinstance(claim, RenyiClaim):
        counts = [claim.releases * factor for factor in (1, 2, 4, 8)]
        return [("releases", float(count), replace(claim, releases=count)) for count in counts]
    return []
