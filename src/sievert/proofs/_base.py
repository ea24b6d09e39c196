"""What every proof can do: become JSON, come back from it, and be checked."""

from __future__ import annotations

import copy
import errno
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np

from sievert.arrays import AnyArray, ObjectArray
from sievert.errors import FileError
from sievert.numerics import abbreviated, decimal, exp_above, file_path
from sievert.proofs._reading import fractions, listed, parse_json, require_plain
from sievert.results import Result

__all__ = [
    "ROUNDING",
    "Proof",
    "Verification",
    "checker_path",
    "exact_rows",
    "growth",
    "in_percent_of",
    "load_proof",
    "measured",
    "normalised",
    "proof_from_dict",
    "require_channels",
    "require_prior",
    "require_small",
    "rows_from",
    "save_proof",
    "texts_of",
    "unevenness",
    "verify",
]

FORMAT = "sievert proof 1"
# What a check takes for each letter of its file, but for kinds that say more.
SECONDS_PER_LETTER = 2.5e-7
# What reading or checking a damaged proof may raise.
DAMAGE = (
    ValueError,
    KeyError,
    TypeError,
    IndexError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    MemoryError,
)
LARGEST_FILE = 200_000_000
_KINDS: dict[str, type[Proof]] = {}


@dataclass(frozen=True)
class Verification(Result):
    """Whether a proof holds, and what it states (or why it fails).

    `meaning` says the same in everyday words; `theorem` is why the
    statement follows from the proof's numbers; `about` names the files that it was compared with, and
    `unchecked` says why a proof was not checked to its end, or one that holds not compared with them.
    """

    holds: bool
    statement: str
    kind: str = ""
    meaning: str = ""
    theorem: str = ""
    about: str = ""
    unchecked: str = ""
    seconds: float = field(default=0.0, compare=False)

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        verdict = "verified" if self.holds else "not checked" if self.unchecked else "NOT verified"
        return f"{verdict}: {self.statement}"


class Proof(ABC):
    """A certificate. Subclasses name their `kind`, the theorem on whose `grounds` they prove, data and check.

    `found` are the keys of its data that the search found; all others say what the claim is about.
    `about` is the digest of the question that the proof answers, where its writer knew it; `options` are what
    the command that made it was told beside the file.
    """

    kind: ClassVar[str]
    grounds: ClassVar[str] = ""
    found: ClassVar[tuple[str, ...]] = ()
    about: str | None = None
    options: Mapping[str, Any] = MappingProxyType({})

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in cls.__dict__:
            if not getattr(cls, "grounds", ""):
                raise TypeError(f"{cls.__name__} proves a claim and names no theorem as its grounds")
            _KINDS[cls.kind] = cls

    @abstractmethod
    def data(self) -> dict[str, Any]:
        """The certificate as plain data."""

    @classmethod
    @abstractmethod
    def from_data(cls, data: dict[str, Any]) -> Self:
        """The certificate back from plain data."""

    def question(self) -> dict[str, Any]:
        """What the claim is about, as plain data: all of the certificate but what the search found."""
        return {key: value for key, value in self.data().items() if key not in self.found}

    @abstractmethod
    def proved(self) -> str:
        """What the certificate's own numbers prove, in a sentence; ValueError where a check fails."""

    @abstractmethod
    def meaning(self) -> str:
        """What is proved in everyday words and the user's units, in a sentence."""

    def verify(self) -> Verification:
        """Check the certificate from its own numbers."""
        begun, meaning = time.perf_counter(), ""
        try:
            # Numbers that overflow are refused where they are compared.
            with np.errstate(all="ignore"):
                holds, statement = True, self.proved()
                meaning = self.meaning()
        except DAMAGE as problem:
            holds, statement = False, _reason(problem)
        seconds = time.perf_counter() - begun
        return Verification(holds, statement, self.kind, meaning, self.grounds, seconds=seconds)

    def expected_seconds(self, letters: int) -> float:
        """About what the check takes, of a file of so many letters."""
        return letters * SECONDS_PER_LETTER

    def with_identity(self, about: str | None, options: Mapping[str, Any] | None = None) -> Self:
        """The same proof, said to be about the question with this digest, asked with these options."""
        named = copy.copy(self)
        object.__setattr__(named, "about", about)
        object.__setattr__(named, "options", dict(options or {}))
        return named

    def to_dict(self) -> dict[str, Any]:
        """The certificate with its kind, its format and what it is about, ready for JSON."""
        named = {} if self.about is None else {"about": self.about}
        told = {"options": dict(self.options)} if self.options else {}
        return {"format": FORMAT, "kind": self.kind, **named, **told, **self.data()}


def _reason(problem: BaseException) -> str:
    """Why a proof is refused; a Python error alone ("'y'") says its type too."""
    text = abbreviated(str(problem)).strip("'\"") if len(str(problem)) > 300 else str(problem)
    if isinstance(problem, OverflowError):
        return f"a number overflows ({text})"
    return text if isinstance(problem, ValueError) and text else f"{type(problem).__name__} {text}".strip()


def _kinds() -> dict[str, type[Proof]]:
    """Every kind of proof; the room's modules load lazily, and a class is known once its module is."""
    import sievert.proofs

    for module in iter_modules(sievert.proofs.__path__):
        import_module(f"sievert.proofs.{module.name}")
    return _KINDS


def proof_from_dict(content: dict[str, Any]) -> Proof:
    """A proof from its dictionary; the error names what is wrong."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FileError(f"not a proof: the key format must be {FORMAT!r}")
    kind = content.get("kind")
    known = _kinds()
    if not isinstance(kind, str) or kind not in known:
        raise FileError(f"proof kind {abbreviated(kind)} is unknown; known are {', '.join(sorted(known))}")
    about = content.get("about")
    if not (about is None or isinstance(about, str)):
        raise FileError(f"about is {abbreviated(about)}; it must be the digest of a question")
    options = content.get("options", {})
    if not isinstance(options, dict) or not all(isinstance(v, str | int | float) for v in options.values()):
        raise FileError(f"options is {abbreviated(options)}; it must be a table of what a command was told")
    try:
        require_plain(content)
        return known[kind].from_data(content).with_identity(about, options)
    except DAMAGE as problem:
        raise FileError(f"the {kind} proof is damaged: {_reason(problem)}") from None


def save_proof(proof: Proof) -> str:
    """The proof as JSON text."""
    return json.dumps(proof.to_dict(), ensure_ascii=False, indent=1) + "\n"


def load_proof(path: str | Path) -> Proof:
    """Read a proof from a JSON file."""
    target = file_path("path", path, FileError)
    try:
        if target.exists() and not target.is_file():
            raise OSError(errno.EINVAL, "it is not a regular file")
        with target.open("rb") as stream:
            content = stream.read(LARGEST_FILE + 1)
    except OSError as problem:
        raise FileError(f"{target}: cannot be read ({problem.strerror})") from None
    except ValueError as problem:
        raise FileError(f"{abbreviated(str(path))} cannot be read ({problem})") from None
    if len(content) > LARGEST_FILE:
        raise FileError(f"{target}: is larger than {LARGEST_FILE:,} bytes, the limit for proofs")
    try:
        data = parse_json(content.decode("utf-8"))
    except (ValueError, MemoryError) as problem:
        raise FileError(f"{target}: is not JSON that a proof may be ({_reason(problem)})") from None
    return proof_from_dict(data)


def verify(path_or_proof: str | Path | Proof) -> Verification:
    """Re-check a proof, given itself or the JSON file it was saved to, with no solver.

    Parameters
    ----------
    path_or_proof : a Proof, or the JSON file it was saved to

    Returns
    -------
    Verification
        Whether it `holds`, and the `statement` that is proved.

    Notes
    -----
    Only arithmetic on what the proof holds, so that it can be checked where no solver is installed.

    Cost: that of the proof's own check, which solves nothing: products of its tables at most.

    Examples
    --------
    >>> import sievert as sv
    >>> proof = sv.worst_leakage(sv.metrics.cycle(5), 1).certificate
    >>> sv.verify(proof).holds
    True
    """
    proof = path_or_proof if isinstance(path_or_proof, Proof) else load_proof(path_or_proof)
    return proof.verify()


def checker_path() -> Path:
    """Where `verify.py` lies, the checker in one file that needs Python alone (docs/proofs.md)."""
    return Path(__file__).parent / "alone" / "verify.py"


# ── Numbers in everyday words, rounded so that a sentence stays true ────────────────────────────────────────


def in_percent_of(share: Fraction, down: bool = False) -> str:
    """A probability as a percentage.

    >>> in_percent_of(Fraction(1, 3)), in_percent_of(Fraction(1, 2))
    ('33.34%', '50%')
    """
    return f"{_short(decimal(100 * share, 2, down))}%"


def growth(eps: Fraction) -> str:
    """e^ε in decimals, rounded up; as a power of e where those would fill a screen.

    >>> growth(Fraction(1)), growth(Fraction(50_000))
    ('2.718282', 'e^50000')
    """
    return decimal(exp_above(eps), 6, False) if eps <= LARGEST_GROWTH else f"e^{measured(eps, down=False)}"


def measured(value: float | Fraction, down: bool) -> str:
    """A number to six decimals.

    >>> measured(Fraction(2, 3), down=False)
    '0.666667'
    """
    return _short(decimal(Fraction(value), 6, down))


def _short(digits: str) -> str:
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


# ── Matrices in proofs: fractions or floats as they were found, read exactly, written as texts ──────────────
# What rows of float channels may miss from 1.
LARGEST_GROWTH = 40  # above it e^ε is shown as a power
ROUNDING = Fraction(1, 10**9)
# What proofs about float channels may leave open.
LARGEST_TOLERANCE = 4 * ROUNDING


def exact_rows(matrix: AnyArray) -> ObjectArray:
    """A matrix of fractions: floats are taken at their exact binary value."""
    if matrix.dtype == object:
        return matrix
    table = np.empty(matrix.shape, dtype=object)
    table.ravel()[:] = [Fraction(value) for value in matrix.ravel().tolist()]
    return table


def rows_from(data: Any) -> ObjectArray:
    """Fractions back from texts."""
    rows = [fractions(row) for row in listed(data)]
    if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise ValueError("a matrix of the proof is empty or ragged")
    table = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        table[i] = row
    return table


def texts_of(table: AnyArray) -> list[list[str]]:
    """A matrix of fractions as texts, ready for JSON."""
    return [[str(value) for value in row] for row in exact_rows(table).tolist()]


def require_channels(*channels: tuple[str, ObjectArray], rounding: Fraction) -> None:
    """Entries ≥ 0, rows that sum to 1 within `rounding`, and as many rows everywhere."""
    for name, table in channels:
        if any(value < 0 for value in table.ravel()):
            raise ValueError(f"{name} has a negative entry")
        if any(abs(sum(row) - 1) > rounding for row in table.tolist()):
            raise ValueError(f"a row of {name} does not sum to 1")
    if len({len(table) for _, table in channels}) > 1:
        raise ValueError("the channels have different numbers of inputs")


def require_prior(prior: ObjectArray, size: int) -> None:
    """A probability for each input, with the sum 1."""
    if prior.shape != (size,):
        raise ValueError("the prior needs one probability for each input")
    if any(value < 0 for value in prior) or sum(prior) != 1:
        raise ValueError("the prior is not a distribution")


def unevenness(*tables: ObjectArray) -> Fraction:
    """The most that rows miss 1 by, added up over the matrices: what rounding may hide in a comparison."""
    return sum((max(abs(sum(row) - 1) for row in table.tolist()) for table in tables), Fraction(0))


def normalised(table: ObjectArray) -> ObjectArray:
    """Rows divided by their sums: the channel that float rows stand for."""
    return np.asarray(table / table.sum(axis=1)[:, None])


def require_small(tolerance: Fraction) -> None:
    """A tolerance that only covers rounding: a larger one would prove nothing."""
    if not 0 <= tolerance <= LARGEST_TOLERANCE:
        raise ValueError(
            f"the tolerance is {float(tolerance):.3g}; at most {float(LARGEST_TOLERANCE):.3g} is rounding"
        )
