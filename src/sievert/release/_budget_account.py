"""Where a release goes, who keeps its budget, and by what an interrupted run of it is found again."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from sievert.errors import FileError
from sievert.files import Scenario, contents, dumps
from sievert.ledger import EPS, FIXED, Budget, Ledger, Share
from sievert.numerics import abbreviated
from sievert.tables import existing

__all__ = ["AccountedPlan", "Cost", "hash_of", "in_its_unit", "read_key"]

LARGEST_KEY = 2**16  # bytes


@dataclass(frozen=True)
class Cost:
    """What a release costs for the pairs that a ledger is about.

    Attributes
    ----------
    amount : in the ledger's currency
    eps : in ε, for the same pairs; None where the noise keeps none
    pair : two values (or databases) that attain it; None where nobody looked for them
    plan : the plan whose next slot is taken, which has paid
    share : for how many records of a person it is, and whether it grows with them
    """

    amount: Fraction
    eps: Fraction | None
    pair: tuple[Hashable, Hashable] | None = None
    plan: str | None = None
    share: Share = FIXED

    def among(self, ledger: Ledger) -> Cost:
        """The same for as many records as a person owns in a ledger."""
        eps = None if self.eps is None else ledger.price(self.eps, self.share.in_eps)
        return replace(self, amount=ledger.price(self.amount, self.share), eps=eps)

    @property
    def charged(self) -> Fraction:
        """What is charged now: nothing for a slot."""
        return Fraction(0) if self.plan is not None else self.amount

    @property
    def shown(self) -> list[str] | None:
        """The pair as the ledger keeps it."""
        return None if self.pair is None else [abbreviated(state) for state in self.pair]


class AccountedPlan:
    """A planned release.

    Attributes
    ----------
    scenario : the file
    rules : its table [release]
    output : where what is released goes
    budget_line : a line of a budget file, for whoever has none
    """

    scenario: Any
    rules: Any
    output: Any
    budget_line: str = "person = 3.0 in it: the most ε one person may lose"

    @property
    def sidecar(self) -> Path:
        """Where what was done is written."""
        return Path(self.output.parent, f"{self.output.name}.json")

    @cached_property
    def budget_file(self) -> Path:
        """The file that says how much may be spent."""
        if self.rules is None or self.rules.ledger is None:
            raise FileError(
                f"{self.scenario.source}: key release.ledger is missing; name a budget file, for example "
                f'ledger = "budget.toml" with the line {self.budget_line}'
            )
        return _budget_path(self.scenario, self.rules.ledger)

    @property
    def ledger_folder(self) -> Path:
        """The folder that keeps what was spent, beside the budget file."""
        return self.budget_file.with_suffix(".ledger")

    def budget(self) -> Budget:
        """The budget file, read."""
        return Budget.read(self.budget_file)

    def ledger_key(self) -> bytes | None:
        """The secret that binds the ledger's records, if there is one."""
        return _ledger_key(self.scenario, self.rules.ledger_key)

    @cached_property
    def digest(self) -> str:
        """A hash of the file and of what it reads, to find an interrupted run of the same release.

        Who does the work does not count: what an engine left, another can finish.
        """
        scenario = self.scenario
        told = scenario.document.model_dump(exclude_unset=True, exclude={"release": {"engine"}})
        return hash_of(dumps(told), *contents(scenario.document, scenario.folder))


def hash_of(*parts: str) -> str:
    """One hash of several texts."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def in_its_unit(found: dict[str, Any], symbol: str) -> dict[str, Any]:
    """Plain data whose `eps` holds ε and nothing else: an amount of a ledger in ρ is `rho`."""
    named: dict[str, Any] = {}
    for key, value in found.items():
        if key == "eps_exact" and symbol != EPS.symbol:
            named["rho_exact"] = value
        elif key == "eps":
            in_eps = symbol == EPS.symbol
            named |= {"eps": value if in_eps else None, "rho": None if in_eps else value}
        else:
            named[key] = value
    return named


def _budget_path(scenario: Scenario, name: str) -> Path:
    path = scenario.folder / name
    if path.suffix != ".toml":
        raise FileError(f"{scenario.source}: key release.ledger names {path.name}; a budget is a .toml file")
    if path.is_symlink():  # a second name would be a second ledger, and the budget be spent twice
        raise FileError(f"{path}: is a link; name the budget file itself, which its ledger lies beside")
    return path


def _ledger_key(scenario: Scenario, name: str | None) -> bytes | None:
    if name is None:
        return None
    return read_key(scenario.folder / name)


def read_key(path: Path) -> bytes:
    """The secret that binds a ledger's records, from its file: a plain one of no great size."""
    try:
        size = existing(path).stat().st_size
        if size > LARGEST_KEY:
            raise FileError(f"{path}: has {size} bytes; a ledger's key has at most {LARGEST_KEY}")
        key = path.read_bytes().strip() if size else b""
    except OSError as problem:
        raise FileError(f"{path}: the ledger's key cannot be read ({problem.strerror})") from None
    if len(key) < 16:
        raise FileError(f"{path}: the ledger's key has {len(key)} bytes; it needs at least 16")
    return key
