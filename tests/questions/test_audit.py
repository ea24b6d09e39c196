"""The audit: its numbers, its sentences, its page."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import sievert as sv
from sievert.files import PolicyScenario, load_policy_scenario
from sievert.questions import Check
from sievert.questions.audit import Audit
from sievert.report import Picture
from sievert.report.audit import content, lines, page

EXAMPLES = sorted(Path("examples").glob("*.toml"))


def sentences(result: Audit) -> str:
    """Everything the audit says below its headings."""
    return " ".join(sentence for _, below in lines(result) for sentence in below)


def page_of(scenario: PolicyScenario, result: Audit) -> str:
    return page(result, scenario)


def pictures_of(scenario: PolicyScenario, result: Audit) -> list[Picture]:
    return list(content(result, scenario).pictures)


def written(folder: Path, text: str) -> PolicyScenario:
    (folder / "file.toml").write_text(text)
    return load_policy_scenario(folder / "file.toml")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_keep_their_promise(path: Path) -> None:
    scenario = load_policy_scenario(path)
    result = sv.audit(scenario)
    assert result.passed
    assert json.loads(json.dumps(result.to_dict()))["satisfied"] is True
    page = page_of(scenario, result)
    assert str(result).split(":")[0] in page
    assert page.count('class="plotly-graph-div"') == len(pictures_of(scenario, result))
    assert "<script src=" not in page
    assert "<td>identity</td>" not in page
    assert f"Computed by Sievert {sv.__version__} with Python " in page and f"NumPy {np.__version__}" in page


def test_the_count_is_the_attack_on_one_household() -> None:
    """Given the others, a household moves the count by at most one: a two-row channel."""
    scenario = load_policy_scenario(Path("examples/census-count.toml"))
    result = sv.audit(scenario)
    channel = scenario.channel.matrix
    pairs = [
        sum(max(2 / 5 / 2 * channel[s + 1, z], 1 / 5 * channel[s, z]) for z in range(101)) for s in range(100)
    ]
    assert result.record.after == pytest.approx(max(pairs), rel=1e-12)
    assert result.record.before == pytest.approx(0.2)
    assert float(result.database.factor) == pytest.approx(channel.max(axis=0).sum())


def test_repeated_releases_match_the_exact_channel_for_two_values(tmp_path: Path) -> None:
    scenario = written(
        tmp_path,
        """
        version = 1
        policy = { values = ["yes", "no"] }
        mechanism = { kind = "randomised-response", eps = 1.0 }
        adversary = { observations = 4 }
        """,
    )
    result = sv.audit(scenario)
    exact = float(sv.posterior_vulnerability(scenario.channel.repeated(4)))
    assert result.repeated_guess == pytest.approx(exact, rel=1e-12)
    assert result.repeated_exact
    assert result.repeated_eps == pytest.approx(4.0)
    assert "After 4 independent releases of the same data: exactly" in sentences(result)


def test_a_broken_promise_is_found_with_its_witness(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("input,x,y\na,3/4,1/4\nb,1/4,3/4\n")
    scenario = written(
        tmp_path,
        'version = 1\npolicy = { values = ["a", "b"] }\nmechanism = { matrix = "c.csv", eps = 1.0 }\n',
    )
    result = sv.audit(scenario)
    assert not result.passed
    assert result.epsilon.nats == pytest.approx(math.log(3))
    assert (result.epsilon.pair, result.epsilon.output, result.epsilon.exact) == (("a", "b"), "x", 3)
    text = sentences(result)
    assert "does not keep its promise: it claims ε = 1 but only satisfies ε = 1.09861" in str(result)
    assert "NO: it claims ε = 1 but only satisfies ε = 1.09861" in text
    assert "3 times as likely for 'a' as for 'b'" in text


def test_infinite_epsilon_is_said(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("input,x,y\na,1,0\nb,1/4,3/4\n")
    result = sv.audit(
        written(tmp_path, 'version = 1\npolicy = { values = ["a", "b"] }\nmechanism = { matrix = "c.csv" }\n')
    )
    assert not result.satisfied
    assert json.loads(json.dumps(result.to_dict()))["epsilon"]["nats"] == "inf"
    assert "NO: no ε is large enough" in sentences(result)
    assert "output 'y' can occur for 'b' but never for 'a'" in sentences(result)


@pytest.mark.parametrize("kind", ["geometric", "randomised-response", "exponential"])
def test_an_infinite_claim_is_no_promise(tmp_path: Path, kind: str) -> None:
    """eps = inf is the identity: nothing is kept, whatever the file claims."""
    scenario = written(
        tmp_path,
        f'''
        version = 1
        policy = {{ values = [0, 1, 2], secrets = "line" }}
        mechanism = {{ kind = "{kind}", eps = inf }}
        ''',
    )
    result = sv.audit(scenario)
    assert not result.satisfied
    assert not result.passed
    assert str(result) == "The mechanism keeps no promise: no ε is large enough."
    assert "keeps its promise" not in str(result) + sentences(result)
    assert "infinitely many" not in sentences(result)
    assert page_of(scenario, result).startswith("<!doctype html>")


@pytest.mark.parametrize(
    "limit, passed",
    [("guess = 0.74", False), ("guess = 0.76", True), ("bits = 0.5", False), ("eps = 1.2", True)],
)
def test_accept(tmp_path: Path, limit: str, passed: bool) -> None:
    scenario = written(
        tmp_path,
        f"""
        version = 1
        policy = {{ values = ["yes", "no"] }}
        mechanism = {{ kind = "randomised-response", alpha = "1/3" }}
        accept = {{ {limit} }}
        """,
    )
    assert sv.audit(scenario).passed is passed


def test_odds_within_a_radius() -> None:
    """Fernandes Sec 3.2: within radius r belief in the truth grows at most e^(eps r) times."""
    result = sv.audit(load_policy_scenario(Path("examples/town-places.toml")))
    for radius, factor in result.radii:
        assert factor == pytest.approx(math.exp(4 * radius), rel=1e-9)


def test_figures_carry_the_numbers() -> None:
    scenario = load_policy_scenario(Path("examples/survey-response.toml"))
    drawn = {picture.heading: picture.figure for picture in pictures_of(scenario, sv.audit(scenario))}
    heatmap, curve = drawn["What the mechanism does"], drawn["Leakage against ε"]
    beliefs = drawn["Belief before and after the most revealing output"]
    assert np.allclose(np.array(heatmap.data[0].z, dtype=float), scenario.channel.matrix)
    assert (heatmap.data[0].zmin, heatmap.data[0].zmax) == (0, 0.5)
    assert np.allclose(np.array(beliefs.data[1].y, dtype=float), [1 / 2, 1 / 6, 1 / 6, 1 / 6])
    eps = np.array(curve.data[0].x, dtype=float)
    assert curve.data[0].name == "exact guess"
    assert (eps[0], eps[-1]) == (0, pytest.approx(4 * math.log(3)))
    assert np.allclose(np.array(curve.data[0].y, dtype=float), np.log2(4 * np.exp(eps) / (np.exp(eps) + 3)))


def test_curves_can_be_told_apart_without_colour() -> None:
    names = [f"curve {i}" for i in range(6)]
    figure = sv.plots.leakage_curve([0, 1], {name: [0, 1] for name in names}, here=0.5, limit=1.0)
    assert len({trace.line.dash for trace in figure.data}) == 6
    assert len({trace.line.color for trace in figure.data}) == 6
    assert [trace.name for trace in figure.data] == names
    assert figure.layout.title.text is None
    assert figure.layout.legend.yanchor == "bottom"


def test_many_beliefs_are_steps_not_hair() -> None:
    assert sv.plots.beliefs(sv.Channel.identity(10)).data[0].type == "bar"
    assert sv.plots.beliefs(sv.Channel.identity(100)).data[0].type == "scatter"


def test_the_page_has_headings_and_no_tool_bar() -> None:
    scenario = load_policy_scenario(Path("examples/survey-response.toml"))
    page = page_of(scenario, sv.audit(scenario))
    for heading in ("What the mechanism does", "Belief before and after", "Leakage against ε"):
        assert f">{heading}" in page
    assert '"displayModeBar": false' in page


def test_belief_plot_refuses_impossible_output() -> None:
    channel = sv.Channel([[1, 0], [0, 1]])
    with pytest.raises(sv.SievertError, match="probability 0"):
        sv.plots.beliefs(channel, sv.priors.point(2, 0), output=1)


ADVERSARIES = """
version = 1
policy = {{ values = ["a", "b", "c", "d"] }}
mechanism = {{ kind = "randomised-response", alpha = "1/3" }}
adversary = {{ {} }}
"""


def findings(folder: Path, adversary: str) -> Audit:
    return sv.audit(written(folder, ADVERSARIES.format(adversary)))


def test_only_what_is_measured_in_bits_has_bits(tmp_path: Path) -> None:
    """Shannon's bits are the uncertainty taken away; a ratio of other losses is no number of bits."""
    given = 'gains = ["identity", "shannon", "guessing", "bayes-risk"], prior = [0.4, 0.3, 0.2, 0.1]'
    scenario = written(tmp_path, ADVERSARIES.format(given))
    result = sv.audit(scenario)
    identity, shannon, guessing, risk = result.leakages
    assert shannon.bits == pytest.approx(sv.information.mutual_information(scenario.channel, scenario.prior))
    assert shannon.bits == pytest.approx(float(shannon.difference))
    assert (guessing.bits, risk.bits) == (None, None)
    assert identity.bits == pytest.approx(math.log2(float(identity.after) / float(identity.before)))
    curve = pictures_of(scenario, result)[2].figure
    assert [trace.name for trace in curve.data] == ["exact guess", "uncertainty removed"]
    here = int(np.argmin(np.abs(np.array(curve.data[1].x, dtype=float) - math.log(3))))
    assert curve.data[1].y[here] == pytest.approx(shannon.bits)
    page = page_of(scenario, result)
    assert page.count(">–</td>") == 2
    text = sentences(result)
    assert "Uncertainty: 1.85 bits before" in text
    assert "Chance of a wrong guess: 60.0% before" in text


def test_renamed_adversaries_keep_their_unit(tmp_path: Path) -> None:
    given = 'gains = [{ tries = 2, name = "shannon" }, { within = 0, name = "closeness" }]'
    result = findings(tmp_path, given)
    assert [item.unit for item in result.leakages] == ["probability", "probability"]


def test_gains_of_the_users_own(tmp_path: Path) -> None:
    """Euros are not a percentage, a share of 1 is; a bet may have nothing to grow from."""
    (tmp_path / "euros.csv").write_text("action,a,b,c,d\nsteal,5,0,0,0\nwait,1,1,1,1\n")
    (tmp_path / "share.csv").write_text("action,a,b,c,d\none,1,0.5,0,0\ntwo,0,0,0.5,1\n")
    (tmp_path / "bet.csv").write_text("action,a,b,c,d\neven,1,-1,1,-1\nodd,-1,1,-1,1\n")
    (tmp_path / "loss.csv").write_text("action,a,b,c,d\nonly,-1,-2,-1,-1\n")
    names = ", ".join(
        f'{{ matrix = "{name}.csv", name = "{name}" }}' for name in ("euros", "share", "bet", "loss")
    )
    result = findings(tmp_path, f"gains = [{names}]")
    euros, share, bet, loss = result.leakages
    assert (euros.unit, share.unit, bet.unit) == ("gain", "probability", "gain")
    text = sentences(result)
    assert "Euros: 1.25 before, 1.375 after (1.1 times, 0.138 bits); best blind guess: steal." in text
    assert "Share: 37.5% before" in text
    assert (bet.factor, bet.bits, float(bet.difference)) == (None, None, pytest.approx(1 / 3))
    assert "Bet: 0 before, 0.3333 after (0.3333 more)." in text
    assert (loss.factor, float(loss.difference)) == (None, 0)
    assert "Loss: -1.25 before, -1.25 after, no change; best blind guess: only." in text
    assert json.loads(json.dumps(result.to_dict()))["leakages"][2]["factor"] is None


def test_blind_guesses_are_named_only_where_one_is_best(tmp_path: Path) -> None:
    even = findings(tmp_path, 'gains = ["identity", { tries = 2 }, { property = ["a", "b"] }]')
    assert [item.blind_guess for item in even.leakages] == [None, None, None]
    assert "blind" not in sentences(even)
    given = 'gains = ["identity", { tries = 2 }, { property = ["a", "b"], name = "early" }]'
    skewed = findings(tmp_path, given + ", prior = [0.4, 0.3, 0.2, 0.1]")
    text = sentences(skewed)
    assert "best blind guess: a." in text
    assert "best blind guess: a, b." in text
    assert "Early: 70.0% before" in text
    assert "best blind guess: yes." in text
    assert "True" not in text


def test_no_gains_no_heading(tmp_path: Path) -> None:
    result = findings(tmp_path, "gains = []")
    assert all("Guessing" not in heading for heading, _ in lines(result))
    page = page_of(written(tmp_path, ADVERSARIES.format("gains = []")), result)
    assert "Leakage by adversary" not in page


def test_a_mechanism_that_tells_nothing(tmp_path: Path) -> None:
    result = sv.audit(
        written(
            tmp_path,
            """
            version = 1
            policy = { values = ["a", "b"] }
            mechanism = { kind = "randomised-response", eps = 0.0 }
            """,
        )
    )
    text = sentences(result)
    assert " 1 times" not in text
    assert "Exactly: 50.0% before, 50.0% after, no change." in text
    assert "the release tells nothing" in text


def test_a_person_may_own_several_records(tmp_path: Path) -> None:
    """What is found is about one record and says so; what is accepted is about the person."""
    result = sv.audit(
        written(
            tmp_path,
            """
            version = 1
            policy = { values = ["a", "b"], records = 5, person_records = 3 }
            query = { kind = "count", where = "a" }
            mechanism = { kind = "truncated-geometric", eps = 0.5 }
            accept = { guess = 0.9, eps = 1.0 }
            """,
        )
    )
    assert "One person" not in dict(lines(result))
    assert "person's value" not in str(result)
    assert "One person may own 3 records: together they are protected by ε = 1.5" in sentences(result)
    guess, total = result.checks
    assert (guess.name, guess.passed) == ("best guess about one person after the release", True)
    # ε = 1.5 between two values, at most, as `explain` says.
    assert (guess.value, guess.exact) == (pytest.approx(1 / (1 + math.exp(-1.5))), False)
    assert result.record.after < guess.value
    assert (result.releases_within.releases, result.releases_within.about) == (2, "one person")
    assert (
        str(result.releases_within)
        == "at least 2 releases keep the best guess about one person at or below 0.9"
    )
    assert total.name == "total ε for a person with 3 records after the release"
    assert (total.value, total.passed) == (pytest.approx(1.5), False)


def test_a_bound_above_the_limit_is_not_called_a_breach(tmp_path: Path) -> None:
    """Ten releases of a place cannot be listed: the limit is neither shown to hold nor to be exceeded."""
    text = (
        Path("examples/town-places.toml")
        .read_text()
        .replace("data/", str(Path("examples/data").resolve()) + "/")
    )
    many = text.replace("[accept]", "observations = 10\n[accept]")
    result = sv.audit(written(tmp_path, many))
    assert not result.repeated_exact
    assert "at most 99.9%" in sentences(result)
    (check,) = result.checks
    assert (check.passed, check.exact) == (False, False)
    assert "NOT SHOWN to be within the limit 25.0%" in str(check)
    assert "EXCEEDS" not in str(result)
    strict = sv.audit(written(tmp_path, many.replace("guess = 0.25", "guess = 0.1")))
    (check,) = strict.checks
    assert str(check) == "best guess about one record after one release: 10.4% EXCEEDS the limit 10.0%"
    assert isinstance(check, Check)


def test_an_audit_is_a_sentence_and_takes_a_path() -> None:
    result = sv.audit("examples/census-count.toml")
    assert sv.audit(Path("examples/census-count.toml")) == result
    assert str(result) == (
        "The mechanism keeps its promise and is within every limit of the file: one record is guessed with "
        "probability 20.0% before, 24.9% after one release and 31.1% after 10."
    )
    assert str(result) in result._repr_html_()


def test_no_claim_is_not_a_kept_promise(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("input,x,y\na,3/4,1/4\nb,1/4,3/4\n")
    result = sv.audit(
        written(tmp_path, 'version = 1\npolicy = { values = ["a", "b"] }\nmechanism = { matrix = "c.csv" }\n')
    )
    assert str(result).startswith("The mechanism satisfies ε = 1.09861: the value is guessed")


def test_json_holds_numbers_with_the_exact_texts_beside() -> None:
    data = json.loads(json.dumps(sv.audit("examples/survey-response.toml").to_dict()))
    first = data["leakages"][0]
    assert (first["before"], first["before_exact"], first["after_exact"]) == (0.25, "1/4", "1/2")
    assert isinstance(data["database"]["factor"], float)


def test_large_files_are_audited_in_floats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rounded channel with the uniform prior must not multiply matrices of fractions."""

    def refuse(*_: object) -> None:
        raise AssertionError("exact product")

    monkeypatch.setattr("sievert.numerics._exact.exact_matmul", refuse)
    scenario = written(
        tmp_path,
        """
        version = 1
        policy = { values = ["a", "b"], records = 60 }
        query = { kind = "count", where = "a" }
        mechanism = { kind = "truncated-geometric", eps = 0.5 }
        adversary = { gains = [{ within = 1 }, "closeness"] }
        """,
    )
    result = sv.audit(scenario)
    assert isinstance(result.leakages[0].before, float)
    assert "Leakage against" in page_of(scenario, result)


def test_the_page_marks_what_is_easiest_to_tell_apart() -> None:
    scenario = sv.load("examples/survey-response.toml")
    result = sv.audit(scenario)
    picture = pictures_of(scenario, result)[-1]
    assert picture.heading == "What must not be told apart"
    assert "the red line joins" in picture.caption
    assert any(trace.name == "easiest to tell apart" for trace in picture.figure.data)
    many = sv.load("examples/census-count.toml")
    assert len(pictures_of(many, sv.audit(many))) == 4


@pytest.mark.parametrize("records", [3, 100])
@pytest.mark.parametrize("query", ['kind = "histogram"', 'kind = "count"\nwhere = ["a"]'])
def test_noise_on_a_table_is_audited_without_data(tmp_path: Path, records: int, query: str) -> None:
    text = f"""version = 1
[policy]
values = ["a", "b", "c"]
records = {records}
[query]
{query}
[mechanism]
kind = "geometric"
eps = 0.5
[accept]
guess = 0.6
"""
    found = []
    for rest in ("", '[data]\ninput = "none.csv"\ncolumn = "answer"\n'):
        (tmp_path / "file.toml").write_text(text + rest, encoding="utf-8")
        found.append(sv.audit(tmp_path / "file.toml").to_dict())
    alone, beside = ({k: v for k, v in item.items() if k != "query"} for item in found)
    assert alone == beside


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (Check("guess", "guess", 0.5, 0.3114, True), "guess: 31.1% within the limit 50.0%"),
        (Check("guess", "guess", 0.1, 0.10002, False), "guess: 10.002% EXCEEDS the limit 10%"),
        (
            Check("advantage", "gain", 0.2, 0.25, False, exact=False),
            "gain: at most 25.0 percentage points, NOT SHOWN to be within the limit 20.0 percentage points",
        ),
        (Check("bits", "bits", 2.5, 12345.6, False), "bits: 12,350 EXCEEDS the limit 2.5"),
    ],
)
def test_limits_speak_as_other_sentences_do(check: Check, words: str) -> None:
    """Percents where probabilities are, with enough digits to tell a value from its limit."""
    assert str(check) == words
