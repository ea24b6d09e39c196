"""What every proof can do: become JSON, come back from it, and be checked."""

from __future__ import annotations

import copy
import errno
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np

from sievert.errors import FileError
from sievert.numerics.checks import brief, file_path
from sievert.proofs.reading import parse_json, require_plain
from sievert.results import Result

__all__ = ["Proof", "Verification", "load_proof", "proof_from_dict", "save_proof", "verify"]

FORMAT = "sievert proof 1"
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
    """Whether a proof holds, and what it states (or why it fails)."""

    holds: bool
    statement: str

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        return f"{'verified' if self.holds else 'NOT verified'}: {self.statement}"


class Proof(ABC):
    """A certificate. Subclasses name their `kind`, their data and their check.

    `about` is the digest of the question that the proof answers, where its writer knew it; `options` are what
    the command that made it was told beside the file.
    """

    kind: ClassVar[str]
    about: str | None = None
    options: Mapping[str, Any] = MappingProxyType({})

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
    def proved(self) -> str:
        """What the certificate's own numbers prove, in a sentence; ValueError where a check fails."""

    def verify(self) -> Verification:
        """Check the certificate from its own numbers."""
        try:
            # Numbers that overflow are refused where they are compared.
            with np.errstate(all="ignore"):
                return Verification(True, self.proved())
        except DAMAGE as problem:
            return Verification(False, _reason(problem))

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
    text = brief(str(problem)).strip("'\"") if len(str(problem)) > 300 else str(problem)
    return text if isinstance(problem, ValueError) and text else f"{type(problem).__name__} {text}".strip()


def proof_from_dict(content: dict[str, Any]) -> Proof:
    """A proof from its dictionary; the error names what is wrong."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FileError(f"not a proof: the key format must be {FORMAT!r}")
    kind = content.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise FileError(f"proof kind {brief(kind)} is unknown; known are {', '.join(sorted(_KINDS))}")
    about = content.get("about")
    if not (about is None or isinstance(about, str)):
        raise FileError(f"about is {brief(about)}; it must be the digest of a question")
    options = content.get("options", {})
    if not isinstance(options, dict) or not all(isinstance(v, str | int | float) for v in options.values()):
        raise FileError(f"options is {brief(options)}; it must be a table of what a command was told")
    try:
        require_plain(content)
        return _KINDS[kind].from_data(content).with_identity(about, options)
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
        raise FileError(f"{brief(str(path))} cannot be read ({problem})") from None
    if len(content) > LARGEST_FILE:
        raise FileError(f"{target}: is larger than {LARGEST_FILE:,} bytes, the limit for proofs")
    try:
        data = parse_json(content.decode("utf-8"))
    except (ValueError, MemoryError) as problem:
        raise FileError(f"{target}: is not JSON that a proof may be ({_reason(problem)})") from None
    return proof_from_dict(data)


def verify(path_or_proof: str | Path | Proof) -> Verification:
    """Re-check a proof, given itself or the JSON file it was saved to, with no solver."""
    proof = path_or_proof if isinstance(path_or_proof, Proof) else load_proof(path_or_proof)
    return proof.verify()
