"""One place seen through planar noise on a map: guesses now, nearby, by district, and after many releases.

After one release the best guess is exact: a closed form where all cells are equally likely, else the upper
envelope of the beliefs (`_planar_envelope`). After several it is bounded, by the least of three: no release
multiplies a guess by more than the capacity; ε adds up, so that no belief in x exceeds
π_x/Σ_u π_u·e^(-n·ε·|x - u|); and somebody who is told a few neighbouring cells where the place is knows more,
yet tells these apart no better than the affinity of their laws allows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, singledispatchmethod
from typing import Any

import numpy as np
from scipy.fft import irfft2, next_fast_len, rfft2

from sievert.arrays import FloatArray, IntArray
from sievert.channels import PlanarNoise
from sievert.errors import GainError, TooLargeError
from sievert.measures import GainFunction, GainMatrix, Identity, Shannon, Tries, posterior_vulnerability
from sievert.numerics import UNIT, abbreviated, generator_of, log_of, non_negative, require_size, whole
from sievert.observations._contribution_classes import RecordGain, SimulatedVulnerability
from sievert.observations._error_bounds import RISK, share_interval
from sievert.observations._likelihood import RecordLikelihood
from sievert.observations._planar_chains import tree_of_neighbours
from sievert.observations._planar_envelope import largest_beliefs
from sievert.observations._planar_gains import (
    best_disc,
    disc,
    nearby_belief,
    nearby_guess,
    several_tries,
    stays_within,
    tries_by_belief,
)
from sievert.observations._record_repeats import RepeatedGuess
from sievert.observations._types import observation_count

__all__ = ["PlanarLikelihood"]

# Beyond this many cells a gain of one's own is not compared with all of them.
LARGEST_LISTED = 2000
# Districts times cells: a transform for each district.
LARGEST_DISTRICTS = 200_000_000
# Likelihoods that one simulation looks at by default, and how many places it draws.
SIMULATED = 20_000_000
FEWEST, MOST = 200, 20_000
# Likelihoods that are looked up at once.
GATHERED = 200_000

BY_CAPACITY = "bound: the capacity of the noise for each further release"
BY_DISTANCE = "bound: ε adds up, by the distance of cells"
BY_PAIRS = "bound: by somebody who is told a pair of neighbouring cells"
BY_NEIGHBOURS = "bound: cells told from their neighbours, one after the other"
BY_BLOCKS = "bound: by somebody who is told a block of {0} by {0} cells"
SIDES = (2, 3, 4, 5, 6, 8)
BY_CELLS = "bound: so many times the best guess of one cell"
BY_CELL = "bound: what somebody gains who is told the cell"
BY_INFORMATION = "bound: each release takes away no more bits than the first"
PAIRS = "exact: by all pairs of cells"
# The largest logarithm of a gain that is a float.
LARGEST_NATS = 700.0
CLOSED = "exact: the noisy cell is the likeliest one"
ENVELOPE = "exact: the upper envelope of the beliefs"


@dataclass(frozen=True, eq=False)
class PlanarLikelihood(RecordLikelihood):
    """What releases tell about one place.

    Attributes
    ----------
    noise : what is added
    belief : about the place before any release, cell by cell, row by row
    """

    noise: PlanarNoise

    def __post_init__(self) -> None:
        object.__setattr__(self, "belief", np.asarray(self.belief, dtype=np.float64))

    @property
    def is_cut(self) -> bool:
        """Whether clamping is left out of the account: here it is part of the noise."""
        return False

    @cached_property
    def grid(self) -> FloatArray:
        """The belief as a map, [rows, columns]."""
        return np.asarray(self.belief, dtype=np.float64).reshape(self.noise.region.shape)

    @cached_property
    def is_uniform(self) -> bool:
        """Whether all cells are equally likely."""
        return bool(np.ptp(self.belief) <= 4 * UNIT * float(self.belief.max()))

    @property
    def limit(self) -> float:
        """The best guess after infinitely many releases: no two cells share their law, unless ε is 0."""
        return 1.0 if self.noise.level.eps > 0 else self.before

    @cached_property
    def _once(self) -> tuple[float, str]:
        """The best guess after one release, and how it was found."""
        if self.noise.level.eps == 0:
            return self.before, CLOSED
        if self.is_uniform:
            return self.noise.capacity * self.before, CLOSED
        return float(np.exp(largest_beliefs(self.noise, log_of(self.grid))).sum()), ENVELOPE

    def guess(self, releases: int = 1) -> RepeatedGuess:
        """The best guess after independent releases of the same place."""
        found = self._guessed(observation_count(releases, GainError))
        return RepeatedGuess(self.before, found.after, found.exact, found.releases, found.method)

    def _guessed(self, count: int) -> RecordGain:
        once, method = self._once
        exact = count == 1 or self.noise.level.eps == 0 or len(self.belief) == 1
        value = once
        if not exact:
            value, method = min(self.bounds(count))
        value = min(max(value, self.before), self.limit)
        lower = value if exact else min(max(once, self.before), value)
        return RecordGain("identity", self.before, value, exact, lower, value, method, count)

    def bounds(self, releases: int) -> list[tuple[float, str]]:
        """Upper bounds on the best guess after several releases, each with its name."""
        once, _ = self._once
        growth = math.log(once) + (releases - 1) * math.log(self.noise.capacity)
        tree = tree_of_neighbours(self.noise, self.grid, releases)
        return [
            (math.exp(min(0.0, growth)), BY_CAPACITY),
            (self._by_distance(releases), BY_DISTANCE),
            (self._by_pairs(releases), BY_PAIRS),
            *((self._by_blocks(side, releases), BY_BLOCKS.format(side)) for side in SIDES),
            *([] if tree is None else [(tree, BY_NEIGHBOURS)]),
        ]

    def _by_distance(self, releases: int) -> float:
        """max_x π_x/Σ_u π_u·e^(-n·ε·|x - u|): at a corner where all cells are equally likely."""
        rate = float(releases) * self.noise.level.eps
        rows, columns = self.noise.region.shape
        away = np.hypot(np.arange(rows, dtype=np.float64)[:, None], np.arange(columns, dtype=np.float64))
        kernel = np.exp(-rate * away)
        if self.is_uniform:
            return min(1.0, 1 / float(kernel.sum()))
        size = next_fast_len(2 * rows - 1, real=True), next_fast_len(2 * columns - 1, real=True)
        around = np.zeros(size)
        for down in (slice(0, rows), slice(size[0] - rows + 1, size[0])):
            for right in (slice(0, columns), slice(size[1] - columns + 1, size[1])):
                part = kernel if down.start == 0 else kernel[:0:-1]
                around[down, right] = part if right.start == 0 else part[:, :0:-1]
        shared = irfft2(rfft2(self.grid, size) * rfft2(around), size)[:rows, :columns]
        # Off by no more than the transforms are; see `channels._plane_products`.
        length, total = float(np.sqrt((around**2).sum())), float(around.sum())
        belief = float(np.sqrt((self.grid**2).sum()))
        error = 16 * UNIT * (math.log2(around.size) + 4) * (length + belief * total)
        shared = np.maximum(shared - error, self.grid)
        possible = self.grid > 0
        return min(1.0, float((self.grid[possible] / shared[possible]).max()))

    def _by_pairs(self, releases: int) -> float:
        """Σ over pairs of (p + q + √((p + q)² - 4·p·q·A^(2n)))/2, A the affinity of neighbours."""
        grid = self.grid if self.grid.shape[1] > 1 else self.grid.T
        paired = grid[:, : grid.shape[1] // 2 * 2]
        first, second = paired[:, 0::2], paired[:, 1::2]
        # (p + q)² - 4·p·q·A^(2n) = (p - q)² + 4·p·q·(1 - A^(2n))
        root = np.sqrt((first - second) ** 2 + 4 * first * second * self._apart(1, 0, releases) ** 2)
        alone = float(grid[:, grid.shape[1] // 2 * 2 :].sum())
        return min(1.0, float(((first + second + root) / 2).sum()) + alone)

    def _by_blocks(self, side: int, releases: int) -> float:
        """Σ over blocks of the largest belief times 1 + Σ_x TV(x, centre), a bound on a block's capacity."""
        high, wide = (min(side, size) for size in self.grid.shape)
        apart = [(abs(i - high // 2), abs(j - wide // 2)) for i in range(high) for j in range(wide)]
        capacity = 1 + math.fsum(self._apart(*away, releases) for away in apart if any(away))
        padding = [(0, -size % step) for size, step in zip(self.grid.shape, (high, wide), strict=True)]
        padded = np.pad(self.grid, padding)
        blocks = padded.reshape(padded.shape[0] // high, high, padded.shape[1] // wide, wide)
        return min(1.0, capacity * float(blocks.max(axis=(1, 3)).sum()))

    def _apart(self, rows: int, columns: int, releases: int) -> float:
        """√(1 - A^(2n)): at most how far apart the laws of n releases are, in total variation."""
        return math.sqrt(-math.expm1(-2 * releases * self._log_affinity(rows, columns)[0]))

    def _log_affinity(self, rows: int, columns: int) -> tuple[float, bool]:
        """-ln Σ_z √(p(z)·p(z - v)), and whether it is exact, else the most that ε allows: ln cosh(ε·|v|/2).

        Clamping only loses information, so two cells of the region so far apart have no more.
        """
        if self.noise.level.eps == 0:
            return 0.0, True
        found = self.noise.lattice.affinity(rows, columns)
        if found is not None:
            return -math.log(found), True
        half = self.noise.level.eps * math.hypot(rows, columns) / 2
        return half + math.log1p(math.expm1(-2 * half) / 2), False

    def affinity(self, first: int, second: int) -> float:
        """ln Σ_y √(P(y | x)·P(y | x')) of two cells by their positions, clamping and all."""
        columns = self.noise.region.shape[1]
        logs = [self.noise.log_law(divmod(place, columns)) for place in (first, second)]
        return min(0.0, float(np.logaddexp.reduce(((logs[0] + logs[1]) / 2).ravel())))

    @property
    def rate(self) -> float:
        """Chernoff information between neighbouring cells, in nats; by symmetry at the exponent ½.

        It is that of cells in the middle of a large region, and no two neighbours of the region have more;
        where `rate_is_exact` fails it is the most that ε allows.
        """
        return self._log_affinity(1, 0)[0]

    @property
    def rate_is_exact(self) -> bool:
        """Whether the rate is that of the noise before clamping, and not only a bound on it."""
        return self._log_affinity(1, 0)[1]

    # ── Other gains ─────────────────────────────────────────────────────────────────────────────────────────

    def gain(self, adversary: GainFunction, releases: int = 1) -> RecordGain:
        """What an adversary gains about the place after independent releases of it.

        Parameters
        ----------
        adversary : a gain or loss over the cells, row by row
        releases : how many

        Returns
        -------
        RecordGain
            `after` with `exact`, `lower`, `upper` and the `method`.
        """
        count = observation_count(releases, GainError)
        if adversary.size != len(self.belief):
            raise GainError(
                f"adversary is about {adversary.size} values, but the region has {len(self.belief)} cells; "
                "give one column for each cell"
            )
        return self._gained(adversary, count)

    @singledispatchmethod
    def _gained(self, adversary: Any, releases: int) -> RecordGain:
        return self._listed(adversary, releases)

    def _listed(self, adversary: GainFunction, releases: int) -> RecordGain:
        """Over all pairs of cells."""
        require_size(
            len(self.belief),
            LARGEST_LISTED,
            f"cells for the gain {adversary.name}",
            "guess, tries, within and districts need no list",
        )
        before = float(adversary.values(self.belief[:, None])[0])
        after = float(posterior_vulnerability(self.noise.finite(), self.belief, adversary))
        if releases == 1 or self.noise.level.eps == 0 or len(self.belief) == 1:
            return RecordGain(adversary.name, before, after, True, after, after, PAIRS, releases)
        if adversary.is_loss:
            least, method = self._least_loss(adversary, before, after, releases)
            return RecordGain(adversary.name, before, least, False, least, after, method, releases)
        most, method = self._told(adversary), BY_CELL
        bounds = adversary.bounds()
        if after > 0 and bounds is not None and bounds[0] >= 0:
            nats = math.log(after) + (releases - 1) * math.log(self.noise.capacity)
            grown = math.exp(min(nats, LARGEST_NATS))
            most, method = min((most, method), (grown, BY_CAPACITY))
        return RecordGain(adversary.name, before, most, False, after, max(most, after), method, releases)

    def _told(self, adversary: GainFunction) -> float:
        """What somebody gains who is told the cell."""
        return float(adversary.values(np.diag(self.belief)).sum())

    def _least_loss(
        self, adversary: GainFunction, before: float, once: float, releases: int
    ) -> tuple[float, str]:
        """At least what is lost by somebody who is told the cell; of bits, no release takes more than one."""
        told = min(self._told(adversary), once)
        if not isinstance(adversary, Shannon):
            return told, BY_CELL
        # Independent releases of one place: I(X; Y₁…Yₙ) ≤ n·I(X; Y).
        return max((told, BY_CELL), (before - releases * (before - once), BY_INFORMATION))

    @_gained.register
    def _matrix(self, adversary: GainMatrix, releases: int) -> RecordGain:
        """Blocks of a partition are districts, however many cells there are."""
        table = np.asarray(adversary.table)
        ones = ((table == 0) | (table == 1)).all() and (table.sum(axis=0) == 1).all()
        if adversary.is_loss or not ones or len(self.belief) <= LARGEST_LISTED:
            return self._listed(adversary, releases)
        return replace(self.districts(table.argmax(axis=0), releases), gain=adversary.name)

    @_gained.register
    def _identity(self, adversary: Identity, releases: int) -> RecordGain:
        return self._guessed(releases)

    @_gained.register
    def _tries(self, adversary: Tries, releases: int) -> RecordGain:
        return self.tries(int(adversary.tries), releases)

    def tries(self, tries: int, releases: int = 1) -> RecordGain:
        """The chance to name the cell in several tries."""
        tries = whole("tries", tries, GainError)
        count = observation_count(releases, GainError)
        if tries == 1:
            return self._guessed(count)
        name, kept = f"{tries} tries", min(tries, len(self.belief))
        before = min(1.0, float(np.partition(self.belief, len(self.belief) - kept)[-kept:].sum()))
        if self.noise.level.eps == 0 or kept == len(self.belief):
            return self._over_releases(name, before, (before, before), CLOSED, count)
        if self.is_uniform and (found := several_tries(self.noise, tries)) is not None:
            return self._over_releases(
                name, before, (found, found), "exact: the cells nearest to the noisy one", count, kept
            )
        if len(self.belief) <= LARGEST_LISTED:
            joint = self.belief[:, None] * self.noise.finite().matrix
            found = float(np.partition(joint, len(joint) - kept, axis=0)[-kept:].sum())
            return self._over_releases(name, before, (found, found), PAIRS, count, kept)
        if not self.is_uniform and (ends := tries_by_belief(self.noise, self.grid, kept)) is not None:
            return self._enclosed(name, before, ends, "the likeliest cells for every noisy one", count, kept)
        once, _ = self._once
        most = min(1.0, kept * once, self.noise.capacity * before)
        method = "bound: so many times the best guess" if kept * once <= most else BY_CAPACITY
        return self._over_releases(name, before, (max(before, once), most), method, count, kept)

    def within(self, metres: float, releases: int = 1) -> RecordGain:
        """The chance to guess a cell whose middle is within a distance of that of the true cell."""
        metres = non_negative("metres", metres, GainError)
        count = observation_count(releases, GainError)
        radius = metres / self.noise.region.cell
        name, before = f"within {metres:g}", self._nearby_before(radius)
        halves = disc(min(radius, math.hypot(*self.grid.shape)))
        cells = 2 * sum(2 * half + 1 for half in halves[1:]) + 2 * halves[0] + 1
        if self.noise.level.eps == 0 or before >= 1:
            return self._over_releases(name, before, (before, before), CLOSED, count)
        if self.is_uniform and (found := nearby_guess(self.noise, radius)) is not None:
            return self._over_releases(
                name, before, (found, found), "exact: the disc around the noisy cell", count, cells
            )
        if len(self.belief) <= LARGEST_LISTED:
            found = self._nearby_listed(radius)
            return self._over_releases(name, before, (found, found), PAIRS, count, cells)
        if not self.is_uniform and (ends := nearby_belief(self.noise, self.grid, radius)) is not None:
            return self._enclosed(name, before, ends, "the best disc for every noisy cell", count, cells)
        # Clamping brings a noisy cell no further away, so that it is a guess this good at least.
        least = max(before, stays_within(self.noise, radius))
        most, method = min(1.0, self.noise.capacity * before), BY_CAPACITY
        if self.is_uniform and least + self._leaves < most:
            most, method = least + self._leaves, "bound: a noisy cell outside the region tells everything"
        return self._over_releases(name, before, (min(least, most), most), method, count, cells)

    def _enclosed(
        self, name: str, before: float, ends: tuple[float, float], how: str, releases: int, cells: int
    ) -> RecordGain:
        """Ends that are one up to rounding are exact."""
        is_exact = ends[1] - ends[0] <= 1e-12 * ends[1]
        method = f"{'exact' if is_exact else 'bound'}: {how}"
        return self._over_releases(name, before, (ends[is_exact], ends[1]), method, releases, cells)

    @cached_property
    def _leaves(self) -> float:
        """The chance that noise leaves the region, from a cell drawn evenly."""
        rows, columns = self.noise.region.shape
        stays = np.exp(self.noise.lattice.point(*np.ogrid[:rows, :columns]))
        ways = [
            np.where(np.arange(size) > 0, 2.0, 1.0) * (1 - np.arange(size) / size) for size in (rows, columns)
        ]
        return max(0.0, 1 - float(ways[0] @ stays @ ways[1]))

    def _nearby_before(self, radius: float) -> float:
        """The largest belief in a disc around a cell: which disc is a convolution, its belief a sum."""
        shape = self.grid.shape
        halves = np.array(disc(min(radius, math.hypot(*shape))))
        reach = [min(most, size - 1) for most, size in zip((len(halves) - 1, halves[0]), shape, strict=True)]
        sizes = [next_fast_len(size + most, real=True) for size, most in zip(shape, reach, strict=True)]
        rows, columns = (np.minimum(np.arange(size), size - np.arange(size)) for size in sizes)
        width = np.where(rows <= reach[0], halves[np.minimum(rows, reach[0])], -1)
        inside = columns <= np.minimum(width, reach[1])[:, None]
        sums = irfft2(rfft2(self.grid, sizes) * rfft2(inside), sizes)[: shape[0], : shape[1]]
        row, column = np.unravel_index(int(sums.argmax()), shape)
        steps = np.arange(max(0, row - reach[0]), min(shape[0], row + reach[0] + 1))
        ends = [halves[np.abs(steps - row)] + column + 1, np.maximum(column - halves[np.abs(steps - row)], 0)]
        bands = (self.grid[i, low:high] for i, high, low in zip(steps, *ends, strict=True))
        return min(1.0, math.fsum(float(band.sum()) for band in bands))

    def _nearby_listed(self, radius: float) -> float:
        rows, columns = np.divmod(np.arange(len(self.belief)), self.noise.region.shape[1])
        square = radius * radius * (1 + 1e-9) + 1e-9
        near = np.subtract.outer(rows, rows) ** 2 + np.subtract.outer(columns, columns) ** 2 <= square
        joint = self.belief[:, None] * self.noise.finite().matrix
        return min(1.0, float((near.astype(np.float64) @ joint).max(axis=0).sum()))

    def districts(self, districts: IntArray, releases: int = 1) -> RecordGain:
        """The chance to guess in which district the place is.

        Parameters
        ----------
        districts : the number of its district for each cell, row by row, from 0; a property has two
        releases : how many
        """
        count = observation_count(releases, GainError)
        given = np.asarray(districts).ravel()
        if given.dtype.kind not in "iub" or len(given) != len(self.belief) or given.min() < 0:
            raise GainError(
                f"districts is {abbreviated(districts)}; give a whole number ≥ 0 for each of the "
                f"{len(self.belief)} cells"
            )
        number = int(given.max()) + 1
        require_size(number * len(given), LARGEST_DISTRICTS, "districts times cells", "use larger districts")
        before = min(1.0, float(np.bincount(given.astype(np.int64), self.belief).max()))
        if self.noise.level.eps == 0 or number == 1:
            return self._over_releases("district", before, (before, before), CLOSED, count)
        largest = np.zeros(self.grid.shape)
        error = 0.0
        for district in range(number):
            weights = np.where(given.reshape(self.grid.shape) == district, self.grid, 0.0)
            error += self.noise.products.error(weights) * len(given)
            np.maximum(largest, self.noise.products.forward(weights), out=largest)
        found = min(1.0, max(before, float(largest.sum())))
        ends = max(before, found - error), min(1.0, found + error)
        method = "exact: the sum over the cells of each district"
        return self._over_releases(
            "district", before, ends if error > 1e-9 * found else (found, found), method, count
        )

    def _over_releases(
        self,
        name: str,
        before: float,
        once: tuple[float, float],
        method: str,
        releases: int,
        cells: float = math.inf,
    ) -> RecordGain:
        """The gain after one release; after several at most so many times the capacity more.

        An action that names so many `cells` is worth no more than that many times the best of them.
        """
        lower, upper = once
        if releases > 1 and upper < 1 and self.noise.level.eps > 0:
            growth = math.log(upper) + (releases - 1) * math.log(self.noise.capacity)
            upper, method = math.exp(min(0.0, growth)), BY_CAPACITY
            if math.isfinite(cells):
                best = self._guessed(releases).after
                upper, method = min((upper, method), (max(lower, min(1.0, cells * best)), BY_CELLS))
        exact = lower == upper
        return RecordGain(name, before, upper, exact, lower, upper, method, releases)

    # ── Simulation ──────────────────────────────────────────────────────────────────────────────────────────

    def simulated(
        self,
        releases: int = 1,
        rng: int | np.random.Generator | None = None,
        samples: int | None = None,
        adversary: GainFunction | None = None,
        share: int = 1,
        metres: float | None = None,
    ) -> SimulatedVulnerability:
        """How often the likeliest cells near the noisy ones have the true one: an estimate beside a bound.

        Parameters
        ----------
        releases : how many
        rng : seed of the simulation
        samples : places that are drawn; by default as many as take about a second, divided by `share`
        adversary : who names one cell or several; by default one
        share : the part of the work, and of the risk that the interval misses the gain
        metres : how far the middle of the cell that is guessed may be from the true one's; by default the
            cell itself is guessed
        """
        chosen = self.identity if adversary is None else adversary
        if not isinstance(chosen, Identity | Tries):
            raise TooLargeError(f"“{chosen.name}” names no set of cells, which is simulated", size=math.inf)
        count, tries = observation_count(releases, GainError), int(chosen.tries)
        generator = generator_of(rng)
        reach = self._reach(count)
        # Margins around the likeliest cells, so that a disc is seen whole.
        radius = (
            None if metres is None else min(metres / self.noise.region.cell, math.hypot(*self.grid.shape))
        )
        reach += 0 if radius is None else math.ceil(min(radius, max(self.noise.region.shape)))
        work = count * (2 * reach + 1) ** 2
        drawn = (
            int(np.clip(SIMULATED // work, FEWEST * share, MOST)) // share
            if samples is None
            else whole("samples", samples, GainError)
        )
        require_size(drawn * work, 100 * SIMULATED, "likelihoods of the simulation", "draw fewer samples")
        places = generator.choice(len(self.belief), drawn, p=self.belief / self.belief.sum())
        cells = np.stack(np.divmod(places, self.noise.region.shape[1]), axis=1)
        noisy = self.noise.sample(np.repeat(cells, count, axis=0), generator).reshape(drawn, count, 2)
        logs = log_of(self.grid)
        hits = 0
        middles = np.median(noisy, axis=1).astype(np.int64)
        for place, seen, middle in zip(cells.tolist(), noisy, middles.tolist(), strict=True):
            belief, corner = self._believed(logs, seen, middle, reach)
            row, column = place[0] - corner[0], place[1] - corner[1]
            hits += _is_hit(belief, row, column, tries, radius)
        lower, upper = share_interval(np.array([hits]), drawn, RISK / share)
        name = f"within {metres:g}" if metres is not None else "identity" if tries == 1 else f"{tries} tries"
        return SimulatedVulnerability(name, hits / drawn, float(lower[0]), float(upper[0]), drawn, count)

    def _reach(self, releases: int) -> int:
        """Cells around the middle of the noisy ones among which the likeliest is sought."""
        if self.noise.level.eps == 0:
            return 0
        wide = math.ceil(12 / (self.noise.level.eps * math.sqrt(releases))) + 3
        if not self.is_uniform:
            spread = self.belief[self.belief > 0]
            wide += math.ceil(math.log(float(spread.max() / spread.mean())) / self.noise.level.eps / releases)
        return min(wide, max(self.noise.region.shape))

    def _believed(
        self, logs: FloatArray, seen: IntArray, middle: list[int], reach: int
    ) -> tuple[FloatArray, tuple[int, int]]:
        """ln of the belief in the cells around the middle of the noisy ones, and the first of them."""
        rows, columns = self.noise.region.shape
        low, left = (max(0, place - reach) for place in middle)
        high, wide = min(rows, middle[0] + reach + 1), min(columns, middle[1] + reach + 1)
        total = logs[low:high, left:wide].copy()
        down, across = np.arange(low, high), np.arange(left, wide)
        size = max(1, GATHERED // total.size)
        for table, outputs in self.noise.kernels.by_table(seen):
            for block in (outputs[start : start + size] for start in range(0, len(outputs), size)):
                away = np.abs(down - block[:, :1])[:, :, None], np.abs(across - block[:, 1:])[:, None, :]
                total += table[away].sum(axis=0)
        return total, (low, left)


def _is_hit(logs: FloatArray, row: int, column: int, tries: int, radius: float | None) -> bool:
    """Whether the best action around here is right about the true cell."""
    if radius is not None:
        best = best_disc(np.exp(logs - logs.max()), disc(radius))
        return (row - best[0]) ** 2 + (column - best[1]) ** 2 <= radius * radius * (1 + 1e-9) + 1e-9
    if not (0 <= row < logs.shape[0] and 0 <= column < logs.shape[1]):
        return False
    kept = min(tries, logs.size)
    named = np.argpartition(logs.ravel(), logs.size - kept)[logs.size - kept :]
    return bool((named == row * logs.shape[1] + column).any())
