"""Timing for the benchmarks: ratios against a peer in the same process, and how cost grows.

A benchmark is a file ``benchmarks/bench_NAME.py`` with a function ``run() -> list[Row]``; NAME is the
folder of ``src/sievert`` that it measures. Seconds differ from machine to machine, ratios and
exponents much less, so those are what a reader should compare.

    def run() -> list[Row]:
        return [
            compare("capacity", n, lambda: sv.capacity(channel), "qif", lambda: qif.measure...(matrix))
            for n in (100, 200, 400)
        ]
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

Clock = Literal["wall", "cpu"]
CLOCKS: dict[Clock, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}


@dataclass(frozen=True)
class Row:
    """One measurement: our seconds at one size and, where there is one, the peer's."""

    name: str
    size: int
    ours_seconds: float
    peer: str | None = None
    peer_seconds: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times faster than the peer we are (below 1: slower); None without a peer."""
        if self.peer_seconds is None:
            return None
        return self.peer_seconds / self.ours_seconds if self.ours_seconds > 0 else math.inf

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "size": self.size,
            "ours_seconds": self.ours_seconds,
            "peer": self.peer,
            "peer_seconds": self.peer_seconds,
            "ratio": self.ratio,
            "note": self.note,
        }


def timed(function: Callable[[], object], repeat: int = 5, clock: Clock = "wall") -> float:
    """Seconds a call, the best of ``repeat`` samples after a call that is not counted.

    The best, because whatever else the machine does can only add. A sample of a short function is a
    loop of calls, so that the clock's own grain does not count. ``clock="cpu"`` counts this process's
    processor time over all its threads, and nothing while it waits.
    """
    calls = _calls_a_sample(function)
    return min(_sample(function, calls, clock) for _ in range(repeat))


def compare(
    name: str,
    size: int,
    ours: Callable[[], object],
    peer: str,
    theirs: Callable[[], object],
    repeat: int = 5,
    clock: Clock = "wall",
    note: str = "",
) -> Row:
    """Time both forms in turns, so that a busy moment of the machine falls on both."""
    calls, their_calls = _calls_a_sample(ours), _calls_a_sample(theirs)
    pairs = [(_sample(ours, calls, clock), _sample(theirs, their_calls, clock)) for _ in range(repeat)]
    return Row(name, size, min(a for a, _ in pairs), peer, min(b for _, b in pairs), note)


def _calls_a_sample(function: Callable[[], object], shortest: float = 0.01) -> int:
    """How many calls last about ``shortest`` seconds, the first (warming) call left out."""
    function()
    once = max(_sample(function, 1, "wall"), 1e-7)
    return max(1, round(shortest / once))


def _sample(function: Callable[[], object], calls: int, clock: Clock) -> float:
    """Seconds a call over a loop of calls, with the garbage collector off as in ``timeit``."""
    now = CLOCKS[clock]
    collecting = gc.isenabled()
    gc.disable()
    try:
        start = now()
        for _ in range(calls):
            function()
        return (now() - start) / calls
    finally:
        if collecting:
            gc.enable()


def growth(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """The exponent k of the best fit seconds ≈ c·size^k (least squares on logarithms).

    >>> round(growth([10, 20, 40], [0.1, 0.4, 1.6]), 6)
    2.0
    """
    xs, ys = [math.log(size) for size in sizes], [math.log(second) for second in seconds]
    if len(set(xs)) < 2:
        raise ValueError(f"growth needs two different sizes; got {list(sizes)}")
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    return slope / sum((x - mean_x) ** 2 for x in xs)


def exponents(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Growth of ours and of the peer for each (name, peer) measured at three sizes or more."""
    found = []
    ordered = sorted(rows, key=lambda row: (row.name, row.peer or ""))
    for (name, peer), grouped in groupby(ordered, key=lambda row: (row.name, row.peer)):
        group = list(grouped)
        ours = [(row.size, row.ours_seconds) for row in group]
        theirs = [(row.size, row.peer_seconds) for row in group if row.peer_seconds is not None]
        if len({size for size, _ in ours}) >= 3:
            found.append({"name": name, "ours": _fit(ours), "peer": peer, "peer_growth": _fit(theirs)})
    return found


def _fit(points: Sequence[tuple[int, float]]) -> float | None:
    """Growth over the points that have a logarithm, or None where too few are left."""
    usable = [(size, second) for size, second in points if size > 0 and second > 0]
    if len({size for size, _ in usable}) < 3:
        return None
    return growth([size for size, _ in usable], [second for _, second in usable])


def table(rows: Sequence[Row]) -> str:
    """The rows as aligned text, then how each cost grows."""
    header = ("what", "size", "ours", "peer", "peer's", "times faster", "note")
    body = [
        (
            row.name,
            f"{row.size:,}",
            duration(row.ours_seconds),
            row.peer or "",
            duration(row.peer_seconds),
            "" if row.ratio is None else f"{row.ratio:.3g}×",
            row.note,
        )
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(header, *body, strict=True)]
    numeric = {1, 2, 4, 5}
    lines = [
        "  ".join(
            cell.rjust(width) if column in numeric else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()
        for cells in (header, tuple("─" * width for width in widths), *body)
    ]
    for fit in exponents(rows):
        ours, theirs = fit["ours"], fit["peer_growth"]
        if ours is not None:
            peer = "" if theirs is None else f", {fit['peer']} like size^{theirs:.2f}"
            lines.append(f"{fit['name']}: ours grows like size^{ours:.2f}{peer}")
    return "\n".join(lines)


def duration(seconds: float | None) -> str:
    """Seconds in the unit that reads best.

    >>> [duration(x) for x in (2.5, 0.0314, 4.2e-5, None)]
    ['2.5 s', '31.4 ms', '42 µs', '']
    """
    if seconds is None:
        return ""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
