"""Make the synthetic, public data files of the examples. Run it to reproduce them byte for byte."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow
from pyarrow import parquet

from sievert.spaces import Region

DATA = Path(__file__).parent / "data"
ROWS, COLUMNS, CELL_KM = 6, 6, 0.2
CITY, CITY_EPS = Region(47.34, 8.48, 47.43, 8.61, 200), 0.005
CENTRE = Region(46.94, 7.42, 46.9596, 7.4485, 200)


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


def register(rng: np.random.Generator) -> None:
    """2000 people with an age, a municipality (few are large) and an occupation."""
    age = np.clip(np.round(rng.gamma(4.0, 11.0, 2000)), 0, 99).astype(int)
    sizes = 1 / np.arange(1, 251)
    municipality = rng.choice(np.arange(1, 251), 2000, p=sizes / sizes.sum())
    occupation = rng.integers(1, 41, 2000)
    rows = zip(range(1, 2001), age, municipality, occupation, strict=True)
    write("register.csv", ["person", "age", "municipality", "occupation"], rows)


def salaries(rng: np.random.Generator) -> None:
    """What 4000 people earn in a year, to 10; some more than 150,000."""
    earned = np.round(np.exp(rng.normal(10.7, 0.5, 4000)), -1).astype(int)
    write("salaries.csv", ["person", "salary"], zip(range(1, 4001), earned, strict=True))


def city(rng: np.random.Generator) -> None:
    """People in the cells of a city on a lake, 400 scooters, and how many of 60,000 reports name a cell."""
    rows, columns = np.indices(CITY.shape)
    away = np.hypot(rows - 0.4 * CITY.shape[0], columns - 0.5 * CITY.shape[1])
    lake = (rows < 0.3 * CITY.shape[0]) & (np.abs(columns - 0.55 * CITY.shape[1]) < 5)
    people = np.where(lake, 0, np.round(900 * np.exp(-away / 9) + rng.integers(0, 12, away.shape)))
    cells = np.argwhere(people > 0)
    here = people[tuple(cells.T)]
    degrees = np.round(np.column_stack(CITY.centres(cells)), 5)
    write(
        "city-population.csv",
        ["lat", "lon", "people"],
        [(*place, int(n)) for place, n in zip(degrees.tolist(), here, strict=True)],
    )
    homes = cells[rng.choice(len(cells), 400, p=here / here.sum())]
    lat, lon = CITY.centres(homes + rng.uniform(-0.45, 0.45, homes.shape))
    lat = np.minimum(lat, CITY.north - 1e-4)  # the last row of cells reaches beyond the region
    scooters = [
        (f"s{i:03d}", f"{a:.6f}", f"{b:.6f}") for i, (a, b) in enumerate(zip(lat, lon, strict=True), 1)
    ]
    write("scooters.csv", ["scooter", "lat", "lon"], scooters)
    reach = np.indices((201, 201)).reshape(2, -1).T - 100
    law = np.exp(-CITY_EPS * CITY.cell * np.hypot(*reach.T))
    true = cells[rng.choice(len(cells), 60_000, p=here / here.sum())]
    noisy = np.clip(
        true + reach[rng.choice(len(reach), 60_000, p=law / law.sum())], 0, np.array(CITY.shape) - 1
    )
    named, counts = np.unique(noisy, axis=0, return_counts=True)
    places = np.round(np.column_stack(CITY.centres(named)), 5).tolist()
    rows = [(*place, count) for place, count in zip(places, counts.tolist(), strict=True)]
    write("scooter-reports.csv", ["lat", "lon", "reports"], rows)


def centre(rng: np.random.Generator) -> None:
    """People in the cells of a town's centre on a river, and where 300 bicycles were left."""
    rows, columns = np.indices(CENTRE.shape)
    river = np.abs(rows - 2 - 3 * np.sin(columns / 4)) < 0.8
    busy = 700 * np.exp(-np.hypot(rows - 6, columns - 4) / 2.5) + 300 * np.exp(
        -np.hypot(rows - 3, columns - 9)
    )
    people = np.where(river, 0, np.round(40 + busy + rng.integers(0, 60, river.shape))).astype(int)
    cells = np.argwhere(people > 0)
    here = people[tuple(cells.T)]
    degrees = np.round(np.column_stack(CENTRE.centres(cells)), 5).tolist()
    places = [(*place, count) for place, count in zip(degrees, here.tolist(), strict=True)]
    write("centre-population.csv", ["lat", "lon", "people"], places)
    left = cells[rng.choice(len(cells), 300, p=here / here.sum())] + rng.uniform(-0.45, 0.45, (300, 2))
    lat, lon = CENTRE.centres(left)
    lat, lon = np.minimum(lat, CENTRE.north - 1e-5), np.minimum(lon, CENTRE.east - 1e-5)
    bicycles = [
        (f"b{i:03d}", f"{a:.6f}", f"{b:.6f}") for i, (a, b) in enumerate(zip(lat, lon, strict=True), 1)
    ]
    write("bicycles.csv", ["bicycle", "lat", "lon"], bicycles)


def solar(rng: np.random.Generator) -> None:
    """300 households and the share of its power that each makes itself."""
    rows = [(f"h{k:03d}", f"{share:.3f}") for k, share in enumerate(rng.beta(2, 5, 300), 1)]
    write("solar.csv", ["household", "share"], rows)


def clinics(rng: np.random.Generator) -> None:
    """One week of visits to the twelve clinics of a region, one visit a patient."""
    names = [f"clinic {number}" for number in range(1, 13)]
    visited = rng.choice(names, size=600, p=np.arange(1, 13) / 78)
    write("clinics.csv", ["patient", "clinic"], zip(range(1, 601), visited, strict=True))


def clinic(rng: np.random.Generator) -> None:
    """Stays of 400 patients in three wards, with their nights; some patients came more than twice."""
    stays = rng.choice([1, 2, 3, 5], 400, p=[0.7, 0.2, 0.07, 0.03])
    rows = []
    for patient, times in enumerate(stays, 1):
        for _ in range(int(times)):
            ward = str(rng.choice(["surgery", "medicine", "maternity"], p=[0.35, 0.45, 0.2]))
            rows.append((f"p{patient:03d}", ward, min(30, int(rng.geometric(0.2)))))
    order = rng.permutation(len(rows))
    write("clinic.csv", ["patient", "ward", "nights"], [rows[i] for i in order])


def rides(rng: np.random.Generator) -> None:
    """Three months of a bicycle scheme, a Parquet file each: who rode from which zone, for how long."""
    (DATA / "rides").mkdir(exist_ok=True)
    zones = ["harbour", "market", "old town", "park", "station", "university"]
    riders = np.repeat(np.arange(1, 601), rng.geometric(0.25, 600))
    rng.shuffle(riders)
    for month, part in enumerate(np.array_split(riders, 3), 1):
        columns = {
            "rider": [f"r{number:04d}" for number in part.tolist()],
            "zone": rng.choice(zones, len(part), p=[0.1, 0.2, 0.15, 0.1, 0.3, 0.15]).tolist(),
            "minutes": np.minimum(rng.geometric(0.06, len(part)), 120).tolist(),
        }
        parquet.write_table(pyarrow.table(columns), DATA / "rides" / f"2026-{month:02d}.parquet")


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
    register(np.random.default_rng(20260103))
    salaries(np.random.default_rng(20260104))
    city(np.random.default_rng(20260105))
    solar(np.random.default_rng(20260106))
    clinics(np.random.default_rng(20260107))
    clinic(np.random.default_rng(20260107))
    centre(np.random.default_rng(20260108))
    rides(np.random.default_rng(20260108))


if __name__ == "__main__":
    main()
