"""A comparison of two mechanisms in words: which may replace which, and who objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sievert.channels.channel import Channel
from sievert.errors import FileError
from sievert.files import Scenario
from sievert.orders.verdicts import Comparison, Objection, Verdict, bet_in_words
from sievert.proofs import Proof
from sievert.spaces.labels import shown

__all__ = ["channel_of", "comparison_json", "comparison_lines", "matching_note", "replacement_sentence"]

MEANING = {
    "average": "every adversary, on average over the outputs",
    "max": "every adversary, at the most revealing output",
    "privacy": "every metric, by the smallest ε",
}
# What is left when B is safer in a weaker order only.
REACH = {
    "max": "Still, no single output of B reveals more (max order).",
    "privacy": "Still, B needs no larger ε under any metric (privacy order).",
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
        return f"B can replace A against every adversary{main.precision}."
    if main.holds is None:
        near = (
            f" B is within {main.deficiency:.3g} of a post-processing of A." if main.deficiency < 0.5 else ""
        )
        return f"Undecided: {main.method}.{near}"
    weaker = result.strongest
    reach = "" if weaker is None else f" {REACH[weaker]}"
    reason = main.method if main.witness is None else main.witness.sentence("B", "A")
    return f"No: {reason}.{reach}"


def comparison_lines(result: Comparison) -> Iterator[tuple[str, list[str]]]:
    """Headings and the sentences below them."""
    yield "Is B at least as safe as A?", [_line(verdict, "B", "A") for verdict in result.forward]
    yield "Is A at least as safe as B?", [_line(verdict, "A", "B") for verdict in result.backward]
    witness = next((v.witness for v in result.forward if v.witness is not None), None)
    if witness is not None and witness.gain is not None:
        yield "The adversary who objects to B", _objection(witness)


def _line(verdict: Verdict, channel: str, other: str) -> str:
    answer = {True: "yes", False: "no", None: "undecided"}[verdict.holds]
    proved = ", proved exactly" if verdict.exact else verdict.precision
    reason = ""
    if verdict.witness is not None:
        reason = f"; {verdict.witness.sentence(channel, other)}"
    elif not verdict.holds:
        reason = f"; {verdict.method}"
    return f"{MEANING[verdict.order][0].upper()}{MEANING[verdict.order][1:]}: {answer}{proved}{reason}."


def _objection(witness: Objection) -> list[str]:
    """What the adversary believes, and the bets, one line each."""
    prior = [float(value) for value in witness.prior]
    belief = "every secret equally likely"
    if max(prior) - min(prior) > 1e-12:
        likely = [
            f"{witness.secrets[i]!r} ({prior[i]:.3g})" for i in np.argsort(prior)[::-1][:6] if prior[i] > 0
        ]
        belief = f"these secrets likely: {', '.join(likely)}"
    lines = [f"Believes {belief}, sees the output, and chooses the best of these bets:"]
    for row in witness.gain[:SHOWN_ACTIONS]:
        words = bet_in_words(row, witness.secrets)
        lines.append(words if len(words) <= 150 else f"{words[:150]}…")
    if len(witness.gain) > SHOWN_ACTIONS:
        lines.append(f"and {len(witness.gain) - SHOWN_ACTIONS} more; --json lists them all.")
    lines.append(f"Expects {witness.before:.4g} from A and {witness.after:.4g} from B.")
    return lines


def matching_note(first: Channel, second: Channel) -> str:
    """How inputs with different labels were matched; empty where the labels are the same."""
    if first.inputs == second.inputs or set(first.inputs) == set(second.inputs):
        return ""
    return (
        f"The inputs of A ({shown(first.inputs)}) and of B ({shown(second.inputs)}) were matched by position."
    )


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
