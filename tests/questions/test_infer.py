"""[inference] in a file, `sievert infer`, the limits of [accept], and the section of an audit."""

import itertools
import json
import math
import re
from collections import defaultdict
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sievert as sv
from sievert.cli.app import app
from sievert.errors import FileError, NotAcceptedError
from sievert.files import load_policy_scenario
from sievert.inference import accuracy, newcomer, privacy_loss, survey
from sievert.questions.infer import infer
from sievert.report.infer import lines, page, tradeoff

CUSTODY = Path("examples/custody.toml")
COMPAS = [
    [1838, 46, 269, 61, 127, 20],
    [15, 0, 1, 0, 0, 0],
    [27, 0, 6, 3, 3, 0],
    [1, 0, 0, 0, 0, 0],
    [7135, 338, 1159, 227, 390, 39],
    [5, 0, 0, 0, 0, 0],
]
ROWS = "answer,vote,people\nyes,A,1\nyes,B,3\nno,A,4\nno,B,2\n"
FILE = """
version = 1
[policy]
values = ["yes", "no"]
records = {records}
[query]
{query}
[mechanism]
kind = "{kind}"
eps = {eps}
[inference]
secret = {secret}
use = "answer"
table = "rows.csv"
counts = "people"
public = {public}
{more}
"""


def write(folder: Path, text: str = FILE, **changes: object) -> Path:
    (folder / "rows.csv").write_text(ROWS)
    given = dict(
        records=1,
        query='kind = "record"',
        kind="randomised-response",
        eps=1.0,
        secret='"vote"',
        public="true",
        more="",
    )
    path = folder / "file.toml"
    path.write_text(text.format(**{**given, **changes}))
    return path


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(item) for item in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout


def test_the_example_is_scenario_a_of_the_thesis() -> None:
    found = infer(load_policy_scenario(CUSTODY))
    own = [[sum(row) if i == j else 0 for j in range(6)] for i, row in enumerate(COMPAS)]
    stated = newcomer(own, 0, math.log(5))
    assert float(found.loss.factor) == pytest.approx(float(stated.privacy_loss), rel=1e-9)
    assert float(found.accuracy.value) == pytest.approx(float(stated.utility), rel=1e-9)
    assert found.best is not None and found.best.certificate.verify().holds
    assert float(found.best.upper) == pytest.approx(5 / 6, rel=1e-9)
    assert found.passed and found.rows == 11710
    said = str(found)
    assert "guesses custody with 79.3% before and 82.9% after; the answer itself is right with 83.3%" in said
    assert "no mechanism with ε = 1.609 that gives away as little does better than 83.3%" in said
    # The frontier is a line with everything on or below it; local noise says nothing here.
    assert found.curve is not None and len(found.curve.slopes) == 1
    placed = {candidate.name: candidate for candidate in found.candidates}
    assert len(placed) == len(found.candidates)
    local = newcomer(own, [0], mechanism=sv.mechanisms.randomised_response(range(6), math.log(5)))
    everybody = placed["randomised response by everybody"]
    assert everybody.guess == pytest.approx(float(local.secret_after))
    assert everybody.accuracy == pytest.approx(float(local.utility))
    for candidate in found.candidates:
        if "without ε" not in candidate.name:
            assert candidate.accuracy <= found.curve.at(candidate.guess) + 1e-9


def test_scenario_b_tells_nothing_better(tmp_path: Path) -> None:
    marital = '["single", "significant other", "married", "separated", "divorced", "widowed"]'
    text = CUSTODY.read_text(encoding="utf-8")
    text = re.sub(r"values = \[.*?\]", f"values = {marital}", text, flags=re.DOTALL)
    text = text.replace('where = "pretrial defendant"', 'where = "single"')
    text = text.replace('use = "custody"', 'use = "marital"').replace(
        "data/", f"{CUSTODY.parent.resolve()}/data/"
    )
    path = tmp_path / "b.toml"
    path.write_text(text, encoding="utf-8")
    found = infer(load_policy_scenario(path))
    stated = newcomer(COMPAS, 0, math.log(5))
    assert float(found.loss.factor) == pytest.approx(float(stated.privacy_loss), rel=1e-9)
    assert float(found.accuracy.value) == pytest.approx(float(stated.utility), rel=1e-9)
    assert 1.5 < found.loss.odds < 5
    assert "guesses custody with 79.3% before and 79.3% after" in str(found)


def test_the_picture_is_in_percents() -> None:
    figure = tradeoff(infer(load_policy_scenario(CUSTODY)))
    assert figure.layout.xaxis.tickformat == figure.layout.yaxis.tickformat == ".3~p"
    assert figure.data[0].mode == "lines"
    assert len({trace.marker.symbol for trace in figure.data[1:]}) == len(figure.data) - 1


def test_a_record_and_its_secret(tmp_path: Path) -> None:
    found = infer(load_policy_scenario(write(tmp_path)))
    channel = sv.mechanisms.randomised_response(["yes", "no"], 1.0)
    correlation = sv.inference.Correlation([[0.1, 0.4], [0.3, 0.2]], secrets=["A", "B"], uses=["yes", "no"])
    assert float(found.loss.after) == pytest.approx(float(sv.inference.vulnerability(channel, correlation)))
    assert [c.name for c in found.candidates][1:3] == ["nothing", "the exact answer, without ε"]
    assert found.curve is not None
    for candidate in found.candidates:
        if candidate.name != "the exact answer, without ε":
            assert candidate.accuracy <= found.curve.at(max(candidate.guess, found.curve.limits[0])) + 1e-9


def test_random_records_are_a_survey(tmp_path: Path) -> None:
    path = write(
        tmp_path, records=9, query='kind = "count"\nwhere = "yes"', kind="truncated-geometric",
        eps=math.log(3), secret='"answer"', more='others = "random"',
    )  # fmt: skip
    found = infer(load_policy_scenario(path))
    stated = survey(9, math.log(3), kind="geometric", yes=0.4)
    assert float(found.loss.after) == pytest.approx(stated.privacy, rel=1e-9)
    assert float(found.accuracy.value) == pytest.approx(stated.accuracy, rel=1e-9)
    assert found.best is not None and float(found.best.upper) >= stated.accuracy - 1e-9


def test_somebody_joins_a_sum(tmp_path: Path) -> None:
    text = FILE.replace('["yes", "no"]', "[0, 1, 3]").replace('use = "answer"', 'use = "v"')
    (path := tmp_path / "file.toml").write_text(
        text.format(
            records=5,
            query='kind = "sum"',
            kind="truncated-geometric",
            eps=0.9,
            secret='"s"',
            public="true",
            more="",
        ).replace('counts = "people"\n', "")
    )
    (tmp_path / "rows.csv").write_text("s,v\na,0\na,1\nb,3\nb,3\n")
    found = infer(load_policy_scenario(path))
    assert found.rows == 4 and float(found.loss.after) > float(found.loss.before)
    assert found.best is not None and found.best.mechanism.inputs == (7, 8, 10)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(public="false"), "inference.public.*not declared public.*public = true"),
        (dict(secret='"vot"'), "no column 'vot'.*did you mean 'vote'"),
        (dict(secret='{ where = { vote = "C" } }'), "matches nothing"),
        (dict(records=9, query='kind = "count"\nwhere = "yes"', kind="truncated-geometric"),
         "policy.records: is 9, but the table has 10 rows.*records = 11"),
        (dict(records=3, query='kind = "histogram"', kind="geometric"), "a record, a count or a sum"),
        (dict(more="others = 3"), "others"),
        (dict(more="[accept]\ninference = 2.0"), "inference"),
    ],
)  # fmt: skip
def test_bad_files(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    with pytest.raises(FileError, match=message):
        infer(load_policy_scenario(write(tmp_path, **changes)))


def test_values_that_the_policy_does_not_have(tmp_path: Path) -> None:
    path = write(tmp_path)
    (tmp_path / "rows.csv").write_text(ROWS.replace("yes,A", "maybe,A"))
    with pytest.raises(FileError, match=r"inference.use: 'maybe' is not one of the policy's values"):
        infer(load_policy_scenario(path))


def test_the_private_data_is_no_public_table(tmp_path: Path) -> None:
    path = write(tmp_path, more='[data]\ninput = "rows.csv"\ncolumn = "answer"')
    with pytest.raises(FileError, match="is the private data"):
        infer(load_policy_scenario(path))


def test_limits_need_the_table(tmp_path: Path) -> None:
    text = Path("examples/census-count.toml").read_text().replace("guess = 0.5", "inference = 0.5")
    (tmp_path / "file.toml").write_text(text)
    with pytest.raises(FileError, match=r"goes with \[inference\]"):
        load_policy_scenario(tmp_path / "file.toml")


def test_secret_and_answer_in_one_have_no_free_lunch(tmp_path: Path) -> None:
    found = infer(load_policy_scenario(write(tmp_path, secret='"answer"')))
    assert found.best is not None and found.least == pytest.approx(0.2)
    assert float(found.best.accuracy) == pytest.approx(float(found.loss.after), abs=1e-9)
    text = " ".join(sentence for _, sentences in lines(found) for sentence in sentences)
    assert "no free lunch (Fernandes, Thm 5.1)" in text


def test_the_command_its_json_page_and_proof(tmp_path: Path) -> None:
    proof, report = tmp_path / "proof.json", tmp_path / "page.html"
    code, text = run("infer", CUSTODY, "--proof", proof, "--report", report)
    assert code == 0 and "Whoever sees the release guesses custody" in text and "Beliefs" in text
    assert "truncated geometric" in report.read_text(encoding="utf-8")
    assert run("verify", proof, CUSTODY)[0] == 0
    code, text = run("infer", CUSTODY, "--json")
    data = json.loads(text)
    assert code == 0 and data["passed"] is True and data["accuracy"]["value"] == pytest.approx(5 / 6)


def test_a_limit_that_is_exceeded_exits_1_everywhere(tmp_path: Path) -> None:
    path = write(tmp_path, eps=3.0, more="[accept]\ninference = 0.6")
    code, text = run("infer", path)
    assert code == 1 and "EXCEEDS the limit 60.0%" in text
    assert run("audit", path)[0] == 1
    path = write(tmp_path, eps=3.0, more="[accept]\nloss_factor = 1.2")
    assert run("audit", path)[0] == 1
    path = write(tmp_path, eps=3.0, more="[accept]\nloss_factor = 1.9")
    assert run("audit", path)[0] == 0


def test_an_audit_has_a_section_about_inference() -> None:
    code, text = run("audit", CUSTODY)
    assert code == 0
    assert "Inference\n" in text and "No mechanism with ε = 1.609" in " ".join(text.split())


def test_a_release_that_tells_too_much_is_refused(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text("person,answer\n1,yes\n2,no\n")
    (tmp_path / "budget.toml").write_text("person = 9.0\n")
    more = (
        '[accept]\ninference = 0.6\n[data]\ninput = "votes.csv"\ncolumn = "answer"\nperson = "person"\n'
        '[release]\nledger = "budget.toml"\ntest_seed = 1'
    )
    with pytest.raises(NotAcceptedError, match="best guess of vote"):
        sv.release.run(write(tmp_path, eps=3.0, more=more))


def test_the_page_draws_the_frontier() -> None:
    scenario = load_policy_scenario(CUSTODY)
    found = infer(scenario)
    text = page(found, scenario)
    assert "Accuracy against inference" in text and "randomised response" in text


@pytest.mark.parametrize("eps", [36, 100, 1000])
def test_a_large_eps_never_promises_more_than_everything(tmp_path: Path, eps: int) -> None:
    path = write(
        tmp_path, records=11, query='kind = "count"\nwhere = "yes"', kind="truncated-geometric", eps=eps
    )
    found = infer(load_policy_scenario(path))
    assert found.best is not None and found.best.upper <= 1 and found.best.certificate.verify().holds
    assert found.best.upper - found.best.accuracy < 1e-9


def test_sixty_answers_have_a_curve(tmp_path: Path) -> None:
    options = dict(
        query='kind = "count"\nwhere = "yes"', kind="truncated-geometric", more='others = "random"'
    )
    found = infer(load_policy_scenario(write(tmp_path, records=59, **options)))
    assert found.curve is not None and len(found.curve.limits) > 1


COUNT = 'kind = "count"\nwhere = "yes"'


def test_eps_0_on_many_counts(tmp_path: Path) -> None:
    found = infer(
        load_policy_scenario(write(tmp_path, records=11, query=COUNT, kind="truncated-geometric", eps=0))
    )
    assert found.loss.preserves and found.accuracy.value == float(found.accuracy.before)
    data = f"{CUSTODY.parent.resolve()}/data/"
    text = re.sub(r"(?m)^eps = .*$", "eps = 0", CUSTODY.read_text()).replace("data/", data)
    (tmp_path / "custody.toml").write_text(text)
    found = infer(load_policy_scenario(tmp_path / "custody.toml"))
    assert float(found.loss.after) == pytest.approx(float(found.loss.before), rel=1e-12)
    assert float(found.accuracy.value) == pytest.approx(9349 / 11710, rel=1e-12)


def test_gaussian_noise_has_no_eps(tmp_path: Path) -> None:
    path = write(tmp_path, records=11, query=COUNT, kind="gaussian")
    path.write_text(re.sub(r"(?m)^eps = .*$", "sigma = 1.0", path.read_text()))
    found = infer(load_policy_scenario(path))
    assert found.eps == math.inf and found.best is not None
    assert "no mechanism at all that gives away as little" in str(found)
    text = " ".join(sentence for _, sentences in lines(found) for sentence in sentences)
    assert "No mechanism at all that lets" in text and "ε" not in text


def test_unclaimed_noise_keeps_the_eps_of_its_law(tmp_path: Path) -> None:
    more = "[claim]\neps = 0.7\ndelta = 0.01"
    path = write(tmp_path, records=11, query=COUNT, kind="geometric", eps=0.8, more=more)
    assert infer(load_policy_scenario(path)).eps == pytest.approx(0.8, rel=1e-12)


def test_a_thousand_random_records(tmp_path: Path) -> None:
    path = write(
        tmp_path, records=1000, query=COUNT, kind="truncated-geometric", secret='"answer"',
        eps=math.log(3), more='others = "random"',
    )  # fmt: skip
    case = load_policy_scenario(path).inference
    stated = survey(1000, math.log(3), kind="geometric", yes=0.4)
    assert float(privacy_loss(case.channel, case.correlation).after) == pytest.approx(
        stated.privacy, rel=1e-9
    )
    assert float(accuracy(case.channel, case.correlation)) == pytest.approx(stated.accuracy, rel=1e-9)


def test_a_limit_below_the_blind_guess_says_that_nothing_passes(tmp_path: Path) -> None:
    found = infer(load_policy_scenario(write(tmp_path, more="[accept]\ninference = 0.3")))
    (check,) = found.checks
    assert not check.passed
    assert "no mechanism can pass: it is guessed with" in str(check)
    (fair,) = infer(load_policy_scenario(write(tmp_path, eps=3.0, more="[accept]\ninference = 0.6"))).checks
    assert not fair.passed and "no mechanism can pass" not in str(fair)


def test_the_page_speaks_in_percents_and_names_each_mechanism_once() -> None:
    scenario = load_policy_scenario(CUSTODY)
    found = infer(scenario)
    names = [candidate.name for candidate in found.candidates]
    assert names.count("truncated geometric") == 1 and len(set(names)) == len(names)
    text = page(found, scenario)
    assert ">79.3%<" in text and ">0.793168<" not in text
    symbols = {trace.marker.symbol for trace in tradeoff(found).data if trace.name in names}
    assert len(symbols) == len(names)


def test_random_records_of_a_sum_are_added_up_by_brute_force(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("pay,ill,people\n0,no,5\n2,no,3\n2,yes,2\n6,yes,4\n")
    text = FILE.replace('["yes", "no"]', "[0, 2, 6]").replace('use = "answer"', 'use = "pay"')
    path = tmp_path / "file.toml"
    path.write_text(
        text.format(
            records=3, query='kind = "sum"', kind="geometric", eps=1.0, secret='"ill"', public="true",
            more='others = "random"',
        )
    )  # fmt: skip
    case = load_policy_scenario(path).inference
    chance = {(0, "no"): 5, (2, "no"): 3, (2, "yes"): 2, (6, "yes"): 4}
    joint: dict[tuple[str, int], float] = defaultdict(float)
    for records in itertools.product(chance, repeat=3):
        joint[records[0][1], sum(pay for pay, _ in records)] += math.prod(chance[r] / 14 for r in records)
    found = case.correlation
    sums = tuple(sorted({total for _, total in joint}))
    assert found.uses == sums == case.channel.inputs == case.metric.points and 16 not in sums
    for (secret, total), mass in joint.items():
        got = found.joint[found.secrets.index(secret), found.uses.index(total)]
        assert got == pytest.approx(mass, rel=1e-12, abs=1e-300)
    stated = infer(load_policy_scenario(path))
    assert stated.best is not None and stated.best.certificate.verify().holds


def test_a_histogram_is_refused_with_a_question_that_is_answered(tmp_path: Path) -> None:
    path = write(tmp_path, query='kind = "histogram"', kind="geometric", records=11)
    with pytest.raises(FileError, match=r'no number that each record adds to.*kind = "count" with where'):
        infer(load_policy_scenario(path))


def test_an_audit_says_each_thing_about_inference_once() -> None:
    code, said = run("audit", CUSTODY)
    section = " ".join(said.split("\nInference\n")[1].split("\n\n")[0].split())
    assert code == 0 and section.count("before and") == 1
    assert "this is proved" in section and section.count("right with") == 1
