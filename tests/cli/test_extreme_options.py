"""Numbers and names of options that no computation takes: refused by the option's name, or answered."""

import shutil
from pathlib import Path

import pytest

import sievert.cli

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NUMBERS = {
    "audit": ["--samples", "runs.csv", "--delta"],
    "breach": ["--level"],
    "design": ["--eps"],
    "explain": ["--sigma"],
    "limits": ["--eps"],
    "verify": ["file.toml", "--eps"],
}


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copied = tmp_path / "examples"
    shutil.copytree(EXAMPLES, copied)
    monkeypatch.chdir(copied)
    return copied


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str]:
    with pytest.raises(SystemExit) as end:
        sievert.cli.main(arguments)
    return end.value.code, " ".join(capsys.readouterr().err.replace("│", " ").split())


@pytest.mark.parametrize("command", NUMBERS)
@pytest.mark.parametrize("written", ["-1", "-inf", "1e308", "1e-301", "1e400", "1e-400"])
def test_a_number_is_in_the_range_that_is_computed_with(
    command: str, written: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = asked(capsys, command, "file.toml", *NUMBERS[command], written)
    assert code == 2
    option = NUMBERS[command][-1]
    assert f"Invalid value for '{option}': '{written}' is not 0, inf or a number from 1e-300 to 1e300" in said


@pytest.mark.parametrize("name", ["custody", "salaries", "release/income-by-district"])
@pytest.mark.parametrize("written", ["1e-300", "1e300"])
def test_noise_that_floats_cannot_weigh_is_refused(
    name: str, written: str, examples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = asked(capsys, "design", f"{name}.toml", "--output", "designed.toml", "--eps", written)
    assert code == 2 and "noise is designed for an ε from 1e-100 to 1e100" in said
    assert not (examples / "designed.toml").exists()


@pytest.mark.parametrize("written", ["1e-99", "1e99"])
def test_extreme_noise_is_weighed(written: str, examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = "release/income-by-district.toml"
    assert asked(capsys, "design", file, "--output", "designed.toml", "--eps", written)[0] == 0


def test_a_place_whose_noise_no_float_holds(examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = examples / "city-places.toml"
    file.write_text(file.read_text().replace("eps = 0.005", "eps = 1e308"))
    for arguments in (["design", file.name, "--output", "d.toml"], ["estimate", file.name]):
        code, said = asked(capsys, *arguments)
        assert code == 2 and "eps is 1e+308 for each metre" in said


@pytest.mark.parametrize("named", ["", ".", "/"])
def test_a_path_without_a_name(named: str, examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = asked(capsys, "design", named)
    assert code == 2 and "is a folder; name a file in it" in said
    code, said = asked(capsys, "release", "users/users.toml", "--output", named)
    assert code == 2 and "a release is written to .csv" in said


def test_values_have_an_entry_for_each_column(examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = examples / "clinic-statistics.toml"
    product = 'values = { product = [["surgery", "medicine", "maternity"], { range = [1, 30] }] }'
    text = file.read_text()
    assert product in text
    for values in ("[5]", '[["ward", 1], ["ward"]]'):
        file.write_text(text.replace(product, f"values = {values}"))
        code, said = asked(capsys, "audit", file.name)
        assert code == 2 and "data.column names 2 columns (ward, nights) but policy.values has" in said


def test_cells_of_a_map_are_counted_before_they_are_listed(
    examples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = examples / "city-places.toml"
    file.write_text(file.read_text().replace("cell = 200", "cell = 0.5"))
    code, said = asked(capsys, "limits", file.name, "--eps", "1")
    assert code == 2 and "the cells of the region would take 393,314,033" in said


@pytest.mark.parametrize("share", ["1" + "0" * 400, '"1e400"', "1.5", "0"])
def test_a_share_of_eps_is_at_most_1(share: str, examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = examples / "clinic-statistics.toml"
    text = file.read_text()
    assert text.count("share = 0.3") == 2
    file.write_text(text.replace("share = 0.3", f"share = {share}", 1))
    code, said = asked(capsys, "explain", file.name)
    assert code == 2 and "it must be a number above 0 and at most 1" in said


def test_answers_that_are_too_many_to_compare(examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = examples / "salaries.toml"
    file.write_text(file.read_text().replace("records = 4000", "records = 1"))
    code, said = asked(capsys, "breach", file.name)
    assert code == 2 and "the 301 answers, two by two, at 150,001 outputs would take" in said


@pytest.mark.parametrize("releases", [10**5, 10**18])
def test_many_releases_are_answered(
    releases: int, examples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Likelihoods of 10^5 answers overflowed, and noise was drawn for however many were asked for."""
    file = examples / "salaries.toml"
    file.write_text(file.read_text().replace("observations = 4 ", f"observations = {releases} "))
    assert asked(capsys, "audit", file.name)[0] in (0, 1)
    assert asked(capsys, "design", file.name, "--output", "designed.toml")[0] == 0


def test_more_releases_than_are_composed_add_up(examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A person's two stays after 10^18 releases: an arange of them took all memory."""
    file = examples / "clinic-statistics.toml"
    text = file.read_text()
    assert "[adversary]" not in text
    file.write_text(
        text.replace("[mechanism]", "[adversary]\nobservations = 1000000000000000000\n[mechanism]")
    )
    assert asked(capsys, "audit", file.name)[0] in (0, 1)


def test_more_releases_than_are_multiplied(examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = examples / "salaries.toml"
    file.write_text(file.read_text().replace("observations = 4 ", f"observations = 1{'0' * 400} "))
    code, said = asked(capsys, "design", file.name, "--output", "designed.toml")
    assert code == 2 and "adversary.observations must be less than or equal to 1000000000000000000" in said
