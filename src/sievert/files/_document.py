"""The schema of the TOML file: which keys there are and what each may hold.

Its JSON Schema, for editors and for the reference, is made from the sections and the kinds anew on each call,
so that a kind registered later counts.
"""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, field_validator, model_validator

from sievert.channels import StatedPrior
from sievert.files._inference import InferenceModel
from sievert.files._paths import NoisyPath, OutputPath, OwnPath
from sievert.kinds import (
    ConfigType,
    ConfigVariant,
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
from sievert.mechanisms import Family
from sievert.policies import PolicyModel, QueryConfig
from sievert.tables import Engine, Source

__all__ = [
    "DIALECT",
    "AcceptModel",
    "AdversaryModel",
    "ClaimModel",
    "Document",
    "EstimateModel",
    "ReleaseModel",
    "UseModel",
    "UseValue",
    "document_schema",
    "dumps",
    "key_text",
    "plain_schema",
    "value_text",
    "whole_schema",
]


class AdversaryModel(Section):
    """[adversary]: what attackers know and want."""

    prior: StatedPrior | None = Field(
        None,
        description="belief about the mechanism's input; a list follows the order of the answers, or of the "
        "rows of `matrix`; uniform unless given",
    )
    record_prior: StatedPrior | None = Field(
        None,
        description="belief about one record, likewise; a list follows the order of the values (with "
        "add-remove, `absent` comes first). Where the query is the record, this and `prior` are one belief: "
        "give one of them",
    )
    gains: list[Gain] = Field(
        default_factory=lambda: [Gain.resolve("identity")], description="what they want, a finding for each"
    )
    about: Literal["record", "answer"] | None = Field(
        None,
        description="what `gains` are about: `record`, one record when all others are known, or `answer`, "
        "the mechanism's input; unless given, one record for counts, sums and histograms without a `prior` "
        "(which is about the answer), and else the answer",
    )
    observations: Positive = Field(1, description="independent releases of the same data")

    @field_validator("prior", "record_prior")
    @classmethod
    def _belief(cls, stated: StatedPrior | None) -> StatedPrior | None:
        """A misspelt name is not taken for one that only [use] can do with."""
        return None if stated is None else stated.as_belief()


class UseModel(Section):
    """[use]: what the released data is for."""

    loss: Loss = Field(
        default_factory=lambda: Loss.resolve("absolute"), description="what `sievert design` makes small"
    )
    prior: StatedPrior | None = Field(
        None, description="what is known about the released answer; what the adversary knows unless given"
    )
    reports: Annotated[int, Field(ge=1)] | None = Field(
        None,
        description='with `loss = "estimation-variance"`: how many reports frequencies are estimated from, '
        "1000 unless given",
    )
    gap: Annotated[float, Field(gt=0, le=1)] = Field(
        1e-9,
        description="how near to the best possible a design must be proved to come, as a share of its loss; "
        "0.01 lets `sievert design` solve hundreds of places",
    )

    @model_validator(mode="after")
    def _reports_of_a_survey(self) -> Self:
        if self.reports is not None and self.loss.of_one_release:
            raise ValueError('reports goes with loss = "estimation-variance": leave it out')
        return self


class ClaimModel(Section):
    """[claim]: what is promised, where no mechanism is described or more than ε is claimed."""

    eps: NonNegative | None = Field(
        None, description="ε in nats; where `[mechanism]` says `eps` too, they must agree"
    )
    delta: Probability = Field(
        0.0, description="with `eps`: the δ of the promise; else where the ε that follows is read"
    )
    rho: NonNegative | None = Field(None, description="ρ of zero-concentrated differential privacy")
    sigma: NonNegative | None = Field(None, description="the standard deviation of Gaussian noise")
    sensitivity: NonNegative = Field(1.0, description="with `sigma`: how far one person moves the answer")

    @model_validator(mode="after")
    def _one_claim(self) -> Self:
        given = [name for name in ("eps", "rho", "sigma") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"give exactly one of eps, rho and sigma (given: {given or 'none'})")
        return self


class AcceptModel(Section):
    """[accept]: limits; an audit or an explanation that exceeds one exits with 1."""

    guess: Probability | None = Field(
        None,
        description="best guess about one record (one person, where one may own several) after all "
        "observations",
    )
    bits: NonNegative | None = Field(None, description="log2 of the growth of that guess")
    odds: Annotated[float, Field(ge=1)] | None = Field(
        None, description="how many times the odds of a right guess may grow"
    )
    advantage: Probability | None = Field(None, description="growth of that guess in probability")
    eps: NonNegative | None = Field(None, description="total ε of all observations for one person")
    delta: Probability | None = Field(None, description="with `eps`: the total ε is judged at this δ")
    inference: Probability | None = Field(
        None, description="best guess of the secret of `[inference]` after one release"
    )
    loss_factor: Annotated[float, Field(ge=1)] | None = Field(
        None, description="how many times better that guess may become"
    )

    @model_validator(mode="after")
    def _delta_of_eps(self) -> Self:
        if self.delta is not None and self.eps is None:
            raise ValueError("delta goes with eps: at which δ is the total ε judged?")
        return self


class UseValue(Section):
    """A declared value of the policy that takes the place of one that does not fit."""

    use: Value = Field(description="one of the policy's values")


class StableModel(Section):
    """Places that are drawn once for each person, in a period in which no id changes."""

    period: str = Field(
        min_length=1, max_length=100, description="in which ids do not change, such as `2026`; charged once"
    )


class ReleaseModel(Section):
    """[release]: what comes out, how rows that do not fit are treated, and who keeps the budget."""

    output: OutputPath | None = Field(
        None,
        description="`.csv`, `.parquet` or `.arrow`, in the file's folder or below it (`--output` may name "
        "any place); what was done is written beside it; the file's name with `-released.csv` unless given",
    )
    ledger: OwnPath | None = Field(
        None,
        description="the budget file, required for a release: `person = 3.0`, limits under `[columns]`, and "
        '`relation = "replace"` or `"add-remove"` ([what a ledger adds up](release.md)); what was spent is '
        "kept beside it",
    )
    ledger_key: OwnPath | None = Field(
        None, description="a file with a secret that binds the ledger's records"
    )
    missing: Literal["reject", "drop"] | UseValue = Field(
        "reject", description="rows without a value: refuse, leave out, or `{ use = value }`"
    )
    unknown: Literal["reject", "drop"] | UseValue = Field(
        "reject", description="rows with a value that the policy does not have, likewise"
    )
    out_of_range: Literal["reject", "clamp", "drop"] = Field(
        "reject", description="numbers beyond the first or last value"
    )
    off_grid: Literal["reject", "nearest", "drop"] = Field("reject", description="numbers between two values")
    too_many: Literal["reject", "sample"] = Field(
        "reject",
        description="people with more rows than `person_records`: refuse, or count so many of theirs, chosen "
        'at random (with `data.person` and `adjacency = "add-remove"`)',
    )
    keep: list[str] = Field(default_factory=list, description="row by row: public columns to copy")
    remap: PublicPath | None = Field(
        None, description="places: a public CSV of latitude, longitude and weight"
    )
    stable: bool | StableModel = Field(
        False,
        description="places: one place for each id of `data.person`; a release with a new id is charged, for "
        'it may be a known person\'s: `{ period = "2026" }` states that ids do not change in a period, which '
        "is charged once",
    )
    confidence: Annotated[float, Field(gt=0, lt=1)] = Field(0.95, description="probability of the intervals")
    sampler: Literal["exact", "float"] = Field(
        "exact", description="how noise is drawn; `float` where no exact sampler exists"
    )
    timing: Literal["fixed", "fast"] = Field(
        "fixed", description="the same work whatever the noise, or as little as it takes"
    )
    engine: Engine | None = Field(
        None,
        description="who draws the files of a folder or pattern; this process unless given "
        "([several machines](cluster.md))",
    )
    test_seed: Count | None = Field(
        None,
        description="the file is a test: noise comes from this seed, is NOT private, and every row says so",
    )


class ReportGroupModel(Section):
    """Reports of users who applied the same family at another ε."""

    reports: NoisyPath | list[NoisyPath] = Field(description="the files of the group, or patterns")
    eps: NonNegative | None = Field(None, description="the ε of the group; the mechanism's unless given")


class EstimateModel(Section):
    """[estimate]: where the noisy reports are, and how the distribution behind them is estimated."""

    reports: NoisyPath | list[NoisyPath] | None = Field(
        None, description="a file of noisy reports, a pattern, or a list of them (`--reports` names others)"
    )
    column: str | list[str] | None = Field(
        None, description="the column of the report; of places those of latitude and longitude"
    )
    counts: str | None = Field(None, description="the column that says how often a report occurs")
    person: str | None = Field(
        None,
        description="the column that says who made a report: several of one person, each of the same true "
        "value, count together",
    )
    groups: list[ReportGroupModel] | None = Field(
        None, description="reports of users who applied the same family at another ε"
    )
    missing: Literal["reject", "drop"] = Field("reject", description="rows without a report")
    method: Literal["auto", "maximum-likelihood", "inversion", "projection", "ibu", "regularised"] = Field(
        "auto", description="how the distribution is found ([which is when good](estimate.md))"
    )
    interval: Literal["normal", "bootstrap", "profile", "none"] = Field(
        "normal", description="how its intervals are found"
    )
    level: Annotated[float, Field(gt=0, lt=1)] = Field(0.95, description="probability of the intervals")
    seed: Count = Field(0, description="for the bootstrap and the folds of the regularised estimate")
    original: PrivatePath | None = Field(
        None,
        description="true values, where they are public or synthetic: drawn beside the estimate",
    )
    original_column: str | list[str] | None = Field(None, description="their column, or columns")

    @model_validator(mode="after")
    def _reports_once(self) -> Self:
        if self.reports is not None and self.groups is not None:
            raise ValueError("give reports, or groups with reports of their own, not both")
        for key in ("groups", "counts"):
            if self.person is not None and getattr(self, key) is not None:
                raise ValueError(f"person goes with reports one a row, all at one ε: leave out {key}")
        if self.original_column is not None and self.original is None:
            raise ValueError("original_column goes with original")
        return self


class Document(Section):
    """The whole file."""

    version: Literal[1] = Field(description="of the format")
    title: str | None = Field(None, description="shown on top of reports; the file's name unless given")
    policy: PolicyModel
    query: QueryConfig = Field(default_factory=lambda: QueryConfig.resolve({}))
    mechanism: Family | None = None
    adversary: AdversaryModel = AdversaryModel()
    use: UseModel | None = None
    claim: ClaimModel | None = None
    inference: InferenceModel | None = None
    accept: AcceptModel | None = None
    data: Source | None = None
    release: ReleaseModel | None = None
    estimate: EstimateModel | None = None

    @model_validator(mode="after")
    def _limits_of_inference(self) -> Self:
        """What [accept] says about inference needs [inference]."""
        accept = self.accept
        if accept is not None and self.inference is None:
            given = [name for name in ("inference", "loss_factor") if getattr(accept, name) is not None]
            if given:
                raise ValueError(f"[accept] says {given[0]}, which goes with [inference]: what is inferred?")
        return self

    @model_validator(mode="after")
    def _one_promise(self) -> Self:
        """[claim] and [mechanism] may both say what is promised, if they say the same."""
        claim = self.claim
        promised = None if self.mechanism is None else self.mechanism.promised
        if claim is None or claim.eps is None or promised is None:
            return self
        # A claim with δ is another kind of promise.
        if not claim.delta and not math.isclose(claim.eps, promised, rel_tol=1e-9):
            raise ValueError(
                f"[claim] says eps = {claim.eps:g} and [mechanism] eps = {promised:g}; they must agree, "
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
    top = [
        f"{key} = {value_text(item)}"
        for key, item in document.items()
        if not isinstance(item, dict) and not _is_tables(item)
    ]
    blocks = ["\n".join(top)] if top else []
    for name, section in document.items():
        several = _is_tables(section)
        for table in section if several else [section] if isinstance(section, dict) else []:
            lines = [f"{key_text(key)} = {value_text(item)}" for key, item in table.items()]
            head = f"[[{key_text(name)}]]" if several else f"[{key_text(name)}]"
            blocks.append("\n".join([head, *lines]))
    return "\n\n".join(blocks) + "\n"


def _is_tables(item: Any) -> bool:
    """Whether it is a list of tables, each of which is written as a section."""
    return isinstance(item, list) and bool(item) and all(isinstance(part, dict) for part in item)


def key_text(key: str) -> str:
    """A key as it stands before its value."""
    bare = key and all(c.isascii() and (c.isalnum() or c in "-_") for c in key)
    return key if bare else _text(key)


def _text(text: str) -> str:
    """A text in quotes; JSON leaves the one control character alone that TOML does not allow."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def value_text(item: Any) -> str:
    """A value as it stands after its key; tables inside go inline."""
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, int | float):
        return repr(item)
    if isinstance(item, str):
        return _text(item)
    if isinstance(item, dict):
        inner = ", ".join(f"{key_text(str(key))} = {value_text(value)}" for key, value in item.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(item, list | tuple):
        return f"[{', '.join(value_text(value) for value in item)}]"
    raise TypeError(f"{type(item).__name__} has no TOML form")


DIALECT = "https://json-schema.org/draft/2020-12/schema"


def document_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of the whole file, with every kind that is registered."""
    return whole_schema(Document)


def whole_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of a kind of file; every key says what it means."""
    definitions: dict[str, Any] = {}
    schema = plain_schema(model, definitions)
    for table in schema["properties"].values():
        if "$ref" in table:
            # What a table is stands once, in its definition; a default of many keys is no text of a file.
            table.pop("default", None)
            table.setdefault("description", _first_line(definitions[table["$ref"].rpartition("/")[2]]))
    return {"$schema": DIALECT, **schema, "$defs": dict(sorted(definitions.items()))}


def _first_line(definition: dict[str, Any]) -> str:
    return str(definition["description"]).partition("\n")[0]


def _kind_schema(
    noun: type[ConfigType], found: ConfigVariant, definitions: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The table that names one kind: its tag or leading key, and its further keys."""
    definitions = {} if definitions is None else definitions
    if "registry" in found.owner.__dict__:
        return _reference(found.owner, definitions)
    schema = plain_schema(found.owner, definitions)
    if found.name is not None:
        tag = {noun.tag: {"const": found.name, "description": f"the {noun.noun}"}}
        schema["properties"] = tag | schema.get("properties", {})
        led = [] if found.name == noun.default else [noun.tag]
        schema["required"] = [*led, *schema.get("required", [])]
    return schema


def plain_schema(model: type[BaseModel], definitions: dict[str, Any]) -> dict[str, Any]:
    """A model's schema, with its parts and nouns among the definitions."""
    schema = model.model_json_schema()
    for name, part in schema.pop("$defs", {}).items():
        if name not in definitions:
            definitions[name] = {}
            definitions[name] = _filled(part, definitions)
    filled: dict[str, Any] = _filled(schema, definitions)
    return filled


def _filled(schema: Any, definitions: dict[str, Any]) -> Any:
    """The schema with its nouns spelled out; nothing in TOML is null, and titles say less than keys."""
    if isinstance(schema, list):
        return [_filled(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "x-noun" in schema:
        rest = {key: value for key, value in schema.items() if key not in ("x-noun", "title")}
        return rest | _reference(ConfigType.nouns[schema["x-noun"]], definitions)
    filled = {}
    for key, item in schema.items():
        if key == "properties":
            filled[key] = {name: _filled(part, definitions) for name, part in item.items()}
        elif not (key == "title" and isinstance(item, str)) and not (key == "default" and item is None):
            filled[key] = _filled(item, definitions)
    branches = [branch for branch in filled.get("anyOf", []) if branch != {"type": "null"}]
    if len(branches) == 1:
        del filled["anyOf"]
        return branches[0] | filled
    return filled | ({"anyOf": branches} if branches else {})


def _reference(noun: type[ConfigType], definitions: dict[str, Any]) -> dict[str, Any]:
    """A reference to a noun, which is defined once."""
    if noun.noun not in definitions:
        definitions[noun.noun] = {}
        definitions[noun.noun] = _noun_schema(noun, definitions)
    return {"$ref": f"#/$defs/{noun.noun}"}


def _noun_schema(noun: type[ConfigType], definitions: dict[str, Any]) -> dict[str, Any]:
    branches: list[dict[str, Any]] = [
        {"const": name, "description": found.owner.__doc__}
        for name, found in noun.kinds().items()
        if found.bare
    ]
    for found in noun.kinds().values():
        table = _kind_schema(noun, found, definitions)
        if found.key is not None and found.key in (noun.list_key, noun.text_key):
            branches.append(table["properties"][found.key])
        branches.append(table)
    if noun.takes_several:
        one = {"$ref": f"#/$defs/{noun.noun}"}
        branches.append({"type": "array", "items": one, "minItems": 1, "description": "several at once"})
    if noun.joined is not None:
        tables = [branch["properties"] for branch in branches if "properties" in branch]
        keys = {key: item for table in tables for key, item in table.items()}
        together = {"type": "object", "description": noun.joined.__doc__, "properties": keys}
        branches.append(together | {"additionalProperties": False, "minProperties": 2})
    return {"description": noun.__doc__, "anyOf": branches}
