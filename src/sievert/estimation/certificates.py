"""Proofs that can be saved and checked elsewhere: of an estimate's likelihood, of a transport's cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sievert.channels.channel import Channel
from sievert.channels.priors import as_prior
from sievert.errors import EstimationError, TooLargeError
from sievert.estimation.estimate import Estimate
from sievert.estimation.reports import read_reports
from sievert.estimation.transport import Transport
from sievert.proofs.estimation import LikelihoodProof, TransportProof
from sievert.spaces.metric import Metric

__all__ = ["prove_likelihood", "prove_transport"]

# Entries of a matrix that are written out as fractions.
LARGEST_PROOF = 250_000


def prove_likelihood(found: Estimate, counts: Any, channel: Channel | Sequence[Channel]) -> LikelihoodProof:
    """That no distribution fits the counts better than the estimate by more than a stated number of nats.

    Exact channels are proved as they are, others as the floats they are rounded to.

    >>> from sievert.estimation.estimate import estimate
    >>> from sievert.mechanisms import randomised_response
    >>> channel = randomised_response(3, alpha="1/2")
    >>> bool(prove_likelihood(estimate([60, 35, 5], channel), [60, 35, 5], channel).verify())
    True
    """
    if not found.is_distribution:
        raise EstimationError(
            "the estimate leaves the simplex and has no likelihood to prove; project it first"
        )
    reports = read_reports(counts, channel)
    size = sum(group.channel.shape[0] * group.channel.shape[1] for group in reports.groups)
    _refuse_large(size)
    blocks = [group.channel.exact_or_rounded() for group in reports.groups]
    rows = np.concatenate([block.astype(object) for block in blocks], axis=1)
    if all(block.dtype != object for block in blocks):
        rows = rows.astype(np.float64)
    return LikelihoodProof.of(
        rows,
        [block.shape[1] for block in blocks],
        np.concatenate([group.counts for group in reports.groups]).tolist(),
        np.maximum(found.distribution, 0.0).tolist(),
    )


def prove_transport(found: Transport, p: Any, q: Any, metric: Metric) -> TransportProof:
    """That the Kantorovich distance lies between two bounds, which meet to about 1e-15."""
    if found.sources is None or found.targets is None or found.masses is None or found.potentials is None:
        raise EstimationError(
            "the distance is infinite: components have different masses, which is its own proof"
        )
    _refuse_large(metric.size**2)
    distances = metric.matrix
    if not np.isfinite(distances).all():
        raise EstimationError("metric has infinite distances; prove each of its components on its own")
    moves = list(zip(found.sources.tolist(), found.targets.tolist(), found.masses.tolist(), strict=True))
    first, second = (as_prior(side, metric.points).astype(np.float64).tolist() for side in (p, q))
    return TransportProof.of(distances, first, second, moves, found.potentials.tolist())


def _refuse_large(entries: int) -> None:
    if entries > LARGEST_PROOF:
        raise TooLargeError(
            f"a proof would hold {entries} fractions; at most {LARGEST_PROOF} are written", size=entries
        )
