"""What every proof can do: become JSON, come back from it, and be checked."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from sievert.errors import FileError
from sievert.results import Result

__all__ = ["DAMAGE", "Proof", "Verification", "load_proof", "proof_from_dict", "save_proof", "verify"]

FORMAT = "sievert proof 1"
# What reading or checking a damaged proof may raise.
DAMAGE = (ValueError, KeyError, TypeError, IndexError, AttributeError, ArithmeticError)
_KINDS: dict[str, type[Proof]] = {}


@dataclass(frozen=True)
class Verification(Result):
    """Whether a proof holds, and what it states (or why it fails)."""

    holds: bool
    statement: str

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        return f"{'verified' if self.holds else 'NOT verified'}: {self.statement}"


class Proof(ABC):
    """A certificate. Subclasses name their `kind`, their data and their check."""

    kind: ClassVar[str]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in cls.__dict__:
            _KINDS[cls.kind] = cls

    @abstractmethod
    def data(self) -> dict[str, Any]:
        """The certificate as plain data."""

    @classmethod
    @abstractmethod
    def from_data(cls, data: dict[str, Any]) -> Self:
        """The certificate back from plain data."""

    @abstractmethod
    def verify(self) -> Verification:
        """Check the certificate from its own numbers."""

    def to_dict(self) -> dict[str, Any]:
        """The certificate with its kind and format, ready for JSON."""
        return {"format": FORMAT, "kind": self.kind, **self.data()}


def proof_from_dict(content: dict[str, Any]) -> Proof:
    """A proof from its dictionary; the error names what is wrong."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FileError(f"not a proof: the key format must be {FORMAT!r}")
    kind = content.get("kind")
    if kind not in _KINDS:
        raise FileError(f"proof kind {kind!r} is unknown; known are {', '.join(sorted(_KINDS))}")
    try:
        return _KINDS[str(kind)].from_data(content)
    except DAMAGE as problem:
        raise FileError(f"the {kind} proof is damaged: {type(problem).__name__} {problem}") from None


def save_proof(proof: Proof) -> str:
    """The proof as JSON text."""
    return json.dumps(proof.to_dict(), ensure_ascii=False, indent=1) + "\n"


def load_proof(path: str | Path) -> Proof:
    """Read a proof from a JSON file."""
    target = Path(path)
    try:
        content = json.loads(target.read_text(encoding="utf-8"))
    except OSError as problem:
        raise FileError(f"{target}: cannot be read ({problem.strerror})") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as problem:
        raise FileError(f"{target}: is not JSON ({problem})") from None
    return proof_from_dict(content)


def verify(path_or_proof: str | Path | Proof) -> Verification:
    """Re-check a proof, given itself or the JSON file it was saved to, with no solver."""
    proof = path_or_proof if isinstance(path_or_proof, Proof) else load_proof(path_or_proof)
    return proof.verify()
