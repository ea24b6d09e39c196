"""The schema of the TOML file: which keys there are and what each may hold."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from sievert.channels import StatedPrior
from sievert.files._paths import NoisyPath, OutputPath, OwnPath
from sievert.kinds import (
    Count,
    NonNegative,
    Positive,
    PrivatePath,
    Probability,
    PublicPath,
    Section,
    Value,
)
from sievert.measures import Gain, Loss
from sievert.policies import AskedQuery, PolicyModel

__all__ = [
    "AcceptModel",
    "AdversaryModel",
    "ClaimModel",
    "DataModel",
    "Document",
    "EstimateModel",
    "MechanismModel",
    "ReleaseModel",
    "UseModel",
    "UseValue",
    "dumps",
]


def _consecutive(numbers: list[int]) -> bool:
    return bool(numbers) and all(second - first == 1 for first, second in pairwise(numbers))


class MechanismModel(Section):
    """[mechanism]: a family with its parameter, or a matrix in a file."""

    kind: (
        Literal[
            "geometric",
            "truncated-geometric",
            "randomised-response",
            "exponential",
            "tight-constraints",
            "metric-channel",
            "planar-geometric",
        ]
        | None
    ) = None
    matrix: PublicPath | None = None
    eps: NonNegative | None = None
    alpha: str | float | int | None = None
    level: Literal["nominal", "true"] | None = None
    outputs: list[int] | None = None

    @model_validator(mode="after")
    def _one_mechanism(self) -> Self:
        if (self.kind is None) == (self.matrix is None):
            raise ValueError('give kind = "…" (a family) or matrix = "channel.csv"')
        parameters = (self.eps is not None) + (self.alpha is not None)
        if self.matrix is not None and self.alpha is not None:
            raise ValueError(
                "alpha goes with a family; with a matrix, eps states what it is claimed to satisfy"
            )
        if self.kind == "metric-channel" and parameters:
            raise ValueError("metric-channel takes no eps: it realises the policy's distance itself")
        if self.kind not in (None, "metric-channel") and parameters != 1:
            raise ValueError("give exactly one of eps and alpha (alpha = e^-eps)")
        if self.level is not None and self.kind != "exponential":
            raise ValueError('level goes with kind = "exponential"')
        if self.outputs is not None and self.kind not in ("geometric", "truncated-geometric"):
            raise ValueError('outputs goes with kind = "geometric" or "truncated-geometric"')
        if self.outputs is not None and not _consecutive(self.outputs):
            raise ValueError("outputs must be consecutive whole numbers in increasing order, at least one")
        return self


class AdversaryModel(Section):
    """[adversary]: what attackers know and want."""

    prior: StatedPrior | None = None
    record_prior: StatedPrior | None = None
    gains: list[Gain] = Field(default_factory=lambda: [Gain.resolve("identity")])
    observations: Positive = 1


class UseModel(Section):
    """[use]: what the released data is for."""

    loss: Loss = Field(default_factory=lambda: Loss.resolve("absolute"))
    prior: StatedPrior | None = None


class ClaimModel(Section):
    """[claim]: what is promised, where no mechanism is described or more than ε is claimed."""

    eps: NonNegative | None = None
    delta: Probability = 0.0
    rho: NonNegative | None = None
    sigma: NonNegative | None = None
    sensitivity: NonNegative = 1.0

    @model_validator(mode="after")
    def _one_claim(self) -> Self:
        given = [name for name in ("eps", "rho", "sigma") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"give exactly one of eps, rho and sigma (given: {given or 'none'})")
        if self.delta and given != ["eps"]:
            raise ValueError(f"delta goes with eps; {given[0]} implies a δ for every ε")
        return self


class AcceptModel(Section):
    """[accept]: limits; an audit or an explanation that exceeds one exits with 1."""

    guess: Probability | None = None
    bits: NonNegative | None = None
    odds: Annotated[float, Field(ge=1)] | None = None
    advantage: Probability | None = None
    eps: NonNegative | None = None
    delta: Probability | None = None

    @model_validator(mode="after")
    def _delta_of_eps(self) -> Self:
        if self.delta is not None and self.eps is None:
            raise ValueError("delta goes with eps: at which δ is the total ε judged?")
        return self


class DataModel(Section):
    """[data]: where the records are."""

    input: PrivatePath
    column: str | list[str] | None = None
    person: str | None = None
    rows_per_person: Positive = 1
    missing_values: list[str] = Field(default_factory=list)


class UseValue(Section):
    """A declared value of the policy that takes the place of one that does not fit."""

    use: Value


class ReleaseModel(Section):
    """[release]: what comes out, how rows that do not fit are treated, and who keeps the budget."""

    output: OutputPath | None = None
    ledger: OwnPath | None = None
    ledger_key: OwnPath | None = None
    missing: Literal["reject", "drop"] | UseValue = "reject"
    unknown: Literal["reject", "drop"] | UseValue = "reject"
    out_of_range: Literal["reject", "clamp", "drop"] = "reject"
    off_grid: Literal["reject", "nearest", "drop"] = "reject"
    keep: list[str] = Field(default_factory=list)
    remap: PublicPath | None = None
    stable: bool = False
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.95
    sampler: Literal["exact", "float"] = "exact"
    timing: Literal["fixed", "fast"] = "fixed"
    test_seed: Count | None = None


class ReportGroupModel(Section):
    """Reports of users who applied the same family at another ε."""

    reports: NoisyPath | list[NoisyPath]
    eps: NonNegative | None = None


class EstimateModel(Section):
    """[estimate]: where the noisy reports are, and how the distribution behind them is estimated."""

    reports: NoisyPath | list[NoisyPath] | None = None
    column: str | None = None
    counts: str | None = None
    groups: list[ReportGroupModel] | None = None
    missing: Literal["reject", "drop"] = "reject"
    method: Literal["auto", "maximum-likelihood", "inversion", "projection", "ibu", "regularised"] = "auto"
    interval: Literal["normal", "bootstrap", "profile", "none"] = "normal"
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    seed: Count = 0
    original: PrivatePath | None = None
    original_column: str | None = None

    @model_validator(mode="after")
    def _reports_once(self) -> Self:
        if self.reports is not None and self.groups is not None:
            raise ValueError("give reports, or groups with reports of their own, not both")
        if self.original_column is not None and self.original is None:
            raise ValueError("original_column goes with original")
        return self


class Document(Section):
    """The whole file."""

    version: Literal[1]
    title: str | None = None
    policy: PolicyModel
    query: AskedQuery = Field(default_factory=lambda: AskedQuery.resolve({}))
    mechanism: MechanismModel | None = None
    adversary: AdversaryModel = AdversaryModel()
    use: UseModel | None = None
    claim: ClaimModel | None = None
    accept: AcceptModel | None = None
    data: DataModel | None = None
    release: ReleaseModel | None = None
    estimate: EstimateModel | None = None

    @model_validator(mode="after")
    def _one_promise(self) -> Self:
        """[claim] and [mechanism] may both say what is promised, if they say the same."""
        claim, mechanism = self.claim, self.mechanism
        if claim is None or mechanism is None or claim.eps is None or mechanism.eps is None:
            return self
        # A nominal ε is a parameter, and a claim with δ is another kind of promise.
        nominal = mechanism.level == "nominal"
        if not nominal and not claim.delta and not math.isclose(claim.eps, mechanism.eps, rel_tol=1e-9):
            raise ValueError(
                f"[claim] says eps = {claim.eps:g} and [mechanism] eps = {mechanism.eps:g}; they must agree, "
                "so state the promise once"
            )
        return self


# ── Writing TOML: enough for Sievert's own file (the standard library only reads it) ────────────────────────


def dumps(document: dict[str, Any]) -> str:
    """TOML text of a document of scalars, lists and tables; nested tables inside a section go inline.

    >>> print(dumps({"version": 1, "policy": {"records": 2, "secrets": {"threshold": 1}}}), end="")
    version = 1
    <BLANKLINE>
    [policy]
    records = 2
    secrets = { threshold = 1 }
    """
    top = [f"{key} = {_value(item)}" for key, item in document.items() if not isinstance(item, dict)]
    blocks = ["\n".join(top)] if top else []
    for name, section in document.items():
        if isinstance(section, dict):
            lines = [f"{_key(key)} = {_value(item)}" for key, item in section.items()]
            blocks.append("\n".join([f"[{_key(name)}]", *lines]))
    return "\n\n".join(blocks) + "\n"


def _key(key: str) -> str:
    bare = key and all(c.isascii() and (c.isalnum() or c in "-_") for c in key)
    return key if bare else json.dumps(key, ensure_ascii=False)


def _value(item: Any) -> str:
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, int | float):
        return repr(item)
    if isinstance(item, str):
        return json.dumps(item, ensure_ascii=False)
    if isinstance(item, dict):
        inner = ", ".join(f"{_key(str(key))} = {_value(value)}" for key, value in item.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(item, list | tuple):
        return f"[{', '.join(_value(value) for value in item)}]"
    raise TypeError(f"{type(item).__name__} has no TOML form")
