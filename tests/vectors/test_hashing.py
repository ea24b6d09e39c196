"""Distances, hashes and their collision functions, packed codes, identities."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from sievert.errors import VectorError
from sievert.vectors import (
    Codes,
    HashIdentity,
    HyperplaneLSH,
    MinHash,
    PStable,
    angular_distance,
    chord_distance,
    code_xi,
    from_chord,
    realised_xi,
)

RNG = np.random.default_rng(5)


def test_angles_are_stable_near_0_and_1() -> None:
    assert angular_distance([1, 0], [1, 1e-9]) == pytest.approx(3.18309886183791e-10, rel=1e-14)
    assert angular_distance([1, 0], [-1, 1e-9]) == pytest.approx(1 - 3.18309886183791e-10, abs=1e-16)
    assert angular_distance([1e-200, 0], [1e200, 1e200]) == pytest.approx(0.25)
    x = RNG.standard_normal((20, 7))
    both = angular_distance(x)
    assert both == pytest.approx(angular_distance(sparse.csr_array(x)))
    assert (np.diag(both) == 0).all() and both == pytest.approx(both.T)
    assert angular_distance(x, 3 * x).diagonal().max() < 1e-15  # E6: a pseudometric


def test_chords() -> None:
    angles = [0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 1]
    chords = [0.156918191, 0.312868930, 0.618033989, 0.765366865, 0.907980999, 1.175570505, 1.414213562, 2]
    assert chord_distance(angles) == pytest.approx(chords, abs=5e-10)
    assert from_chord(chord_distance(angles)) == pytest.approx(angles, rel=1e-12)
    assert chord_distance(1e-20) == pytest.approx(math.pi * 1e-20)


def test_codes_are_signs_of_exact_products() -> None:
    """A vector almost orthogonal to a plane: single precision errs, double may, the code does not."""
    hashed = HyperplaneLSH(6, 70, seed=1)
    planes = hashed.planes.astype(np.float64)
    x = RNG.standard_normal((70, 6))
    x -= (np.einsum("ij,ij->i", x, planes) / np.einsum("ij,ij->i", planes, planes))[:, None] * planes
    found = hashed.codes(x).coordinates()
    for i in range(70):
        exact = sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(x[i], planes[i], strict=True))
        assert found[i, i] == (exact >= 0)
    assert (hashed.codes(sparse.csr_array(x)).words == hashed.codes(x).words).all()
    assert (hashed.codes(x * 2.0**-900).words == hashed.codes(x).words).all()
    assert (hashed.codes(x * 2.0**900).words == hashed.codes(x).words).all()
    assert (
        hashed.codes(x.astype(np.float32)).words[0]
        == HyperplaneLSH(6, 70, 1).codes(x.astype(np.float32)[:1]).words
    ).all()


def test_padding_and_order_of_bits() -> None:
    given = RNG.integers(0, 2, (5, 70))
    codes = Codes.of(given)
    assert codes.words.shape == (5, 2) and (codes.words[:, 1] >> np.uint64(6) == 0).all()
    assert (codes.coordinates() == given).all()
    assert int(codes.words[0, 0] >> np.uint64(3) & np.uint64(1)) == given[0, 3]
    many = Codes.of(RNG.integers(0, 5, (6, 70)), values=5)
    assert (many.distances() == (many.coordinates()[:, None] != many.coordinates()[None]).sum(2)).all()


@pytest.mark.parametrize("distance", [0.1, 0.4])
def test_hyperplanes_collide_by_the_angle(distance: float) -> None:
    """20,000 planes; a false alarm once in 10^6 (Hoeffding: 0.019)."""
    angle = math.pi * distance
    pair = [[1.0, 0.0], [math.cos(angle), math.sin(angle)]]
    codes = HyperplaneLSH(2, 20_000, seed=3).codes(pair)
    assert codes.distances()[0, 1] / 20_000 == pytest.approx(distance, abs=0.019)


def test_minhash_collides_by_jaccard() -> None:
    sets = [[1, 1, 1, 0, 0, 0], [0, 2, 2, 2, 0, 0]]  # J = 1/2
    for values in (2, 5):
        hashed = MinHash(6, 4_000, seed=3, values=values)
        share = hashed.codes(sets).distances()[0, 1] / 4_000
        assert hashed.collision(0.5) == 0.5 * (1 - 1 / values)
        assert share == pytest.approx(hashed.collision(0.5), abs=0.043)
        assert hashed.codes(sparse.csr_array(np.array(sets))).distances()[0, 1] / 4_000 == share


def test_p_stable_collides_by_its_function() -> None:
    hashed = PStable(3, 20_000, seed=3, width=2.0)
    assert 1 - 2 * hashed.collision(1.5) == pytest.approx(0.465179252, abs=5e-10)
    share = hashed.codes([[1.0, 0, 0], [1.0, 1.5, 0]]).distances()[0, 1] / 20_000
    assert share == pytest.approx(hashed.collision(1.5), abs=0.019)
    assert hashed.collision(0.0) == 0 and hashed.collision(1e9) == pytest.approx(0.5)


def test_orthogonal_planes_have_a_smaller_variance() -> None:
    """Spec 13.3: n = κ = 50, d = 0.25: variance 6.54 against 9.375 (200 draws)."""
    pair = np.zeros((2, 50))
    pair[0, 0], pair[1, :2] = 1, (math.cos(math.pi / 4), math.sin(math.pi / 4))
    counts = [
        int(HyperplaneLSH(50, 50, seed, orthogonal=True).codes(pair).distances()[0, 1]) for seed in range(200)
    ]
    assert np.mean(counts) == pytest.approx(12.5, abs=0.9)
    assert np.var(counts) == pytest.approx(6.54, rel=0.4) and np.var(counts) < 9.375
    hashed = HyperplaneLSH(4, 6, seed=2, orthogonal=True)
    assert not hashed.independent
    assert hashed.planes[:4] @ hashed.planes[:4].T == pytest.approx(np.eye(4), abs=1e-6)


def test_identities() -> None:
    one = HyperplaneLSH(4, 20, seed=7)
    assert HashIdentity.from_dict(one.identity.to_dict()) == one.identity == HyperplaneLSH(4, 20, 7).identity
    # The draw itself: it must never change within a version.
    assert one.identity.fingerprint.startswith("a5b24df9fc43")
    x = RNG.standard_normal((3, 4))
    for other in (HyperplaneLSH(4, 20, 8), HyperplaneLSH(4, 20, 7, orthogonal=True)):
        with pytest.raises(VectorError, match="another hash"):
            one.codes(x).distances(other.codes(x))
    reordered = Codes(
        one.codes(x).words, 20, HashIdentity.from_dict({**one.identity.to_dict(), "bit_order": "big"})
    )
    with pytest.raises(VectorError, match="bit_order is 'big' there"):
        one.codes(x).distances(reordered)
    with pytest.raises(VectorError, match="identity"):
        one.codes(x).distances(Codes(one.codes(x).words, 20))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda h: h.codes([[0.0, 0, 0]]), "row 0 is zero"),
        (lambda h: h.codes(sparse.csr_array((2, 3))), "row 0 is zero .2 such rows"),
        (lambda h: h.codes([[1.0, math.nan, 0]]), "row 0 holds nan"),
        (lambda h: h.codes(sparse.csr_array([[0, 1.0, 0], [0, math.inf, 0]])), "row 1 holds inf"),
        (lambda h: h.codes([[1.0, 2.0]]), "2 coordinates and the hash was made for 3"),
        (lambda h: h.codes([["a", "b", "c"]]), "real numbers"),
        (lambda h: h.codes([[[1.0, 2, 3]]]), "shape"),
        (lambda h: HyperplaneLSH(3, 0, 1), "bits is 0"),
        (lambda h: HyperplaneLSH(3, 8, -1), "seed is -1"),
        (lambda h: angular_distance([1, 0], [1, 0, 0]), "3 coordinates and x has 2"),
        (lambda h: angular_distance([0.0, 0.0], [1, 0]), "zero"),
        (lambda h: chord_distance(1.5), "from 0 to 1"),
        (lambda h: MinHash(3, 8, 1).codes([[0, 0, 0]]), "empty set"),
        (lambda h: Codes.of([[0, 2]]), "from 0 to 1"),
        (lambda h: Codes.of([1, 0]), "rows of whole numbers"),
        (lambda h: HashIdentity.from_dict({"kind": "x"}), "no identity"),
    ],
)
def test_bad_input(call: object, words: str) -> None:
    with pytest.raises(VectorError, match=words):
        call(HyperplaneLSH(3, 8, seed=1))  # type: ignore[operator]


def test_zero_vectors_may_be_replaced() -> None:
    """E6: a zero vector would hash to all ones under every hash."""
    hashed = HyperplaneLSH(3, 64, seed=1)
    one, other = (hashed.codes([[0.0, 0, 0], [1, 2, 3]], zero="random", rng=seed) for seed in (1, 2))
    assert (one.words[1] == other.words[1]).all() and one.words[0] != other.words[0]


def test_realised_losses() -> None:
    """Props 10.1 and 10.2: the largest ratio over all outputs is e^(ε·distance)."""
    hashed = HyperplaneLSH(2, 6, seed=4)
    x, y = [1.0, 0.2], [0.1, 1.0]
    codes = hashed.codes([x, y])
    assert realised_xi(hashed, x, y, 0.5)[0, 0] == code_xi(codes.rows([0]), codes.rows([1]), 0.5)
    from sievert.vectors import channel

    matrix = channel(6, 0.5).matrix
    rows = [int("".join(map(str, code)), 2) for code in codes.coordinates()]
    assert np.log(matrix[rows[0]] / matrix[rows[1]]).max() == pytest.approx(
        realised_xi(hashed, x, y, 0.5)[0, 0]
    )
