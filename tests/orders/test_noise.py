"""The order of two noises on one table: by the sum that the larger one is, or by guesses about one record."""

import dataclasses
import json
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert.channels import GaussianLaw, ScalarNoise, TableNoise
from sievert.errors import ChannelError
from sievert.mechanisms import geometric_table_noise, planar_noise
from sievert.observations import likelihood_of
from sievert.proofs import NoiseOrderProof, proof_from_dict
from sievert.spaces import Region

RATIOS = st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=40)


def sum_of(values: int, **level: Fraction) -> TableNoise:
    table = sv.Query.sum().statistic(sv.Policy.differential(values, 3))
    assert table is not None
    return geometric_table_noise(table, Fraction(values - 1), **level)


def histogram_of(values: int, **level: Fraction) -> TableNoise:
    table = sv.Query.histogram().statistic(sv.Policy.differential(values, 3))
    assert table is not None
    return geometric_table_noise(table, Fraction(2), **level)


@given(RATIOS, RATIOS)
def test_the_larger_noise_is_the_smaller_one_and_more(first: Fraction, second: Fraction) -> None:
    """The mixture, convolved with the smaller noise, is the larger one; also after clamping."""
    a, b = sorted((float(first), float(second)))
    z = np.arange(-400, 401)
    smaller, larger = ((1 - r) / (1 + r) * r ** np.abs(z) for r in (a, b))
    share = a / b * ((1 - b) / (1 - a)) ** 2
    added = (1 - share) * larger + share * (z == 0)
    assert 0 <= share <= 1 + 1e-12
    both = np.convolve(smaller, added)[400:1201]
    assert both[200:601] == pytest.approx(larger[200:601], abs=1e-12 + 4 * b**400)
    proof = NoiseOrderProof.of(("alpha", min(first, second)), ("alpha", max(first, second)))
    assert proof.holds and proof.verify()
    assert float(proof.weight) == pytest.approx(share)


def test_clamped_noise_is_ordered_like_the_listed_channels() -> None:
    """The same verdicts as the programs on the matrices of truncated noise."""
    ratios = [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]
    for a in ratios:
        for b in ratios:
            listed = sv.compare(*(sv.mechanisms.truncated_geometric(5, alpha=r) for r in (a, b)))
            noise = sv.compare(sum_of(5, alpha=a), sum_of(5, alpha=b))
            assert [v.holds for v in noise.forward] == [v.holds for v in listed.forward]
            assert [v.holds for v in noise.backward] == [v.holds for v in listed.backward]
            assert all(v.certificate is None or v.certificate.verify() for v in noise.forward)


@pytest.mark.parametrize("make", [sum_of, histogram_of])
def test_every_level_is_ordered_and_proved(make: Callable[..., TableNoise]) -> None:
    small, large = make(7, eps=Fraction(2)), make(7, eps=Fraction(1))
    yes, no = sv.refines(small, large), sv.refines(large, small)
    assert yes.holds and yes.exact and no.holds is False and no.exact
    assert no.witness is not None and no.witness.after == pytest.approx(2 * no.witness.before)
    for verdict in (yes, no):
        assert verdict.certificate is not None
        written = json.loads(json.dumps(verdict.certificate.to_dict()))
        assert proof_from_dict(written).verify()
    mixed = sv.refines(make(7, alpha=Fraction(1, 3)), large)
    assert mixed.holds and mixed.certificate is not None and mixed.certificate.verify()
    assert sv.refines(small, small).holds


def test_forged_orders_are_refused() -> None:
    """Each with one thing wrong, everything else as it would be in an honest proof."""
    honest = NoiseOrderProof.of(("alpha", Fraction(1, 4)), ("alpha", Fraction(1, 2)))
    assert honest.verify()
    by_eps = NoiseOrderProof.of(("eps", Fraction(2)), ("eps", Fraction(1)))
    assert by_eps.verify()
    no = NoiseOrderProof.of(("eps", Fraction(1)), ("eps", Fraction(2)))
    assert no.verify() and not no.holds
    assert honest.weight is not None
    forged = [
        dataclasses.replace(honest, weight=honest.weight + Fraction(1, 10**9)),
        dataclasses.replace(honest, weight=None),
        dataclasses.replace(honest, first=honest.second, second=honest.first, weight=Fraction(1, 2)),
        dataclasses.replace(honest, second=("alpha", Fraction(1, 2) + Fraction(1, 10**9))),
        dataclasses.replace(by_eps, first=("eps", Fraction(1) - Fraction(1, 10**30))),
        dataclasses.replace(by_eps, first=("alpha", Fraction(1, 2))),
        dataclasses.replace(by_eps, holds=False),
        dataclasses.replace(no, holds=True),
        dataclasses.replace(no, second=no.first),
        dataclasses.replace(by_eps, second=("eps", Fraction(0))),
        dataclasses.replace(honest, first=("alpha", Fraction(0)), weight=Fraction(0)),
    ]
    for proof in forged:
        assert not proof.verify(), proof
    # e^-2 is below 2/13 by 1/80 of it: balls tell them apart.
    assert NoiseOrderProof.of(("eps", Fraction(2)), ("alpha", Fraction(2, 13))).verify()


def test_other_laws_are_compared_by_one_record() -> None:
    """Neither discrete Gaussian is the other plus noise; who guesses better from one objects to it."""
    table = sum_of(4, eps=Fraction(1)).statistic
    small, large = (ScalarNoise(table, GaussianLaw(sigma)) for sigma in (Fraction(4, 5), Fraction(1)))
    worse = sv.refines(large, small)
    assert worse.holds is False and worse.witness is not None and worse.witness.releases == 1
    views = [likelihood_of(noise, np.full(4, 0.25)) for noise in (large, small)]
    assert [view.guess().guess for view in views] == [worse.witness.before, worse.witness.after]
    assert sv.refines(small, large).holds is None
    assert sv.refines(small, small).holds


def test_noise_on_different_answers_is_refused() -> None:
    noise = sum_of(4, eps=Fraction(1))
    for other in (sum_of(5, eps=Fraction(1)), histogram_of(4, eps=Fraction(1)), sv.Channel.identity(4)):
        for pair in ((noise, other), (other, noise)):
            with pytest.raises(ChannelError, match="on different answers"):
                sv.compare(*pair)


def test_reasons_follow_the_numbers_and_name_the_right_release() -> None:
    """Gaussian noise of less spread tells more about one record."""
    table = sum_of(4, eps=Fraction(3)).statistic
    first, second = (
        ScalarNoise(table, GaussianLaw(Fraction(1))),
        ScalarNoise(table, GaussianLaw(Fraction(4, 5))),
    )
    found = sv.compare(first, second)
    average, at_most = found.forward[0], found.forward[1]
    assert average.holds is False and at_most.holds is None
    assert "guessed no better" not in at_most.method
    assert average.witness is not None
    said = average.witness.sentence("B", "A")
    better, worse = (f"{value:.1%}" for value in (average.witness.after, average.witness.before))
    assert f"{better} from one release of B, and {worse} from as many of A" in said
    back = found.backward[0]
    assert back.holds is None and "no better after 1, 2, 5, 10 releases" in back.method
    assert " B" not in back.method and " A" not in back.method
    flipped = sv.compare(second, first)
    assert flipped.backward[0].witness is not None
    assert "of A, and" in flipped.backward[0].witness.sentence("A", "B")
    assert "of B" in str(sv.compare(first, second)) and "of A" in str(flipped)


def test_outputs_in_words_are_not_quoted() -> None:
    no = sv.refines(sum_of(7, eps=Fraction(1)), sum_of(7, eps=Fraction(2)))
    assert no.witness is not None and "at outputs as high" in str(no.witness)
    assert "'" not in str(no.witness)


def test_small_maps_are_compared_by_their_lists() -> None:
    region = Region(52.5, 13.36, 52.505, 13.37, 150)
    small, large = (planar_noise(region, Fraction(eps)) for eps in ("0.01", "0.002"))
    yes, no = sv.refines(small, large), sv.refines(large, small)
    assert yes.holds and yes.certificate is not None and yes.certificate.verify()
    assert no.holds is False and no.certificate is not None and no.certificate.verify()
    for order in ("max", "privacy"):
        assert sv.refines(small, large, order).holds and sv.refines(large, small, order).holds is False
    listed = small.finite()
    assert sv.refines(listed, large).holds and sv.refines(small, listed).holds
    assert sv.refines(small, small).holds and sv.refines(small, small).exact
