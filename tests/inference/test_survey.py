"""Surveys of n people: the table of 4.2, and whole channels as oracle."""

import math
from fractions import Fraction
from typing import Any

import pytest

import sievert as sv
from sievert.errors import MechanismError, PolicyError, SievertError
from sievert.inference import accuracy, survey, survey_channel, survey_correlation, vulnerability

TABLE = """
1 0.75 0.75 0.75 0.75 0.5 1
2 0.625 0.59375 0.66666667 0.625 0.5 0.75
3 0.625 0.49218750 0.66666667 0.5625 0.375 0.75
4 0.59375 0.43652344 0.63888889 0.5625 0.375 0.6875
5 0.59375 0.39276123 0.63888889 0.54687500 0.3125 0.6875
10 0.56152344 0.28256041 0.60308963 0.51123047 0.24609375 0.62304687
20 0.54404926 0.20247570 0.57905100 0.50148392 0.17619705 0.58809853
50 0.52806879 0.12932005 0.55333079 0.50000880 0.11227517 0.55613759
100 0.51989731 0.09177480 0.53871340 0.50000001 0.07958924 0.53979462
200 0.51408712 0.06501783 0.52777305 0.50000000 0.05634848 0.52817424
500 0.50891616 0.04116927 0.51772760 0.50000000 0.03566465 0.51783232
1000 0.50630625 0.02912274 0.51257508 0.50000000 0.02522502 0.51261251
"""


@pytest.mark.parametrize("line", TABLE.strip().splitlines())
def test_the_table_of_n_participants(line: str) -> None:
    n, *cells = (float(cell) for cell in line.split())
    response, geometric = (survey(int(n), math.log(3), kind=kind) for kind in ("response", "geometric"))
    found = [
        response.privacy, response.accuracy, geometric.privacy, geometric.accuracy,
        response.accuracy_before, survey(int(n), kind="noiseless").privacy,
    ]  # fmt: skip
    assert [float(value) for value in found] == pytest.approx(cells, abs=6e-9)


@pytest.mark.parametrize(
    ("n", "kind", "privacy", "tally"),
    [
        (2, "response", "5/8", "19/32"),
        (2, "geometric", "2/3", "5/8"),
        (2, "individual", "3/4", "19/32"),
        (3, "response", "5/8", "63/128"),
        (3, "geometric", "2/3", "9/16"),
        (4, "response", "19/32", "447/1024"),
        (4, "geometric", "23/36", "9/16"),
    ],
)
def test_exact_values(n: int, kind: str, privacy: str, tally: str) -> None:
    found = survey(n, kind=kind, alpha="1/3")
    assert (found.privacy, found.accuracy) == (Fraction(privacy), Fraction(tally))


@pytest.mark.parametrize("kind", ["response", "geometric", "individual", "noiseless"])
@pytest.mark.parametrize("yes", ["1/10", "1/2", "4/5"])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_closed_forms_are_the_whole_channel(kind: str, yes: str, n: int) -> None:
    level: dict[str, Any] = {} if kind == "noiseless" else {"alpha": "1/4"}
    floats: dict[str, Any] = {} if kind == "noiseless" else {"eps": math.log(4)}
    exact, rounded = (
        survey(n, kind=kind, yes=yes, **level),
        survey(n, kind=kind, yes=float(Fraction(yes)), **floats),
    )
    assert rounded.privacy == pytest.approx(float(exact.privacy), rel=1e-12)
    assert rounded.accuracy == pytest.approx(float(exact.accuracy), rel=1e-12)
    if kind in ("response", "geometric"):
        correlation, channel = survey_correlation(n, yes), survey_channel(n, Fraction(1, 4), kind)
        assert vulnerability(channel, correlation).value == exact.privacy
        assert accuracy(channel, correlation).value == exact.accuracy


def test_a_rare_yes_has_no_bayes_leakage() -> None:
    for n in (1, 10, 100):
        for kind in ("response", "geometric"):
            assert survey(n, math.log(3), kind=kind, yes=0.1).privacy == pytest.approx(0.9, abs=1e-12)
    assert round(survey(100, math.log(3), kind="response", yes=0.1).accuracy, 8) == 0.14016539
    assert round(survey(100, math.log(3), kind="geometric", yes=0.1).accuracy, 8) == 0.50050065


def test_ends() -> None:
    assert survey(5, 0.0, kind="response").loss == pytest.approx(1)
    assert survey(5, 0.0, kind="geometric").accuracy == pytest.approx(0.3125)
    certain = survey(4, math.log(3), kind="response", yes=1.0)
    assert certain.privacy == certain.accuracy == 1
    assert survey(10_000, math.log(3), kind="geometric").accuracy == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (dict(n=0, eps=1.0), PolicyError),
        (dict(n=3, eps=1.0, kind="respons"), MechanismError),
        (dict(n=3, eps=1.0, yes=1.5), PolicyError),
        (dict(n=3, eps=1.0, yes="3/2"), PolicyError),
        (dict(n=3), SievertError),
    ],
)
def test_bad_surveys(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        survey(**arguments)


def test_the_door_has_them() -> None:
    assert sv.inference.survey is survey


def test_the_channel_of_every_kind() -> None:
    assert survey_channel(2, "1/3", "noiseless").exact.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    counted = survey_channel(3, "1/3", "response").exact
    assert counted[0].tolist() == [Fraction(k, 64) for k in (27, 27, 9, 1)]
    assert (survey_channel(3, "1/3", "individual").exact == counted).all()
    floats = survey_channel(40, 1 / 3, "response")
    assert floats.rounded() == pytest.approx(survey_channel(40, "1/3", "response").rounded(), rel=1e-11)
    many = survey_channel(1500, 0.5, "response").rounded()
    assert many.sum(axis=1) == pytest.approx([1] * 1501, abs=1e-12)


@pytest.mark.parametrize("kind", ["response", "individual", "geometric", "noiseless"])
@pytest.mark.parametrize("yes", [0, 1, 0.0, 1.0, "0", "1"])
@pytest.mark.parametrize("level", [dict(eps=40.0), dict(eps=800.0), dict(eps=math.inf), dict(alpha="1/3")])
def test_everybody_says_the_same(kind: str, yes: Any, level: dict[str, Any]) -> None:
    found = survey(10, kind=kind, yes=yes, **({} if kind == "noiseless" else level))
    assert found.privacy == found.privacy_before == found.accuracy_before == 1
    assert found.accuracy == pytest.approx(1, abs=1e-14)


def test_lies_that_never_happen_tell_the_tally() -> None:
    found, exact = survey(10, 50.0, kind="response", yes=0.3), survey(10, kind="noiseless", yes=0.3)
    assert found.accuracy == pytest.approx(1, abs=1e-14)
    assert found.privacy == pytest.approx(exact.privacy, abs=1e-14)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((3, "1/3", "foo"), MechanismError, "kind is 'foo'; it must be one of response"),
        ((-1, "1/3", "response"), PolicyError, "n is -1"),
        ((3, 5, "response"), MechanismError, "alpha is 5"),
        ((3, "x", "geometric"), MechanismError, "alpha is 'x'"),
        ((1000, "1/2", "response"), SievertError, "200 is the limit"),
    ],
)
def test_bad_channels(arguments: tuple[Any, ...], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        survey_channel(*arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((3, -0.5), "yes is -0.5; it must be a probability"),
        ((3, "x"), "yes is 'x'; it must be a probability"),
        ((3, True), "yes is True; it must be a probability"),
        (("a",), "n is 'a'"),
        ((2.5,), "n is 2.5"),
        ((10**9,), "n is 1000000000"),
        ((50_000,), "5,000 is the limit here, give yes as a float"),
    ],
)
def test_bad_correlations(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(SievertError, match=words):
        survey_correlation(*arguments)
