"""Which method solves a space: closed forms first, then ever larger programs, an interval at the end."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sievert.arrays import FloatArray, IndexArray
from sievert.limits._blocks import (
    BlockDecomposition,
    BlockOptimum,
    BlockOrbits,
    block_orbits,
    decompose,
    solve_blocks,
)
from sievert.limits._column_generation import dual_of, generate_rays
from sievert.limits._columns import SECONDS, has_few_classes, symmetric_optimum
from sievert.limits._orbits import OrbitBounds, orbit_bounds
from sievert.limits._programs import (
    TINY,
    Optimum,
    folded_program,
    full_program,
    kernel_certificate,
    kernel_matrix,
    merged,
    repaired,
    silent,
)
from sievert.limits._space import LARGEST_DENSE, Space, packing, weights
from sievert.limits._trees import solve_tree, tree_packing, tree_weights
from sievert.numerics import tracked
from sievert.programs import Unsolved
from sievert.proofs import WorstLeakageProof
from sievert.spaces import automorphisms
from sievert.spaces.symmetries import pair_orbits

__all__ = ["SMALL", "ComponentSolution", "covering", "is_only_packed", "radius_cover", "solve_component"]
Certificate = dict[str, Any]

LARGEST_BLOCK = 60  # points of a block in the coupled program
LARGEST_COUPLED = 40_000  # unknowns of the coupled program
MOST_BEFORE_FOLDING = 400_000  # entries of block channels among which orbits are looked for
MOST_PAIRS = 1_000_000  # pairs of a space too large for a table of distances whose blocks are looked for
MOST_APART = 2000  # blocks that are bounded one by one
FITS = 1e-9  # what rounding may take from a vertex that the blocks' own optima leave nothing to
LARGEST_RAYS = 150  # points for ray generation
RAY_SECONDS = 120.0  # for ray generation
LARGEST_EXPLICIT = 60  # points whose channel is repaired to exact rationals
LARGEST_CHANNEL = 1500  # points whose channel is written out at all
LARGEST_TREE_CHANNEL = 500  # points of a tree or of joined blocks whose channel is written out
LARGEST_FOLDED = 3000  # orbit variables
LARGEST_SYMMETRY = 1000  # points whose pairs are sorted into orbits
SMALL = 1e-3  # ε·diameter below which what leaks is told precisely by exact certificates only


@dataclass(frozen=True, eq=False)
class ComponentSolution:
    """How a connected space was solved, with both certificates and the channel where it is small enough."""

    method: str
    upper: Certificate
    lower: Certificate
    channel: FloatArray | None
    reason: str | None = None
    weights: FloatArray | None = None  # the channel is Φ·diag(weights)
    cover: Certificate | None = None  # the packing bound, where it is known already

    def log_channel(self, space: Space, eps: float) -> FloatArray:
        """Logarithms of the channel: of Φ·diag(w) exact even where e^(-εd) is below every float."""
        with np.errstate(divide="ignore", over="ignore"):
            if self.weights is not None:
                return np.asarray(np.log(self.weights) - eps * space.distances)
            return np.asarray(np.log(np.asarray(self.channel)))


def solve_component(space: Space, eps: Fraction) -> ComponentSolution:
    """Solve one connected space: the first rung that fits."""
    if space.size == 1:
        return ComponentSolution("a single point", {"type": "points"}, silent(space), np.ones((1, 1)))
    if 0 < float(eps) * space.extent[0] < SMALL:
        symmetric = _transitive(space, eps)
        if symmetric is not None:
            return symmetric
    if float(eps) * space.extent[0] < TINY:
        channel = np.ones((space.size, 1)) if space.size <= LARGEST_CHANNEL else None
        return ComponentSolution(
            "ε = 0" if eps == 0 else "ε is next to 0", radius_cover(space, eps), silent(space), channel
        )
    if space.is_tree:
        return _tree(space, eps)
    if space.size > LARGEST_DENSE:
        return _sparse(space, eps)
    found = weights(space, float(eps))
    if found is not None:
        return _attained(space, eps, found)
    try:
        return _exact(space, eps)
    except (ArithmeticError, Unsolved) as problem:
        return _interval(space, eps, str(problem))


def _transitive(space: Space, eps: Fraction) -> ComponentSolution | None:
    """n/Σ e^(-εd) over the rationals, where symmetries move a point to every other; None where they do not.

    For small ε other certificates, made of floats, leave their relative error in a number next to 1.
    """
    if not space.is_graph or space.matrix is not None or not space.proof.whole:
        return None
    if space.size > LARGEST_SYMMETRY:
        return None
    group = automorphisms(space.graph())
    if group.orbit_count != 1:
        return None
    certificate = {"type": "transitive", "symmetries": [list(map(int, image)) for image in group.generators]}
    kernel = space.kernel(float(eps)) if space.size <= LARGEST_CHANNEL else None
    channel = None if kernel is None else kernel / kernel.sum(axis=1, keepdims=True)
    return ComponentSolution("vertex-transitive: n/Σ e^(-εd), attained", certificate, certificate, channel)


def _exact(space: Space, eps: Fraction) -> ComponentSolution:
    """The exact programs: folded by symmetry, over blocks, plain, over rays."""
    parts = decompose(space)
    orbits = _foldable(space, parts)
    # Symmetries of the whole may exchange blocks, those of a block leave fewer unknowns in it.
    unknowns = parts.unknowns() if orbits is None else sum(block.count for block in orbits)
    folded = _folded(space, eps, min(unknowns // 2, LARGEST_FOLDED))
    if folded is not None:
        return folded
    if orbits is not None:
        return _over_blocks(space, eps, parts, orbits)
    if space.size <= LARGEST_BLOCK:
        optimum = full_program(space, float(eps), np.eye(space.size))
        return _from_program(space, eps, optimum, "the plain program")
    if space.size <= LARGEST_RAYS and space.is_graph:
        return _from_rays(space, eps)
    reason = (
        f"exact methods stop at blocks of {LARGEST_BLOCK} points, or graphs of {LARGEST_RAYS} points, "
        f"without symmetry; this space has {space.size} points and a block of {parts.largest()}"
    )
    return _interval(space, eps, reason, parts)


def _foldable(space: Space, parts: BlockDecomposition) -> list[BlockOrbits] | None:
    """Orbits inside several blocks, where they leave the coupled program few enough unknowns."""
    wide = parts.largest() > LARGEST_BLOCK and not space.is_graph
    if len(parts.vertices) == 1 or parts.unknowns() > MOST_BEFORE_FOLDING or wide:
        return None
    orbits = block_orbits(space, parts)
    counts = [block.count for block in orbits]
    return None if max(counts) > LARGEST_BLOCK**2 or sum(counts) > LARGEST_COUPLED else orbits


def _over_blocks(
    space: Space, eps: Fraction, parts: BlockDecomposition, orbits: list[BlockOrbits]
) -> ComponentSolution:
    """The coupled program over blocks with orbit unknowns."""
    optimum = solve_blocks(space, float(eps), parts, orbits)
    channel = optimum.channel(space.size) if space.size <= LARGEST_TREE_CHANNEL else None
    unknowns = sum(block.count for block in orbits)
    folded = f", folded to {unknowns} orbits of pairs" if unknowns < parts.unknowns() else ""
    method = f"{len(parts.vertices)} blocks over cut vertices{folded}"
    return ComponentSolution(method, optimum.upper(), optimum.lower(space, eps), channel)


def _packing(y: FloatArray) -> Certificate:
    return {"type": "packing", "y": y.tolist()}


def radius_cover(space: Space, eps: Fraction) -> Certificate:
    """The radius bound around one centre, or the number of points where that is less."""
    _, radius, centre = space.extent
    if float(eps) * radius >= np.log(space.size):
        return {"type": "points"}
    # The verifier allows for what rounding may do to distances.
    radius *= 1 + 4 * space.proof.distance_error
    return {"type": "cover", "centres": [centre], "radius": radius}


def covering(space: Space, eps: Fraction) -> Certificate:
    """The packing bound of a connected space, as a certificate."""
    if space.size > 1 and space.is_tree and eps > 0:
        try:
            return {"type": "packing", "y": tree_packing(space, float(eps))}
        except (ArithmeticError, Unsolved):
            return radius_cover(space, eps)
    return radius_cover(space, eps) if space.size > LARGEST_DENSE else _packing(packing(space, float(eps)).y)


def _attained(space: Space, eps: Fraction, found: FloatArray) -> ComponentSolution:
    """Non-negative weights: the packing bound is attained by Φ·diag(w)."""
    method = "non-negative weights: the packing bound is attained"
    if space.size > LARGEST_CHANNEL:
        return ComponentSolution(method, _packing(found), kernel_certificate(found, space, eps), None)
    kernel = space.kernel(float(eps)) * found
    # Integers over 2^62 cannot hold the ratios of columns that are far smaller than others.
    explicit = space.size <= LARGEST_EXPLICIT and found.min() > 1e-6 * found.max()
    lower = repaired(kernel, space, eps) if explicit else kernel_certificate(found, space, eps)
    return ComponentSolution(method, _packing(found), lower, kernel, weights=found)


def _tree(space: Space, eps: Fraction) -> ComponentSolution:
    """Closed weights where they are not negative (Cap = P then), else two unknowns an edge."""
    found = tree_weights(space, float(eps))
    if found is not None and space.size <= LARGEST_EXPLICIT:
        return _attained(space, eps, found)
    try:
        optimum = solve_tree(space, float(eps))
        lower = optimum.lower(space, eps)
    except (ArithmeticError, Unsolved) as problem:
        return _sparse(space, eps, str(problem))
    channel = optimum.channel(space) if space.size <= LARGEST_TREE_CHANNEL else None
    if found is not None:
        return ComponentSolution(
            "a tree with ε ≥ ln(Δ-1): the packing bound is attained", _packing(found), lower, channel
        )
    return ComponentSolution("a tree: two unknowns an edge", optimum.upper(), lower, channel)


def is_only_packed(space: Space) -> bool:
    """Whether no exact program fits a connected space without non-negative weights, whatever ε is."""
    if space.is_tree or space.size <= LARGEST_RAYS or space.size > LARGEST_DENSE:
        return False
    parts = decompose(space)
    if len(parts.vertices) > 1 or _foldable(space, parts) is not None:
        return False
    symmetries = _symmetries(space, min(parts.unknowns() // 2, LARGEST_FOLDED))
    return not has_few_classes(space, symmetries)


def _symmetries(space: Space, most: int) -> tuple[IndexArray, ...]:
    """Generators of the symmetries of a graph; none where they leave more orbits of points than `most`."""
    if not space.is_graph or space.matrix is not None:
        return ()
    if space.size > LARGEST_SYMMETRY:
        return space.symmetries
    group = automorphisms(space.graph())
    return () if group.orbit_count > most else tuple(group.generators.astype(np.intp))


def _folded(space: Space, eps: Fraction, most: int) -> ComponentSolution | None:
    """One unknown for each orbit of pairs, or columns of one point for each orbit of points."""
    symmetries = _symmetries(space, most)
    if not symmetries:
        return None
    if space.size > LARGEST_EXPLICIT:
        return _by_columns(space, eps, symmetries)
    group = automorphisms(space.graph())
    orbits = pair_orbits(group)
    if orbits.count > most:
        return None
    optimum = folded_program(space, float(eps), orbits.labels, group.orbits)
    return _from_program(space, eps, optimum, f"symmetry: {orbits.count} orbits of pairs")


def _by_columns(space: Space, eps: Fraction, symmetries: tuple[IndexArray, ...]) -> ComponentSolution | None:
    """Columns of one point for each orbit of points, where orbits and their classes are few enough."""
    found = symmetric_optimum(space, eps, symmetries, channel=space.size <= LARGEST_CHANNEL)
    if found is None:
        return None
    method = f"symmetry: columns of {found.orbits} points, constant on {found.classes} classes"
    reason = None if found.closed else f"columns were generated for {SECONDS:g} seconds without closing"
    return ComponentSolution(method, found.upper, found.lower, found.channel, reason, cover=found.cover)


def _from_program(space: Space, eps: Fraction, optimum: Optimum, method: str) -> ComponentSolution:
    lower = repaired(optimum.channel, space, eps)
    return ComponentSolution(method, optimum.certificate(), lower, optimum.channel)


def _from_rays(space: Space, eps: Fraction) -> ComponentSolution:
    found = generate_rays(space, float(eps), seconds=RAY_SECONDS)
    upper = dual_of(space, float(eps), found.y).certificate()
    rung = ComponentSolution(f"{found.rays} rays", upper, repaired(found.channel, space, eps), found.channel)
    if found.upper - found.lower <= 1e-6 * found.upper:
        return rung
    # Both ends hold at any time; the packing's own channel may still be the better one.
    reason = f"ray generation did not close in its {RAY_SECONDS:g} seconds"
    return _better(space, eps, _interval(space, eps, reason), rung)


def _interval(
    space: Space, eps: Fraction, reason: str, parts: BlockDecomposition | None = None
) -> ComponentSolution:
    """No exact method fits: the best proved bound above, the best channel found below."""
    bound = packing(space, float(eps))
    lower = kernel_certificate(bound.z, space, eps)
    channel = None
    if space.size <= LARGEST_CHANNEL:
        mixing = lower.get("t", 1.0)  # 1: the channel that says nothing
        channel = kernel_matrix(bound.z, mixing, space, float(eps))
    rung = ComponentSolution("packing bound", _packing(bound.y), lower, channel, reason)
    if parts is None or len(parts.vertices) == 1:
        return rung
    return _better(space, eps, rung, _blocks_apart(space, eps, parts, reason))


def _sparse(space: Space, eps: Fraction, reason: str | None = None) -> ComponentSolution:
    """Too large for a table of distances: blocks if they are small, else what a few searches give."""
    parts = None
    if reason is None and space.symmetries:
        found = orbit_bounds(space, eps)
        if found is not None:
            return _over_orbits(space, eps, found)
    # A connected space has Σ|B|² ≥ 4·(n - 1) entries in its blocks.
    few = 4 * (space.size - 1) <= MOST_BEFORE_FOLDING and len(space.pairs) <= MOST_PAIRS
    if reason is None and few:
        parts = decompose(space)
        try:
            orbits = _foldable(space, parts)
            if orbits is not None:
                return _over_blocks(space, eps, parts, orbits)
        except (ArithmeticError, Unsolved) as problem:
            reason = str(problem)
    if reason is None:
        reason = (
            f"distances are kept for at most {LARGEST_DENSE} points; this space has {space.size}, "
            "so only the radius bound, the blocks and the levels around one point are known"
        )
    lower: Certificate = silent(space)
    if space.is_graph:
        away = space.proof.distances_from(np.array([space.extent[2]]))
        lower = {"type": "levels", "source": int(away.argmax())}
    rung = ComponentSolution("radius bound", radius_cover(space, eps), lower, None, reason)
    if parts is None or not 1 < len(parts.vertices) <= MOST_APART:
        return rung
    return _better(space, eps, rung, _blocks_apart(space, eps, parts, reason))


def _over_orbits(space: Space, eps: Fraction, found: OrbitBounds) -> ComponentSolution:
    """Packing over orbits where it is attained, else columns of one point for each orbit."""
    reason = "packing over orbits is a bound, which its channel need not attain"
    bounded = ComponentSolution(found.method, found.upper, found.lower, None, reason)
    if found.attained:
        return bounded
    try:
        columns = _by_columns(space, eps, space.symmetries)
    except (ArithmeticError, Unsolved):
        return bounded
    if columns is None or columns.reason is None:
        return columns or bounded
    return _better(space, eps, bounded, columns)


def _blocks_apart(space: Space, eps: Fraction, parts: BlockDecomposition, reason: str) -> ComponentSolution:
    """Capacity ≤ 1 + Σ(Cap(B) - 1) over the blocks, with equality where their own optima fit together."""
    third = sorted(map(len, parts.vertices))[-3:][0]
    solved_blocks: dict[bytes, ComponentSolution] = {}
    rungs = []
    for points, edges in tracked("blocks", list(zip(parts.vertices, parts.edges, strict=True))):
        block = space.part(np.array(points), np.array(edges))
        shape = block.pairs.tobytes() + block.lengths.tobytes()
        if shape not in solved_blocks:
            # Three large blocks may take their minute each; the packing bound has to do for others.
            small = block.size <= max(LARGEST_BLOCK, min(LARGEST_RAYS, third - 1))
            rung = solve_component(block, eps) if small or third <= block.size <= LARGEST_RAYS else None
            solved_blocks[shape] = rung or ComponentSolution("", covering(block, eps), silent(block), None)
        rungs.append(solved_blocks[shape])
    pieces = zip(parts.vertices, parts.edges, rungs, strict=True)
    blocks = [{"vertices": points, "edges": edges, "upper": rung.upper} for points, edges, rung in pieces]
    upper = {"type": "block bounds", "blocks": blocks}
    lower, channel = silent(space), None
    if all(rung.channel is not None and rung.reason is None for rung in rungs):
        own = [merged(np.asarray(rung.channel)) for rung in rungs]
        optimum = BlockOptimum(0.0, own, np.zeros(space.size), [], parts)
        if optimum.remaining(space.size).min() > -FITS:
            lower = optimum.lower(space, eps)
            channel = optimum.channel(space.size) if space.size <= LARGEST_TREE_CHANNEL else None
    return ComponentSolution("blocks taken one by one", upper, lower, channel, reason)


def _better(
    space: Space, eps: Fraction, first: ComponentSolution, second: ComponentSolution
) -> ComponentSolution:
    """The smaller upper end and the larger lower end of two answers."""
    proofs = [
        WorstLeakageProof(space.proof, eps, rung.upper, rung.lower).bounds() for rung in (first, second)
    ]
    above = second if proofs[1][1] < proofs[0][1] else first
    below = second if (proofs[1][0] or 0) > (proofs[0][0] or 0) else first
    return ComponentSolution(
        above.method, above.upper, below.lower, below.channel, first.reason, below.weights
    )
