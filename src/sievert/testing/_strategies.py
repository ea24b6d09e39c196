"""Hypothesis strategies for the objects of this package: priors, channels, correlations, metrics, gains,
graphs, policies.

Laws such as data processing are then one property each:

>>> from hypothesis import given, settings
>>> import sievert as sv
>>> from sievert import testing
>>> @settings(max_examples=5, database=None)
... @given(testing.degraded_pairs(inputs=3, form="exact"))
... def test_data_processing(pair):
...     before, after = pair
...     assert float(sv.posterior_vulnerability(after)) <= float(sv.posterior_vulnerability(before))
>>> test_data_processing()

Sizes are a number or a pair (least, most). Entries are small integers divided by their sum, so that
examples shrink to readable ones and exact and float channels look alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from sievert import mechanisms
from sievert.channels import Channel
from sievert.errors import SievertError
from sievert.inference import Correlation
from sievert.numerics import abbreviated, choice, flag, taken, whole
from sievert.policies import Policy
from sievert.spaces import Metric, iterable
from sievert.spaces import secrets as secret_kinds
from sievert.spaces.secrets import SecretGraph
from sievert.text import Bag

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = [
    "bags",
    "channels",
    "correlations",
    "degraded_pairs",
    "families",
    "gain_matrices",
    "metrics",
    "policies",
    "priors",
    "secret_graphs",
    "structured_channels",
]

Form = Literal["exact", "float", "log"]
Size = int | tuple[int, int]
Drawn = TypeVar("Drawn")

LARGEST_WEIGHT = 20


def priors(size: Size = (1, 5), *, exact: bool = False, full_support: bool = False) -> SearchStrategy[Any]:
    """Probability vectors, as fractions or floats; some entries may be 0 unless `full_support`.

    Parameters
    ----------
    size : how many secrets, or (least, most)
    exact : fractions, or floats
    full_support : whether all entries are above 0

    Returns
    -------
    SearchStrategy
        For `hypothesis.given`.

    Notes
    -----
    Cost: O(1); drawing one costs O(entries).

    Examples
    --------
    >>> import sievert as sv
    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5, deadline=None, database=None, derandomize=True)
    ... @given(sv.testing.priors(size=3, exact=True))
    ... def law(drawn):
    ...     assert sum(drawn) == 1
    >>> law()
    """
    sizes, exact = _sizes("size", size), flag("exact", exact)
    full_support = flag("full_support", full_support)

    def build(draw: Callable[[Any], Any]) -> NDArray[Any]:
        weights = draw(_weights(draw(sizes), sparse=not full_support))
        return _distribution(weights, exact)

    return _composite(build)


def channels(
    inputs: Size = (1, 5), outputs: Size = (1, 5), *, form: Form = "float", sparse: bool = False
) -> SearchStrategy[Channel]:
    """Channels in a given form; with `sparse`, entries and whole columns may be 0.

    Parameters
    ----------
    inputs, outputs : how many, or (least, most)
    form : "exact", "float" or "log"
    sparse : whether entries and whole columns may be 0

    Returns
    -------
    SearchStrategy
        For `hypothesis.given`.

    Notes
    -----
    Cost: O(1); drawing one costs O(entries).

    Examples
    --------
    >>> import sievert as sv
    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5, deadline=None, database=None, derandomize=True)
    ... @given(sv.testing.channels(inputs=3))
    ... def law(drawn):
    ...     assert drawn.shape[0] == 3
    >>> law()
    """
    rows, columns = _sizes("inputs", inputs), _sizes("outputs", outputs)
    form, sparse = _form(form), flag("sparse", sparse)

    def build(draw: Callable[[Any], Any]) -> Channel:
        return _channel(draw, draw(rows), draw(columns), form, sparse)

    return _composite(build)


def correlations(
    secrets: Size = (2, 4), uses: Size = (2, 4), *, exact: bool = True, sparse: bool = True
) -> SearchStrategy[Correlation]:
    """Correlations of a secret and a use, each secret with a probability above 0.

    Parameters
    ----------
    secrets, uses : how many, or (least, most)
    exact : fractions, or floats
    sparse : whether pairs may be impossible

    Returns
    -------
    SearchStrategy
        For `hypothesis.given`.

    Notes
    -----
    Cost: O(1); drawing one costs O(pairs).

    Examples
    --------
    >>> import sievert as sv
    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5, deadline=None, database=None, derandomize=True)
    ... @given(sv.testing.correlations(secrets=2, uses=3))
    ... def law(drawn):
    ...     assert drawn.shape == (2, 3) and sum(drawn.secret_prior) == 1
    >>> law()
    """
    rows, columns = _sizes("secrets", secrets), _sizes("uses", uses)
    exact, sparse = flag("exact", exact), flag("sparse", sparse)

    def build(draw: Callable[[Any], Any]) -> Correlation:
        n, m = draw(rows), draw(columns)
        weights = [draw(_weights(m, sparse)) for _ in range(n)]
        flat = _distribution([weight for row in weights for weight in row], exact)
        return Correlation(flat.reshape(n, m).tolist())

    return _composite(build)


def degraded_pairs(
    inputs: Size = (1, 5), outputs: Size = (1, 5), *, form: Form = "float", sparse: bool = False
) -> SearchStrategy[tuple[Channel, Channel]]:
    """A channel A and a post-processing A·R of it, which leaks no more.

    Parameters
    ----------
    inputs, outputs : how many, or (least, most)
    form : "exact", "float" or "log"
    sparse : whether entries and whole columns may be 0

    Returns
    -------
    SearchStrategy
        For `hypothesis.given`.

    Notes
    -----
    Cost: O(1); drawing one costs O(entries).

    Examples
    --------
    >>> import sievert as sv
    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5, deadline=None, database=None, derandomize=True)
    ... @given(sv.testing.degraded_pairs(inputs=2, form="exact"))
    ... def law(drawn):
    ...     assert sv.refines(*drawn).holds
    >>> law()
    """
    rows, columns = _sizes("inputs", inputs), _sizes("outputs", outputs)
    form, sparse = _form(form), flag("sparse", sparse)

    def build(draw: Callable[[Any], Any]) -> tuple[Channel, Channel]:
        first = _channel(draw, draw(rows), draw(columns), form, sparse)
        post = _channel(draw, first.shape[1], draw(columns), form, sparse)
        return first, first.then(post)

    return _composite(build)


def structured_channels(
    inputs: Size = (1, 4), *, kinds: Collection[str] | None = None, form: Form | None = None
) -> SearchStrategy[Channel]:
    """Channels known by a rule, small enough for their matrix.

    Floats may be logarithms; sparse channels are floats.

    Parameters
    ----------
    inputs : how many, or (least, most)
    kinds : some of STRUCTURED; all by default
    form : "exact", "float", or either by default

    Returns
    -------
    SearchStrategy
        For `hypothesis.given`.

    Notes
    -----
    Cost: O(1); drawing one costs O(entries).

    Examples
    --------
    >>> import sievert as sv
    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5, deadline=None, database=None, derandomize=True)
    ... @given(sv.testing.structured_channels(inputs=3))
    ... def law(drawn):
    ...     assert sv.capacity(drawn).factor >= 1
    >>> law()
    """
    rows, form = _sizes("inputs", inputs), None if form is None else _form(form)
    able = [kind for kind in _kinds(kinds) if form != "exact" or kind != "sparse"]
    if not able:
        raise SievertError(
            f"kinds is {abbreviated(kinds)}; sparse channels are never exact, so name another kind"
        )

    def build(draw: Callable[[Any], Any]) -> Channel:
        strategies = _strategies()
        exact = form == "exact" if form is not None else draw(strategies.booleans())
        return STRUCTURED[draw(strategies.sampled_from(able))](draw, draw(rows), exact)

    return _composite(build)


def families(inputs: Size = (1, 5)) -> SearchStrategy[tuple[Channel, float]]:
    """A member of any family that a file can name, on 0…n-1, with its ε; families registered later count.

    Parameters
    ----------
    inputs : how many, or (least, most)

    Returns
    -------
    SearchStrategy
        Of pairs of a channel and its ε, for `hypothesis.given`.

    Notes
    -----
    Cost: O(1); drawing one costs O(entries).

    Examples
    --------
    >>> import sievert as sv
    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5, deadline=None, database=None, derandomize=True)
    ... @given(sv.testing.families(inputs=3))
    ... def law(drawn):
    ...     channel, eps = drawn
    ...     assert sv.epsilon(channel, sv.metrics.line(3)).nats <= eps + 1e-9
    >>> law()
    """
    sizes = _sizes("inputs", inputs)

    def build(draw: Callable[[Any], Any]) -> tuple[Channel, float]:
        strategies = _strategies()
        known = [family for family in mechanisms.Family.classes() if family.on_line(2, 1.0) is not None]
        family = draw(strategies.sampled_from(known))
        eps = draw(strategies.integers(1, 40)) / 8
        return family.on_line(draw(sizes), eps), eps

    return _composite(build)


def metrics(size: Size = (1, 5), *, extended: bool = False) -> SearchStrategy[Metric]:
    """Metrics with whole distances; with `extended`, 0 and inf occur between different points.

    Parameters
    ----------
    size : how many points, or (least, most)
    extended : whether 0 and inf occur between different points

    Returns
    -------
    SearchStrategy
        For `hypothesis.given`.

    Notes
    -----
    Cost: O(1); drawing one costs O(entries).

    Examples
    --------
    >>> import sievert as sv
    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5, deadline=None, database=None, derandomize=True)
    ... @given(sv.testing.metrics(size=3))
    ... def law(drawn):
    ...     assert drawn.size == 3
    >>> law()
    """
    sizes = _sizes("size", size)
    lengths = [0, *range(1, 8), np.inf] if flag("extended", extended) else list(range(1, 8))

    def build(draw: Callable[[Any], Any]) -> Metric:
        strategies = _strategies()
        n = draw(sizes)
        matrix = np.zeros((n, n))
        upper = np.triu_indices(n, 1)
        count = len(upper[0])
        drawn = strategies.lists(strategies.sampled_from(lengths), min_size=count, max_size=count)
        matrix[upper] = draw(drawn)
        return Metric(matrix + matrix.T, close=True)

    return _composite(build)


def gain_matrices(
    secrets: Size = (1, 5), actions: Size = (1, 4), *, signed: bool = False, exact: bool = True
) -> SearchStrategy[Any]:
    """Gain functions as arrays [action, secret] of integers (or floats).

    Parameters
    ----------
    secrets, actions : how many, or (least, most)
    signed : whether gains may be negative
    exact : whole numbers, or floats

    Returns
    -------
    SearchStrategy
        For `hypothesis.given`.

    Notes
    -----
    Cost: O(1); drawing one costs O(entries).

    Examples
    --------
    >>> import sievert as sv
    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5, deadline=None, database=None, derandomize=True)
    ... @given(sv.testing.gain_matrices(secrets=3))
    ... def law(drawn):
    ...     assert drawn.shape[1] == 3
    >>> law()
    """
    sizes = _sizes("actions", actions), _sizes("secrets", secrets)
    signed, exact = flag("signed", signed), flag("exact", exact)

    def build(draw: Callable[[Any], Any]) -> NDArray[Any]:
        strategies = _strategies()
        shape = (draw(sizes[0]), draw(sizes[1]))
        entry = strategies.integers(-LARGEST_WEIGHT if signed else 0, LARGEST_WEIGHT)
        count = shape[0] * shape[1]
        drawn = draw(strategies.lists(entry, min_size=count, max_size=count))
        return np.array(drawn, dtype=np.int64 if exact else np.float64).reshape(shape)

    return _composite(build)


def secret_graphs(size: Size = (1, 5)) -> SearchStrategy[SecretGraph]:
    """Secret graphs of every kind: complete, line, cycle, threshold, partition, tree, edges, product.

    Parameters
    ----------
    size : how many values, or (least, most)

    Returns
    -------
    SearchStrategy
        For `hypothesis.given`.

    Notes
    -----
    Cost: O(1); drawing one costs O(entries).

    Examples
    --------
    >>> import sievert as sv
    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5, deadline=None, database=None, derandomize=True)
    ... @given(sv.testing.secret_graphs(size=3))
    ... def law(drawn):
    ...     assert drawn.size >= 1
    >>> law()
    """
    sizes = _sizes("size", size)

    def build(draw: Callable[[Any], Any]) -> SecretGraph:
        strategies = _strategies()
        n = draw(sizes)
        kind = draw(strategies.sampled_from(sorted(_KINDS)))
        return _KINDS[kind](draw, n)

    return _composite(build)


def policies(size: Size = (1, 4), records: Size = (1, 3)) -> SearchStrategy[Policy]:
    """Small policies: Blowfish on any secret graph, differential privacy (both kinds), metric privacy.

    Parameters
    ----------
    size : how many values a record has, or (least, most)
    records : how many records, or (least, most)

    Returns
    -------
    SearchStrategy
        For `hypothesis.given`.

    Notes
    -----
    Cost: O(1); drawing one costs O(entries).

    Examples
    --------
    >>> import sievert as sv
    >>> from hypothesis import given, settings
    >>> @settings(max_examples=5, deadline=None, database=None, derandomize=True)
    ... @given(sv.testing.policies(records=2))
    ... def law(drawn):
    ...     assert drawn.records == 2
    >>> law()
    """
    values, counts = _sizes("size", size), _sizes("records", records)

    def build(draw: Callable[[Any], Any]) -> Policy:
        strategies = _strategies()
        makers: list[Callable[[int], Policy]] = [
            lambda count: Policy.blowfish(draw(secret_graphs(size)), count),
            lambda count: Policy.differential(draw(values), count),
            lambda count: Policy.differential(draw(values), count, adjacency="add-remove"),
            lambda count: Policy.metric(draw(metrics(size, extended=True)), count),
        ]
        make: Callable[[int], Policy] = draw(strategies.sampled_from(makers))
        return make(draw(counts))

    return _composite(build)


def _strategies() -> Any:
    """Hypothesis, imported when a strategy is first asked for."""
    try:
        from hypothesis import strategies
    except ImportError:
        raise ImportError("sievert.testing._strategies needs Hypothesis; install sievert[test]") from None
    return strategies


def _composite(build: Callable[[Callable[[Any], Any]], Drawn]) -> SearchStrategy[Drawn]:
    made: SearchStrategy[Drawn] = _strategies().composite(build)()
    return made


def _sizes(argument: str, size: Size) -> SearchStrategy[int]:
    """A size, or one from the least to the largest."""
    ends = size if isinstance(size, tuple) and len(size) == 2 else (size, size)
    low = whole(argument, ends[0])
    high = whole(argument, ends[1], least=low)
    return _integers(low, high)


def _integers(low: int, high: int) -> SearchStrategy[int]:
    drawn: SearchStrategy[int] = _strategies().integers(low, high)
    return drawn


def _form(form: Form) -> Form:
    choice("form", form, ("exact", "float", "log"))
    return form


def _kinds(kinds: Collection[str] | None) -> list[str]:
    """The kinds of STRUCTURED that are asked for, all of them by default."""
    if kinds is None:
        return list(STRUCTURED)
    if isinstance(kinds, str) or not iterable(kinds) or not isinstance(kinds, Collection) or not len(kinds):
        raise SievertError(f"kinds is {abbreviated(kinds)}; give a list of kinds: {', '.join(STRUCTURED)}")
    return [choice("kinds", kind, tuple(STRUCTURED)) for kind in kinds]


def _weights(length: int, sparse: bool) -> SearchStrategy[list[int]]:
    strategies = _strategies()
    entry = strategies.integers(0 if sparse else 1, LARGEST_WEIGHT)
    lists: SearchStrategy[list[int]] = strategies.lists(entry, min_size=length, max_size=length)
    return lists.filter(any)


def _distribution(weights: list[int], exact: bool) -> NDArray[Any]:
    row = np.empty(len(weights), dtype=object if exact else np.float64)
    row[:] = [Fraction(weight, sum(weights)) for weight in weights]
    return row


def _channel(draw: Callable[[Any], Any], n: int, m: int, form: Form, sparse: bool) -> Channel:
    rows = [_distribution(draw(_weights(m, sparse)), exact=True) for _ in range(n)]
    exact = Channel([row.tolist() for row in rows])
    if form == "exact":
        return exact
    return Channel.from_log(exact.log_matrix) if form == "log" else Channel(exact.matrix)


def _alpha(draw: Callable[[Any], Any], exact: bool) -> dict[str, Any]:
    value = Fraction(draw(_strategies().integers(0, 9)), 10)
    return {"alpha": value} if exact or value in (0, 1) else {"eps": -math.log(value)}


def _kernel(draw: Callable[[Any], Any], length: int, exact: bool) -> list[Any]:
    kernel: list[Any] = _distribution(draw(_weights(length, sparse=True)), exact).tolist()
    return kernel


def _program(draw: Callable[[Any], Any], n: int, exact: bool) -> Channel:
    images = draw(_strategies().lists(_integers(0, n), min_size=n, max_size=n))
    return Channel.from_function(images.__getitem__, n)


def _blocks(draw: Callable[[Any], Any], n: int, exact: bool) -> Channel:
    sizes = draw(_strategies().lists(_integers(1, 3), min_size=1, max_size=n))
    return Channel.from_blocks(sizes)


def _group(draw: Callable[[Any], Any], n: int, exact: bool) -> Channel:
    plain: Form = "exact" if exact else "float"
    parts = [_channel(draw, draw(_integers(1, n)), draw(_integers(1, 3)), plain, True)]
    if draw(_strategies().booleans()):
        parts.append(mechanisms.randomised_response(n, **_alpha(draw, exact)))
    if draw(_strategies().booleans()):
        parts.append(_program(draw, n, exact))
    return Channel.block_diagonal(parts)


def _records(draw: Callable[[Any], Any], n: int, exact: bool) -> Channel:
    first = _channel(draw, min(n, 3), 2, "exact" if exact else "float", True)
    second = mechanisms.randomised_response(2, **_alpha(draw, exact))
    return Channel.product_of([(first, draw(_integers(1, 2))), second])


def _sparse(draw: Callable[[Any], Any], n: int, exact: bool) -> Channel:
    return Channel.from_sparse(_channel(draw, n, draw(_integers(1, 4)), "float", True).matrix)


STRUCTURED: dict[str, Callable[[Callable[[Any], Any], int, bool], Channel]] = {
    "blocks": _group,
    "cycle": lambda draw, n, exact: Channel.from_noise(
        _kernel(draw, draw(_integers(1, n)), exact), n, draw(_integers(-2, 2)), cyclic=True
    ),
    "geometric": lambda draw, n, exact: mechanisms.geometric(n, **_alpha(draw, exact)),
    "noise": lambda draw, n, exact: Channel.from_noise(
        _kernel(draw, draw(_integers(1, 4)), exact), n, draw(_integers(-2, 2))
    ),
    "partition": _blocks,
    "product": _records,
    "program": _program,
    "response": lambda draw, n, exact: mechanisms.randomised_response(n, **_alpha(draw, exact)),
    "sparse": _sparse,
    "truncated": lambda draw, n, exact: mechanisms.truncated_geometric(n, **_alpha(draw, exact)),
}


def _edges(draw: Callable[[Any], Any], n: int) -> SecretGraph:
    strategies = _strategies()
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    chosen = draw(strategies.lists(strategies.sampled_from(pairs), unique=True)) if pairs else []
    return secret_kinds.edges(n, chosen)


def _partition(draw: Callable[[Any], Any], n: int) -> SecretGraph:
    strategies = _strategies()
    block_of = draw(strategies.lists(strategies.integers(0, n - 1), min_size=n, max_size=n))
    return secret_kinds.partition([[i for i in range(n) if block_of[i] == block] for block in range(n)])


def _tree(draw: Callable[[Any], Any], n: int) -> SecretGraph:
    strategies = _strategies()
    return secret_kinds.tree({i: draw(strategies.integers(0, i - 1)) if i else None for i in range(n)})


def _product(draw: Callable[[Any], Any], n: int) -> SecretGraph:
    divisors = [k for k in range(1, n + 1) if n % k == 0]
    k = draw(_strategies().sampled_from(divisors))
    return secret_kinds.product(secret_kinds.line(k), secret_kinds.complete(n // k))


_KINDS: dict[str, Callable[[Callable[[Any], Any], int], SecretGraph]] = {
    "complete": lambda draw, n: secret_kinds.complete(n),
    "cycle": lambda draw, n: secret_kinds.cycle(n),
    "edges": _edges,
    "line": lambda draw, n: secret_kinds.line(n),
    "partition": _partition,
    "product": _product,
    "threshold": lambda draw, n: secret_kinds.threshold(n, draw(_strategies().integers(0, n))),
    "tree": _tree,
}


def bags(words: Iterable[Hashable], size: Size = (1, 4)) -> SearchStrategy[Bag]:
    """Documents without order: bags of some words, for laws about documents.

    Parameters
    ----------
    words : the vocabulary
    size : how many words a bag has, repeats counted, or (least, most)

    Returns
    -------
    SearchStrategy

    Notes
    -----
    Cost: O(size) an example.

    Examples
    --------
    >>> bags(["sea", "lake"], 2).example().size  # doctest: +SKIP
    2
    """
    st = _strategies()
    listed = taken("words", words, SievertError, "words")
    if not listed:
        raise SievertError("words is empty; give at least one")
    for word in listed:
        try:
            hash(word)
        except TypeError:
            raise SievertError(
                f"words: {abbreviated(word)} cannot be compared; give texts or numbers"
            ) from None
    drawn = st.sampled_from(listed)
    return _sizes("size", size).flatmap(lambda many: st.lists(drawn, min_size=many, max_size=many).map(Bag))
