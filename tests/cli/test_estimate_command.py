"""`sievert estimate` as a user runs it."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest

import sievert as sv

Sievert = Callable[..., CompletedProcess[str]]

EXAMPLE = "examples/commute-reports.toml"


def words(text: str) -> str:
    return " ".join(text.split())


def survey(folder: Path, extra: str = "") -> Path:
    rng = np.random.default_rng(3)
    channel = sv.mechanisms.randomised_response(["never", "once", "often"], alpha="1/3")
    truth = rng.choice(["never", "once", "often"], 6000, p=[0.6, 0.3, 0.1])
    reports = channel.sample(truth, rng=rng)
    (folder / "r.csv").write_text("answer\n" + "\n".join(reports) + "\n")
    path = folder / "survey.toml"
    path.write_text(
        'version = 1\n[policy]\nvalues = ["never", "once", "often"]\n'
        '[mechanism]\nkind = "randomised-response"\nalpha = "1/3"\n' + extra
    )
    return path


def test_the_example_speaks_in_sentences(sievert: Sievert, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = sievert("estimate", EXAMPLE, "--report", page)
    assert done.returncode == 0, done.stderr
    assert "From 20,000 noisy reports: the mean is 25.14 (24.94 to 25.34 at 95% confidence)." in words(
        done.stdout
    )
    assert "The reports determine the probabilities of all 61 values." in words(done.stdout)
    assert "The raw reports are 1.661 away." in words(done.stdout)
    assert "and 31 more values" in words(done.stdout)
    text = page.read_text(encoding="utf-8")
    for word in ("Original, noisy and estimated", "reported (noisy)", "Plotly.newPlot"):
        assert word in text
    assert "http://" not in text.split("</style>")[1].split("<h1>")[1]


def test_true_values_make_a_page_private_and_public_ones_do_without(sievert: Sievert, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    shown = sievert("estimate", EXAMPLE, "--report", page)
    assert "Computed from true values: not to be published" in words(shown.stdout)
    assert 'class="banner"' in page.read_text(encoding="utf-8")
    # The true values are not even read: the file need not be there.
    text = Path(EXAMPLE).read_text(encoding="utf-8")
    absent = text.replace("data/commute-original.csv", "nowhere.csv").replace(
        "data/", f"{(Path(EXAMPLE).parent / 'data').resolve().as_posix()}/"
    )
    path = tmp_path / "public.toml"
    path.write_text(absent, encoding="utf-8")
    assert sievert("estimate", path).returncode == 2
    done = sievert("estimate", path, "--public", "--report", page, "--force")
    assert done.returncode == 0, done.stderr
    html = page.read_text(encoding="utf-8").split("<body>")[1]
    for text in (words(done.stdout), html):
        assert "From 20,000 noisy reports: the mean is 25.14" in text
        assert "Against the original" not in text
        assert "Kantorovich" not in text
    assert 'class="banner"' not in html
    assert "Noisy and estimated" in html
    assert "<th>original</th>" not in html
    assert '"name":"original"' not in html
    data = json.loads(sievert("estimate", path, "--public", "--json").stdout)
    assert data["original"] is data["distance"] is data["raw_distance"] is None


def test_json_has_everything(sievert: Sievert) -> None:
    done = sievert("estimate", EXAMPLE, "--json", "--method", "auto")
    data = json.loads(done.stdout)
    assert data["estimate"]["method"] == "maximum-likelihood"
    assert sum(data["estimate"]["distribution"]) == pytest.approx(1)
    assert data["estimate"]["likelihood_gap"] * 20_000 < 1e-6
    assert data["distance"] < data["raw_distance"]


def test_the_proof_is_verified(sievert: Sievert, tmp_path: Path) -> None:
    proof = tmp_path / "proof.json"
    done = sievert("estimate", EXAMPLE, "--method", "auto", "--proof", proof)
    assert done.returncode == 0, done.stderr
    checked = sievert("verify", proof)
    assert checked.returncode == 0
    assert checked.stdout.startswith("verified: no distribution of these 61 values")


def test_reports_on_the_command_line_and_saved_counts(sievert: Sievert, tmp_path: Path) -> None:
    path = survey(tmp_path)
    counts = tmp_path / "counts.csv"
    first = sievert("estimate", path, "--reports", tmp_path / "r.csv", "--save-counts", counts, "--json")
    assert first.returncode == 0, first.stderr
    again = survey(tmp_path, '[estimate]\nreports = "counts.csv"\ncolumn = "report"\ncounts = "count"\n')
    second = sievert("estimate", again, "--json")
    one, two = (json.loads(done.stdout)["estimate"]["distribution"] for done in (first, second))
    assert one == two
    assert one == pytest.approx([0.6, 0.3, 0.1], abs=0.06)


def test_groups_with_an_eps_of_their_own(sievert: Sievert, tmp_path: Path) -> None:
    path = survey(tmp_path)
    rng = np.random.default_rng(4)
    clear = sv.mechanisms.randomised_response(["never", "once", "often"], 4.0)
    truth = rng.choice(["never", "once", "often"], 6000, p=[0.6, 0.3, 0.1])
    (tmp_path / "clear.csv").write_text("answer\n" + "\n".join(clear.sample(truth, rng=rng)) + "\n")
    both = survey(
        tmp_path, '[estimate]\ngroups = [{ reports = "r.csv" }, { reports = "clear.csv", eps = 4.0 }]\n'
    )
    data = json.loads(sievert("estimate", both, "--json").stdout)["estimate"]
    assert data["reports"] == 12_000
    assert data["distribution"] == pytest.approx([0.6, 0.3, 0.1], abs=0.025)
    assert path == both


def test_singular_mechanisms_show_what_is_possible(sievert: Sievert, tmp_path: Path) -> None:
    (tmp_path / "channel.csv").write_text("input,low,high\na,1,0\nb,1/2,1/2\nc,1/2,1/2\n")
    (tmp_path / "r.csv").write_text("report\n" + "low\n" * 75 + "high\n" * 25)
    path = tmp_path / "s.toml"
    path.write_text(
        'version = 1\n[policy]\nvalues = ["a", "b", "c"]\n[mechanism]\nmatrix = "channel.csv"\n'
        '[estimate]\nreports = "r.csv"\n'
    )
    done = sievert("estimate", path)
    assert done.returncode == 0, done.stderr
    assert "of 'b' and 'c' only the total" in words(done.stdout)
    assert "0% to 50.0%" in words(done.stdout)
    refused = sievert("estimate", path, "--method", "inversion")
    assert refused.returncode == 2
    assert "of 'b' and 'c' only the total" in refused.stderr


def test_the_headline_says_no_more_than_the_reports(sievert: Sievert, tmp_path: Path) -> None:
    (tmp_path / "channel.csv").write_text("input,low,high\na,1/2,1/2\nb,1/2,1/2\nc,1/4,3/4\n")
    (tmp_path / "r.csv").write_text("report\n" + "low\n" * 40 + "high\n" * 60)
    path = tmp_path / "s.toml"
    start = 'version = 1\n[policy]\nvalues = ["a", "b", "c"]\n[mechanism]\n'
    path.write_text(start + 'matrix = "channel.csv"\n[estimate]\nreports = "r.csv"\n')
    text = words(sievert("estimate", path).stdout)
    assert "distributions with different most frequent values fit them equally well" in text
    assert "`ranges`" not in text
    assert "of 'a' and 'b' only the total" in text
    (tmp_path / "same.csv").write_text("report\n" + "a\n" * 10)
    path.write_text(start + 'kind = "randomised-response"\neps = 1.0\n[estimate]\nreports = "same.csv"\n')
    text = words(sievert("estimate", path).stdout)
    # Ten reports prove nothing to the last percent, though the inverse is far beyond 1.
    assert "the most frequent value is a with 100% (15.9% to 100% at 95% confidence)" in text
    assert "b 0% 0% 0% to 69.6%" in text
    path.write_text(start + 'kind = "randomised-response"\neps = 0.0\n[estimate]\nreports = "same.csv"\n')
    assert "of 'a', 'b' and 'c' only the total" in words(sievert("estimate", path).stdout)


def test_too_much_noise_leaves_the_mean_open(sievert: Sievert, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("report\n" + "0\n" * 495 + "10\n" * 505)
    path = tmp_path / "s.toml"
    start = 'version = 1\n[policy]\nvalues = { range = [0, 10] }\nsecrets = "line"\n[mechanism]\n'
    end = '[estimate]\nreports = "r.csv"\n'
    path.write_text(f'{start}kind = "truncated-geometric"\neps = 1e-9\n{end}')
    done = sievert("estimate", path)
    assert "the mean can be anything from 0 to 10, for all they tell." in words(done.stdout)
    # A value nobody reported was reported by 0%, and not by "–".
    assert "1 0% 0% 0% to 100%" in words(done.stdout)


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ("", "says nowhere where the noisy reports are"),
        ('[estimate]\nreports = "none.csv"\n', "no such file"),
        ('[estimate]\nreports = "r.csv"\ncolumn = "reply"\n', "no column 'reply'"),
        ('[estimate]\nreports = "r.csv"\nmethod = "magic"\n', "estimate.method must be"),
        ('[estimate]\nreports = "r.csv"\noriginal_column = "x"\n', "original_column goes with original"),
        ('[estimate]\nreports = "r.csv"\ngroups = [{ reports = "r.csv" }]\n', "not both"),
    ],
)
def test_mistakes_are_explained(sievert: Sievert, tmp_path: Path, extra: str, message: str) -> None:
    done = sievert("estimate", survey(tmp_path, extra))
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
