"""The one file: policy, query, mechanism, adversary, use, acceptance, data and release in TOML.

A `Scenario` holds the objects that every command works on. Errors name the key.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from html import escape
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from sievert.analysis import Analysis, analysis_of, epsilon_of, rho_of
from sievert.arrays import FloatArray
from sievert.channels import (
    Channel,
    Epsilon,
    JointNoise,
    NoiseChannel,
    StatedPrior,
    TableNoise,
)
from sievert.channels.priors import as_prior
from sievert.errors import FileError, QueryError, SievertError, TooLargeError
from sievert.files._document import (
    AcceptModel,
    Document,
    UseModel,
    dumps,
)
from sievert.files._inference import InferenceCase, inference_case
from sievert.files._noise import ReleasedTable, noise_without_list, released_table, table_noise
from sievert.files._paths import Stamp, files_read, moved, stamps
from sievert.kinds import Reader
from sievert.measures import GainFunction, GainMatrix
from sievert.mechanisms import Family
from sievert.policies import Answers, Policy, Query, Sensitivity
from sievert.spaces import Labels, Metric, Region, metrics

__all__ = [
    "PolicyScenario",
    "Scenario",
    "file_eps",
    "inputs_metric",
]

# A prior from a list and one from rescaled weights are the same up to rounding.
SAME_PROBABILITY = 1e-9

# What each part is built of; `Scenario.sharing` takes it over where all of that is the same.
_ANSWERS = {"policy", "query", "data"}
_CHANNEL = {*_ANSWERS, "release", "mechanism"}
_BELIEF = {*_CHANNEL, "adversary"}
NEEDS: Mapping[str, set[str]] = {
    "policy": {"policy"},
    "region": {"policy"},
    "record_distance": {"policy"},
    "query": _ANSWERS,
    "answers": _ANSWERS,
    "distance": _ANSWERS,
    "tabulated": {*_ANSWERS, "release"},
    "_settled": _CHANNEL,
    "channel": _CHANNEL,
    "epsilon": _CHANNEL,
    "claimed_rho": _CHANNEL,
    "prior": _BELIEF,
    "record_prior": _BELIEF,
    "_priors": _BELIEF,
    "stated_belief": {*_ANSWERS, "adversary"},
    "_own_record_belief": {*_ANSWERS, "adversary"},
    "gains": _BELIEF,
    "use_loss": {*_ANSWERS, "use"},
    "use_prior": {*_BELIEF, "use"},
    "inference": {*_BELIEF, "inference", "use"},
}


class Scenario:
    """What one TOML file describes, whatever it is about.

    `table` is the one that only files of its kind have.
    """

    table: ClassVar[str] = "policy"
    document: Any
    folder: Path
    source: str
    # Who opens the public files; None: they are read from the folder.
    reader: Reader | None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.source!r})"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.title)}</p><pre>{escape(self.to_toml())}</pre>"

    @property
    def title(self) -> str:
        """The file's title, or its name."""
        return str(self.document.title or Path(self.source).stem)

    @classmethod
    def from_text(
        cls,
        text: str,
        folder: str | Path | None = None,
        source: str | None = None,
        reader: Reader | None = None,
    ) -> Self:
        """What a TOML text describes, without a file.

        Parameters
        ----------
        text : the text of a file
        folder : where the files are that it names; the current folder unless given
        source : what errors call the text; "untitled.toml" unless given
        reader : who opens the public files that it names; they are read from the folder unless given

        Returns
        -------
        Described
            Of the class it is asked of: `Scenario.from_text` refuses a text with [documents].

        Notes
        -----
        Cost: one parse; everything else is built when first used.

        Examples
        --------
        >>> from sievert.files import Scenario
        >>> text = 'version = 1\\n[policy]\\nvalues = ["no", "yes"]\\n'
        >>> Scenario.from_text(text).policy.values
        ('no', 'yes')
        """
        from sievert.files._loading import UNTITLED, scenario_from_text

        found = scenario_from_text(text, folder, UNTITLED if source is None else source, reader)
        if not isinstance(found, cls):
            raise FileError(
                f"{found.source}: has [{found.table}], and a file with [{cls.table}] is needed here",
                key=(found.table,),
            )
        return found

    def replaced(self, changes: Mapping[str | tuple[str | int, ...], Any]) -> Self:
        """The same file with other values, sharing what the changed tables have no part in.

        Parameters
        ----------
        changes : values by their keys, such as {"mechanism.eps": 2.0}; None takes a key away. A key with a
            dot in its name is given as a tuple, and a place in a list by its number, from 0

        Returns
        -------
        Described
            Checked like a file. Whatever was built of tables that are unchanged is not built again.

        Notes
        -----
        Cost: one validation.

        Examples
        --------
        >>> import sievert as sv
        >>> scenario = sv.load("examples/census-count.toml")
        >>> policy = scenario.policy
        >>> weaker = scenario.replaced({"mechanism.eps": 2.0, "adversary.observations": 3})
        >>> weaker.claimed_eps, weaker.observations, weaker.policy is policy
        (2.0, 3, True)
        """
        from sievert.files._edits import with_values
        from sievert.files._loading import scenario_from_tables

        tables = with_values(self.document.model_dump(exclude_unset=True), changes)
        found = scenario_from_tables(tables, self.folder, self.source, self.reader)
        if not isinstance(found, type(self)):
            raise FileError(f"{self.source}: the changes make another kind of file of it")
        return found.sharing(self)

    def sharing(self, other: Scenario) -> Self:
        """The same file, with what another has built of the same tables."""
        return self

    def reads(self) -> list[Path]:
        """The file itself and every file it names for reading."""
        return files_read(self.document, self.folder, self.source)

    def to_toml(self) -> str:
        """The file's text, keys that were not given left out."""
        return dumps(self.document.model_dump(exclude_unset=True))

    def text_in(self, folder: Path) -> str:
        """The file's text, as it names the same files from another folder."""
        return dumps(self.tables_in(folder))

    def tables_in(self, folder: Path) -> dict[str, Any]:
        """The file's tables, as they name the same files from another folder."""
        tables: dict[str, Any] = moved(self.document.model_dump(exclude_unset=True), self.folder, folder)
        return tables

    @contextmanager
    def at(self, table: str) -> Iterator[None]:
        """Say which file and table an error came from."""
        try:
            yield
        except TooLargeError as problem:
            raise TooLargeError(self._placed(table, problem), size=problem.size) from None
        except SievertError as problem:
            # A mechanism asks the query how far one record moves it.
            asked = table == "mechanism" and isinstance(problem, QueryError)
            home = "query" if asked else table
            key = getattr(problem, "key", ()) or tuple(home.split("."))
            raise FileError(self._placed(home, problem), key=key) from None

    def _placed(self, table: str, problem: SievertError) -> str:
        """The message with the file and the table in front, each once."""
        text = problem.in_file()
        if text.startswith(f"{self.source}, "):
            return text
        if text.startswith(f"{table}."):
            return f"{self.source}, {text}"
        if text.startswith("permitted: "):
            return f"{self.source}, policy.{text}"
        return f"{self.source}, {table}: {text.removeprefix(f'{table}: ')}"


@dataclass(frozen=True, repr=False)
class PolicyScenario(Scenario):
    """What one file describes. Everything is built when first used and checked then."""

    document: Document
    folder: Path
    source: str
    reader: Reader | None = field(default=None, compare=False)
    _stamps: ClassVar[Mapping[str, list[Stamp]]] = {}

    def __post_init__(self) -> None:
        # What a public file held when this was read: under the same name it may hold something else later.
        object.__setattr__(self, "_stamps", stamps(self.document, self.folder))

    @cached_property
    def analysis(self) -> Analysis:
        """What the mechanism reveals; it stays with this object."""
        return analysis_of(self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: item for name, item in self.__dict__.items() if name != "analysis"}

    # ── What makes a file a measurement ─────────────────────────────────────────────────────────────────────

    @property
    def table_noise(self) -> NoiseChannel | None:
        """The noise that a release draws; None where the channel is a list that is drawn from."""
        return table_noise(self)

    @property
    def is_table(self) -> bool:
        """Whether a table over all records is released."""
        return self.document.mechanism is not None and self.document.query.is_table

    @property
    def sensitivity(self) -> Sensitivity:
        """How far one record moves the table."""
        return self.tabulated.sensitivity

    @property
    def absence(self) -> bool:
        """Whether records may be left out."""
        return self.tabulated.absence

    @property
    def description(self) -> str:
        """The mechanism in words."""
        return self.mechanism.words()

    @property
    def float_record_prior(self) -> FloatArray:
        """About the value of one record: where nothing is stated, without a fraction for each value."""
        if self.stated_record_prior is None:
            return _uniform(len(self.policy.values))
        return np.asarray(self.record_prior.astype(np.float64))

    @property
    def informative_prior(self) -> FloatArray | None:
        """The belief about one record; None where it is uniform."""
        given = self.stated_record_prior
        if given is None or given.is_uniform:
            return None
        if self.region is not None:
            return np.asarray(self.stated_belief, dtype=np.float64)
        return np.asarray(given.over(self.policy.values, self.policy.absent), dtype=np.float64)

    def require_record_prior(self) -> None:
        """Refuse a prior about the answer, where no list holds the answers."""
        stated = self.document.adversary.prior
        if stated is not None and not stated.is_uniform and not self.query.is_record:
            raise FileError(
                f"{self.source}, adversary.prior: is a belief about the answer, and no list holds "
                "the answers; give record_prior, a belief about one record"
            )

    def sharing(self, other: Scenario) -> Self:
        """The same file, with what another has built of the same tables."""
        if isinstance(other, PolicyScenario) and other.folder == self.folder:
            same = _same_tables(self, other)
            found = {name: item for name, item in other.__dict__.items() if NEEDS.get(name, {""}) <= same}
            self.__dict__.update(found)
        return self

    @cached_property
    def policy(self) -> Policy:
        """What must stay hidden."""
        with self.at("policy"):
            return self.document.policy.policy()

    @cached_property
    def query(self) -> Query:
        """What is computed before noise."""
        policy = self.policy
        with self.at("query"):
            return self.document.query.query(policy, self.columns)

    @cached_property
    def region(self) -> Region | None:
        """The part of the map that the policy is about, if it is about places."""
        with self.at("policy"):
            return self.document.policy.secrets.places()

    @property
    def columns(self) -> list[str]:
        """The columns of the data that make up a record."""
        return [] if self.document.data is None else self.document.data.columns

    @cached_property
    def answers(self) -> Answers:
        """The query's answers and the distance the policy gives them."""
        policy, query = self.policy, self.query
        with self.at("query"):
            return query.answers(policy)

    @cached_property
    def tabulated(self) -> ReleasedTable:
        """The table over all records that the query asks for, known without a list."""
        return released_table(self)

    @property
    def mechanism(self) -> Family:
        """The family of [mechanism], with its parameter."""
        family = self.document.mechanism
        if family is None:
            raise FileError(f"{self.source}: table [mechanism] is missing")
        return family if family.is_settled else self._settled

    @cached_property
    def _settled(self) -> Family:
        """The family of [mechanism] with the ε or σ that its accuracy takes for the file's table."""
        family = self.document.mechanism
        assert family is not None
        if not self.document.query.is_table:
            raise FileError(
                f"{self.source}, mechanism.accuracy: goes with counts, sums and histograms over all records; "
                "give eps for a release row by row"
            )
        found, policy = self.tabulated, self.policy
        absence = found.absence and policy.absent is None
        with self.at("mechanism"):
            return family.settled(found.statistic, found.sensitivity, policy, absence)

    @cached_property
    def channel(self) -> Channel:
        """The mechanism as a channel on the answers; where no list holds them, the noise itself."""
        return self._channel_of(self.mechanism)

    def _channel_of(self, family: Family) -> Channel:
        with self.at("mechanism"):
            noise = noise_without_list(self, family)
            if noise is not None:
                return noise
        answers, query = self._answers_for(family), self.query
        with self.at("mechanism"):
            return family.channel(answers, query)

    def _answers_for(self, family: Family) -> Answers:
        """The listed answers; noise that is cut off at answers with gaps names the one that is not."""
        try:
            return self.answers
        except TooLargeError as problem:
            added = family.added()
            if added is None or not added.clamps or not self.document.query.is_total:
                raise
            raise TooLargeError(
                f'{problem}; or use kind = "geometric", whose noise is not cut off and needs no list',
                size=problem.size,
            ) from None

    @cached_property
    def epsilon(self) -> Epsilon:
        """The smallest ε for which the mechanism keeps the policy, with what attains it."""
        return epsilon_of(self.channel, self)

    @property
    def claimed_eps(self) -> float | None:
        """The ε the file claims for the policy: [claim]'s, else the mechanism's; None when it claims none."""
        stated = self.document.claim
        if stated is not None:
            return None if stated.delta else stated.eps
        with self.at("mechanism"):
            # Rows that are dropped may move the table further than the query's answers.
            if self.mechanism.promised is None and isinstance(self.channel, TableNoise):
                found = self.channel.nats_of(self.tabulated.sensitivity)
                return found if math.isfinite(found) else None
            return self.mechanism.claimed(self.policy, self.query)

    @cached_property
    def claimed_rho(self) -> Fraction | None:
        """The ρ for one record of noise in cells that keeps no ε; None: it keeps one, or is no such noise."""
        with self.at("mechanism"):
            noise = self.channel
            if not isinstance(noise, TableNoise | JointNoise) or noise.keeps_eps or self.policy.is_metric:
                return None
            return rho_of(noise, self)

    @property
    def claimed(self) -> dict[str, Any] | None:
        """What is promised of one release, as arguments of a claim; None: nothing is.

        What [claim] says, else the ε of [mechanism], its ε and δ, or the ρ of its noise.
        """
        stated = self.document.claim
        if stated is not None:
            return stated.model_dump(exclude_none=True)
        if self.document.mechanism is None:
            return None
        if self.claimed_eps is not None:
            return {"eps": self.claimed_eps}
        if self.mechanism.approximate is not None:
            return dict(zip(("eps", "delta"), self.mechanism.approximate, strict=True))
        return None if self.claimed_rho is None else {"rho": float(self.claimed_rho)}

    def with_eps(self, eps: float) -> Channel:
        """The same family at another ε."""
        return self._channel_of(self._family_at(eps))

    def _family_at(self, eps: float) -> Family:
        other = self.mechanism.with_eps(eps)
        if other is None:
            raise FileError(
                f"{self.source}, mechanism: {self.mechanism.words()} has no other ε; name a family with eps"
            )
        return other

    def at_eps(self, eps: float) -> PolicyScenario:
        """The same file with its family at another ε, sharing what ε has no part in; its claim stays."""
        document = self.document.model_copy(update={"mechanism": self._family_at(eps)})
        return replace(self, document=document).sharing(self)

    @cached_property
    def distance(self) -> Metric:
        """Distance in which guesses about the answer are judged."""
        answers = self.answers
        with self.at("query"):
            return inputs_metric(answers)

    @cached_property
    def prior(self) -> NDArray[Any]:
        """What the adversary believes about the channel's input."""
        return self._priors[0]

    @cached_property
    def record_prior(self) -> NDArray[Any]:
        """What the adversary believes about one record; for a query that is the record, the same belief."""
        if self.query.is_record and not isinstance(self.channel, NoiseChannel):
            return self._priors[1]
        return self._belief_about_record()

    @property
    def stated_record_prior(self) -> StatedPrior | None:
        """What the file says that is believed about one record; None: nothing, so that it is uniform."""
        model = self.document.adversary
        if model.record_prior is None and self.query.is_record:
            return model.prior
        return model.record_prior

    def _belief_about_record(self) -> NDArray[Any]:
        unlisted = isinstance(self.channel, NoiseChannel)
        return self.stated_belief if unlisted else self._own_record_belief

    @cached_property
    def stated_belief(self) -> NDArray[Any]:
        """The belief about one record that the file states, as one about the record or the answer."""
        return self._belief(self.stated_record_prior)

    @cached_property
    def _own_record_belief(self) -> NDArray[Any]:
        """The belief that the file states about one record as such."""
        return self._belief(self.document.adversary.record_prior)

    def _belief(self, given: StatedPrior | None) -> NDArray[Any]:
        with self.at("adversary.record_prior"):
            if self.region is not None and given is not None:
                return given.on_map(self.region)
            return stated_prior(given, self.policy.values, self.policy.absent)

    @cached_property
    def _priors(self) -> tuple[NDArray[Any], NDArray[Any]]:
        model, channel = self.document.adversary, self.channel
        values, absent = self.policy.values, self.policy.absent
        with self.at("adversary.prior"):
            inputs_have = absent if self.query.is_record else None
            if self.region is not None and model.prior is not None:
                cells = dict(zip(self.region.labels, model.prior.on_map(self.region), strict=True))
                prior = np.array([cells[cell] for cell in channel.inputs])
            else:
                prior = stated_prior(model.prior, channel.inputs, inputs_have)
        about_record = self._belief_about_record()
        if not self.query.is_record:
            return prior, about_record
        # The channel's inputs are the permitted values, perhaps in the order of a matrix file.
        position = {value: i for i, value in enumerate(values)}
        place = [position[item] for item in channel.inputs]
        belief = about_record[place]
        if self.policy.constrained:
            if not belief.sum() > 0:
                raise FileError(
                    f"{self.source}, adversary.record_prior: no permitted value is possible under it; "
                    "give one a weight"
                )
            belief = belief / belief.sum()
        if model.prior is None:
            prior = belief
        elif model.record_prior is None:
            about_record = np.full(len(values), prior[0] * 0)
            about_record[place] = prior
        elif (differs := np.flatnonzero(_far_apart(prior, belief))).size:
            i = int(differs[0])
            raise FileError(
                f"{self.source}, adversary: prior gives {channel.inputs[i]!r} the probability "
                f"{float(prior[i]):.6g} but record_prior {float(belief[i]):.6g}; the query "
                'releases the record itself (kind = "record"), so they are one belief: leave one out'
            )
        return prior, about_record

    @property
    def gains_about(self) -> Literal["value", "record", "answer"]:
        """What adversaries want to know: by the file alone, however many records and answers there are.

        Where the query is the record, its value is the answer too.
        """
        model = self.document.adversary
        if self.query.is_record:
            return "value"
        if model.about is not None:
            return model.about
        states_answer = model.prior is not None and not model.prior.is_uniform
        return "record" if self.document.query.is_table and not states_answer else "answer"

    @cached_property
    def gains(self) -> list[GainFunction]:
        """What adversaries want to know about the channel's input."""
        inputs = self.channel.inputs
        metric = self.distance.restricted(inputs)
        with self.at("adversary.gains"):
            return [gain.adversary(inputs, metric) for gain in self.document.adversary.gains]

    def gain_about_record(self, place: int) -> GainFunction:
        """What one of the adversaries wants to know about one record."""
        with self.at("adversary.gains"):
            return self.document.adversary.gains[place].adversary(self.policy.values, self.record_distance)

    @cached_property
    def record_distance(self) -> Metric:
        """Distance in which guesses about one record are judged."""
        values = self.policy.values
        if isinstance(values, range):
            return metrics.line(values)
        if all(isinstance(value, int | float) for value in values):
            return metrics.line(list(values))  # type: ignore[arg-type]
        return self.policy.record_metric

    @property
    def use(self) -> UseModel:
        """What the released data is for."""
        if self.document.use is None:
            raise FileError(
                f'{self.source}: table [use] is missing; say what the data is for, such as loss = "absolute"'
            )
        return self.document.use

    @cached_property
    def use_loss(self) -> GainMatrix:
        """The loss that a design makes small."""
        use = self.use
        with self.at("use.loss"):
            return use.loss.over(self.answers.labels, self.distance)

    @cached_property
    def use_prior(self) -> NDArray[Any]:
        """What is known about the answers: [use].prior, or what the adversary knows."""
        use, adversary = self.document.use, self.document.adversary
        given = None if use is None else use.prior
        where = "use.prior"
        if given is None:
            given, where = adversary.prior, "adversary.prior"
        if given is None and self.query.is_record and not self.policy.constrained:
            given, where = adversary.record_prior, "adversary.record_prior"
        with self.at(where):
            if self.region is not None and given is not None:
                return given.on_map(self.region)
            return stated_prior(given, self.answers.labels, self.policy.absent)

    @cached_property
    def inference(self) -> InferenceCase:
        """What else the release may tell: secret against answer, and the mechanism on these answers."""
        if self.document.inference is None:
            raise FileError(
                f"{self.source}: table [inference] is missing; say what may be inferred from what: secret, "
                "use and a public table"
            )
        with self.at("inference"):
            return inference_case(self)

    @property
    def prior_unknown(self) -> bool:
        """Whether [use] asks for a mechanism that serves every prior."""
        use = self.document.use
        return use is not None and use.prior is not None and use.prior.is_unknown

    @property
    def observations(self) -> int:
        """How many independent releases of the same secret the adversary sees."""
        return self.document.adversary.observations

    @property
    def accept(self) -> AcceptModel | None:
        """The limits an audit checks."""
        return self.document.accept

    @property
    def released(self) -> Path:
        """Where a release goes, unless the command line names another place."""
        rules = self.document.release
        name = None if rules is None else rules.output
        return self.folder / (name or f"{Path(self.source).stem}-released.csv")

    def reads(self) -> list[Path]:
        """The file itself and every file it names for reading."""
        return files_read(self.document, self.folder, self.source)


def _same_tables(one: PolicyScenario, other: PolicyScenario) -> set[str]:
    """The tables that both files write alike; those that name a public file only where it did not change."""
    same = set()
    for name in Document.model_fields:
        first, second = getattr(one.document, name), getattr(other.document, name)
        if one._stamps.get(name) == other._stamps.get(name) and _written(first) == _written(second):
            same.add(name)
    return same


def _written(part: Any) -> str:
    """A table as a file writes it: 1, 1.0 and true are three values."""
    return repr(part.model_dump(exclude_unset=True) if isinstance(part, BaseModel) else part)


@lru_cache(maxsize=4)
def _uniform(values: int) -> FloatArray:
    """All equally likely: one array for every level of ε."""
    found = np.full(values, 1 / values)
    found.flags.writeable = False
    return found


def _far_apart(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.bool_]:
    return np.abs(first.astype(np.float64) - second.astype(np.float64)) > SAME_PROBABILITY


def stated_prior(given: StatedPrior | None, labels: Labels, absent: Hashable | None = None) -> NDArray[Any]:
    """What is believed, which is uniform where nothing is stated."""
    return as_prior(None, len(labels)) if given is None else given.over(labels, absent)


def inputs_metric(answers: Answers) -> Metric:
    """Distance in which guesses are judged: |y - y'| for numbers, else the policy's own distance."""
    if all(isinstance(answer, int | float) for answer in answers.labels):
        return metrics.line(list(answers.labels))  # type: ignore[arg-type]
    return answers.metric


# ── The ε that a file is about: what it claims, or what its mechanism truly satisfies ───────────────────────


def file_eps(scenario: PolicyScenario) -> float:
    """ε in nats for the policy; an error that names --eps where the file has no finite one."""
    if scenario.document.mechanism is None:
        raise FileError(f"{scenario.source}: has no [mechanism] to take ε from; pass --eps")
    claimed = scenario.claimed_eps
    if claimed is None:
        claimed = scenario.epsilon.nats
    if not math.isfinite(claimed):
        raise FileError(f"{scenario.source}: its mechanism satisfies no finite ε; pass --eps")
    return claimed
