"""The standard gain functions (Fernandes, Sec 2.2). Each is an array [action, secret]."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product as cartesian
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels import Channel, finite_channel
from sievert.channels.priors import Prior, as_prior
from sievert.errors import GainError, TooLargeError
from sievert.measures._gain_function import (
    GainFunction,
    GainMatrix,
    gain_matrix,
    number_of,
    require_table,
    secret_labels,
    table_adversary,
)
from sievert.measures._gain_functions import BeliefGain, Identity, Tries
from sievert.measures._line_gain_functions import Closeness, WithinRadius
from sievert.measures._vulnerability import strategy
from sievert.numerics import abbreviated, instance, taken
from sievert.numerics import function as callable_of
from sievert.numerics import non_negative as at_least_zero
from sievert.spaces import Metric, floats, iterable, label, metric_of, table_of

__all__ = [
    "added",
    "as_guess",
    "closeness",
    "from_loss",
    "identity",
    "matrix",
    "non_negative",
    "of_belief",
    "partition",
    "property",
    "property_channel",
    "strategy",
    "through",
    "tries",
    "trivial",
    "within",
]


def __dir__() -> list[str]:
    return sorted(__all__)


LARGEST_PLANS = 200_000
# Pairs of points on a line up to which a gain within a radius is a matrix.
LARGEST_WINDOWED = 10_000_000


def identity(n: int | Iterable[object]) -> Identity:
    """Guess the secret in one try; n secrets, or their labels.

    Parameters
    ----------
    n : number of secrets, or their labels

    Returns
    -------
    Identity

    Notes
    -----
    Cost: O(1): the matrix is made when one asks for it, and values are column maxima.

    Examples
    --------
    >>> identity(2).matrix
    array([[1, 0],
           [0, 1]])
    """
    return Identity(secret_labels(n))


def tries(n: int | Iterable[object], k: int) -> Tries:
    """Guess the secret in k tries. Evaluated as the sum of the k largest beliefs.

    Parameters
    ----------
    n : number of secrets, or their labels
    k : number of tries

    Returns
    -------
    Tries

    Notes
    -----
    Cost: O(1): values are sums of the k largest entries of a column; the matrix, made when one asks for it,
    has a row for each set of k secrets.

    Examples
    --------
    >>> tries(3, 2).matrix
    array([[1, 1, 0],
           [1, 0, 1],
           [0, 1, 1]])
    """
    return Tries(secret_labels(n), k)


def partition(
    blocks: Mapping[Any, Iterable[object]] | Iterable[Iterable[object]],
    secrets: Iterable[object] | None = None,
) -> GainMatrix:
    """Guess which block of a partition the secret is in: gain 1 if it is in the guessed block.

    Blocks hold labels of the secrets; their order is that of `secrets`, or that of the blocks, and is
    matched by label to a channel's inputs.

    Parameters
    ----------
    blocks : lists of secrets, or a mapping from the name of a block to its list
    secrets : all secrets in the order wanted; by default that of the blocks

    Returns
    -------
    GainMatrix

    Notes
    -----
    Cost: O(blocks·secrets).

    Examples
    --------
    >>> partition({"low": [0, 1], "high": [2, 3]}).matrix
    array([[1, 1, 0, 0],
           [0, 0, 1, 1]])
    """
    if isinstance(blocks, str) or not iterable(blocks):
        raise GainError(
            f"blocks is {abbreviated(blocks)}; give lists of secrets, or a mapping from name to list"
        )
    listed = blocks if isinstance(blocks, Mapping) else taken("blocks", blocks, GainError, "blocks")
    named = dict(blocks) if isinstance(blocks, Mapping) else dict(enumerate(listed))
    members = {name: _block(block) for name, block in named.items()}
    require_table(len(members), sum(map(len, members.values())))
    everything = [item for block in members.values() for item in block]
    twice = [item for item, times in Counter(everything).items() if times > 1]
    if twice:
        raise GainError(
            f"blocks: {abbreviated(twice[0])} is there twice; every secret must be in exactly one block"
        )
    order = secret_labels(_natural(everything) if secrets is None else secrets)
    require_table(max(1, len(members)), len(order))
    known, placed = set(order), set(everything)
    missing = [item for item in order if item not in placed]
    unknown = [item for item in everything if item not in known]
    if missing or unknown:
        what = f"the secret {missing[0]!r} is in none" if missing else f"{unknown[0]!r} is not a secret"
        raise GainError(f"blocks: {what}; every secret must be in exactly one block")
    position = {item: i for i, item in enumerate(order)}
    table = np.zeros((len(members), len(order)), dtype=np.int64)
    for row, block in enumerate(members.values()):
        table[row, [position[item] for item in block]] = 1
    return gain_matrix(table, list(members), "partition", secrets=order)


def property(
    secrets: int | Iterable[object], holds: Callable[[Any], object] | Iterable[object]
) -> GainMatrix:
    """Guess whether the secret has a property: a function of the secret, or the secrets that have it.

    The actions are True and False.

    Parameters
    ----------
    secrets : number of secrets, or their labels
    holds : a function of the secret, or the secrets that have the property

    Returns
    -------
    GainMatrix

    Notes
    -----
    Cost: O(secrets).

    Examples
    --------
    >>> property([10, 20, 60, 100], [60, 100]).matrix
    array([[0, 0, 1, 1],
           [1, 1, 0, 0]])
    >>> property([10, 20, 60, 100], lambda age: age >= 60).matrix[0].tolist()
    [0, 0, 1, 1]
    """
    labels = secret_labels(secrets)
    require_table(2, len(labels))
    if callable(holds):
        row = np.array([_has(holds, item) for item in labels], dtype=np.int64)
    else:
        if isinstance(holds, str) or not iterable(holds):
            raise GainError(f"holds is {abbreviated(holds)}; give the secrets that have it, or a function")
        inside = {label(item) for item in taken("holds", holds, GainError, "secrets")}
        unknown = inside - set(labels)
        if unknown:
            raise GainError(f"holds names {min(unknown, key=repr)!r}, which is not one of the secrets")
        row = np.array([item in inside for item in labels], dtype=np.int64)
    return gain_matrix(np.stack([row, 1 - row]), [True, False], "property", secrets=labels)


def _has(holds: Callable[[Any], object], secret: object) -> bool:
    try:
        return bool(holds(secret))
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as problem:
        raise GainError(
            f"holds has no answer for the secret {abbreviated(secret)} ({problem}); give a function of "
            f"every secret"
        ) from problem


def within(metric: Metric, radius: float) -> GainMatrix | WithinRadius:
    """Guess a point within a radius of the secret: gain 1 if d(guess, secret) ≤ radius.

    Parameters
    ----------
    metric : Metric
    radius : how far from the secret a guess may be

    Returns
    -------
    GainMatrix or Windows

    Notes
    -----
    Cost: O(n²) for n points; O(n log n) for more than 3,162 points on a line (`sv.metrics.line`), whose
    windows need no matrix until one asks for it.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> within(metrics.line(3), 1).matrix
    array([[1, 1, 0],
           [1, 1, 1],
           [0, 1, 1]])
    """
    metric = metric_of(metric)
    radius = at_least_zero("radius", radius, GainError, infinite=True)
    name = f"within {radius:g}"
    if metric.positions is not None and metric.size**2 > LARGEST_WINDOWED:
        return WithinRadius(metric.points, metric.positions, radius, name)
    table = (metric.matrix <= radius).astype(np.int64)
    return gain_matrix(table, metric.points, name, secrets=metric.points)


def closeness(metric: Metric, guesses: Any = None) -> GainMatrix | Closeness:
    """Guess a point near the secret: gain 1 - d(guess, secret)/diameter.

    Parameters
    ----------
    metric : Metric of finite diameter
    guesses : distances [guess, secret] of guesses that are not secrets themselves; by default the secrets

    Returns
    -------
    GainMatrix or Nearness

    Notes
    -----
    Cost: O(n²) for n points; O(n log n) for more than 3,162 points on a line (`sv.metrics.line`), whose best
    guess is a median and needs no matrix until one asks for it.

    References
    ----------
    Fernandes, Ex 2.3.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> closeness(metrics.line(3)).matrix[0].tolist()
    [1.0, 0.5, 0.0]
    """
    metric = metric_of(metric)
    if guesses is None and metric.positions is not None and metric.size**2 > LARGEST_WINDOWED:
        return Closeness(metric.points, metric.positions, "closeness")
    diameter = metric.diameter
    if not np.isfinite(diameter):
        raise GainError("metric has points at infinite distance, so closeness is undefined; use within")
    distances = metric.matrix if guesses is None else _distances(guesses, metric)
    actions = metric.points if guesses is None else None
    return gain_matrix(1.0 - distances / (diameter or 1.0), actions, "closeness", secrets=metric.points)


def _distances(guesses: Any, metric: Metric) -> NDArray[np.float64]:
    named = table_of(guesses, "guesses", GainError)
    entries, _, _ = named.ordered(None, metric.points, ("guesses", "secrets"), GainError)
    array = floats(entries, "guesses", GainError, "it needs one row of distances for each guess")
    if array.ndim != 2 or array.shape[1] != metric.size:
        raise GainError(
            f"guesses has shape {array.shape}; it needs one row of distances for each guess, with one "
            f"column for each of {metric.size} secrets"
        )
    return array


def trivial(n: int | Iterable[object]) -> GainMatrix:
    """One action that always gains 1: an adversary who does not care.

    Parameters
    ----------
    n : number of secrets, or their labels

    Returns
    -------
    GainMatrix

    Notes
    -----
    Cost: O(n).

    Examples
    --------
    >>> trivial(3).matrix.tolist()
    [[1, 1, 1]]
    """
    labels = secret_labels(n)
    require_table(1, len(labels))
    return gain_matrix(np.ones((1, len(labels)), dtype=np.int64), name="trivial", secrets=labels)


def matrix(
    table: Any,
    actions: Iterable[object] | None = None,
    name: str = "matrix",
    secrets: Iterable[object] | None = None,
) -> GainMatrix:
    """A gain function of your own: rows are actions, columns secrets; negative gains are allowed.

    Parameters
    ----------
    table : [action, secret], numbers or exact texts such as "1/2"
    actions : labels of the rows; by default 0, 1, 2, …
    name : what the gain is called
    secrets : labels of the columns; by default 0, 1, 2, …

    Returns
    -------
    GainMatrix

    Notes
    -----
    Cost: O(actions·secrets).

    Examples
    --------
    >>> import sievert as sv
    >>> catch = sv.gains.matrix([[1, 0, 0], [0, 1, 1]], actions=["left", "right"])
    >>> print(sv.posterior_vulnerability(sv.Channel.identity(3), gain=catch).value)
    1
    """
    return gain_matrix(table, actions, name, secrets=secrets)


def of_belief(
    function: Callable[[NDArray[np.float64]], float], n: int | Iterable[object], name: str = "belief"
) -> BeliefGain:
    """A vulnerability given directly as a function of the belief, an array of n probabilities.

    Posterior values are at least prior ones in the average case for convex functions, and in the max
    case for quasi-convex ones.

    Parameters
    ----------
    function : from an array of n probabilities to a number
    n : number of secrets, or their labels
    name : what the vulnerability is called

    Returns
    -------
    Belief
        An adversary for `sv.posterior_vulnerability` and `sv.leakage`.

    Notes
    -----
    Cost: the function is called once for each output.

    References
    ----------
    Fernandes, Def 4.3.1.

    Examples
    --------
    >>> of_belief(lambda belief: 1 - belief.min() ** 2, 3)
    gain 'belief' on 3 secrets
    """
    callable_of("function", function, "an array of probabilities", GainError)
    instance("name", name, str, "what the gain is called, a text", GainError)
    return BeliefGain(secret_labels(n), function, name)


def from_loss(loss: GainFunction, bound: object = None) -> GainMatrix:
    """The gain `bound` - loss of an adversary who minimises a bounded loss.

    V_g = bound - U_l before and after any release; the bound is the largest loss by default. Losses
    without a bound, such as the Shannon loss, have no such gain.

    Parameters
    ----------
    loss : a loss function with finitely many actions
    bound : at least the largest loss, which is the default

    Returns
    -------
    GainMatrix

    Notes
    -----
    Cost: O(actions·secrets).

    Examples
    --------
    >>> from sievert.measures import losses
    >>> from_loss(losses.absolute(3)).matrix[0].tolist()
    [2, 1, 0]
    """
    source = table_adversary(loss, "loss", is_loss=True)
    found = source.table.max()
    largest = found.item() if isinstance(found, np.generic) else found
    top = largest if bound is None else number_of("bound", bound)
    if top < largest:
        raise GainError(
            f"bound is {abbreviated(bound)} but the largest loss is {largest}; it must be at least that"
        )
    return gain_matrix(top - source.table, source.actions, f"{top} - {source.name}", secrets=source.secrets)


def non_negative(gain: GainMatrix) -> GainMatrix:
    """A gain without negative entries that compares all channels alike.

    The least gain of each secret is subtracted from all gains of that secret; every prior and posterior
    value moves by the same amount.

    Parameters
    ----------
    gain : a gain or loss function with finitely many actions

    Returns
    -------
    GainMatrix

    Notes
    -----
    Cost: O(actions·secrets).

    References
    ----------
    Fernandes, Thm 4.12.

    Examples
    --------
    >>> non_negative(matrix([[-1, 2], [0, 1]])).matrix.astype(int)
    array([[0, 1],
           [1, 0]])
    """
    gain = table_adversary(gain)
    table = gain.table - gain.table.min(axis=0)
    return gain_matrix(table, gain.actions, gain.name, gain.is_loss, gain.secrets)


def added(first: GainMatrix, second: GainMatrix) -> GainMatrix:
    """Two games at once: an action is one of each, and gains add, so every value is the sum of the two.

    Parameters
    ----------
    first, second : two gains, or two losses, about the same secrets

    Returns
    -------
    GainMatrix

    Notes
    -----
    Cost: O(actions·other actions·secrets).

    Examples
    --------
    >>> added(matrix([[1, 0]]), matrix([[0, 2], [3, 0]])).matrix.astype(int)
    array([[1, 2],
           [4, 0]])
    """
    first, second = table_adversary(first, "first"), table_adversary(second, "second")
    if first.is_loss != second.is_loss:
        raise GainError(
            f"{abbreviated(first)} and {abbreviated(second)} cannot be added; take two gains or two losses"
        )
    other = second.for_secrets(first.secrets)
    table = (first.table[:, None, :] + other.table[None, :, :]).reshape(-1, first.size)
    actions = list(cartesian(first.actions, other.actions))
    name = f"{first.name} + {second.name}"
    return gain_matrix(table, actions, name, first.is_loss, first.secrets)


def through(channel: Channel, gain: GainMatrix) -> GainMatrix:
    """The adversary who first sees a channel's output: an action is a plan, one action for each output.

    Its prior value is the posterior value of `gain` through the channel, for every prior; there are
    (actions)^(outputs) plans.

    Parameters
    ----------
    channel : Channel
    gain : a gain or loss function about the channel's outputs, with finitely many actions

    Returns
    -------
    GainMatrix
        About the channel's inputs.

    Notes
    -----
    Cost: O(actions^outputs·secrets): every plan that says an action for each output is an action.

    Examples
    --------
    >>> through(Channel([["3/4", "1/4"], [0, 1]]), matrix([[1, 0], [0, 1]])).matrix.tolist()[1]
    [Fraction(3, 4), Fraction(1, 1)]
    """
    finite = finite_channel(channel)
    gain = table_adversary(gain)
    own = gain.for_secrets(finite.inputs)
    plans = len(own.table) ** finite.shape[1]
    if plans > LARGEST_PLANS:
        raise TooLargeError(
            f"{len(own.table)} actions for each of {finite.shape[1]} outputs are {plans} plans; at most "
            f"{LARGEST_PLANS} are listed; sv.posterior_vulnerability needs no list",
            size=plans,
        )
    entries = finite.exact_or_rounded()
    table = np.zeros((1, own.size), dtype=entries.dtype)
    names: list[tuple[Any, ...]] = [()]
    for column in entries.T:
        step = own.table * column
        table = (table[:, None, :] + step[None, :, :]).reshape(-1, own.size)
        names = [(*plan, action) for plan in names for action in own.actions]
    return gain_matrix(table, names, f"{gain.name} after a release", gain.is_loss, finite.inputs)


# ── Questions about a secret turned into plain guesses of another secret ────────────────────────────────────
# Whether the secret has a property is itself a secret, with a channel of its own; and every gain function
# is the one-try guess of some other secret, up to a factor and a shift. So whatever is known of guesses
# holds for properties and gains.


@dataclass(frozen=True)
class EquivalentGuess:
    """A secret whose one-try guess is worth what another game is worth: value = factor·guess + shift.

    Attributes
    ----------
    prior : the prior of the new secret, which is the best action
    channel : from the new secret to the old one; let it be followed by any channel of the old secret
    factor, shift : for every channel C, V_g(prior, C) = factor·V(self.prior, self.channel.then(C)) + shift
    """

    prior: Prior
    channel: Channel
    factor: Any
    shift: Any


def property_channel(
    channel: Channel,
    prior: object,
    holds: Callable[[Any], object] | Iterable[object],
) -> tuple[Prior, Channel]:
    """The secret "does it have the property?": its prior and what the channel tells about it.

    Parameters
    ----------
    channel : Channel
    prior : belief in the secrets; None is uniform
    holds : a function of the secret, or the secrets that have the property

    Returns
    -------
    (prior, channel)
        With the inputs True and False.

    Notes
    -----
    A side that cannot happen has a row of its own all the same: the secret is then uniform on that side,
    or the whole row is the channel's average when no secret is on it.

    Cost: O(inputs·outputs).

    Examples
    --------
    >>> channel = Channel([["3/4", "1/4"], ["1/2", "1/2"], [0, 1]])
    >>> belief, told = property_channel(channel, None, [0, 1])
    >>> belief.tolist(), told.exact.tolist()[0]
    ([Fraction(2, 3), Fraction(1, 3)], [Fraction(5, 8), Fraction(3, 8)])
    """
    finite = finite_channel(channel)
    belief = as_prior(prior, finite)
    has = np.asarray(property(finite.inputs, holds).table[0] == 1)
    sides = [np.where(side, belief, belief * 0) for side in (has, ~has)]
    shares = np.array([side.sum() for side in sides], dtype=belief.dtype)
    weights = []
    for side, share, members in zip(sides, shares, (has, ~has), strict=True):
        if share:
            weights.append(side / share)
        else:
            fallback = members if members.any() else np.ones_like(members)
            even = np.array([Fraction(int(each), int(fallback.sum())) for each in fallback])
            weights.append(even.astype(belief.dtype))
    return shares, Channel(np.vstack(weights), [True, False], finite.inputs).then(finite)


def as_guess(gain: GainMatrix, prior: object = None) -> EquivalentGuess:
    """The secret whose one-try guess is this game: guess what the best action would be.

    With gains made non-negative by a shift, action w is the new secret with probability
    Σ_x π_x·g(w, x)/factor, and given w the old secret is x in proportion to π_x·g(w, x). Gains that are
    worth nothing under the prior have no such form.

    Parameters
    ----------
    gain : a gain function with finitely many actions
    prior : probabilities of the secrets; uniform by default

    Returns
    -------
    Guess
        The new secret's `prior`, the `channel` from it to the old one, and `factor` and `shift` of values.

    Notes
    -----
    Cost: O(actions·secrets).

    Examples
    --------
    >>> told = as_guess(matrix([[1, "1/2"], [0, 1]]))
    >>> told.factor, told.prior.tolist()
    (Fraction(5, 4), [Fraction(3, 5), Fraction(2, 5)])
    """
    gain = table_adversary(gain, is_loss=False)
    belief = as_prior(prior, gain.secrets)
    shift = min(gain.table.min(), 0)
    joint = (gain.table - shift) * belief  # [action, secret]
    totals = joint.sum(axis=1)
    factor = totals.sum()
    if factor == 0:
        raise GainError(
            f"gain {gain.name!r} is worth nothing under this prior, whatever is done; "
            "a guess needs an action that gains something"
        )
    used = np.asarray(totals > 0)
    actions = [action for action, kept in zip(gain.actions, used, strict=True) if kept]
    rows = joint[used] / totals[used, None]
    return EquivalentGuess(totals[used] / factor, Channel(rows, actions, gain.secrets), factor, shift)


def _block(block: Iterable[object]) -> list[Any]:
    """The secrets of a block, which may have none."""
    given = block if isinstance(block, str) or not iterable(block) else list(block)
    return list(secret_labels(given, "blocks")) if not isinstance(given, list) or given else []


def _natural(items: list[Any]) -> list[Any]:
    """Whole numbers from 0 on in their order, so that they match unlabelled channels; others as given."""
    return sorted(items) if set(items) == set(range(len(items))) else items
