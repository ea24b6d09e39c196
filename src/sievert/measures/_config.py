"""What a file can name as an adversary's gain or as a use's loss."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import Annotated, Any, ClassVar, Literal, Never

from pydantic import Field

from sievert.errors import FileError, GainError
from sievert.kinds import ConfigType, Finite, NonNegative, Positive, Probability, PublicPath, Value, variant
from sievert.measures import gains, losses
from sievert.measures._gain_function import GainFunction, GainMatrix
from sievert.numerics import abbreviated
from sievert.spaces import KnownLabels, LabelledTable, Labels, Metric, label, shown

__all__ = ["Gain", "Loss"]

Values = Annotated[list[Value], Field(description="some of the values")]


class Gain(ConfigType, noun="gain"):
    """What an adversary wants."""

    # What the gain is counted in, where that does not follow from its table.
    unit: ClassVar[Literal["closeness"] | None] = None

    @abstractmethod
    def over(self, labels: Labels, distance: Metric) -> GainFunction:
        """The gain over these secrets, with this distance between them."""

    def adversary(self, labels: Labels, distance: Metric) -> GainFunction:
        """The gain over these secrets under the name that the file gives it, if it gives one."""
        built = self.over(labels, distance)
        name = getattr(self, "name", None)
        return built.relabelled(name) if name else built


@variant(Gain, "identity")
class IdentityGain(Gain):
    """To guess the secret in one try."""

    def over(self, labels: Labels, distance: Metric) -> GainFunction:
        return gains.identity(labels)


@variant(Gain, "closeness")
class ClosenessGain(Gain):
    """To guess near the secret: 1 minus the distance, as a share of the largest."""

    unit = "closeness"

    def over(self, labels: Labels, distance: Metric) -> GainFunction:
        return gains.closeness(distance)


@variant(Gain, "bayes-risk")
class BayesRiskGain(Gain):
    """Not to be wrong: the chance of a wrong guess, a loss."""

    def over(self, labels: Labels, distance: Metric) -> GainFunction:
        return losses.bayes_risk(labels)


@variant(Gain, "guessing")
class GuessingGain(Gain):
    """To need few guesses until right, a loss."""

    def over(self, labels: Labels, distance: Metric) -> GainFunction:
        return losses.guessing(labels)


@variant(Gain, "shannon")
class ShannonGain(Gain):
    """To be left with little uncertainty in bits, a loss."""

    def over(self, labels: Labels, distance: Metric) -> GainFunction:
        return losses.shannon(labels)


class NamedGain(Gain):
    """A gain with a parameter, which may be given a name of its own."""

    name: Annotated[str | None, Field(description="what reports call it")] = None


@variant(Gain, key="tries")
class TriesGain(NamedGain):
    """To guess the secret in several tries."""

    tries: Annotated[Positive, Field(description="how many guesses are allowed")]

    def over(self, labels: Labels, distance: Metric) -> GainFunction:
        return gains.tries(labels, self.tries)


@variant(Gain, key="within")
class WithinGain(NamedGain):
    """To guess within a distance of the secret."""

    within: Annotated[NonNegative, Field(description="how far off a guess may be, in the values' units")]

    def over(self, labels: Labels, distance: Metric) -> GainFunction:
        return gains.within(distance, self.within)


@variant(Gain, key="partition")
class PartitionGain(NamedGain):
    """To guess the block that the secret is in."""

    partition: Annotated[
        list[list[Value]] | dict[str, list[Value]],
        Field(description="the blocks, or a table of named blocks"),
    ]

    def over(self, labels: Labels, distance: Metric) -> GainFunction:
        return gains.partition(self.partition, labels)


@variant(Gain, key="property")
class PropertyGain(NamedGain):
    """To guess whether the secret is one of some values."""

    property: Values

    def over(self, labels: Labels, distance: Metric) -> GainFunction:
        return gains.property(labels, [label(value) for value in self.property])


@variant(Gain, key="matrix")
class MatrixGain(NamedGain):
    """A gain of your own: a public table with actions in rows and secrets in columns."""

    matrix: Annotated[PublicPath, Field(description="a CSV with actions in rows")]

    def over(self, labels: Labels, distance: Metric) -> GainFunction:
        rows, actions = _matrix_rows(self.matrix, labels)
        return gains.matrix(rows, actions, secrets=labels)


class Loss(ConfigType, noun="loss"):
    """What the released data is for: the loss that a design makes small."""

    # Whether it is the expected loss of one release, which a linear program makes small.
    of_one_release: ClassVar[bool] = True

    @abstractmethod
    def over(self, labels: Labels, distance: Metric) -> GainMatrix:
        """The loss over these answers, with this distance between them."""

    @abstractmethod
    def words(self) -> str:
        """What is made small, such as "absolute error"."""


@variant(Loss, "absolute")
class AbsoluteLoss(Loss):
    """How far off the value is."""

    def over(self, labels: Labels, distance: Metric) -> GainMatrix:
        return losses.absolute(labels)  # type: ignore[arg-type]

    def words(self) -> str:
        return "absolute error"


@variant(Loss, "squared")
class SquaredLoss(Loss):
    """The square of how far off the value is."""

    def over(self, labels: Labels, distance: Metric) -> GainMatrix:
        return losses.squared(labels)  # type: ignore[arg-type]

    def words(self) -> str:
        return "squared error"


@variant(Loss, "bayes-risk")
class BayesRiskLoss(Loss):
    """The chance of a wrong value."""

    def over(self, labels: Labels, distance: Metric) -> GainMatrix:
        return losses.bayes_risk(labels)

    def words(self) -> str:
        return "chance of a wrong value"


@variant(Loss, "distance")
class DistanceLoss(Loss):
    """The distance from the truth, in the policy's points."""

    def over(self, labels: Labels, distance: Metric) -> GainMatrix:
        return losses.distance(distance)

    def words(self) -> str:
        return "distance from the truth"


@variant(Loss, "squared-distance")
class SquaredDistanceLoss(Loss):
    """The square of the distance from the truth, in the policy's points."""

    def over(self, labels: Labels, distance: Metric) -> GainMatrix:
        return losses.squared_distance(distance)

    def words(self) -> str:
        return "squared distance from the truth"


@variant(Loss, key="within")
class WithinLoss(Loss):
    """0 within a distance of the truth in the policy's points, else 1."""

    within: Annotated[NonNegative, Field(description="how far off a point may be, in the values' units")]

    def over(self, labels: Labels, distance: Metric) -> GainMatrix:
        return losses.within(distance, self.within)

    def words(self) -> str:
        return f"chance to be off by more than {self.within:g}"


@variant(Loss, key="pinball")
class PinballLoss(Loss):
    """What makes a quantile the best value."""

    pinball: Annotated[Probability, Field(description="which quantile")]

    def over(self, labels: Labels, distance: Metric) -> GainMatrix:
        return losses.pinball(labels, self.pinball)  # type: ignore[arg-type]

    def words(self) -> str:
        return f"pinball loss for the quantile {self.pinball:g}"


@variant(Loss, key="tolerance")
class ToleranceLoss(Loss):
    """0 within a distance of the truth, else 1."""

    tolerance: Annotated[NonNegative, Field(description="how far off a value may be")]

    def over(self, labels: Labels, distance: Metric) -> GainMatrix:
        return losses.tolerance(labels, self.tolerance)  # type: ignore[arg-type]

    def words(self) -> str:
        return f"chance to be off by more than {self.tolerance:g}"


@variant(Loss, key="threshold")
class ThresholdLoss(Loss):
    """A wrong answer to whether the value is at least a number."""

    threshold: Annotated[Finite, Field(description="the number")]

    def over(self, labels: Labels, distance: Metric) -> GainMatrix:
        return losses.threshold(labels, self.threshold)  # type: ignore[arg-type]

    def words(self) -> str:
        return f"chance of a wrong answer to whether it is at least {self.threshold:g}"


@variant(Loss, key="property")
class PropertyLoss(Loss):
    """A wrong answer to whether the value is one of some."""

    property: Values

    def over(self, labels: Labels, distance: Metric) -> GainMatrix:
        return losses.property(labels, [label(value) for value in self.property])

    def words(self) -> str:
        return "chance of a wrong answer"


@variant(Loss, key="matrix")
class MatrixLoss(Loss):
    """A loss of your own: a public table with actions in rows and answers in columns."""

    matrix: Annotated[PublicPath, Field(description="a CSV with actions in rows")]

    def over(self, labels: Labels, distance: Metric) -> GainMatrix:
        rows, actions = _matrix_rows(self.matrix, labels)
        return losses.matrix(rows, actions, self.matrix, secrets=labels)

    def words(self) -> str:
        return f"loss in {self.matrix}"


@variant(Loss, "estimation-variance")
class EstimationVariance(Loss):
    """The variance of frequencies estimated from many reports, of surveys (`kind = "record"`)."""

    of_one_release = False

    def over(self, labels: Labels, distance: Metric) -> Never:
        raise GainError(
            "estimation-variance is of many reports together, not a loss of one; use it with sievert design "
            'and kind = "record", or name a loss of one release such as "bayes-risk"'
        )

    def words(self) -> str:
        return "variance of estimated frequencies"


def _matrix_rows(file: PublicPath, labels: Labels) -> tuple[list[list[str]], list[Hashable]]:
    """The numbers of a table by action and label; columns are found by the header, in any order."""
    table: LabelledTable = file.table()
    known = KnownLabels(labels)
    column: dict[Hashable, int] = {}
    for j, name in enumerate(table.header[1:], start=1):
        item = known.find(name)
        if item is not None and item in column:
            raise FileError(f"{file}: has the column {abbreviated(name)} twice; give one for each label")
        column[item] = j
    missing = [item for item in labels if item not in column]
    if missing:
        raise FileError(f"{file}: has no column {abbreviated(missing[0])}, but {shown(table.header)}")
    rows: list[list[Any]] = [[str(row[column[item]]).strip() for item in labels] for row in table.rows]
    return rows, [table.value(row[0]) for row in table.rows]
