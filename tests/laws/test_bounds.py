"""Laws of bounds: monotone in every parameter, audit ≤ explain ≤ limits, certified means verified, names mean
nothing."""

import json
import math
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sievert as sv
from sievert.proofs import proof_from_dict, save_proof

# What floats may add to or take from a bound, relative to it.
ROUNDING = 1e-9
LEVELS = st.floats(0, 6) | st.sampled_from([0.0, 1e-9, 1e-3, math.log(3), 20.0])
DELTAS = st.sampled_from([0.0, 1e-9, 1e-6, 0.01, 0.2, 1.0])
RELEASES = st.integers(1, 40)


@st.composite
def beliefs(draw: st.DrawFn) -> tuple[int, list[float] | None]:
    """A number of values, and a prior on them or none."""
    size = draw(st.integers(2, 6))
    if draw(st.booleans()):
        return size, None
    weights = draw(st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(lambda w: sum(w) > 0))
    return size, [weight / sum(weights) for weight in weights]


@st.composite
def claims(draw: st.DrawFn) -> dict[str, float]:
    """A claim of any kind with one release."""
    kind = draw(st.sampled_from(["eps", "rho", "sigma"]))
    if kind == "eps":
        return {"eps": draw(LEVELS), "delta": draw(DELTAS)}
    if kind == "rho":
        return {"rho": draw(st.floats(0, 3))}
    return {"sigma": draw(st.floats(0.05, 50))}


def at_most(smaller: float, larger: float) -> bool:
    return smaller <= larger * (1 + ROUNDING)


@settings(max_examples=30)
@given(claims(), beliefs(), RELEASES, st.integers(1, 10))
def test_more_releases_allow_no_less(claim, belief, releases, more) -> None:  # type: ignore[no-untyped-def]
    values, prior = belief
    few = sv.explain(**claim, values=values, prior=prior, releases=releases)
    many = sv.explain(**claim, values=values, prior=prior, releases=releases + more)
    assert at_most(few.before, few.after) and at_most(few.after, many.after)
    assert at_most(few.reached, few.after) and at_most(few.distinguishing, many.distinguishing + 1e-12)


@given(LEVELS, LEVELS, DELTAS, DELTAS, beliefs(), st.integers(1, 12))
def test_a_weaker_claim_allows_no_less(one, other, little, much, belief, releases) -> None:  # type: ignore[no-untyped-def]
    values, prior = belief
    low, high = sorted((one, other))
    less, more = sorted((little, much))
    strong = sv.explain(low, delta=less, values=values, prior=prior, releases=releases)
    weak = sv.explain(high, delta=more, values=values, prior=prior, releases=releases)
    assert at_most(strong.after, weak.after)
    assert at_most(strong.odds, weak.odds) and strong.bits <= weak.bits + ROUNDING
    shares = np.linspace(0, 1, 33)
    assert (strong.curve.at(shares) >= weak.curve.at(shares) - 1e-12).all()


@settings(max_examples=15)
@given(st.floats(0.05, 20), st.floats(0.05, 20), st.floats(0, 2), st.floats(0, 2), beliefs())
def test_more_noise_allows_no_more(sigma, other, rho, another, belief) -> None:  # type: ignore[no-untyped-def]
    values, prior = belief
    small, large = sorted((sigma, other))
    assert at_most(
        sv.explain(sigma=large, values=values, prior=prior).after,
        sv.explain(sigma=small, values=values, prior=prior).after,
    )
    low, high = sorted((rho, another))
    weak = sv.explain(rho=high, values=values, prior=prior).after
    assert at_most(sv.explain(rho=low, values=values, prior=prior).after, weak)
    # Gaussian noise of this scale is 1/(2σ²)-zCDP.
    concentrated = sv.explain(rho=1 / (2 * small**2), values=values, prior=prior).after
    assert at_most(sv.explain(sigma=small, values=values, prior=prior).after, concentrated)


@given(beliefs(), RELEASES, LEVELS, DELTAS)
def test_what_is_certified_verifies_after_a_round_trip(belief, releases, eps, delta) -> None:  # type: ignore[no-untyped-def]
    values, prior = belief
    found = sv.explain(eps, delta=delta, values=values, prior=prior, releases=releases)
    if found.before == 1:
        return
    assert (found.certificate is None) == (found.uncertified is not None)
    assert found.certificate is not None
    again = proof_from_dict(json.loads(save_proof(found.certificate)))
    assert again.verify(), again.verify().statement


@given(
    st.permutations(range(5)),
    LEVELS,
    DELTAS,
    st.integers(1, 6),
    st.lists(st.integers(1, 9), min_size=5, max_size=5),
)
def test_the_order_of_values_means_nothing(order, eps, delta, releases, weights) -> None:  # type: ignore[no-untyped-def]
    prior = np.array(weights) / sum(weights)
    found = sv.explain(eps, delta=delta, prior=prior.tolist(), releases=releases)
    moved = sv.explain(eps, delta=delta, prior=prior[list(order)].tolist(), releases=releases)
    named = sv.explain(
        eps, delta=delta, values=[f"v{i}" for i in order], prior=prior.tolist(), releases=releases
    )
    assert moved.after == pytest.approx(found.after, rel=ROUNDING)
    assert named.after == found.after


@st.composite
def graphs(draw: st.DrawFn, size: int = 4) -> list[tuple[int, int]]:
    """Edges of a connected graph: a path in some order, and perhaps more."""
    order = draw(st.permutations(range(size)))
    pairs = [(i, j) for i in range(size) for j in range(i + 1, size)]
    extra = draw(st.lists(st.sampled_from(pairs), max_size=3))
    return sorted({*(tuple(sorted(pair)) for pair in pairwise(order)), *extra})  # type: ignore[arg-type]


@settings(max_examples=15)
@given(graphs(), st.floats(0.05, 3), st.floats(0, 2), st.sampled_from([0.0, 0.05]), st.integers(1, 3))
def test_bounds_of_a_policy_are_ordered(edges, eps, more, delta, releases) -> None:  # type: ignore[no-untyped-def]
    policy = sv.Policy.blowfish(sv.secrets.edges(4, edges))
    found = sv.explain(eps, delta=delta, policy=policy, releases=releases)
    assert at_most(found.after, sv.explain(eps + more, delta=delta, policy=policy, releases=releases).after)
    assert at_most(found.after, sv.explain(eps, delta=delta, policy=policy, releases=releases + 1).after)
    if found.certificate is not None:
        assert proof_from_dict(json.loads(save_proof(found.certificate))).verify()
    if delta == 0:
        limit = sv.worst_leakage(policy, eps * releases, individual=True)
        assert at_most(found.after, min(1.0, limit.upper.factor / 4))


@settings(max_examples=20)
@given(graphs(), st.permutations("abcd"), st.floats(0.05, 3))
def test_names_and_order_of_a_policys_values_mean_nothing(edges, names, eps) -> None:  # type: ignore[no-untyped-def]
    plain = sv.Policy.blowfish(sv.secrets.edges(4, edges))
    renamed = sv.Policy.blowfish(sv.secrets.edges(list(names), [(names[i], names[j]) for i, j in edges]))
    found, other = sv.explain(eps, policy=plain), sv.explain(eps, policy=renamed)
    assert other.after == pytest.approx(found.after, rel=1e-7)
    first, second = sv.worst_leakage(plain, eps), sv.worst_leakage(renamed, eps)
    assert second.upper.bits == pytest.approx(first.upper.bits, abs=1e-7)


@settings(max_examples=15)
@given(graphs(), st.floats(0.05, 3), st.floats(0.01, 2))
def test_limits_rise_with_eps_and_are_solved_backwards(edges, eps, more) -> None:  # type: ignore[no-untyped-def]
    policy = sv.Policy.blowfish(sv.secrets.edges(4, edges))
    low, high = sv.worst_leakage(policy, eps), sv.worst_leakage(policy, eps + more)
    assert at_most(low.lower.factor, high.upper.factor)
    for found in (low, high):
        assert found.lower.log <= found.upper.log and at_most(found.upper.factor, found.diameter.factor)
        assert found.certificate is not None
        assert proof_from_dict(json.loads(save_proof(found.certificate))).verify()
    back = sv.largest_epsilon(policy, bits=high.upper.bits)
    assert float(back) >= eps * (1 - 1e-6)


@settings(max_examples=25)
@given(beliefs(), st.floats(1e-3, 1), st.sampled_from([0.0, 1e-6]), st.integers(1, 6))
def test_the_weakest_claim_keeps_its_promise_and_nothing_weaker_does(belief, room, delta, releases) -> None:  # type: ignore[no-untyped-def]
    values, prior = belief
    before = 1 / values if prior is None else max(prior)
    if before == 1:
        return
    guess = before + room * (1 - before)
    if guess <= sv.explain(0.0, delta=delta, values=values, prior=prior, releases=releases).after:
        return
    found = sv.weakest_claim(guess, delta=delta, values=values, prior=prior, releases=releases)
    if math.isinf(found.value):
        return
    kept = sv.explain(found.value, delta=delta, values=values, prior=prior, releases=releases)
    broken = sv.explain(
        found.value * (1 + 1e-6) + 1e-9, delta=delta, values=values, prior=prior, releases=releases
    )
    assert kept.after <= guess <= broken.after * (1 + 1e-12)
    stricter = sv.weakest_claim(
        before + (guess - before) / 2 + 1e-6 * delta, values=values, prior=prior, releases=releases + 1
    )
    assert delta or stricter.value <= found.value * (1 + ROUNDING)


POLICY = 'version = 1\n[policy]\nvalues = ["a", "b", "c"]\n{records}\n'
FAMILIES = (
    ("", '[mechanism]\nkind = "randomised-response"\neps = {eps}\n'),
    ("", '[mechanism]\nkind = "exponential"\nlevel = "true"\neps = {eps}\n'),
    (
        "records = 3",
        '[query]\nkind = "count"\nwhere = ["a"]\n[mechanism]\nkind = "truncated-geometric"\neps = {eps}\n',
    ),
)


@settings(max_examples=20)
@given(st.sampled_from(FAMILIES), st.floats(0.05, 3).map(lambda e: round(e, 3)), st.integers(1, 4))
def test_audit_is_within_explain_is_within_limits(family, eps, count) -> None:  # type: ignore[no-untyped-def]
    from sievert.files import load_policy_scenario
    from sievert.questions.explain import explain_file

    records, mechanism = family
    with TemporaryDirectory() as folder:
        path = Path(folder, "file.toml")
        text = POLICY.format(records=records) + mechanism.format(eps=eps)
        path.write_text(f"{text}[adversary]\nobservations = {count}\n", encoding="utf-8")
        scenario = load_policy_scenario(path)
        audited, explained = sv.audit(scenario), explain_file(scenario).explanation
    assert audited.passed
    assert at_most(audited.repeated_guess, explained.after) and at_most(explained.reached, explained.after)
    limit = sv.worst_leakage(scenario.policy, eps * count, individual=True)
    assert at_most(explained.after, limit.upper.factor / 3)
    assert at_most(audited.record.after, audited.repeated_guess)
