"""A comparison of two mechanisms in words: which may replace which, and who objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sievert.channels.channel import Channel
from sievert.errors import FileError
from sievert.files import Scenario
from sievert.orders.refinement import Comparison, Objection, Verdict
from sievert.proofs import Proof

__all__ = ["channel_of", "comparison_json", "comparison_lines", "replacement_sentence"]

MEANING = {
    "average": "every adversary, on average over the outputs",
    "max": "every adversary, at the most revealing output",
    "privacy": "every notion of distance: smallest ε for any metric",
}
SHOWN_ACTIONS = 4


def channel_of(loaded: Scenario | Channel | Proof) -> Channel:
    """The mechanism of a file, or a channel itself."""
    if isinstance(loaded, Proof):
        raise FileError("a proof has no mechanism; give a TOML file, or a channel as .csv, .npz or .parquet")
    return loaded if isinstance(loaded, Channel) else loaded.channel


def replacement_sentence(result: Comparison) -> str:
    """The answer in one sentence."""
    main = result.forward[0]
    if main.holds:
        return "B can replace A against every adversary."
    if main.holds is None:
        close = f"{main.deficiency:.3g}"
        return f"Undecided: B is within {close} of a post-processing of A, too close to tell in floats."
    weaker = result.strongest
    reach = "" if weaker is None else f" (B is safer only in the {weaker} order)"
    return f"No: {main.witness}{reach}."


def comparison_lines(result: Comparison) -> Iterator[tuple[str, list[str]]]:
    """Headings and the sentences below them."""
    yield "Is B at least as safe as A?", [_line(verdict) for verdict in result.forward]
    yield "Is A at least as safe as B?", [_line(verdict) for verdict in result.backward]
    witness = next((v.witness for v in result.forward if v.witness is not None), None)
    if witness is not None and witness.gain is not None:
        yield "The adversary who objects to B", _objection(witness)


def _line(verdict: Verdict) -> str:
    answer = {True: "yes", False: "no", None: "undecided"}[verdict.holds]
    proved = ", proved exactly" if verdict.exact else ""
    reason = f"; {verdict.witness}" if verdict.witness is not None else ""
    return f"{MEANING[verdict.order][0].upper()}{MEANING[verdict.order][1:]}: {answer}{proved}{reason}."


def _objection(witness: Objection) -> list[str]:
    """The bets of the adversary, one line each."""
    lines = ["Believes every secret equally likely and chooses one of these bets (gain for each secret):"]
    for number, row in enumerate(witness.gain[:SHOWN_ACTIONS], start=1):
        gains = ", ".join(f"{float(value):.3g}" for value in row[:12])
        lines.append(f"bet {number}: {gains}{', …' if len(row) > 12 else ''}")
    if len(witness.gain) > SHOWN_ACTIONS:
        lines.append(f"and {len(witness.gain) - SHOWN_ACTIONS} more; --json lists them all.")
    return lines


def comparison_json(result: Comparison) -> dict[str, Any]:
    """The comparison as plain data, proofs left out (they are saved with --proof)."""

    def plain(verdict: Verdict) -> dict[str, Any]:
        data = verdict.to_dict()
        data.pop("certificate")
        data.pop("post")
        return data

    return {
        "can_replace": result.forward[0].holds,
        "strongest": result.strongest,
        "forward": [plain(verdict) for verdict in result.forward],
        "backward": [plain(verdict) for verdict in result.backward],
    }
