"""Make the synthetic, public data files of the examples. Run it to reproduce them byte for byte."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

DATA = Path(__file__).parent / "data"
ROWS, COLUMNS, CELL_KM = 6, 6, 0.2


def write(name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write one CSV file."""
    with (DATA / name).open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def census(rng: np.random.Generator) -> None:
    """100 households with an income band, a district and a size."""
    bands = ["very low", "low", "middle", "high", "very high"]
    income = rng.choice(bands, 100, p=[0.12, 0.23, 0.35, 0.2, 0.1])
    district = rng.choice(["north", "east", "south", "west"], 100)
    size = 1 + rng.poisson(1.4, 100)
    rows = zip(range(1, 101), income, district, size, strict=True)
    write("census.csv", ["household", "income", "district", "size"], rows)


def town(rng: np.random.Generator) -> None:
    """A grid of cells around a busy centre, its population, and 500 visits."""
    cells = [(f"{chr(65 + r)}{c + 1}", c * CELL_KM, r * CELL_KM) for r in range(ROWS) for c in range(COLUMNS)]
    write("town.csv", ["cell", "x_km", "y_km"], [(name, f"{x:.1f}", f"{y:.1f}") for name, x, y in cells])
    centre = np.array([(COLUMNS - 1) / 2, (ROWS - 1) / 2]) * CELL_KM
    distance = np.array([np.hypot(x - centre[0], y - centre[1]) for _, x, y in cells])
    people = np.round(40 + 160 * np.exp(-3 * distance)).astype(int)
    names = [name for name, _, _ in cells]
    write("town-population.csv", ["cell", "people"], zip(names, people, strict=True))
    visits = rng.choice(names, 500, p=people / people.sum())
    write("visits.csv", ["person", "cell"], zip(range(1, 501), visits, strict=True))


def survey(rng: np.random.Generator) -> None:
    """800 answers to a sensitive question."""
    answers = rng.choice(["never", "once", "sometimes", "often"], 800, p=[0.55, 0.2, 0.17, 0.08])
    write("survey.csv", ["person", "answer"], zip(range(1, 801), answers, strict=True))


def commute(rng: np.random.Generator) -> None:
    """Minutes to work of 20,000 people on 0…60, and what they reported through truncated geometric noise."""
    short, long = rng.normal(18, 6, 14_000), rng.normal(42, 5, 6_000)
    minutes = np.clip(np.rint(np.concatenate([short, long])), 0, 60).astype(int)
    rng.shuffle(minutes)
    draws = rng.geometric(1 - np.exp(-0.2), (2, len(minutes)))
    reported = np.clip(minutes + draws[0] - draws[1], 0, 60)
    write("commute-original.csv", ["minutes"], [(int(value),) for value in minutes])
    for part, chunk in enumerate(np.array_split(reported, 2), start=1):
        write(f"commute-reports-{part}.csv", ["reported"], [(int(value),) for value in chunk])


def ages(rng: np.random.Generator) -> None:
    """2000 people of 0 to 99 years."""
    years = np.clip(np.round(rng.gamma(4.0, 11.0, 2000)), 0, 99).astype(int)
    write("ages.csv", ["person", "age"], zip(range(1, 2001), years, strict=True))


def taxis(rng: np.random.Generator) -> None:
    """Three waiting places of each of 200 drivers around five ranks, and the public ranks."""
    ranks = [
        ("station", 52.5255, 13.3695, 40),
        ("square", 52.5219, 13.4132, 30),
        ("museum", 52.5186, 13.3985, 12),
        ("gate", 52.5163, 13.3777, 12),
        ("theatre", 52.5102, 13.3890, 6),
    ]
    write("taxi-ranks.csv", ["lat", "lon", "taxis"], [rank[1:] for rank in ranks])
    weights = np.array([rank[3] for rank in ranks])
    rows = []
    for driver in range(1, 201):
        for home in rng.choice(len(ranks), 3, p=weights / weights.sum()):
            lat, lon = ranks[home][1:3] + rng.normal(0, (0.0009, 0.0015))
            rows.append((f"d{driver:03d}", f"{lat:.6f}", f"{lon:.6f}"))
    write("taxis.csv", ["driver", "lat", "lon"], rows)


def solar(rng: np.random.Generator) -> None:
    """300 households and the share of its power that each makes itself."""
    rows = [(f"h{k:03d}", f"{share:.3f}") for k, share in enumerate(rng.beta(2, 5, 300), 1)]
    write("solar.csv", ["household", "share"], rows)


def main() -> None:
    """Write every file."""
    DATA.mkdir(exist_ok=True)
    rng = np.random.default_rng(20260101)
    census(rng)
    town(rng)
    survey(rng)
    ages(rng)
    taxis(rng)
    commute(np.random.default_rng(20260102))
    solar(np.random.default_rng(20260103))


if __name__ == "__main__":
    main()
