"""Several reports of one value: what devices that report again and again tell about the distribution.

A device with the true value x that reports output j so many times, n_j, does so with probability
Π_j C[x, j]^n_j: its vector of counts is one report through a channel whose outputs are the vectors that were
seen. So the distribution is estimated as ever, from how many devices showed each vector.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from sievert.channels import Channel, finite_channel
from sievert.errors import EstimationError
from sievert.estimation._estimate import Estimate, IntervalKind, Method, estimate
from sievert.numerics import abbreviated, choice, require_size
from sievert.spaces import iterable, label

__all__ = ["estimate_repeated"]

# Entries of the table of values and different vectors of counts.
LARGEST_TABLE = 20_000_000


def estimate_repeated(
    reports: Mapping[Hashable, Sequence[object]] | Iterable[Sequence[object]],
    channel: Channel,
    method: Method = "auto",
    *,
    interval: IntervalKind = "profile",
    confidence: float = 0.95,
    rng: int | np.random.Generator | None = None,
) -> Estimate:
    """Estimate the distribution of true values from devices that each reported theirs several times.

    Parameters
    ----------
    reports : for each device the outputs that it reported, all of the same true value; a mapping from device
        to outputs, or only the outputs, one sequence a device
    channel : what every report went through, independently
    method : as of `sv.estimate`; an inverse does not exist, since vectors that nobody showed are not listed
    interval : "profile" or "none"
    confidence : that an interval holds its value's probability
    rng : for the folds of "regularised"

    Returns
    -------
    Estimate
        The `distribution` over the values; `reports` counts devices.

    Notes
    -----
    Cost: O(values·reports) for the likelihoods of the different vectors, and an estimate from them.

    Examples
    --------
    >>> from sievert.mechanisms._response import randomised_response
    >>> answers = [["yes"] * 9 + ["no"]] * 6 + [["no"] * 8 + ["yes"] * 2] * 4
    >>> found = estimate_repeated(answers, randomised_response(["yes", "no"], alpha="1/3"))
    >>> found.distribution.round(2).tolist()
    [0.6, 0.4]
    """
    choice("method", method, get_args(Method), EstimationError)
    choice("interval", interval, get_args(IntervalKind), EstimationError)
    if method in ("inversion", "projection"):
        raise EstimationError(
            f"method is {method!r}; vectors of several reports are not inverted",
            fix='ask for method="auto", "ibu" or "regularised"',
        )
    if interval in ("normal", "bootstrap"):
        raise EstimationError(
            f"interval is {interval!r}; several reports of one value have no inverse to centre on",
            fix='ask for interval="profile" or "none"',
        )
    finite = finite_channel(channel)
    vectors, devices = _vectors(reports, finite)
    require_size(len(vectors) * finite.shape[0], LARGEST_TABLE, "vectors times values", "use fewer devices")
    table, scale = _shown(finite, vectors)
    found = estimate(
        [*devices.tolist(), 0.0], table, method, interval=interval, confidence=confidence, rng=rng
    )
    # Columns were scaled, and vectors that nobody showed put together: tests of fit would be about those.
    return replace(
        found,
        mean_log_likelihood=found.mean_log_likelihood + float(devices @ scale) / float(devices.sum()),
        standard_errors=None,
        remarks=tuple(remark for remark in found.remarks if not remark.startswith("the reports fit no")),
        undetermined=tuple(item for item in found.undetermined if not item.startswith("no standard errors")),
    )


def _vectors(reports: Any, channel: Channel) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Different vectors of counts [vector, output], and how many devices showed each."""
    given = reports.values() if isinstance(reports, Mapping) else reports
    if isinstance(given, str) or not iterable(given):
        raise EstimationError(
            f"reports is {abbreviated(reports)}; give the outputs of each device, one list a device"
        )
    place = {item: j for j, item in enumerate(channel.outputs)}
    seen: Counter[tuple[tuple[int, int], ...]] = Counter()
    for number, outputs in enumerate(given):
        if isinstance(outputs, str) or not iterable(outputs):
            raise EstimationError(
                f"reports: device {number} has {abbreviated(outputs)}; give the list of its outputs"
            )
        names = [label(item) for item in outputs]
        unknown = next((item for item in names if item not in place), None)
        if unknown is not None or not names:
            what = (
                "no report"
                if not names
                else f"the report {abbreviated(unknown)}, which the channel never gives"
            )
            raise EstimationError(f"reports: device {number} has {what}; leave it out or correct it")
        seen[tuple(sorted(Counter(place[item] for item in names).items()))] += 1
    if not seen:
        raise EstimationError("reports is empty; give the outputs of at least one device")
    table = np.zeros((len(seen), channel.shape[1]))
    for row, vector in enumerate(seen):
        for j, count in vector:
            table[row, j] = count
    return table, np.array(list(seen.values()), dtype=np.float64)


def _shown(channel: Channel, vectors: np.ndarray[Any, Any]) -> tuple[Channel, np.ndarray[Any, Any]]:
    """From values to the vectors that were seen and to all others, and ln of what each column was divided by.

    A column's scale changes no estimate; that of the ways to order the reports is left out.
    """
    logs = channel.log_matrix
    possible = np.isfinite(logs)
    weighed = np.where(possible, logs, 0.0) @ vectors.T
    weighed[(~possible).astype(np.float64) @ vectors.T > 0] = -np.inf
    top = weighed.max(axis=0)
    if not np.isfinite(top).all():
        raise EstimationError(
            "reports: a device gave outputs that no value gives together",
            fix="check that all reports of a device are of one value, through this channel",
        )
    # Scaled so that no row sums to more than 1; the rest goes to one more output.
    scale = top + np.log(len(vectors) + 1.0)
    rest = np.log1p(-np.exp(weighed - scale).sum(axis=1))
    table = np.column_stack([weighed - scale, rest])
    return Channel.trusted(table, "log", inputs=channel.inputs), scale
