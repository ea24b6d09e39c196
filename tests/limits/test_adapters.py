"""Objects of other libraries, explained."""

import math
import sys

import numpy as np
import pytest

import sievert as sv
from sievert.errors import SievertError
from sievert.limits import ReplacementClaim, explain_claim
from sievert.limits.adapters import claim_of_event
from sievert.limits.promises import ApproximateClaim, ZeroConcentratedClaim


@pytest.fixture
def opendp(oracle):  # type: ignore[no-untyped-def]
    dp = oracle("opendp.prelude")
    dp.enable_features("contrib")
    return dp


def _noise(dp, make, scale):  # type: ignore[no-untyped-def]
    return make(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=scale)


def test_opendp_measurements(opendp) -> None:  # type: ignore[no-untyped-def]
    laplace = _noise(opendp, opendp.m.make_laplace, 2.0)
    gauss = _noise(opendp, opendp.m.make_gaussian, 2.0)
    curve = opendp.c.make_zCDP_to_approxDP(gauss)
    fixed = opendp.c.make_fix_delta(curve, 1e-6)
    assert sv.adapters.explain_opendp(laplace, 1.0, values=4).after == pytest.approx(
        sv.explain(0.5, values=4).after
    )
    # A curve says at least as much as any of its points, and is an upper bound on the truth.
    found = sv.adapters.explain_opendp(curve, 1.0, values=3)
    assert (
        sv.explain(sigma=2, values=3).reached
        <= found.after
        <= sv.adapters.explain_opendp(fixed, 1.0, values=3).after
    )
    with pytest.raises(SievertError, match="composed before"):
        sv.adapters.explain_opendp(curve, 1.0, releases=2)


def _histogram(dp, noise, scale, values=5):  # type: ignore[no-untyped-def]
    """A measurement that counts categories of an unknown number of people, with noise."""
    names = [str(i) for i in range(values)]
    domain = dp.vector_domain(dp.atom_domain(T=str))
    distance = dp.L2Distance[int] if noise == "gaussian" else dp.L1Distance[int]
    counts = dp.t.then_count_by_categories(names, null_category=False, MO=distance)
    add = dp.m.then_gaussian(scale) if noise == "gaussian" else dp.m.then_laplace(scale)
    return (domain, dp.symmetric_distance()) >> counts >> add


def _noise_of(kind: str, scale: float) -> np.ndarray:
    """Integer noise of OpenDP on -400..400, exactly but for the tails."""
    at = np.arange(-400, 401)
    weights = np.exp(-np.abs(at) / scale) if kind == "laplace" else np.exp(-(at**2) / (2 * scale**2))
    return np.asarray(weights / weights.sum())


def _histogram_guess(kind: str, scale: float, values: int, releases: int = 1) -> float:
    """The best guess of a person's category from noisy counts: E max_j L_j / v over independent ratios L."""
    noise = _noise_of(kind, scale)
    kept = noise[1:] > 1e-280
    ratio, weight = (noise[:-1][kept] / noise[1:][kept]), noise[1:][kept]
    for _ in range(releases - 1):
        ratio = np.outer(ratio, noise[:-1][kept] / noise[1:][kept]).ravel()
        weight = np.outer(weight, noise[1:][kept]).ravel()
        # Equal ratios are one outcome.
        ratio, where = np.unique(ratio.round(12), return_inverse=True)
        weight = np.bincount(where, weight)
    order = np.argsort(ratio)
    below = np.cumsum(weight[order]) ** values
    return float(np.diff(below, prepend=0.0) @ ratio[order]) / values


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [0.3, 1.0, 2.0, 8.0])
@pytest.mark.parametrize("values", [2, 5])
def test_no_histogram_exceeds_what_is_promised_about_a_value(opendp, kind, scale, values) -> None:  # type: ignore[no-untyped-def]
    measurement = _histogram(opendp, kind, scale, values)
    found = sv.adapters.explain_opendp(measurement, values=values)
    reached = _histogram_guess(kind, scale, values)
    assert reached <= found.after * (1 + 1e-9) and found.before == 1 / values
    assert "one person's value" in str(found) and "more or less" in str(found)
    if kind == "laplace":
        assert reached > sv.explain(eps=1 / scale, values=values).before
        # The promise read as one of replacement would be broken by the measurement itself.
        assert values == 2 or scale > 2 or reached > sv.explain(eps=1 / scale, values=values).after


def test_the_histogram_of_five_categories(opendp) -> None:  # type: ignore[no-untyped-def]
    found = sv.adapters.explain_opendp(_histogram(opendp, "laplace", 1.0), values=5)
    # e/5: without the person a guess is blind, and ε lets it grow e^ε times.
    assert found.after == pytest.approx(math.e / 5, rel=1e-12)
    assert _histogram_guess("laplace", 1.0, 5) == pytest.approx(0.4455, abs=5e-5)


@pytest.mark.parametrize("values", [2, 3, 5])
@pytest.mark.parametrize("eps", [0.1, 1.0, 3.0])
def test_the_bound_of_a_value_is_that_of_a_star(values: int, eps: float) -> None:
    """The exact program over a person's values and their absence, the absent one being ruled out."""
    claim = ReplacementClaim(ApproximateClaim(eps), ApproximateClaim(2 * eps))
    found = explain_claim(claim, values=values)
    star = sv.Policy.differential(values, 1, adjacency="add-remove")
    belief = [0.0 if value == star.absent else 1 / values for value in star.values]
    assert found.after == pytest.approx(sv.explain(eps, policy=star, prior=belief).after, rel=1e-7)
    assert found.after == pytest.approx(min(math.exp(eps) / values, 1 - math.exp(-eps) * (1 - 1 / values)))
    assert found.after < sv.explain(2 * eps, values=values).after


@pytest.mark.parametrize("claim", [ApproximateClaim(0.5, 1e-3, 4), ZeroConcentratedClaim(0.1, 2)])
def test_events_grow_no_more_than_the_trade_off_says(claim) -> None:  # type: ignore[no-untyped-def]
    curve = claim.tradeoff()
    for share in (1e-6, 0.01, 0.2, 0.5, 0.9):
        allowed = claim.largest_event(share)
        assert share <= allowed <= 1 - float(curve.at(share)) + 1e-9
    assert claim.largest_event(1.0) == 1.0


def test_repeated_and_composed_histograms(opendp) -> None:  # type: ignore[no-untyped-def]
    once = _histogram(opendp, "laplace", 2.0, 3)
    both = opendp.c.make_composition([once, once])
    reached = _histogram_guess("laplace", 2.0, 3, 2)
    assert _histogram_guess("laplace", 2.0, 3) < reached
    repeated = sv.adapters.explain_opendp(once, values=3, releases=2).after
    assert reached <= repeated <= sv.adapters.explain_opendp(both, values=3).after
    fixed = opendp.c.make_approximate(once)
    assert sv.adapters.explain_opendp(fixed, values=3, releases=2).after == pytest.approx(repeated)
    gauss = _histogram(opendp, "gaussian", 2.0, 3)
    curve = opendp.c.make_zCDP_to_approxDP(gauss)
    exact = _histogram_guess("gaussian", 2.0, 3)
    for measurement in (gauss, curve, opendp.c.make_fix_delta(curve, 1e-6), opendp.c.make_approximate(gauss)):
        assert exact <= sv.adapters.explain_opendp(measurement, values=3).after < 1


def test_presence_is_another_question(opendp) -> None:  # type: ignore[no-untyped-def]
    measurement = _histogram(opendp, "laplace", 1.0)
    found = sv.adapters.explain_opendp(measurement, about="presence")
    assert found.after == pytest.approx(math.e / (1 + math.e)) and found.exact
    assert "whether one person is in the data" in str(found)
    with pytest.raises(SievertError, match="leave values out"):
        sv.adapters.explain_opendp(measurement, values=5, about="presence")
    with pytest.raises(SievertError, match="did you mean 'presence'"):
        sv.adapters.explain_opendp(measurement, about="presense")
    response = opendp.m.make_randomized_response_bool(0.75)
    with pytest.raises(SievertError, match="nobody is absent"):
        sv.adapters.explain_opendp(response, about="presence")


def test_data_of_a_known_size(opendp) -> None:  # type: ignore[no-untyped-def]
    """The map at distance 1 is 0 there, because no other data set is so near; a replacement is at 2."""
    domain = opendp.vector_domain(opendp.atom_domain(bounds=(0, 10)), size=20)
    total = (domain, opendp.symmetric_distance()) >> opendp.t.then_sum() >> opendp.m.then_laplace(10.0)
    assert total.map(1) < 1e-9
    assert sv.adapters.explain_opendp(total, values=2).after == pytest.approx(math.e / (1 + math.e))
    with pytest.raises(SievertError, match="size"):
        sv.adapters.explain_opendp(total, about="presence")


def test_randomised_response_of_opendp_is_reached(opendp) -> None:  # type: ignore[no-untyped-def]
    for truth in (0.5, 0.75, 0.95):
        response = opendp.m.make_randomized_response(["a", "b", "c"], truth)
        found = sv.adapters.explain_opendp(response, values=3)
        assert found.after == pytest.approx(truth) and found.exact
    with pytest.raises(SievertError, match="refuses"):
        sv.adapters.explain_opendp(response, d_in=-1)


def test_answers_at_a_distance(opendp) -> None:  # type: ignore[no-untyped-def]
    found = sv.adapters.explain_opendp(_noise(opendp, opendp.m.make_laplace, 2.0), 1.0)
    assert found.between == "two inputs at a distance of 1.0 (AbsoluteDistance(f64))"


def test_dp_accounting_objects(oracle) -> None:  # type: ignore[no-untyped-def]
    accounting = oracle("dp_accounting")
    pld = oracle("dp_accounting.pld.privacy_loss_distribution")
    # Two values of a person are two steps, 2/σ deviations, apart.
    exact = sv.explain(sigma=2, sensitivity=2, releases=4).after
    event = sv.adapters.explain_dp_accounting(accounting.GaussianDpEvent(2.0), releases=4)
    assert event.releases == 4 and "4 releases" in str(event)
    assert event.after == pytest.approx(exact, rel=1e-12)
    assert event.after > sv.explain(sigma=2, sensitivity=math.sqrt(2), releases=4).after
    loss = sv.adapters.explain_dp_accounting(pld.from_gaussian_mechanism(2.0), releases=4)
    assert exact <= loss.after == pytest.approx(exact, abs=1e-4)
    accountant = accounting.pld.PLDAccountant()
    accountant.compose(accounting.GaussianDpEvent(2.0), 4)
    assert exact <= sv.adapters.explain_dp_accounting(accountant).after == pytest.approx(exact, abs=1e-4)
    with pytest.raises(SievertError, match="composed before"):
        sv.adapters.explain_dp_accounting(accountant, releases=2)
    with pytest.raises(SievertError, match="refuses"):
        sv.adapters.explain_dp_accounting(accounting.UnsupportedDpEvent())


def test_presence_under_dp_accounting(oracle) -> None:  # type: ignore[no-untyped-def]
    accounting = oracle("dp_accounting")
    pld = oracle("dp_accounting.pld.privacy_loss_distribution")
    # Laplace noise: better than the worst mechanism with the same ε, TV = 1 - e^(-1/2).
    laplace = sv.adapters.explain_dp_accounting(accounting.LaplaceDpEvent(1.0), about="presence")
    assert laplace.after == pytest.approx(1 - math.exp(-0.5) / 2, abs=1e-4)
    replaced = sv.adapters.explain_dp_accounting(pld.from_laplace_mechanism(1.0), relation="replace")
    assert replaced.after == pytest.approx(laplace.after)
    with pytest.raises(SievertError, match="nobody is absent"):
        sv.adapters.explain_dp_accounting(
            pld.from_laplace_mechanism(1.0), relation="replace", about="presence"
        )
    with pytest.raises(SievertError, match="says itself"):
        sv.adapters.explain_dp_accounting(accounting.LaplaceDpEvent(1.0), relation="replace")
    response = accounting.RandomizedResponseDpEvent(0.5, 3)
    with pytest.raises(SievertError, match="nobody is absent"):
        sv.adapters.explain_dp_accounting(response, about="presence")


@pytest.mark.parametrize("values", [2, 3])
@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0])
def test_no_histogram_exceeds_an_event(oracle, values: int, scale: float) -> None:  # type: ignore[no-untyped-def]
    accounting = oracle("dp_accounting")
    events = {
        "laplace": oracle("dp_accounting.dp_event").DiscreteLaplaceDpEvent(1 / scale, 1),
        "gaussian": accounting.GaussianDpEvent(scale),
    }
    for kind, event in events.items():
        for releases in (1, 2):
            reached = _histogram_guess(kind, scale, values, releases)
            composed = accounting.SelfComposedDpEvent(event, releases)
            assert reached <= sv.adapters.explain_dp_accounting(event, values=values, releases=releases).after
            assert reached <= sv.adapters.explain_dp_accounting(composed, values=values).after


def _response_guess(noise: float, buckets: int, releases: int) -> float:
    """The best guess of a value from repeated randomised responses, over all sequences."""
    law = np.full((buckets, buckets), noise / buckets) + np.eye(buckets) * (1 - noise)
    joint = np.full((buckets, 1), 1 / buckets)
    for _ in range(releases):
        joint = (joint[:, :, None] * law[:, None, :]).reshape(buckets, -1)
    return float(joint.max(axis=0).sum())


@pytest.mark.parametrize("releases", [1, 2, 4])
def test_randomised_response_events(oracle, releases: int) -> None:  # type: ignore[no-untyped-def]
    accounting = oracle("dp_accounting")
    event = accounting.RandomizedResponseDpEvent(0.5, 3)
    reached = _response_guess(0.5, 3, releases)
    found = sv.adapters.explain_dp_accounting(event, values=3, releases=releases).after
    assert reached <= found + 1e-12 and found < reached + 0.15
    # However the repetition is written, it is counted.
    repeated = accounting.SelfComposedDpEvent(event, releases)
    several = accounting.ComposedDpEvent([event] * releases)
    for again in (repeated, several, accounting.ComposedDpEvent([accounting.NoOpDpEvent(), repeated])):
        assert sv.adapters.explain_dp_accounting(again, values=3).after == pytest.approx(found)
    mixed = accounting.ComposedDpEvent([accounting.GaussianDpEvent(100.0), repeated])
    assert sv.adapters.explain_dp_accounting(mixed, values=3).after >= reached - 1e-12
    many = sv.adapters.explain_dp_accounting(mixed, values=3, releases=100).after
    assert many > 0.999


def test_an_accountant_that_forgets_repetitions_is_refused(oracle) -> None:  # type: ignore[no-untyped-def]
    accounting = oracle("dp_accounting")
    event = accounting.RandomizedResponseDpEvent(0.5, 3)
    replace_one = accounting.NeighboringRelation.REPLACE_ONE
    accountant = accounting.pld.PLDAccountant(neighboring_relation=replace_one).compose(event, 4)
    with pytest.raises(SievertError, match="ledger"):
        sv.adapters.explain_dp_accounting(accountant, values=3)
    ledger = sv.adapters.explain_dp_accounting(accountant.ledger, values=3).after
    assert ledger >= _response_guess(0.5, 3, 4)
    once = accounting.pld.PLDAccountant(neighboring_relation=replace_one).compose(event)
    assert sv.adapters.explain_dp_accounting(once, values=3).after == pytest.approx(2 / 3)


def test_zero_concentrated_events(oracle) -> None:  # type: ignore[no-untyped-def]
    accounting = oracle("dp_accounting")
    found = sv.adapters.explain_dp_accounting(accounting.ZCDpEvent(0.125), values=2, about="presence")
    assert found.after == pytest.approx(sv.explain(rho=0.125).after)
    # Gaussian noise with σ = 2 is 1/8-zCDP, so its guess is below.
    value = sv.adapters.explain_dp_accounting(accounting.ZCDpEvent(0.125), values=2)
    assert sv.explain(sigma=2, sensitivity=2).after <= value.after <= sv.explain(rho=0.5).after
    shifted = sv.adapters.explain_dp_accounting(accounting.ZCDpEvent(0.125, 0.05), values=2)
    assert value.before < shifted.after < 1
    mixed = accounting.ComposedDpEvent([accounting.ZCDpEvent(0.125), accounting.LaplaceDpEvent(2.0)])
    assert sv.adapters.explain_dp_accounting(mixed, values=2).after >= value.before


def test_relations_of_accountants(oracle) -> None:  # type: ignore[no-untyped-def]
    accounting = oracle("dp_accounting")
    rdp, relations = oracle("dp_accounting.rdp"), accounting.NeighboringRelation
    exact = sv.explain(sigma=2, sensitivity=2).after
    for kind in (accounting.pld.PLDAccountant, rdp.RdpAccountant):
        for relation in (relations.REPLACE_ONE, relations.REPLACE_SPECIAL):
            accountant = kind(neighboring_relation=relation).compose(accounting.GaussianDpEvent(2.0))
            assert sv.adapters.explain_dp_accounting(accountant).after >= exact


def test_objects_that_are_none_of_these(oracle) -> None:  # type: ignore[no-untyped-def]
    oracle("dp_accounting")
    with pytest.raises(SievertError):
        claim_of_event(3)
    with pytest.raises(SievertError):
        sv.adapters.explain_opendp(3)


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(SievertError, match="dp-accounting"):
        claim_of_event(object())
