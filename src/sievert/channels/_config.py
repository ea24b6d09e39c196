"""What a file can name as a prior: a name, a list, or the path of a public file."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sievert.channels.priors import as_prior, from_counts
from sievert.errors import FileError
from sievert.kinds import ConfigType, PublicPath, variant
from sievert.numerics import abbreviated
from sievert.spaces import KnownLabels, LabelledTable, Labels, Region, label_in, number_in, shown

__all__ = ["StatedPrior"]


class StatedPrior(ConfigType, noun="prior"):
    """What is believed before the release."""

    list_key = "probabilities"
    text_key = "file"
    homes = ("sievert.channels._config", "sievert.continuous._kinds")
    is_uniform: ClassVar[bool] = False
    # Nothing is assumed: what is sought must serve every prior.
    is_unknown: ClassVar[bool] = False

    @abstractmethod
    def over(self, labels: Labels, absent: Hashable | None = None) -> NDArray[Any]:
        """The prior over these labels.

        `absent` is the label of a missing record, which whoever wrote the file may not think of.
        """

    def as_belief(self) -> Self:
        """The same where somebody must believe something: a misspelt name is not taken for "unknown"."""
        return self

    def on_map(self, region: Region) -> NDArray[Any]:
        """The prior over the cells of a region, row by row."""
        return self.over(tuple(region.labels))


@variant(StatedPrior, "uniform")
class UniformPrior(StatedPrior):
    """Everything is equally likely."""

    is_uniform = True

    def over(self, labels: Labels, absent: Hashable | None = None) -> NDArray[Any]:
        return as_prior(None, len(labels))


@variant(StatedPrior, "unknown")
class UnknownPrior(StatedPrior):
    """Nothing is assumed: `sievert design` finds the mechanism of least regret, whatever the prior."""

    is_unknown = True

    def over(self, labels: Labels, absent: Hashable | None = None) -> NDArray[Any]:
        raise FileError(
            'prior = "unknown" is no distribution; only `[use]` takes it, where `sievert design` seeks the '
            'mechanism of least regret, so give "uniform" or probabilities'
        )


@variant(StatedPrior, key="probabilities")
class ListedPrior(StatedPrior):
    """Probabilities in order."""

    probabilities: Annotated[list[float], Field(description="one for each, with the sum 1")]

    def over(self, labels: Labels, absent: Hashable | None = None) -> NDArray[Any]:
        if len(self.probabilities) != len(labels):
            raise FileError(
                f"the list has {len(self.probabilities)} entries but {len(labels)} are needed, one for each "
                f"of {shown(labels)}, in this order{_about_absence(labels, absent)}"
            )
        return as_prior(self.probabilities, labels)


@variant(StatedPrior, key="file")
class FilePrior(StatedPrior):
    """Weights in a public file, which are rescaled to probabilities."""

    file: Annotated[
        PublicPath,
        Field(
            description="a CSV with a label and a weight ≥ 0 in each row; on a map with latitude, longitude "
            "and weight"
        ),
    ]

    def over(self, labels: Labels, absent: Hashable | None = None) -> NDArray[Any]:
        weights = self._weights(labels)
        missing = [name for name in labels if name not in weights]
        if missing:
            raise FileError(
                f"{self.file}: has no weight for {abbreviated(missing[0])}; give each label one, 0 "
                f"where it is "
                f"impossible{_about_absence(missing, absent)}"
            )
        if not any(weights.values()):
            raise FileError(f"{self.file}: every weight is 0; at least one must be positive")
        return from_counts(weights, labels)

    def as_belief(self) -> Self:
        known = StatedPrior.kinds()
        self.file.names = tuple(
            name for name in self.file.names if not getattr(known[name].owner, "is_unknown", False)
        )
        return self

    def on_map(self, region: Region) -> NDArray[Any]:
        weights = region.weights(self.file.table(), self.file)
        return np.asarray(weights / weights.sum())

    def _weights(self, labels: Labels) -> dict[Hashable, float]:
        table: LabelledTable = self.file.table()
        if len(table.header) < 2:
            raise FileError(f"{self.file}: needs a label and a weight in each row")
        known = KnownLabels(labels)
        weights: dict[Hashable, float] = {}
        for row in table.rows:
            name = label_in(known, row[0], labels, self.file)
            if name in weights:
                raise FileError(
                    f"{self.file}: {abbreviated(name)} is there twice; give one weight for each label"
                )
            weight = number_in(table, row, 1, self.file)
            if weight < 0:
                raise FileError(
                    f"{self.file}: the weight of {abbreviated(name)} is {weight:g}; weights must be ≥ 0"
                )
            weights[name] = weight
        return weights


def _about_absence(labels: Sequence[Hashable], absent: Hashable | None) -> str:
    if absent is None or absent not in labels:
        return ""
    return f'; with adjacency = "add-remove" a record may also be {absent!r}, which needs a probability too'
