"""The first file: six answers become a commented file that can be audited at once.

Nothing private is looked at: the values come from whoever answers, or from a column of the data that they say
is public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sievert.errors import FileError
from sievert.files._document import value_text
from sievert.numerics import abbreviated, as_fraction, choice, did_you_mean
from sievert.tables import cell_text, in_code, open_rows

__all__ = ["COMPUTED", "InitAnswers", "half_way", "initial_file", "public_values", "values_of"]

COMPUTED = ("record", "count", "sum", "histogram")
# A list longer than this is none that anybody reads: whole numbers become a range.
LONGEST_LIST = 40
LARGEST_VALUES = 10_000
# Records that are published one by one are seen through a matrix of all values.
LARGEST_RECORD = 200


@dataclass(frozen=True)
class InitAnswers:
    """The answers to the six questions.

    Attributes
    ----------
    values : what one record can be: a list, or a range of whole numbers
    records : how many records there are
    computed : "record", "count", "sum" or "histogram"; a count says of what: "count: yes, perhaps"
    eps : ε in nats
    releases : how often the same data are published
    guess : the best guess about one record that is accepted; half way from a blind one to certainty unless
        given
    data, column : where the data are, from the file's folder (None: not said yet)
    public : whether the values were taken from the data, which somebody said are public
    """

    values: Sequence[Any] | range
    records: int = 100
    computed: str = "histogram"
    eps: float = 1.0
    releases: int = 1
    guess: float | None = None
    data: str | None = None
    column: str | None = None
    public: bool = False

    @property
    def accepted(self) -> float:
        """The best guess that is accepted."""
        return half_way(self.values) if self.guess is None else self.guess


def half_way(values: Sequence[Any] | range) -> float:
    """Half way from a blind guess to certainty, in percent without a fraction."""
    return round((1 + 1 / len(values)) / 2, 2)


def values_of(text: str) -> list[Any] | range:
    """What somebody wrote as the values of a record: "no, yes", or "0..120" for whole numbers.

    >>> values_of("no, yes"), values_of("1, 2.5"), values_of("0..4")
    (['no', 'yes'], [1, 2.5], range(0, 5))
    """
    ends = text.split("..")
    if len(ends) == 2:
        first, last = (_number(end) for end in ends)
        if not isinstance(first, int) or not isinstance(last, int) or last <= first:
            raise FileError(
                f"values is {abbreviated(text)}; write whole numbers, the smaller first, as in 0..120"
            )
        return range(first, last + 1)
    parts = [part.strip() for part in text.split(",")]
    if len(parts) < 2 or "" in parts:
        raise FileError(f"values is {abbreviated(text)}; write at least two, as in no,yes or 0..120")
    numbers = [_number(part) for part in parts]
    return parts if any(isinstance(number, str) for number in numbers) else numbers


def _number(text: str) -> Any:
    """A number where the text is one."""
    text = text.strip()
    try:
        number = as_fraction(text) if text.isascii() and "/" not in text else None
    except ValueError:
        number = None
    if number is None:
        return text
    return int(number) if number.denominator == 1 and "." not in text else float(text)


def public_values(
    data: Path, column: str | None, public: Sequence[str]
) -> tuple[str, list[Any] | range | None]:
    """The column that is released, and its values where somebody says that they are public.

    Of a column that nobody calls public, only the name is looked at.
    """
    rows = open_rows(data)
    for name in ([] if column is None else [column], public):
        for wanted in name:
            if wanted not in rows.header:
                known, hint = ", ".join(rows.header), did_you_mean(wanted, rows.header)
                raise FileError(f"{data}: has no column {abbreviated(wanted)}{hint}; it has {known}")
    released = column or (public[0] if public else rows.header[0] if len(rows.header) == 1 else None)
    if released is None:
        raise FileError(f"{data}: say which column is released: --column, one of {', '.join(rows.header)}")
    if released not in public:
        return released, None
    found: dict[str, None] = {}
    for batch in rows.batches([released]):
        texts = map(cell_text, in_code(batch.columns[released]).values.items)
        found.update(dict.fromkeys(text for text in texts if text is not None))
        if len(found) > LARGEST_VALUES:
            raise FileError(
                f"{data}: column {abbreviated(released)} has more than {LARGEST_VALUES} values; say "
                f"which there "
                "are: --values 0..1000, or a list"
            )
    return released, _proposed(list(found), f"{data}: column {abbreviated(released)}")


def _proposed(texts: list[str], where: str) -> list[Any] | range:
    """The values of a column in order; many whole numbers are a range."""
    if len(texts) < 2:
        raise FileError(f"{where} has fewer than two values; say which there may be: --values")
    numbers = [_number(text) for text in texts]
    if any(isinstance(number, str) for number in numbers):
        return sorted(texts)
    ordered = sorted(numbers)
    if len(ordered) > LONGEST_LIST and all(isinstance(number, int) for number in ordered):
        return range(ordered[0], ordered[-1] + 1)
    return ordered


def initial_file(answers: InitAnswers) -> str:
    """The commented text of a first file."""
    blind = 1 / len(answers.values)
    if answers.accepted < blind:
        raise FileError(
            f"accept.guess is {abbreviated(answers.accepted)}; among {len(answers.values)} values one "
            f"record is "
            f"guessed with {blind:.4g} before anything is published: accept more than that",
            key=("accept", "guess"),
        )
    computed, _, listed = answers.computed.partition(":")
    computed = choice("query", computed.strip(), COMPUTED, FileError)
    counted = [part for part in (item.strip() for item in listed.split(",")) if part]
    return "\n".join(
        [
            "version = 1",
            "",
            *_policy(answers, computed),
            "",
            *_query(answers, computed, counted),
            "",
            *_mechanism(answers, computed),
            "",
            "[adversary]                     # what somebody may know and want",
            f"{f'observations = {answers.releases}':<32}# how often the same data are published",
            "",
            "[accept]                        # `sievert audit` exits with 1 where this is exceeded",
            f"{f'guess = {answers.accepted!r}':<32}# the best guess about one record, everything else known",
            "",
            *_data(answers),
            "",
        ]
    )


def _policy(answers: InitAnswers, computed: str) -> list[str]:
    values = answers.values
    if computed == "record" and len(values) > LARGEST_RECORD:
        raise FileError(
            f"values are {len(values)}; one record is published of at most {LARGEST_RECORD}: group them, or "
            "publish a count, a sum or a histogram"
        )
    text = (
        f"{{ range = [{values[0]}, {values[-1]}] }}"
        if isinstance(values, range)
        else value_text(list(values))
    )
    whose = "what one record can be; everybody may know this list"
    if answers.public:
        whose = f"taken from column {answers.column!r}, which was said to be public"
    records = 1 if computed == "record" else answers.records
    return [
        "[policy]                        # what must stay hidden",
        f"# {whose}",
        f"values = {text}",
        'secrets = "complete"            # no two values of a record may be told apart',
        *(
            []
            if records == 1
            else [
                f"{f'records = {records}':<32}# how many there are; nobody has two",
                'adjacency = "replace"           # who is among them is known, what they are is not',
            ]
        ),
    ]


def _query(answers: InitAnswers, computed: str, counted: list[str]) -> list[str]:
    values = answers.values
    head = ["[query]                         # what is computed before noise", f'kind = "{computed}"']
    if computed == "sum" and any(isinstance(value, str) for value in values):
        raise FileError("query is 'sum', and some values are no numbers; ask for a count or a histogram")
    if computed != "count":
        return head
    chosen = [_member(values, word) for word in counted] or [values[-1]]
    return [*head, f"{f'where = {value_text(chosen)}':<32}# the records that are counted"]


def _member(values: Sequence[Any] | range, word: str) -> Any:
    """The value that a word means."""
    for item in (word, _number(word)):
        if item in values:
            return item
    raise FileError(
        f"query counts {abbreviated(word)}, which is none of the values{did_you_mean(word, map(str, values))}"
    )


def _mechanism(answers: InitAnswers, computed: str) -> list[str]:
    kind = "randomised-response" if computed == "record" else "geometric"
    does = "now and then another value is told" if computed == "record" else "noise that is a whole number"
    return [
        "[mechanism]                     # what is added before anything is published",
        f"{f'kind = {value_text(kind)}':<32}# {does}",
        f"{f'eps = {answers.eps!r}':<32}# nats; smaller hides more",
    ]


def _data(answers: InitAnswers) -> list[str]:
    lines = [
        "[data]                          # opened by `sievert release` alone",
        f"input = {value_text(answers.data or 'data.csv')}",
        f"column = {value_text(answers.column or 'value')}",
        "",
        "[release]",
        'ledger = "budget.toml"          # the budget: a file with `person = 3.0` (docs/release.md)',
    ]
    if answers.data is not None:
        return lines[:3] + [""] + [f"# {line}" for line in lines[4:]]
    return [f"# {line}".rstrip() for line in lines]
