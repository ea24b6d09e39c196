"""What a design for a table or a sum says: one option a mechanism, and which errs least."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from typing import Any

from sievert.channels import TableNoise
from sievert.design._optimal import OptimalMechanism
from sievert.numerics import amount, bounded_percent, in_percent
from sievert.policies import Sensitivity
from sievert.proofs import NoiseProof, Proof
from sievert.results import Result

__all__ = ["NO_PROOF", "TableDesign", "TableOption"]

NO_PROOF = "no proof of optimality"


@dataclass(frozen=True)
class TableOption(Result):
    """One way to release the table.

    Attributes
    ----------
    name : what it is
    mechanism : the file's [mechanism] that does it (None: no kind of its own)
    sd, mean_error, radius : standard deviation and mean absolute value of the error of one number, and how
        far off it is at most with the asked-for probability, in the answer's units (None: not known exactly)
    in_range : mean absolute error of a sum that is clamped to its range, all answers equally likely (None
        where the answers are not few)
    eps : the smallest ε that it satisfies for the policy (inf: none)
    before, after, repeated : best guess about one record by somebody who knows all others, before, after one
        release and after all
    after_exact, repeated_exact : whether these are exact, else upper bounds
    optimality : what is proved about its error
    optimal : whether it is proved to be the best of its class, or of all
    note : what it cannot do, or how it was chosen
    """

    name: str
    mechanism: dict[str, Any] | None
    sd: float | None
    mean_error: float | None
    radius: float | None
    in_range: float | None
    eps: float
    before: float
    after: float
    after_exact: bool
    repeated: float
    repeated_exact: bool
    optimality: str = NO_PROOF
    optimal: bool = False
    note: str = ""
    noise: TableNoise | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        error = "" if self.mean_error is None else f", off by {amount(self.mean_error)} on average"
        return (
            f"{self.name}{error}; one record is guessed with {bounded_percent(self.after, self.after_exact)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data, without the channel."""
        found = super().to_dict()
        found.pop("noise")
        return found


@dataclass(frozen=True)
class TableDesign(Result):
    """The mechanisms that apply to a table or sum at one ε.

    Attributes
    ----------
    eps : ε for the policy, in nats
    query : what is released
    releases : how many releases of the same table somebody sees
    confidence : probability of the radius
    options : one for each mechanism
    missing : mechanisms that do not apply, and why
    best : name of the option that keeps ε and errs least on average
    optimum : the best of all mechanisms where the answers are few (None: they are not)
    unit : of the errors, and of what ε is for each; empty: the answer's own
    """

    eps: float
    query: str
    releases: int
    confidence: float
    options: tuple[TableOption, ...]
    missing: dict[str, str]
    best: str
    optimum: OptimalMechanism | None = field(default=None, repr=False, compare=False)
    sensitivity: Sensitivity | None = field(default=None, repr=False, compare=False)
    unit: str = ""

    @property
    def chosen(self) -> TableOption:
        """The option that keeps ε and errs least on average."""
        return next(option for option in self.options if option.name == self.best)

    @property
    def headings(self) -> list[str]:
        """What a table says of each mechanism."""
        radius = f"{in_percent(self.confidence)} radius"
        unit = f", {self.unit}" if self.unit else ""
        always = [f"standard deviation{unit}", f"mean error{unit}", f"{radius}{unit}"]
        always += ["true ε", "guess after 1"]
        return [*always, f"after {self.releases}"] if self.releases > 1 else always

    def cells(self, option: TableOption) -> list[str]:
        """Its numbers below these headings."""
        return _cells(option)[: len(self.headings)]

    @property
    def certificate(self) -> Proof | None:
        """That the chosen noise is enough for what one record can change; None where it changes nothing."""
        noise = self.chosen.noise
        if noise is None or self.sensitivity is None:
            return None
        return NoiseProof.of(noise, self.sensitivity)

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data; of the optimum its loss, its gap and how it was found."""
        found = super().to_dict()
        found.pop("sensitivity")
        best = self.optimum
        found["optimum"] = (
            None
            if best is None
            else {"loss": float(best.loss), "gap": best.gap, "method": best.method, "warning": best.warning}
        )
        return found

    def __str__(self) -> str:
        best = self.chosen
        error = "nothing" if best.mean_error is None else amount(best.mean_error)
        one = "the place" if self.unit else "one record"
        error, each = (f"{error} {self.unit}", f" for each {self.unit}") if self.unit else (error, "")
        return (
            f"With ε = {self.eps:.6g}{each}, {best.name} errs least of the noise that keeps it: by {error} "
            f"on average; {one} is guessed with probability {in_percent(best.before)} before and "
            f"{bounded_percent(best.after, best.after_exact)} after."
        )

    def _repr_html_(self) -> str:
        head = ("mechanism", *self.headings)
        rows = "".join(
            f"<tr><th>{escape(option.name)}</th>"
            + "".join(f"<td>{escape(cell)}</td>" for cell in self.cells(option))
            + "</tr>"
            for option in self.options
        )
        titles = "".join(f"<th>{escape(title)}</th>" for title in head)
        return f"<p>{escape(str(self))}</p><table><tr>{titles}</tr>{rows}</table>"


def _cells(option: TableOption) -> list[str]:
    """Its numbers as a table shows them."""
    errors = [
        "–" if value is None else amount(value) for value in (option.sd, option.mean_error, option.radius)
    ]
    guesses = [
        f"{'' if exact else '≤ '}{in_percent(value)}"
        for value, exact in ((option.after, option.after_exact), (option.repeated, option.repeated_exact))
    ]
    return [*errors, "none" if math.isinf(option.eps) else f"{option.eps:.6g}", *guesses]
