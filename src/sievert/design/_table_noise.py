"""Noise for a table or a sum: the mechanisms that apply, side by side, with their errors and leaks.

Tables and sums have too many answers for a linear program over all of them, but few mechanisms apply, and
each is known exactly: its error by the law of the noise, what it gives away by what one record shows through
it. Where the answers are few the best of all mechanisms is found as well, with its proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sievert.arrays import FloatArray
from sievert.channels import Channel, EpsilonOrAlpha, GaussianLaw, GeometricLaw, NoiseLaw, TableNoise
from sievert.channels.priors import as_prior
from sievert.design._local_tables import LocalTable
from sievert.design._optimal import OptimalMechanism, optimal_mechanism
from sievert.design._table_results import NO_PROOF, TableDesign, TableOption
from sievert.errors import MechanismError, QueryError, SievertError, TooLargeError
from sievert.limits import guess_allowed_by_epsilon
from sievert.measures import losses, record_leakage
from sievert.mechanisms import add_to_table, best_staircase, geometric_table_noise
from sievert.numerics import abbreviated, advance, instance, non_negative, probability, read_eps, whole
from sievert.observations import RepeatedGuess, likelihood_of, repeated_guess
from sievert.policies import Answers, Policy, Query, Sensitivity, Statistic
from sievert.spaces import SecretGraph

__all__ = ["TableDesignProblem", "noise_for", "table_design"]

# Answers of a sum for which the best of all mechanisms is looked for.
LARGEST_OPTIMAL = 64
GENG = "least mean error of all noise added to one number (Geng and Viswanath 2016, discrete setting)"
# The matched σ is found to so many digits, and rounded up: the guess is never above the one it is matched to.
SIGMA_DIGITS = 6
# Beyond these, squares of what the noise adds to a table are no floats.
LEAST_EPS, MOST_EPS = 1e-100, 1e100


def noise_for(
    policy: Policy,
    eps: float,
    query: Query,
    prior: object = None,
    *,
    releases: int = 1,
    confidence: float = 0.95,
) -> TableDesign:
    """The mechanisms that apply to a count, a sum or a histogram, side by side.

    Parameters
    ----------
    policy : what must stay hidden
    eps : for the policy, in nats
    query : a count, a sum or a histogram
    prior : what is believed about one record; uniform by default
    releases : independent releases of the same table that somebody sees
    confidence : probability of the radius

    Returns
    -------
    TableDesign
        One option a mechanism, with its error in the answer's units, its true ε, and how well one record is
        guessed after one release and after all; which errs least, and what is proved about it.

    Notes
    -----
    Geometric noise; a staircase where one record moves a sum by more than a step; Gaussian noise whose σ
    gives the same guess; what would be needed to hide any two values, where the policy asks for less; local
    responses with inversion; and the optimum by a linear program where a sum has few answers.

    Cost: O(values) for each guess after one release, about 30 of them for σ; the program of the optimum.

    Examples
    --------
    >>> from sievert.policies import Policy, Query
    >>> found = noise_for(Policy.differential(range(4), 10), 3.0, Query.sum())
    >>> print(found.best, round(found.chosen.in_range, 3), round(float(found.optimum.loss), 3))
    staircase 0.485 0.476
    """
    instance("policy", policy, Policy, "a policy", MechanismError)
    instance("query", query, Query, "a query", QueryError)
    statistic = query.statistic(policy)
    if statistic is None or query.is_record:
        raise QueryError(f"{query.words} is no table over all records; use a count, a sum or a histogram")
    confidence = probability("confidence", confidence, MechanismError)
    if confidence in (0, 1):
        raise MechanismError(f"confidence is {confidence}; it must be between 0 and 1")
    belief = np.asarray(as_prior(prior, policy.values), dtype=np.float64)
    return table_design(
        TableDesignProblem(
            policy,
            query,
            statistic,
            statistic.sensitivity(policy),
            non_negative("eps", eps, MechanismError),
            belief,
            whole("releases", releases, MechanismError),
            confidence,
        )
    )


@dataclass(frozen=True, eq=False)
class TableDesignProblem:
    """What a design is asked: the table and how far one record moves it, ε, and what is believed."""

    policy: Policy
    query: Query
    statistic: Statistic
    sensitivity: Sensitivity
    eps: float
    belief: FloatArray
    releases: int
    confidence: float

    @property
    def exact_eps(self) -> Fraction:
        """ε as it was written."""
        return read_eps(self.eps)

    @property
    def answers(self) -> range | None:
        """All answers of a sum in steps, where they are few and in a row."""
        if len(self.statistic.cells) > 1 or not self.statistic.consecutive(self.policy):
            return None
        low, high = self.statistic.range(self.policy)
        return range(low, high + 1) if high - low < LARGEST_OPTIMAL else None


def _require_noise(setting: TableDesignProblem) -> None:
    """Refuse an ε that no noise keeps, and an answer that needs none."""
    if not setting.sensitivity.moves:
        words, known = setting.query.words, setting.policy.permitted is not None
        hidden = "databases that are possible (policy.permitted) and" if known else "values that"
        raise MechanismError(
            f"no two {hidden} must not be told apart differ in {words}, so there is no noise to design: the "
            "true answer keeps every ε; publish it, or ask for a query that one record changes"
        )
    if setting.eps == 0:
        raise MechanismError("ε is 0, so there is no noise to design; give an eps above 0")
    if not LEAST_EPS <= setting.eps <= MOST_EPS:
        raise MechanismError(
            f"eps is {abbreviated(setting.eps)}; noise is designed for an ε from 1e-100 to 1e100, give "
            f"one of these"
        )


def table_design(setting: TableDesignProblem) -> TableDesign:
    """Every mechanism that applies, and why others do not."""
    _require_noise(setting)
    options: list[TableOption] = []
    missing: dict[str, str] = {}
    makers: dict[str, Callable[[TableDesignProblem], TableOption | str]] = {
        "geometric": _geometric,
        "staircase": _staircase,
        "discrete Gaussian": _gaussian,
        "geometric for any two values": _for_any_two,
        "local response": _local,
    }
    for done, (name, make) in enumerate(makers.items()):
        advance("weighing the mechanisms", done, len(makers) + 1)
        try:
            found = make(setting)
        except SievertError as problem:
            found = str(problem)
        if isinstance(found, str):
            missing[name] = found
        else:
            options.append(found)
    optimum = _optimum(setting)
    if isinstance(optimum, str):
        missing["optimum"] = optimum
        best_of_all = None
    else:
        best_of_all, option = optimum
        options.append(option)
    allowed = setting.eps * (1 + 1e-9)
    own = [option for option in options if option.noise is not None and option.eps <= allowed]
    if not own:
        raise MechanismError(f"no noise that keeps ε can be weighed; geometric: {missing['geometric']}")
    best = min(own, key=lambda option: (option.mean_error or 0.0, option.sd or 0.0))
    return TableDesign(
        setting.eps,
        setting.query.words,
        setting.releases,
        setting.confidence,
        tuple(options),
        missing,
        best.name,
        best_of_all,
        setting.sensitivity,
    )


def _option(
    setting: TableDesignProblem, name: str, mechanism: dict[str, Any] | None, noise: TableNoise, **more: Any
) -> TableOption:
    law, step = noise.law, float(setting.statistic.step)
    eps = float(noise.eps_of(setting.sensitivity)) if noise.keeps_eps else math.inf
    once, often = _guesses(setting, noise)
    return TableOption(
        name,
        mechanism,
        law.deviation * step,
        law.mean_error * step,
        law.radius(setting.confidence) * step,
        _in_range(setting, law),
        eps,
        once.before,
        once.guess,
        once.exact,
        often.guess,
        often.exact,
        noise=noise,
        **more,
    )


def _guesses(setting: TableDesignProblem, noise: TableNoise) -> tuple[RepeatedGuess, RepeatedGuess]:
    view = likelihood_of(noise, setting.belief)
    once = view.guess(1)
    often = once if setting.releases == 1 else view.guess(setting.releases)
    eps = float(noise.eps_of(setting.sensitivity)) if noise.keeps_eps else math.inf
    return _allowed(setting, eps, once), _allowed(setting, eps, often)


def _allowed(setting: TableDesignProblem, eps: float, found: RepeatedGuess) -> RepeatedGuess:
    """Never above what any mechanism with this ε allows, as an audit has it."""
    if found.exact:
        return found
    belief = None if np.ptp(setting.belief) == 0 else setting.belief
    most = guess_allowed_by_epsilon(setting.policy, eps, found.observations, belief, found.before)
    return replace(found, guess=min(found.guess, most))


def _in_range(setting: TableDesignProblem, law: NoiseLaw) -> float | None:
    """Σ|clamped - true| over all answers, each as likely as the others."""
    answers = setting.answers
    if answers is None:
        return None
    low, high = answers[0], answers[-1]
    true = np.array(answers, dtype=np.float64)
    # E min(|Z|, room) on either side: Σ_{k=1}^{room} P(Z ≥ k).
    upper = np.concatenate([[0.0], np.cumsum(np.exp(law.log_upper(np.arange(1.0, high - low + 1))))])
    rooms = (true - low).astype(np.intp), (high - true).astype(np.intp)
    return float((upper[rooms[0]] + upper[rooms[1]]).mean()) * float(setting.statistic.step)


def _geometric(setting: TableDesignProblem) -> TableOption:
    noise = geometric_table_noise(setting.statistic, setting.sensitivity.steps, setting.exact_eps)
    single = len(setting.statistic.cells) == 1 and all(move.steps == 1 for move in setting.sensitivity.moves)
    proved = GENG if single else NO_PROOF
    written = {"kind": "geometric", "eps": setting.eps}
    return _option(setting, "geometric", written, noise, optimality=proved, optimal=single)


def _staircase(setting: TableDesignProblem) -> TableOption | str:
    if len(setting.statistic.cells) > 1:
        return "in a histogram one record moves a cell by a single step: it is geometric noise"
    law = best_staircase(setting.statistic, setting.sensitivity, setting.exact_eps)
    if law.sensitivity == 1:
        return "one record moves the answer by a single step: it is geometric noise"
    moves = setting.sensitivity.moves
    widest = len(moves) == 1 and law.sensitivity == moves[0].steps
    return _option(
        setting,
        "staircase",
        {"kind": "staircase", "eps": setting.eps},
        add_to_table(setting.statistic, law),
        optimality=GENG if widest else NO_PROOF,
        optimal=widest,
        note=f"stairs of {law.sensitivity} steps, {law.top} on top",
    )


def _gaussian(setting: TableDesignProblem) -> TableOption | str:
    """σ with the guess that geometric noise gives, after all releases where that is exact, else after one."""
    plain = geometric_table_noise(setting.statistic, setting.sensitivity.steps, setting.exact_eps)
    once, often = _guesses(setting, plain)
    count = setting.releases if often.exact else 1
    target = often.guess if often.exact else once.guess

    def guess(sigma: Fraction) -> float:
        noise = add_to_table(setting.statistic, GaussianLaw(sigma))
        return likelihood_of(noise, setting.belief).guess(count).guess

    sigma = _matched(guess, target, Fraction(plain.law.deviation).limit_denominator(1000))
    if sigma is None:
        return "no σ from 1/10 to 2^40 steps gives the guess of geometric noise"
    units = sigma * setting.statistic.step
    written = float(units) if Fraction(str(float(units))) == units else str(units)
    after = "one release" if count == 1 else f"{count} releases"
    return _option(
        setting,
        f"discrete Gaussian, σ = {float(units):.6g}",
        {"kind": "gaussian", "sigma": written},
        add_to_table(setting.statistic, GaussianLaw(sigma)),
        note=f"σ gives the guess of geometric noise after {after}; keeps no ε",
    )


def at_equal_guess(noise: TableNoise, belief: FloatArray, releases: int = 1) -> TableNoise | None:
    """Gaussian noise that lets anybody guess one record as well as other noise does, geometric as Gaussian.

    None where the guess is no exact one, or no such noise gives it.
    """
    target = likelihood_of(noise, belief).guess(releases)
    if not target.exact or target.guess <= target.before:
        return None
    make = _geometric_of_scale if isinstance(noise.law, GaussianLaw) else GaussianLaw

    def guess(scale: Fraction) -> float:
        return likelihood_of(add_to_table(noise.statistic, make(scale)), belief).guess(releases).guess

    start = Fraction(noise.law.deviation).limit_denominator(1000)
    found = _matched(guess, target.guess, start)
    return None if found is None else add_to_table(noise.statistic, make(found))


def _geometric_of_scale(scale: Fraction) -> GeometricLaw:
    """Of ε = 1/scale for a step."""
    return GeometricLaw(EpsilonOrAlpha(float(1 / scale), None, exact_eps=1 / scale))


def _matched(guess: Callable[[Fraction], float], target: float, start: Fraction) -> Fraction | None:
    """The least σ of six digits whose guess is at most the target; None where there is none."""
    least, most = Fraction(1, 10), Fraction(2**40)
    low = high = min(max(start, least), most)
    while guess(high) > target:
        if high == most:
            return None
        low, high = high, min(2 * high, most)
    while low > least and guess(low) <= target:
        low, high = max(low / 2, least), low
    if guess(low) <= target:
        return low
    while high / low > 1 + Fraction(1, 10**SIGMA_DIGITS):
        middle = _rounded_up((low + high) / 2, SIGMA_DIGITS + 2)
        if middle >= high:
            break
        low, high = (low, middle) if guess(middle) <= target else (middle, high)
    return _rounded_up(high, SIGMA_DIGITS)


def _rounded_up(value: Fraction, digits: int) -> Fraction:
    """To so many digits, never down."""
    scale = Fraction(10) ** (digits - 1 - math.floor(math.log10(value)))
    return Fraction(math.ceil(value * scale)) / scale


def _for_any_two(setting: TableDesignProblem) -> TableOption | str:
    """What hiding any two values would take, where the policy asks for less."""
    policy, statistic = setting.policy, setting.statistic
    if policy.absent is not None:
        return "records may be absent: the policy's own noise is for that"
    if policy.hides_any_two and not policy.constrained:
        return "the policy hides any two values already"
    everyone = Policy.differential(policy.values, policy.records)
    noise = geometric_table_noise(statistic, statistic.sensitivity(everyone).steps, setting.exact_eps)
    if noise.law == geometric_table_noise(statistic, setting.sensitivity.steps, setting.exact_eps).law:
        return "any two values need the noise of the policy"
    return _option(
        setting,
        "geometric for any two values",
        {"kind": "geometric", "eps": float(noise.eps_of(setting.sensitivity))},
        noise,
        note="what differential privacy for any two values would take: the policy asks for less",
    )


def _local(setting: TableDesignProblem) -> TableOption | str:
    policy, step = setting.policy, float(setting.statistic.step)
    if policy.absent is not None:
        return "reports row by row show how many rows there are"
    if policy.constrained:
        return "what everybody knows about all records together is not kept by reports row by row"
    if not isinstance(policy.secrets, SecretGraph):
        return "randomised response tells any two values apart alike, however near the policy has them"
    found = LocalTable(setting.statistic, policy.records, setting.eps, setting.belief)
    once = found.guess(1)
    often = once if setting.releases == 1 else _allowed(setting, setting.eps, found.guess(setting.releases))
    exact = found.law(setting.confidence)
    mean, radius = (None, None) if exact is None else (exact[0] * step, exact[1] * step)
    return TableOption(
        "local response and inversion",
        None,
        found.deviation * step,
        mean,
        radius,
        None,
        setting.eps if found.size > 1 else 0.0,
        once.before,
        once.guess,
        once.exact,
        often.guess,
        often.exact,
        note=f"each record reports by randomised response on {found.size} contributions; error at the worst "
        "table, nobody trusted with the data",
    )


def _optimum(setting: TableDesignProblem) -> tuple[OptimalMechanism, TableOption] | str:
    """The least mean error of all mechanisms on few answers, all equally likely, with its proof."""
    if len(setting.statistic.cells) > 1:
        return f"the cells of a histogram together have too many answers: {NO_PROOF}"
    if setting.answers is None:
        return f"the answers are more than {LARGEST_OPTIMAL}, or not in a row: {NO_PROOF}"
    if not math.isfinite(setting.eps):
        return "ε is infinite"
    answers: Answers = setting.query.answers(setting.policy)
    best = optimal_mechanism(answers, setting.eps, None, losses.absolute(answers.labels))  # type: ignore[arg-type]
    channel, belief = best.mechanism, setting.belief
    try:
        once = record_leakage(channel, answers, prior=belief)
        first = RepeatedGuess(once.before, once.after, not once.is_bound, 1)
        often = first if setting.releases == 1 else repeated_guess(channel, answers, setting.releases, belief)
    except TooLargeError as problem:
        return str(problem)
    sd, radius = _errors_of(channel, setting.confidence)
    gap = "exactly" if best.gap == 0 else f"within {best.gap:.1e}"
    option = TableOption(
        "optimum by linear program",
        None,
        sd,
        float(best.loss),
        radius,
        float(best.loss),
        float(best.eps),
        first.before,
        first.guess,
        first.exact,
        often.guess,
        often.exact,
        optimality=f"proved {gap}: no mechanism of this ε errs less, all answers equally likely",
        optimal=True,
        note="" if best.warning is None else best.warning,
    )
    return best, option


def _errors_of(channel: Channel, confidence: float) -> tuple[float, float]:
    """Standard deviation and radius of the error, all inputs equally likely."""
    matrix = channel.rounded()
    inputs, outputs = (np.array([float(x) for x in side]) for side in (channel.inputs, channel.outputs))  # type: ignore[arg-type]
    off = np.abs(np.subtract.outer(inputs, outputs)).ravel()
    chances = (matrix / len(inputs)).ravel()
    order = np.argsort(off, kind="stable")
    place = min(int(np.searchsorted(np.cumsum(chances[order]), confidence)), len(off) - 1)
    largest = float(off.max()) or 1.0
    return largest * math.sqrt(float(chances @ (off / largest) ** 2)), float(off[order][place])
