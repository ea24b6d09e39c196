"""[inference] in a file, `sievert infer`, the limits of [accept], and the section of an audit."""

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sievert as sv
from sievert.cli.app import app
from sievert.errors import FileError, NotAcceptedError
from sievert.files import load_scenario
from sievert.inference import newcomer, survey
from sievert.questions.infer import infer
from sievert.report.infer import lines, page

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


def test_the_example_is_scenario_b_of_the_thesis() -> None:
    found = infer(load_scenario(CUSTODY))
    stated = newcomer(COMPAS, 0, math.log(5))
    assert float(found.loss.factor) == pytest.approx(float(stated.privacy_loss), rel=1e-9)
    assert float(found.accuracy.value) == pytest.approx(float(stated.utility), rel=1e-9)
    assert found.best is not None and found.best.certificate.verify().holds
    assert float(found.best.upper) == pytest.approx(5 / 6, rel=1e-9)
    assert found.passed and found.rows == 11710
    assert 1.5 < found.loss.odds < 5
    assert "guesses custody with 79.3% before and 79.3% after" in str(found)


def test_a_record_and_its_secret(tmp_path: Path) -> None:
    found = infer(load_scenario(write(tmp_path)))
    channel = sv.mechanisms.randomised_response(["yes", "no"], 1.0)
    correlation = sv.inference.Correlation([[0.1, 0.4], [0.3, 0.2]], secrets=["A", "B"], uses=["yes", "no"])
    assert float(found.loss.after) == pytest.approx(float(sv.inference.vulnerability(channel, correlation)))
    assert [c.name for c in found.candidates][1:3] == ["nothing", "the exact answer"]
    assert found.curve is not None
    for candidate in found.candidates:
        if candidate.name not in ("the exact answer",):
            assert candidate.accuracy <= found.curve.at(max(candidate.guess, found.curve.limits[0])) + 1e-9


def test_random_records_are_a_survey(tmp_path: Path) -> None:
    path = write(
        tmp_path, records=9, query='kind = "count"\nwhere = "yes"', kind="truncated-geometric",
        eps=math.log(3), secret='"answer"', more='others = "random"',
    )  # fmt: skip
    found = infer(load_scenario(path))
    stated = survey(9, math.log(3), "geometric", 0.4)
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
    found = infer(load_scenario(path))
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
        infer(load_scenario(write(tmp_path, **changes)))


def test_values_that_the_policy_does_not_have(tmp_path: Path) -> None:
    path = write(tmp_path)
    (tmp_path / "rows.csv").write_text(ROWS.replace("yes,A", "maybe,A"))
    with pytest.raises(FileError, match=r"inference.use: 'maybe' is not one of the policy's values"):
        infer(load_scenario(path))


def test_the_private_data_is_no_public_table(tmp_path: Path) -> None:
    path = write(tmp_path, more='[data]\ninput = "rows.csv"\ncolumn = "answer"')
    with pytest.raises(FileError, match="is the private data"):
        infer(load_scenario(path))


def test_limits_need_the_table(tmp_path: Path) -> None:
    text = Path("examples/census-count.toml").read_text().replace("guess = 0.5", "inference = 0.5")
    (tmp_path / "file.toml").write_text(text)
    with pytest.raises(FileError, match=r"goes with \[inference\]"):
        load_scenario(tmp_path / "file.toml")


def test_secret_and_answer_in_one_have_no_free_lunch(tmp_path: Path) -> None:
    found = infer(load_scenario(write(tmp_path, secret='"answer"')))
    assert found.best is None and found.least == pytest.approx(0.2)
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
    assert "Inference\n" in text and "no mechanism with ε = 1.609" in " ".join(text.split())


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
    scenario = load_scenario(CUSTODY)
    found = infer(scenario)
    text = page(found, scenario)
    assert "Accuracy against inference" in text and "randomised response" in text
