"""Long work says how far it has come: breaches and worst leakage, and nothing where nobody listens."""

from fractions import Fraction

import pytest

import sievert as sv
from sievert.files import PolicyScenario
from sievert.limits import worst_leakage
from sievert.numerics import progress_listener
from sievert.questions import max_epsilon
from sievert.questions.breach import breach_of
from sievert.questions.explain import weakest_claim_for_file
from sievert.questions.limits import limit_curves, limits_of
from sievert.spaces import Graph, graphs


def heard(work):
    """What was said meanwhile: for each kind of work its (done, total), in order."""
    news = {}
    with progress_listener(lambda what, done, total: news.setdefault(what, []).append((done, total))):
        work()
    for said in news.values():
        assert all(0 <= done <= total for done, total in said)
    return news


def text(query):
    """A small file with noise and 40 releases."""
    return (
        f'version = 1\n[policy]\nvalues = ["no", "yes"]\nrecords = 4\n[query]\n{query}\n'
        '[mechanism]\nkind = "geometric"\neps = 1\n[adversary]\nobservations = 40\n'
    )


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        (
            'kind = "count"\nwhere = "yes"',
            {"observations looked at", "observations followed", "chances asked for"},
        ),
        ('kind = "histogram"', {"releases looked at", "observations followed", "chances asked for"}),
    ],
)
def test_breaches_say_how_far_they_have_come(query, parts):
    scenario = PolicyScenario.from_text(text(query))
    news = heard(lambda: breach_of(scenario))
    assert parts <= set(news)
    for what in parts:
        assert news[what][-1][0] == news[what][-1][1]
    looked = news[next(what for what in parts if what.endswith("looked at"))]
    assert looked == [(done, 40) for done in range(41)]


def test_worst_leakage_says_how_far_it_has_come():
    ring = graphs.cycle(5)
    apart = Graph(range(8), [(0, 1), (1, 2), (3, 4), (4, 5), (5, 6), (6, 7), (7, 3)])
    assert heard(lambda: worst_leakage(apart, 0.7))["parts of the secrets"] == [(0, 2), (1, 2), (2, 2)]
    grid = graphs.grid(9, 8)
    assert heard(lambda: worst_leakage(grid, Fraction(1, 3)))["factors of the secrets"][-1] == (2, 2)
    few = heard(lambda: worst_leakage(ring, 0.7, outputs=2))
    assert few["bounds of the groups"][-1] == (2, 2)
    assert few["programs of the groups"]


def test_curves_of_the_limits_say_how_far_they_have_come():
    scenario = PolicyScenario.from_text(text('kind = "count"\nwhere = "yes"'))
    limits = limits_of(scenario)
    said = heard(lambda: limit_curves(scenario, limits))["points of the curve"]
    assert said[-1][0] == said[-1][1] == len(said) - 1


@pytest.mark.parametrize("name", ["salaries", "solar-share", "town-places"])
def test_a_question_solved_backwards_stops_when_it_is_told_to(name: str) -> None:
    """Every level of ε says how far the search is, and whoever listens may end it there."""
    scenario, told = sv.load(f"examples/{name}.toml"), []

    class Gone(Exception):
        """Nobody waits for the answer any more."""

    def listener(words: str, done: int, total: int) -> None:
        told.append((words, done, total))
        raise Gone

    for ask in (
        lambda: max_epsilon(scenario, 0.6),
        lambda: weakest_claim_for_file(scenario, 0.6, "eps"),
    ):
        with progress_listener(listener), pytest.raises(Gone):
            ask()
    assert [(done, total) for _, done, total in told] == [(0, 1)] * 2
