"""The one file: policy, query, mechanism, adversary, use, acceptance, data and release in TOML.

`load` reads it into a `Scenario`: the objects that every command works on. Errors name the key.
"""

from __future__ import annotations

import dataclasses
import math
import tomllib
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from html import escape
from itertools import product as cartesian
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert import mechanisms
from sievert.channels import Channel, epsilon
from sievert.channels.priors import as_prior, from_counts
from sievert.errors import FileError, SievertError, TooLargeError
from sievert.files._document import (
    AcceptModel,
    Document,
    MechanismModel,
    PolicyModel,
    QueryModel,
    SecretsModel,
    UseModel,
    ValuesModel,
    dumps,
)
from sievert.files._mistakes import validated
from sievert.files._paths import FolderReader, files_read, refuse_private
from sievert.files._permitted import build_permitted
from sievert.files._queries import build_count, histogram_by, sum_of
from sievert.measures import Adversary, MatrixAdversary
from sievert.mechanisms import privacy
from sievert.numerics import brief, did_you_mean, file_path, require_size
from sievert.policies import Answers, Policy, Query
from sievert.proofs import Proof, load_proof, save_proof
from sievert.spaces import KnownLabels, Labels, Metric, Region, Row, Table, label, metrics, secrets, shown
from sievert.tables import existing, read_channel, read_table, write_channel, write_text

__all__ = [
    "Scenario",
    "build_mechanism",
    "build_policy",
    "build_prior",
    "build_query",
    "file_eps",
    "inputs_metric",
    "load",
    "load_scenario",
    "save",
]

# A prior from a list and one from rescaled weights are the same up to rounding.
SAME_PROBABILITY = 1e-9
LARGEST_FILE = 32_000_000


@dataclass(frozen=True)
class Scenario:
    """What one file describes. Everything is built when first used and checked then."""

    document: Document
    folder: Path
    source: str

    def __repr__(self) -> str:
        return f"Scenario({self.source!r})"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.title)}</p><pre>{escape(self.to_toml())}</pre>"

    @property
    def title(self) -> str:
        """The file's title, or its name."""
        return self.document.title or Path(self.source).stem

    @contextmanager
    def _at(self, table: str) -> Iterator[None]:
        """Say which file and table an error came from."""
        try:
            yield
        except TooLargeError as problem:
            raise TooLargeError(f"{self.source}, {table}: {problem.in_file()}", size=problem.size) from None
        except SievertError as problem:
            raise FileError(f"{self.source}, {table}: {problem.in_file()}") from None

    @cached_property
    def policy(self) -> Policy:
        """What must stay hidden."""
        with self._at("policy"):
            return build_policy(self.document.policy, self.folder)

    @cached_property
    def query(self) -> Query:
        """What is computed before noise."""
        policy = self.policy
        with self._at("query"):
            return build_query(self.document.query, self.folder, policy, self.columns)

    @cached_property
    def region(self) -> Region | None:
        """The part of the map that the policy is about, if it is about places."""
        chosen = self.document.policy.secrets
        if not isinstance(chosen, SecretsModel) or chosen.region is None:
            return None
        with self._at("policy"):
            return Region.checked(**chosen.region.model_dump())

    @property
    def columns(self) -> list[str]:
        """The columns of the data that make up a record."""
        named = None if self.document.data is None else self.document.data.column
        return [] if named is None else [named] if isinstance(named, str) else named

    @cached_property
    def answers(self) -> Answers:
        """The query's answers and the distance the policy gives them."""
        policy, query = self.policy, self.query
        with self._at("query"):
            return query.answers(policy)

    @cached_property
    def channel(self) -> Channel:
        """The mechanism as a channel on the answers."""
        return self._built_mechanism(None)

    def _built_mechanism(self, eps: float | None) -> Channel:
        model, answers = self._mechanism, self.answers
        with self._at("mechanism"):
            return build_mechanism(model, answers, self.query, self.folder, eps)

    @property
    def _mechanism(self) -> MechanismModel:
        if self.document.mechanism is None:
            raise FileError(f"{self.source}: table [mechanism] is missing")
        return self.document.mechanism

    @property
    def claimed_eps(self) -> float | None:
        """The ε the file claims for the policy: [claim]'s, else the mechanism's; None when it claims none."""
        stated = self.document.claim
        if stated is None:
            with self._at("mechanism"):
                return mechanism_claim(self._mechanism, self.policy, self.query)
        return None if stated.delta else stated.eps

    def with_eps(self, eps: float) -> Channel:
        """The same family at another ε."""
        return self._built_mechanism(eps)

    @cached_property
    def distance(self) -> Metric:
        """Distance in which guesses about the answer are judged."""
        answers = self.answers
        with self._at("query"):
            return inputs_metric(answers)

    @cached_property
    def prior(self) -> NDArray[Any]:
        """What the adversary believes about the channel's input."""
        return self._priors[0]

    @cached_property
    def record_prior(self) -> NDArray[Any]:
        """What the adversary believes about one record; for a query that is the record, the same belief."""
        if self.query.kind == "record":
            return self._priors[1]
        return self._belief_about_record()

    def _belief_about_record(self) -> NDArray[Any]:
        given = self.document.adversary.record_prior
        with self._at("adversary.record_prior"):
            return build_prior(given, self.policy.values, self.folder, self.policy.absent)

    @cached_property
    def _priors(self) -> tuple[NDArray[Any], NDArray[Any]]:
        model, channel = self.document.adversary, self.channel
        values, absent = self.policy.values, self.policy.absent
        with self._at("adversary.prior"):
            inputs_have = absent if self.query.kind == "record" else None
            prior = build_prior(model.prior, channel.inputs, self.folder, inputs_have)
        about_record = self._belief_about_record()
        if self.query.kind != "record":
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

    @cached_property
    def gains(self) -> list[Adversary]:
        """What adversaries want."""
        inputs = self.channel.inputs
        metric = self.distance.restricted(inputs)
        with self._at("adversary.gains"):
            return [gain.adversary(inputs, metric) for gain in self.document.adversary.gains]

    @property
    def use(self) -> UseModel:
        """What the released data is for."""
        if self.document.use is None:
            raise FileError(
                f'{self.source}: table [use] is missing; say what the data is for, such as loss = "absolute"'
            )
        return self.document.use

    @cached_property
    def use_loss(self) -> MatrixAdversary:
        """The loss that a design makes small."""
        use = self.use
        with self._at("use.loss"):
            return use.loss.over(self.answers.labels, self.distance)

    @cached_property
    def use_prior(self) -> NDArray[Any]:
        """What is known about the answers: [use].prior, or what the adversary knows."""
        use, adversary = self.document.use, self.document.adversary
        given = None if use is None else use.prior
        where = "use.prior"
        if given is None:
            given, where = adversary.prior, "adversary.prior"
        if given is None and self.query.kind == "record" and not self.policy.constrained:
            given, where = adversary.record_prior, "adversary.record_prior"
        answers = self.answers
        with self._at(where):
            return build_prior(given, answers.labels, self.folder, self.policy.absent)

    @property
    def observations(self) -> int:
        """How many independent releases of the same secret the adversary sees."""
        return self.document.adversary.observations

    @property
    def accept(self) -> AcceptModel | None:
        """The limits an audit checks."""
        return self.document.accept

    def reads(self) -> list[Path]:
        """The file itself and every file it names for reading."""
        return files_read(self.document, self.folder, self.source)

    def to_toml(self) -> str:
        """The file's text, keys that were not given left out."""
        return dumps(self.document.model_dump(exclude_unset=True))


def load(path: str | Path) -> Scenario | Channel | Proof:
    """Read a scenario (.toml), a channel (.csv, .npz, .parquet) or a proof (.json).

    Parameters
    ----------
    path : the file; its suffix says what it holds

    Returns
    -------
    Scenario, Channel or Proof
        What the file holds.

    Notes
    -----
    Cost: one reading of the file, and of the public files that a scenario names. Private data are not opened.

    Examples
    --------
    >>> import sievert as sv
    >>> scenario = sv.load("examples/census-count.toml")
    >>> scenario.policy.records, scenario.query.words
    (100, 'the number of records that are very low or low')
    """
    target = existing(path)
    if target.suffix == ".json":
        return load_proof(target)
    if target.suffix != ".toml":
        return read_channel(target)
    document = validated(_toml(target), str(target), FolderReader(target.parent))
    refuse_private(document, target.parent, str(target))
    return Scenario(document, target.parent, str(target))


def _toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file; some editors begin one with a byte-order mark."""
    size = path.stat().st_size
    require_size(size, LARGEST_FILE, f"{path}: in bytes, it", "put long lists into tables of their own")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as problem:
        raise FileError(f"{path}: cannot be read ({problem.strerror})") from None
    except UnicodeDecodeError:
        raise FileError(f"{path}: is not UTF-8 text; save it as UTF-8") from None
    except RecursionError:
        raise FileError(
            f"{path}: lists or tables are nested too deeply; no key needs more than five levels"
        ) from None
    except tomllib.TOMLDecodeError as problem:
        raise FileError(f"{path}: is not valid TOML: {problem}") from None
    except ValueError:
        raise FileError(
            f"{path}: holds a whole number of thousands of digits, or a day that is in no calendar"
        ) from None


def load_scenario(path: str | Path) -> Scenario:
    """Read a scenario, refusing any other kind of file."""
    target = existing(path, "; give the path of a TOML file")
    if target.suffix != ".toml":
        raise FileError(
            f"{target}: a TOML file is needed here; write one that names the channel under [mechanism]"
        )
    loaded = load(target)
    assert isinstance(loaded, Scenario)
    return loaded


def save(item: Scenario | Channel | Proof, path: str | Path) -> Path:
    """Write a scenario (.toml), a channel (.csv, .npz, .parquet) or a proof (.json), all or nothing.

    Parameters
    ----------
    item : Scenario, Channel or Proof
    path : where to; a file that is already there is replaced

    Returns
    -------
    Path
        The file that was written.

    Notes
    -----
    The file is written beside its place and then moved there, so that a full disk leaves the old one.

    Cost: one writing of the file.

    Examples
    --------
    >>> import tempfile
    >>> import sievert as sv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = sv.save(sv.mechanisms.warner(), f"{folder}/warner.csv")
    ...     print(sv.load(path).exact[0, 0])
    3/4
    """
    target = file_path("path", path, FileError)
    if isinstance(item, Proof):
        if target.suffix != ".json":
            raise FileError(f"{target}: a proof is written to .json")
        return write_text(target, save_proof(item))
    if isinstance(item, Channel):
        return write_channel(item, target)
    if not isinstance(item, Scenario):
        raise FileError(
            f"{target}: a {type(item).__name__} is not saved; give a scenario, a channel or a proof"
        )
    if target.suffix != ".toml":
        raise FileError(f"{target}: a scenario is written to .toml")
    return write_text(target, item.to_toml())


def _far_apart(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.bool_]:
    return np.abs(first.astype(np.float64) - second.astype(np.float64)) > SAME_PROBABILITY


# ── From the file's tables to objects: policy, query, mechanism, prior and gains ────────────────────────────

# A list of so many values is all that fits into a few GB with what is computed from it.
LARGEST_VALUES = 2_000_000


def build_policy(model: PolicyModel, folder: Path) -> Policy:
    """The policy of [policy]."""
    policy = _unconstrained(model, folder)
    if model.permitted is None:
        return policy
    return dataclasses.replace(policy, permitted=build_permitted(model.permitted, policy, folder))


def _unconstrained(model: PolicyModel, folder: Path) -> Policy:
    """The policy before public knowledge."""
    chosen = model.secrets
    if isinstance(chosen, SecretsModel) and chosen.region is not None:
        if model.values is not None:
            raise FileError("values: the cells of the region are the values; leave values out")
        return _sized(Region.checked(**chosen.region.model_dump()).metric(), model, "metric")
    if isinstance(chosen, SecretsModel) and chosen.points is not None:
        if model.values is not None:
            raise FileError("values: the points file already names the values; leave values out")
        return _sized(_points_metric(chosen, folder), model, "metric")
    if isinstance(chosen, SecretsModel) and (chosen.tree is not None or chosen.partition is not None):
        built = _secrets(chosen, [])
        if model.values is not None:
            _refuse_other_values(_values(model.values, folder), built)
        return _sized(built, model, "blowfish")
    if model.values is None:
        raise FileError("values is missing; list the values a record can take")
    values = _values(model.values, folder)
    if isinstance(chosen, SecretsModel):
        built = _secrets(chosen, values)
        return _sized(built, model, "metric" if isinstance(built, Metric) else "blowfish")
    if chosen != "complete":
        return _sized(getattr(secrets, chosen)(values), model, "blowfish")
    if model.records == 1 and model.adjacency == "replace":
        return _sized(secrets.complete(values), model, "local")
    return Policy.differential(values, model.records, model.adjacency, model.person_records)


def _sized(chosen: secrets.SecretGraph | Metric, model: PolicyModel, preset: str) -> Policy:
    if model.adjacency != "replace":
        raise FileError('adjacency: "add-remove" goes with secrets = "complete"')
    return Policy(chosen, model.records, person_records=model.person_records, preset=preset)


def _refuse_other_values(values: Sequence[Hashable], built: secrets.SecretGraph | Metric) -> None:
    """A partition or a tree names the values itself, in an order that list priors follow."""
    named = list(built.nodes) if isinstance(built, secrets.SecretGraph) else list(built.points)
    if list(values) != named:
        raise FileError(
            f"values is {shown(values)} but the secrets name {shown(named)}; leave values out, or list the "
            "same values in the same order"
        )


def _values(model: list[Any] | ValuesModel, folder: Path) -> Sequence[Hashable]:
    if isinstance(model, list):
        return [label(value) for value in model]
    if model.range is not None:
        first, last = model.range
        step = model.step or 1
        _require_values((last - first) // step + 1, "range")
        return range(first, last + 1, step)
    if model.product is not None:
        parts = [_values(part, folder) for part in model.product]
        _require_values(math.prod(map(len, parts)), "product")
        return list(cartesian(*parts))
    assert model.file is not None
    table = _table(folder, model.file)
    column = 0
    if model.column is not None:
        if model.column not in table.header:
            raise FileError(
                f"{model.file}: has no column {brief(model.column)}, but {shown(table.header)}"
                f"{did_you_mean(model.column, table.header)}"
            )
        column = table.header.index(model.column)
    return [table.value(row[column]) for row in table.rows]


def _require_values(count: int, rule: str) -> None:
    require_size(count, LARGEST_VALUES, f"values by {rule}", "so use coarser values (step = 1000 in a range)")


def _table(folder: Path, file: str) -> Table:
    existing(folder / file, "; paths in the file are relative to its own folder")
    return read_table(folder / file)


def _secrets(model: SecretsModel, values: Sequence[Hashable]) -> secrets.SecretGraph | Metric:
    if model.threshold is not None:
        return secrets.threshold(values, model.threshold)
    if model.partition is not None:
        return secrets.partition(model.partition)
    if model.tree is not None:
        return secrets.tree({child: parent or None for child, parent in model.tree.items()})
    if model.edges is not None:
        return secrets.edges(values, [(label(edge[0]), label(edge[1])) for edge in model.edges])
    if model.metric == "line":
        return metrics.line(values)  # type: ignore[arg-type]
    if model.metric == "discrete":
        return metrics.discrete(values)
    return secrets.cycle(values).metric()


def _points_metric(model: SecretsModel, folder: Path) -> Metric:
    assert model.points is not None
    table = _table(folder, model.points)
    if len(table.header) < 2:
        raise FileError(f"{model.points}: needs a label and at least one coordinate in each row")
    columns = range(1, len(table.header))
    coordinates = [[_coordinate(table, row, i, model.points) for i in columns] for row in table.rows]
    make = metrics.euclidean if model.metric == "euclidean" else metrics.manhattan
    return make(coordinates, labels=[table.value(row[0]) for row in table.rows])


def _coordinate(table: Table, row: Row, column: int, file: str) -> float:
    try:
        number = float(row[column])
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise FileError(
            f"{file}: {brief(row[column])} for {brief(row[0])} in column {brief(table.header[column])} "
            "is not a number"
        )
    return number


def build_query(model: QueryModel, folder: Path, policy: Policy, columns: Sequence[str] = ()) -> Query:
    """The query of [query]; `columns` names the parts of a record whose values are lists."""
    _require_parts(policy, columns)
    if model.kind == "count":
        return build_count(model.where, columns)
    if model.kind == "histogram" and model.by is not None:
        return histogram_by([model.by] if isinstance(model.by, str) else model.by, columns)
    if model.kind == "sum" and (columns or model.of is not None):
        return sum_of(model.of, columns)
    if model.kind == "table":
        assert model.table is not None
        return Query.from_table(_tabulated(_table(folder, model.table), model.table, policy))
    make: Callable[[], Query] = getattr(Query, model.kind)
    return make()


def _require_parts(policy: Policy, columns: Sequence[str]) -> None:
    """Where [data] names several columns, each value is a list with an entry for each of them."""
    if len(columns) < 2:
        return
    for value in policy.values:
        if not isinstance(value, tuple) or len(value) != len(columns):
            if value == policy.absent:
                continue
            raise FileError(
                f"data.column names {len(columns)} columns ({', '.join(columns)}) but policy.values has "
                f"{brief(value)}; write the values of each column, values = {{ product = [[…], […]] }}, or "
                "lists with an entry for each column"
            )


def _tabulated(table: Table, file: str, policy: Policy) -> dict[Hashable, Hashable]:
    """Answer of each database: a value of the policy for each record, then the answer."""
    if len(table.header) != policy.records + 1:
        raise FileError(
            f"{file}: has {len(table.header)} columns; it needs {policy.records} for the records "
            "and one for the answer"
        )
    known = KnownLabels(policy.values)
    answers: dict[Hashable, Hashable] = {}
    for row in table.rows:
        values = tuple(_expected(known, cell, policy.values, file) for cell in row[:-1])
        key = values[0] if policy.records == 1 else values
        if key in answers:
            raise FileError(f"{file}: the database {brief(key)} is there twice; give one answer for each")
        answers[key] = table.value(row[-1])
    return answers


def _expected(known: KnownLabels, cell: Any, labels: Labels, file: str) -> Hashable:
    found = known.find(cell)
    if found is None:
        raise FileError(f"{file}: {brief(cell)} is not one of {shown(labels)}{did_you_mean(cell, labels)}")
    return found


def mechanism_claim(model: MechanismModel, policy: Policy, query: Query) -> float | None:
    """The ε that [mechanism] claims for the policy, which needs no list of answers; None: it claims none."""
    if model.matrix is not None:
        return model.eps
    _require_no_map(model)
    if model.kind == "metric-channel":
        return 1.0
    claimed = privacy(model.eps, model.alpha).eps
    if model.kind in ("geometric", "truncated-geometric") and model.alpha is not None:
        return claimed * query.sensitivity(policy)
    # The nominal parameter of the exponential mechanism promises no ε of its own.
    return None if model.level == "nominal" else claimed


def _require_no_map(model: MechanismModel) -> None:
    if model.kind == "planar-geometric":
        raise FileError(
            "planar-geometric noise is on a map and has no list of outputs; "
            "`sievert release FILE --preview` says what it gives away"
        )


def build_mechanism(
    model: MechanismModel, answers: Answers, query: Query, folder: Path, eps: float | None = None
) -> Channel:
    """The channel of [mechanism] on the query's answers.

    For a family, `eps` is the ε promised for the policy: noise on the answers is scaled by the query's
    sensitivity. `alpha` is the ratio for one unit of the answer. `eps` given here replaces the file's.
    """
    if model.matrix is not None:
        existing(folder / model.matrix, "; paths in the file are relative to its own folder")
        channel = read_channel(folder / model.matrix, answers.labels)
        missing = [answer for answer in answers.labels if answer not in channel.inputs]
        if missing or len(channel.inputs) != len(answers.labels):
            what = f"no row for {missing[0]!r}" if missing else f"{len(channel.inputs)} rows"
            raise FileError(
                f"matrix: {model.matrix} has {what}; it needs one row for each of the "
                f"{len(answers.labels)} answers of the query"
            )
        return channel
    _require_no_map(model)
    if model.kind == "metric-channel":
        return mechanisms.metric_channel(answers.metric)
    alpha = None if eps is not None else model.alpha
    eps = model.eps if eps is None and alpha is None else eps
    return _family(model, answers, query, eps, alpha)


def _family(model: MechanismModel, answers: Answers, query: Query, eps: float | None, alpha: Any) -> Channel:
    if model.kind in ("geometric", "truncated-geometric"):
        points = _numbers(answers.labels, model.kind)
        sensitivity = query.sensitivity(answers.policy)
        unit = None if eps is None else eps / (sensitivity or 1.0)
        make = mechanisms.geometric if model.kind == "geometric" else mechanisms.truncated_geometric
        return make(points=points, eps=unit, alpha=alpha, outputs=model.outputs)
    if model.kind == "randomised-response":
        return mechanisms.randomised_response(answers.labels, eps, alpha=alpha)
    if model.kind == "exponential":
        return mechanisms.exponential(answers.metric, eps, model.level or "true", alpha=alpha)
    return mechanisms.tight_constraints(answers.metric, eps, alpha=alpha)


def _numbers(labels: Labels, kind: str | None) -> list[Any]:
    for answer in () if isinstance(labels, range) else labels:
        if not isinstance(answer, int | float):
            raise FileError(
                f"{kind} noise needs numbers but an answer is {brief(answer)}; "
                "use exponential or randomised-response"
            )
    return list(labels)


def build_prior(
    given: str | list[float] | None, labels: Labels, folder: Path, absent: Hashable | None = None
) -> NDArray[Any]:
    """A prior over labels: "uniform" (the default), a list, or a public CSV of label and weight.

    `absent` is the label of a missing record, which whoever wrote the file may not think of.
    """
    if given is None or given == "uniform":
        return as_prior(None, len(labels))
    if isinstance(given, list):
        if len(given) != len(labels):
            raise FileError(
                f"the list has {len(given)} entries but {len(labels)} are needed, one for each of "
                f"{shown(labels)}, in this order{_about_absence(labels, absent)}"
            )
        return as_prior(given, labels)
    table = _table(folder, given)
    if len(table.header) < 2:
        raise FileError(f"{given}: needs a label and a weight in each row")
    known = KnownLabels(labels)
    weights: dict[Hashable, float] = {}
    for row in table.rows:
        name = _expected(known, row[0], labels, given)
        if name in weights:
            raise FileError(f"{given}: {brief(name)} is there twice; give one weight for each label")
        weights[name] = _coordinate(table, row, 1, given)
        if weights[name] < 0:
            raise FileError(f"{given}: the weight of {brief(name)} is {weights[name]:g}; weights must be ≥ 0")
    missing = [name for name in labels if name not in weights]
    if missing:
        raise FileError(
            f"{given}: has no weight for {brief(missing[0])}; give each label one, 0 where it is "
            f"impossible{_about_absence(missing, absent)}"
        )
    if not any(weights.values()):
        raise FileError(f"{given}: every weight is 0; at least one must be positive")
    return from_counts(weights, labels)


def _about_absence(labels: Sequence[Hashable], absent: Hashable | None) -> str:
    if absent is None or absent not in labels:
        return ""
    return f'; with adjacency = "add-remove" a record may also be {absent!r}, which needs a probability too'


def inputs_metric(answers: Answers) -> Metric:
    """Distance in which guesses are judged: |y - y'| for numbers, else the policy's own distance."""
    if all(isinstance(answer, int | float) for answer in answers.labels):
        return metrics.line(list(answers.labels))  # type: ignore[arg-type]
    return answers.metric


# ── The ε that a file is about: what it claims, or what its mechanism truly satisfies ───────────────────────


def file_eps(scenario: Scenario) -> float:
    """ε in nats for the policy; an error that names --eps where the file has no finite one."""
    if scenario.document.mechanism is None:
        raise FileError(f"{scenario.source}: has no [mechanism] to take ε from; pass --eps")
    claimed = scenario.claimed_eps
    if claimed is None:
        claimed = epsilon(scenario.channel, scenario.answers).nats
    if not math.isfinite(claimed):
        raise FileError(f"{scenario.source}: its mechanism satisfies no finite ε; pass --eps")
    return claimed
