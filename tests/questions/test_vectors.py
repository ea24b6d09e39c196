"""Files with [vectors]: every question answers or says why not; releases are charged, resumed and matched."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from scipy import sparse
from typer.testing import CliRunner

import sievert as sv
from sievert.cli.app import app
from sievert.errors import BudgetError, DataError, FileError, NotAcceptedError, SievertError
from sievert.files import VectorsScenario
from sievert.questions.match import match
from sievert.questions.vectors import about_vectors, audit_vectors, compare_vectors, promise_of_vectors
from sievert.release import preview, read_released_codes, run
from sievert.vectors import accountant, reidentification
from tests.questions.vector_files import RESPONSE, X, folder, written

__all__ = ["folder"]


def test_an_audit_says_what_two_users_are_told_apart_by(folder: Path) -> None:
    scenario = written(folder, vectors='known = "known.npz"')
    found = audit_vectors(scenario)
    assert found.xi == pytest.approx(2.0, rel=1e-6) and found.xi <= 2.0 and found.measured == "angle"
    account = accountant(20, 0.05, scenario.mechanism.eps)  # type: ignore[attr-defined]
    assert found.guess == (1 + account.delta(0.0)) / 2
    assert found.worst == pytest.approx(20 * account.eps)
    codes = scenario.hashing.codes(X[:40])
    assert found.threat == reidentification(codes, account.eps)
    assert found.bounds is not None and found.bounds.exact == found.xi < found.bounds.kl
    assert list(found.curve.values()) == sorted(found.curve.values())
    assert (
        "9°" in str(found) and "re-identifies" in str(found) and found.exact and found.view == "output+seed"
    )
    assert sv.audit(scenario) == found


@pytest.mark.parametrize(
    ("mechanism", "exact"),
    [
        (RESPONSE, True),
        ('kind = "lsh-response"\neps = 0.5', True),
        ('kind = "soft-sign"\nscale = 0.5\nclip = 2.0', True),
        ('kind = "soft-sign"\nxi = 2.0\ndelta = 0.01\ndistance = 0.05\nclip = 2.0\nnoise = "gaussian"', True),
        ('kind = "laplace-lsh"\neps = 9.0', False),
        ('kind = "laplace-lsh"\nxi = 1.0\ndistance = 0.05', False),
    ],
)
def test_every_mechanism_is_audited_and_released(folder: Path, mechanism: str, exact: bool) -> None:
    scenario = written(folder, mechanism, more="" if exact else 'sampler = "float"')
    found = audit_vectors(scenario)
    assert found.sampler == ("exact" if exact else "float")
    if "xi" in mechanism:
        assert found.xi <= scenario.document.mechanism.xi * (1 + 1e-9)
    assert preview(scenario).possible
    done = run(scenario)
    assert done.secure == exact and done.users == 60
    assert float(done.eps) >= found.worst * (1 - 1e-9)
    released = read_released_codes(done.output)
    assert released.codes.identity == scenario.hashing.identity and len(released.codes) == 60
    nearest = match(released.users, released.codes, 3, released.eps, seed=1)
    assert (nearest.distance is None) == ("response" not in mechanism)


def test_a_release_is_charged_and_refused_when_spent(folder: Path) -> None:
    scenario = written(folder)
    first = sv.release.run(scenario)
    assert float(first.remaining) == pytest.approx(40 - float(first.eps))
    run(scenario, output=folder / "again.csv")
    assert not preview(scenario, output=folder / "third.csv").possible
    with pytest.raises(BudgetError):
        run(scenario, output=folder / "third.csv")
    facts = json.loads(Path(first.sidecar).read_text())
    assert facts["hash"]["seed"] == 7 and facts["private"] and facts["users"] == 60
    one, other = (read_released_codes(folder / name).codes for name in ("users-codes.csv", "again.csv"))
    flips = one.distances(other).diagonal().mean() / 20
    r = 1 / (1 + math.exp(facts["mechanism"]["eps"]))
    assert flips == pytest.approx(2 * r * (1 - r), abs=0.08)  # 1,200 bits: five standard deviations


def test_codes_of_others_are_refused(folder: Path) -> None:
    done = run(written(folder))
    table = Path(done.output)
    rows = table.read_text().splitlines()
    table.write_text("\n".join([*rows[:-1], rows[1]]) + "\n")
    with pytest.raises(FileError, match="is not the table"):
        read_released_codes(table)
    (folder / "lone.csv").write_text("user,code\n0,00\n")
    with pytest.raises(FileError, match="no such file"):
        read_released_codes(folder / "lone.csv")


def test_tables_of_three_forms_are_one(folder: Path) -> None:
    rows = ["who," + ",".join(f"i{j}" for j in range(12))]
    rows += [f"u{i}," + ",".join(f"{v:g}" for v in row) for i, row in enumerate(X)]
    (folder / "wide.csv").write_text("\n".join(rows) + "\n")
    long = ["who,what,stars"] + [f"u{i},i{j},{X[i, j]:g}" for i in range(60) for j in range(12) if X[i, j]]
    (folder / "long.csv").write_text("\n".join(long) + "\n")
    (folder / "items.csv").write_text("item\n" + "\n".join(f"i{j}" for j in range(12)) + "\n")
    wide = written(folder, vectors='input = "wide.csv"\nuser = "who"\ndimension = 12')
    tall = written(
        folder,
        vectors='input = "long.csv"\nuser = "who"\nitem = "what"\nrating = "stars"\nitems = "items.csv"',
    )
    wide, tall = (scenario.vectors(*scenario.units()) for scenario in (wide, tall))
    assert wide.users == tall.users == [f"u{i}" for i in range(60)]
    assert (tall.rows.toarray() == X).all() and (wide.rows == X).all()


def test_the_other_questions(folder: Path) -> None:
    scenario = written(folder, vectors='known = "known.npz"')
    explained = about_vectors("explain", scenario)
    assert explained.good and "9°" in str(explained)
    limits = about_vectors("limits", scenario).facts
    assert limits["own_bits"] < limits["bits"] < 20
    assert limits["own_bits"] == pytest.approx(
        math.log2(float(sv.capacity(sv.vectors.channel(1, limits["worst_nats"] / 20)))) * 20
    )
    breach = about_vectors("breach", scenario, observations=range(1, 5))
    assert breach.facts["guesses"]["same"][1] == breach.facts["guesses"]["fresh"][1]
    assert list(breach.facts["guesses"]["fresh"].values()) == sorted(
        breach.facts["guesses"]["fresh"].values()
    )
    assert "without bias" in str(about_vectors("estimate", scenario))
    with pytest.raises(FileError, match="inference"):
        about_vectors("infer", scenario)
    safer = written(folder, 'kind = "lsh-response"\neps = 0.3', vectors='known = "known.npz"', name="safer")
    assert compare_vectors(scenario, safer).good and not compare_vectors(safer, scenario).good
    small = '{ kind = "hyperplane", bits = 3, seed = 7 }'
    pair = [
        written(folder, f'kind = "lsh-response"\neps = {e}', name=f"e{i}", hashed=small)
        for i, e in enumerate((1.0, 0.5))
    ]
    assert "refinement" in compare_vectors(*pair).facts
    wide = '{ kind = "hyperplane", bits = 200, seed = 7 }'
    pair = [
        written(folder, f'kind = "lsh-response"\neps = {e}', name=f"w{i}", hashed=wide)
        for i, e in enumerate((1.0, 0.5))
    ]
    found = compare_vectors(*pair)
    assert found.certificate is not None and sv.verify(found.certificate).holds and found.good
    soft = written(folder, 'kind = "soft-sign"\nscale = 0.5\nclip = 2.0', name="soft")
    with pytest.raises(FileError, match="lsh-response only"):
        about_vectors("breach", soft)
    with pytest.raises(FileError, match="debiased"):
        about_vectors("estimate", soft)


@pytest.mark.parametrize(
    "mechanism",
    [RESPONSE, 'kind = "soft-sign"\nscale = 0.5\nclip = 2.0', 'kind = "laplace-lsh"\neps = 9.0'],
)
def test_a_guess_is_solved_backwards(folder: Path, mechanism: str) -> None:
    scenario = written(folder, mechanism, hashed='{ kind = "hyperplane", bits = 4, seed = 7 }')
    found = about_vectors("explain", scenario, guess=0.55)
    assert 0.5495 < found.facts["guess"] <= 0.55
    assert found.facts["level"] == pytest.approx(scenario.with_level(found.facts["level"]).mechanism.level)
    if "response" in mechanism:
        many = about_vectors("explain", scenario, guess=0.55, releases=2).facts
        assert many["level"] < found.facts["level"] and 0.5495 < many["guess"] <= 0.55
    if "laplace" not in mechanism:
        near = written(folder, mechanism, vectors="distance = 0.0001")
        with pytest.raises(FileError, match="no level is needed"):
            about_vectors("explain", near, guess=0.9)


def test_codes_of_many_values(folder: Path) -> None:
    """MinHash with four values: audited, proved, limited, compared, released and matched."""
    hashed = '{ kind = "minhash", bits = 6, seed = 7, values = 4 }'
    scenario = written(folder, vectors='known = "known.npz"', hashed=hashed)
    found, eps = audit_vectors(scenario), scenario.mechanism.level
    assert found.xi <= 2.0 and found.exact and found.bounds is None and "4 values" in found.mechanism
    assert accountant(6, 0.05 * 0.75, eps, values=4).xi(0.01) == found.xi
    assert found.threat is not None and not found.threat.exact and 1 / 40 < found.threat.value < 1
    assert sv.verify(promise_of_vectors(scenario)).holds
    limits = about_vectors("limits", scenario).facts
    assert limits["own_bits"] == pytest.approx(
        6 * math.log2(float(sv.capacity(sv.vectors.channel(1, eps, values=4))))
    )
    assert compare_vectors(scenario, scenario).certificate is not None
    done = run(scenario)
    released = read_released_codes(done.output)
    assert released.codes.values == 4 and released.codes.coordinates().max() == 3
    assert match(released.users, released.codes, 3, released.eps, seed=1).distance is None
    with pytest.raises(FileError, match="design is for bits"):
        about_vectors("design", scenario)
    with pytest.raises(SievertError, match="values"):
        written(folder, hashed='{ kind = "minhash", bits = 6, seed = 7, values = 1 }').check()


def test_limits_are_kept(folder: Path) -> None:
    strict = written(
        folder, vectors='known = "known.npz"', more="[accept]\nnats = 1.0\nreidentified = 0.01\n"
    )
    found = audit_vectors(strict)
    assert not found.passed and len(found.failed) == 2
    with pytest.raises(NotAcceptedError, match="nats at distance"):
        run(strict)
    assert run(strict, despite_accept=True).users == 60


def test_the_command_line(folder: Path) -> None:
    written(folder)
    run: Any = CliRunner().invoke
    file = str(folder / "users.toml")
    for command in (["audit", file], ["explain", file], ["release", "--preview", file], ["release", file]):
        answer = run(app, command)
        assert answer.exit_code == 0, answer.output
    codes = str(folder / "users-codes.csv")
    answer = run(
        app, ["match", codes, "--neighbours", "2", "--output", str(folder / "near.csv"), "--device", "cpu"]
    )
    assert answer.exit_code == 0 and "2 nearest of 60 users" in answer.output
    assert len((folder / "near.csv").read_text().splitlines()) == 121
    found = json.loads(run(app, ["audit", "--json", file]).output)
    assert found["passed"] and found["view"] == "output+seed"
    assert run(app, ["compare", file, file]).exit_code == 0


def test_pages_proofs_and_designed_files(folder: Path) -> None:
    written(folder, vectors='known = "known.npz"', hashed='{ kind = "hyperplane", bits = 6, seed = 7 }')
    run: Any = CliRunner().invoke
    file, page, proof, made = (
        str(folder / name) for name in ("users.toml", "page.html", "proof.json", "designed.toml")
    )
    for command in (
        ["explain", file, "--releases", "2"],
        ["design", file, "--output", made],
        ["release", "--preview", file],
    ):
        answer = run(app, [*command, "--force", "--report", page, "--proof", proof])
        assert answer.exit_code == 0, answer.output
        assert "</html>" in Path(page).read_text(encoding="utf-8")
        assert run(app, ["verify", proof, file]).exit_code == 0
        assert run(app, ["verify", proof, made]).exit_code != 0
    chosen = sv.load(made)
    assert isinstance(chosen, VectorsScenario) and audit_vectors(chosen).xi <= 2.0
    for question in (["audit"], ["limits", "--eps", "1"], ["breach", "--observations", "1,3"], ["estimate"]):
        answer = run(app, [question[0], file, *question[1:], "--report", page, "--force"])
        assert answer.exit_code == 0, answer.output
    answer = run(app, ["compare", file, file, "--proof", proof, "--force"])
    assert answer.exit_code == 0 and run(app, ["verify", proof, file, file]).exit_code == 0
    for refused in (
        ["explain", file, "--guess", "0.5"],
        ["estimate", file, "--column", "x"],
        ["infer", file],
    ):
        assert isinstance(run(app, refused).exception, FileError)
    soft = written(folder, 'kind = "soft-sign"\nscale = 0.5\nclip = 2.0', name="soft")
    assert about_vectors("explain", soft).certificate is None
    for wrong in (lambda: promise_of_vectors(soft), lambda: about_vectors("limits", soft, eps=1.0)):
        with pytest.raises(FileError, match=r"lsh-response"):
            wrong()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mechanism": 'kind = "lsh-response"'}, "either the level"),
        ({"mechanism": 'kind = "lsh-response"\neps = 1.0\nxi = 1.0\ndistance = 0.1'}, "either the level"),
        ({"mechanism": 'kind = "laplace"\neps = 1.0'}, "laplace-lsh"),
        ({"mechanism": 'kind = "lsh-respons"\neps = 1.0'}, "did you mean"),
        ({"mechanism": 'kind = "soft-sign"\nscale = 1.0'}, "clip"),
        ({"mechanism": 'kind = "lsh-response"\nxi = 1.0\ndelta = 0.9\ndistance = 0.05'}, "no noise at all"),
        (
            {
                "mechanism": 'kind = "soft-sign"\nscale = 1.0\nclip = 1.0',
                "hashed": '{ kind = "minhash", bits = 4, seed = 1 }',
            },
            "hyperplanes",
        ),
        ({"vectors": 'input = "ratings.npz"'}, "give either dimension"),
        ({"vectors": "delta = 1.0"}, "below 1"),
        ({"vectors": 'known = "ratings.npz"'}, "ratings.npz"),
        ({"hashed": '{ kind = "hyperplane", bits = 0, seed = 1 }'}, "bits"),
        ({"hashed": '{ kind = "simhash", bits = 8, seed = 1 }'}, "simhash"),
    ],
)
def test_wrong_files_are_refused(folder: Path, change: dict[str, str], words: str) -> None:
    with pytest.raises(SievertError, match=words):
        written(folder, **change).check()


def test_wrong_data_are_refused_and_not_charged(folder: Path) -> None:
    bad = X.copy()
    bad[3] = 0
    sparse.save_npz(folder / "ratings.npz", sparse.csr_array(bad))
    with pytest.raises(DataError, match="row 3 is zero"):
        run(written(folder))
    assert not (folder / "budget.ledger").exists()
    assert run(written(folder, vectors='zero = "random"')).users == 60
    with pytest.raises(FileError, match=r"12 coordinates, and \[vectors\] says 9"):
        run(written(folder, vectors='input = "ratings.npz"\ndimension = 9'))
    (folder / "ratings.npz").write_bytes(b"no archive")
    with pytest.raises(FileError, match="no sparse matrix"):
        run(written(folder), output=folder / "x.csv")
    with pytest.raises(FileError, match="exact sampler"):
        run(written(folder, 'kind = "laplace-lsh"\neps = 1.0'))


@pytest.mark.parametrize("kind", ["lsh-response", "laplace-lsh", "soft-sign"])
def test_a_level_without_bounds_is_refused_before_work(folder: Path, kind: str) -> None:
    """Formerly an OverflowError, or no answer for minutes."""
    name = "scale" if kind == "soft-sign" else "eps"
    clip = "\nclip = 4.0" if kind == "soft-sign" else ""
    file = written(folder, f'kind = "{kind}"\n{name} = 1e308{clip}')
    for question in ("limits", "explain", "breach"):
        with pytest.raises(FileError, match=rf"{name} is 1e\+308; give at most 1e\+12"):
            about_vectors(question, file)
