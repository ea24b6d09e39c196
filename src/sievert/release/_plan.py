"""What a release will do, decided before any data is read and before anything is spent."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from sievert.channels import Channel, JointNoise, PlanarNoise, TableNoise
from sievert.errors import DataError, FileError, LedgerError, SievertError, TooLargeError
from sievert.files import PolicyScenario, ReleaseModel, contents, refuse_private, table_noise
from sievert.ledger import UNIT
from sievert.numerics import abbreviated, file_path
from sievert.policies import Sensitivity, Statistic
from sievert.release._accuracy import AccuracySummary, errors
from sievert.release._budget_account import AccountedPlan, hash_of
from sievert.release._domain import Domain
from sievert.release._places import MapRelease, Places, population
from sievert.release._sampled_channel import SampledChannel, drawn_channel
from sievert.sampling import Sampler, floats, for_channel
from sievert.tables import Source, is_among, require_writable

__all__ = ["NOT_PRIVATE", "SEEDED", "Plan", "law_plan", "make_plan"]

# The column, and what it says, that marks every row of a table whose noise came from a seed.
NOT_PRIVATE = "not_private"
SEEDED = "drawn from a test seed"


@dataclass(frozen=True)
class Plan(AccountedPlan):
    """A release, ready to run.

    Attributes
    ----------
    central : whether one table is computed over all rows; otherwise each row is perturbed by itself
    channel : what is drawn from, by its own exact sampler: the noise on the table or on the map, or the
        file's channel on the listed answers
    words : what it is
    eps : what the release costs each person, nats per unit of the policy's distance
    pure_eps : ε for one record; None where the noise keeps none
    table, sensitivity : the table over all rows, and how far one record moves it
    places : the map, where places are released
    exact : whether the sampler is exact; one in floating point has to be asked for
    note : why what is drawn has another ε than the file's own channel
    """

    scenario: PolicyScenario
    rules: ReleaseModel
    central: bool
    channel: Channel = field(repr=False)
    words: str
    pure_eps: Fraction | None
    table: Statistic | None = None
    sensitivity: Sensitivity | None = None
    places: MapRelease | None = None
    exact: bool = True
    output_name: str | None = None
    note: str | None = None

    @property
    def noise(self) -> TableNoise | None:
        """The noise in the cells of the table, which needs no list of answers."""
        return self.channel if isinstance(self.channel, TableNoise) else None

    @property
    def several(self) -> JointNoise | None:
        """The noise of several tables, where the file asks for more than one."""
        return self.channel if isinstance(self.channel, JointNoise) else None

    @property
    def tables(self) -> tuple[Statistic, ...]:
        """The tables over all rows."""
        if self.several is not None:
            return tuple(part.statistic for part in self.several.parts)
        return () if self.table is None else (self.table,)

    def part(self, place: int) -> Plan:
        """One of several tables, as if it were released by itself."""
        assert self.several is not None
        noise = self.several.parts[place]
        return replace(self, channel=noise, words=noise.words(), table=noise.statistic)

    def sampler(self, source: object = None) -> Sampler:
        """The sampler of the channel, on bits of the operating system or of a given source."""
        make = for_channel if self.exact else floats.FloatRows
        return make(self.channel, timing=self.rules.timing, insecure_rng=source)

    @cached_property
    def errors(self) -> AccuracySummary:
        """How far off what is released will be."""
        if self.places is not None:
            return self.places.errors(self.rules.confidence)
        return errors(self.channel, self.rules.confidence)

    @property
    def data(self) -> Source:
        """The table [data]."""
        found = self.scenario.document.data
        assert found is not None
        return found

    @property
    def about_rows(self) -> str | None:
        """What the promise is for where it is not for a person."""
        if self.data.per == "person":
            return None
        return (
            f"one {self.data.per} being there or not (no column says whose it is: a person with k rows loses "
            "k times as much)"
        )

    @property
    def seeded(self) -> bool:
        """Whether the file is a test, with noise from a seed; none of it enters a private release."""
        return self.rules.test_seed is not None

    @property
    def owned(self) -> int:
        """How many rows one person may have."""
        if self.rules.stable:
            return 1
        return self.scenario.policy.person_records if self.central else self.data.rows_per_person

    @property
    def unaccounted(self) -> bool:
        """Whether no ledger adds the release up: its noise keeps no ε, and the file names none."""
        return self.pure_eps is None and self.rules.ledger is None

    @property
    def unit_eps(self) -> Fraction:
        """ε for one record; refused where the noise keeps none."""
        if self.pure_eps is None:
            raise LedgerError(
                f"{self.words} keeps no ε, and a ledger in ε cannot add it up; use "
                'kind = "staircase" or "geometric" with an eps, or name a ledger in ρ (rho and delta in its '
                "budget file)"
            )
        return self.pure_eps

    @property
    def eps(self) -> Fraction:
        """What the release costs each person."""
        return self.unit_eps * self.owned

    @property
    def unit(self) -> str:
        """What ε is counted for: neighbours, a metre on a map, or a unit of the policy's distance."""
        if self.places is not None:
            return "metre"
        return "unit of distance" if self.scenario.policy.is_metric else UNIT

    @property
    def columns(self) -> list[str]:
        """The private columns that are read."""
        return self.scenario.columns

    def domain(self) -> Domain:
        """The declared values and the treatment of cells that do not fit."""
        return self._domain

    @cached_property
    def _domain(self) -> Domain:
        policy = self.scenario.policy
        if not self.central:
            values: Sequence[Hashable] = self.channel.inputs
        else:
            values = policy.values[1:] if policy.absent is not None else policy.values
        return Domain(self.columns, values, self.rules, self.data.meaning)

    @property
    def period(self) -> str | None:
        """The period in which ids do not change, where the file states one."""
        stable = self.rules.stable
        return None if isinstance(stable, bool) else stable.period

    @property
    def output(self) -> Path:
        """Where the released table goes."""
        return _output(self.scenario, self.output_name)

    @cached_property
    def stable_mark(self) -> str | None:
        """What makes a remembered place the same: policy, mechanism, remap, whose row and which bits."""
        if not self.rules.stable:
            return None
        document = self.scenario.document
        parts = [document.model_dump_json(include={"policy", "mechanism"})]
        parts += [*self.columns, str(self.data.person), str(self.rules.remap)]
        parts += ["seeded"] if self.seeded else []
        parts += contents([document.policy, document.mechanism, self.rules.remap], self.scenario.folder)
        return hash_of(*parts)


def _output(scenario: PolicyScenario, name: str | None) -> Path:
    return Path(name) if name else scenario.released


def make_plan(scenario: PolicyScenario, output: str | Path | None = None) -> Plan:
    """Check everything that can be checked without the data."""
    document, source = scenario.document, scenario.source
    if document.data is None:
        raise FileError(f"{source}: table [data] is missing; say where the records are")
    if not scenario.columns:
        raise FileError(f"{source}: key data.column is missing; name the column that is released")
    if document.mechanism is None:
        raise FileError(f"{source}: table [mechanism] is missing")
    refuse_private(document, scenario.folder, source)
    _require_records(scenario)
    rules = document.release or ReleaseModel()
    name = None if output is None else str(file_path("output", output, DataError))
    if rules.test_seed is not None and NOT_PRIVATE in (*rules.keep, *scenario.columns):
        raise FileError(f"{source}: the column {NOT_PRIVATE} marks a test; give yours another name")
    with _named(source):
        _check_columns(scenario, rules)
        require_writable(_output(scenario, name))
        _refuse_among_data(scenario, _output(scenario, name))
        return _drawable(_plan(scenario, rules, name))


def law_plan(scenario: PolicyScenario) -> Plan:
    """What the mechanism of a file draws from, whether or not the file says where records are."""
    document = scenario.document
    if document.mechanism is None:
        raise FileError(f"{scenario.source}: table [mechanism] is missing")
    rules = ReleaseModel() if document.data is None or document.release is None else document.release
    with _named(scenario.source):
        return _plan(scenario, rules, None)


@contextmanager
def _named(source: str) -> Iterator[None]:
    """Say which file a problem is in."""
    try:
        yield
    except TooLargeError:
        raise
    except FileError as problem:
        text = str(problem)
        raise FileError(text if text.startswith(source) else f"{source}, {text}") from None
    except SievertError as problem:
        raise FileError(f"{source}: {problem.in_file()}") from None


def _refuse_among_data(scenario: PolicyScenario, output: Path) -> None:
    """Refuse an output that another run would count as data."""
    path = scenario.document.data.several(scenario.folder) if scenario.document.data is not None else None
    parts = output / f"part-00000{output.suffix}"
    if path is not None and any(is_among(target, path, scenario.folder) for target in (output, parts)):
        raise FileError(
            f"release.output: {output} is a file that data.input ({path}) names; another run would take what "
            "was released for private records: name another folder for one of them"
        )


def _require_records(scenario: PolicyScenario) -> None:
    """Refuse a database where every record is needed: only distinct cells and their counts leave it."""
    data, source = scenario.document.data, scenario.source
    assert data is not None
    if data.by_record:
        return
    if scenario.document.query.is_record:
        raise FileError(
            f"{source}: key data.source goes with a table over all rows; a release row by row reads every "
            "record, and only distinct cells and their counts leave a database. Export it to a folder of "
            "Parquet files and name that as data.input"
        )
    if scenario.policy.constrained:
        raise FileError(
            f"{source}: key policy.permitted needs every record, to see that the data is one of those that "
            "are permitted, and only distinct cells and their counts leave a database; export it to Parquet "
            "files and name them as data.input"
        )


def _plan(scenario: PolicyScenario, rules: ReleaseModel, name: str | None) -> Plan:
    if scenario.region is not None:
        return _on_map(scenario, rules, name)
    if scenario.document.query.is_record:
        return _local(scenario, rules, name)
    return _central(scenario, rules, name)


def _check_columns(scenario: PolicyScenario, rules: ReleaseModel) -> None:
    """Each column has one part: its values are released, it says whose row it is, or it is public."""
    data, columns = scenario.document.data, scenario.columns
    assert data is not None
    for key, names in (("data.column", columns), ("release.keep", rules.keep)):
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise FileError(f"{key}: {abbreviated(twice[0])} is there twice; name each column once")
    if data.person in columns:
        raise FileError(
            f"data.person: {abbreviated(data.person)} is also data.column; the column that says whose "
            f"row it is "
            "must not be released"
        )
    if scenario.region is not None and len(columns) != 2:
        raise FileError('data.column: name two columns, latitude first: column = ["lat", "lon"]')
    for name in rules.keep:
        if name in columns:
            raise FileError(f"release.keep: {abbreviated(name)} is private; only public columns can be kept")


def _drawable(plan: Plan) -> Plan:
    """Make the sampler, the remap and the domain now: what cannot be drawn or read must not be charged."""
    if plan.places is not None:
        _ = plan.places.remapped
        Places(plan.columns, plan.places.region, plan.rules)
    else:
        plan.domain()
    plan.sampler()
    return plan


def _on_map(scenario: PolicyScenario, rules: ReleaseModel, name: str | None) -> Plan:
    region, noise = scenario.region, table_noise(scenario)
    assert region is not None
    if not scenario.document.query.is_record:
        raise FileError('query.kind: places on a map are released one by one; use kind = "record"')
    weights = None if rules.remap is None else population(scenario, rules.remap, region)
    if isinstance(noise, PlanarNoise):
        found = SampledChannel(noise, noise.eps, noise.words())
    else:
        found = drawn_channel(scenario)
        found = replace(found, words=f"{found.words} on cells of {region.cell:g} m")
    places = MapRelease(region, found.channel, weights)
    words = places.describe(found.words)
    return Plan(
        scenario,
        rules,
        False,
        found.channel,
        words,
        found.eps,
        places=places,
        exact=found.exact,
        output_name=name,
        note=found.note,
    )


def _local(scenario: PolicyScenario, rules: ReleaseModel, name: str | None) -> Plan:
    if rules.remap is not None or rules.stable:
        raise FileError("release: remap and stable go with places on a map (policy.secrets with a region)")
    if rules.too_many == "sample":
        raise FileError('release.too_many: "sample" goes with a table over all rows')
    if scenario.policy.absent is not None:
        raise FileError(
            'policy.adjacency: a release row by row shows how many rows there are; "add-remove" goes with a '
            "table over all rows"
        )
    found = drawn_channel(scenario)
    return Plan(
        scenario,
        rules,
        False,
        found.channel,
        found.words,
        found.eps,
        exact=found.exact,
        output_name=name,
        note=found.note,
    )


def _require_person(scenario: PolicyScenario) -> None:
    """Rows are chosen by person only where a person's rows, there or not, are what is protected."""
    assert scenario.document.data is not None
    if scenario.document.data.person is None:
        raise FileError(
            'release.too_many: "sample" chooses among the rows of each person; name the column that says '
            "whose row it is under data.person"
        )
    if scenario.policy.absent is None or scenario.policy.constrained:
        raise FileError(
            'release.too_many: "sample" goes with adjacency = "add-remove" and without permitted: how many '
            "rows are kept is private, and another row of the same person may take the place of one that "
            "changed, however the secrets join their values"
        )


def _central(scenario: PolicyScenario, rules: ReleaseModel, name: str | None) -> Plan:
    if rules.remap is not None or rules.stable or rules.keep:
        raise FileError("release: remap, stable and keep go with a release row by row")
    if rules.too_many == "sample":
        _require_person(scenario)
    noise = table_noise(scenario)
    if isinstance(noise, JointNoise):
        eps = noise.joint.cost if noise.keeps_eps else None
        return Plan(scenario, rules, True, noise, noise.words(), eps, output_name=name)
    table, sensitivity = scenario.tabulated.statistic, scenario.tabulated.sensitivity
    if isinstance(noise, TableNoise):
        eps = noise.eps_of(sensitivity) if noise.keeps_eps else None
        return Plan(scenario, rules, True, noise, noise.words(), eps, table, sensitivity, output_name=name)
    if scenario.tabulated.absence:
        raise FileError("release: rows can be dropped only with noise on the answer")
    if len(table.cells) > 1 and scenario.document.query.names_columns:
        raise FileError(
            'mechanism: a histogram by columns is released with kind = "geometric" or "truncated-geometric"'
        )
    found = drawn_channel(scenario)
    return Plan(
        scenario,
        rules,
        True,
        found.channel,
        found.words,
        found.eps,
        table,
        sensitivity,
        exact=found.exact,
        output_name=name,
        note=found.note,
    )
