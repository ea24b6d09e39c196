"""One guard for everything that commands write: nothing that is read, nothing special, nothing unasked."""

import io
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from sievert.cli import main
from sievert.errors import FileError, OutputError
from sievert.tables import Outputs, write_text


def sievert(*arguments: str | Path) -> tuple[int, str]:
    out, before = io.StringIO(), sys.argv
    sys.argv = ["sievert", *map(str, arguments)]
    try:
        with redirect_stdout(out), redirect_stderr(out):
            main()
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.argv = before
    return code, " ".join(out.getvalue().split())


COUNTS = """version = 1
[policy]
values = ["yes", "no"]
records = 4
[query]
kind = "count"
where = "yes"
[mechanism]
kind = "truncated-geometric"
eps = 0.7
[use]
loss = "absolute"
prior = "prior.csv"
[data]
input = "data.csv"
column = "answer"
[release]
ledger = "budget.toml"
"""
REPORTS = """version = 1
[policy]
values = ["yes", "no"]
[mechanism]
kind = "randomised-response"
eps = 1.0
[estimate]
reports = "reports*.csv"
column = "answer"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "counts.toml").write_text(COUNTS)
    (tmp_path / "other.toml").write_text(COUNTS.replace("0.7", "0.5"))
    (tmp_path / "estimate.toml").write_text(REPORTS)
    (tmp_path / "prior.csv").write_text("answer,probability\n0,1\n1,1\n2,1\n3,1\n4,1\n")
    (tmp_path / "data.csv").write_text("answer\nyes\nno\nyes\nyes\n")
    (tmp_path / "reports1.csv").write_text("answer\n" + "yes\nno\nyes\nyes\n" * 20)
    (tmp_path / "budget.toml").write_text("person = 1.0\n")
    return tmp_path


# Each command with the option that writes, and files that it reads besides its own.
COMMANDS = [
    (["audit", "counts.toml"], "--report", ["counts.toml", "prior.csv", "data.csv", "budget.toml"]),
    (["audit", "counts.toml"], "--proof", ["counts.toml", "data.csv"]),
    (["breach", "counts.toml"], "--report", ["counts.toml"]),
    (["limits", "counts.toml"], "--report", ["counts.toml", "prior.csv"]),
    (["limits", "counts.toml"], "--proof", ["counts.toml"]),
    (["explain", "counts.toml"], "--report", ["counts.toml"]),
    (["explain", "counts.toml"], "--proof", ["counts.toml"]),
    (["explain", "--eps", "1", "--values", "3"], "--report", []),
    (["explain", "--eps", "1", "--values", "3"], "--proof", []),
    (["explain", "counts.toml", "--guess", "0.9"], "--proof", ["counts.toml"]),
    (["compare", "counts.toml", "other.toml"], "--report", ["counts.toml", "other.toml", "data.csv"]),
    (["compare", "counts.toml", "other.toml"], "--proof", ["other.toml"]),
    (["design", "counts.toml", "--output", "made.toml"], "--report", ["counts.toml", "prior.csv"]),
    (["design", "counts.toml", "--output", "made.toml"], "--proof", ["counts.toml"]),
    (["design", "counts.toml"], "--output", ["counts.toml", "budget.toml"]),
    (["estimate", "estimate.toml"], "--save-counts", ["estimate.toml", "reports1.csv"]),
    (["estimate", "estimate.toml"], "--report", ["estimate.toml", "reports1.csv"]),
    (["estimate", "estimate.toml"], "--proof", ["reports1.csv"]),
    (["release", "counts.toml", "--preview"], "--proof", ["counts.toml", "budget.toml", "prior.csv"]),
]


def run_in(folder: Path, *arguments: str | Path) -> tuple[int, str]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        return sievert(*arguments)
    finally:
        os.chdir(before)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


@pytest.mark.parametrize(
    "command, option, reads",
    COMMANDS,
    ids=lambda item: item if isinstance(item, str) else " ".join(item)[:40],
)
def test_no_command_writes_what_it_must_not(
    folder: Path, command: list[str], option: str, reads: list[str]
) -> None:
    name = "out.toml" if option == "--output" else "out.csv"
    (folder / "hard.toml").unlink(missing_ok=True)
    os.mkfifo(folder / "pipe.toml")
    (folder / "link.toml").symlink_to("elsewhere")
    (folder / "folder.toml").mkdir()
    for read in reads:
        (folder / f"soft-{read}").symlink_to(read)
        os.link(folder / read, folder / f"hard-{read}")
    (folder / name).write_text("an earlier result")
    before = contents(folder)
    bad = ["pipe.toml", "link.toml", "folder.toml", "nowhere/x.toml", *reads]
    bad += [f"{kind}-{read}" for read in reads for kind in ("soft", "hard")]
    if option == "--output":
        bad = [name for name in bad if name.endswith(".toml")]
    else:
        bad += ["/dev/null", "/dev/full"]
    for target in bad:
        for more in ([], ["--force"]):
            code, words = run_in(folder, *command, option, target, *more)
            assert code == 2, (target, words)
            assert contents(folder) == before, target
    code, words = run_in(folder, *command, option, name)
    assert code == 2 and "is there already" in words and contents(folder) == before
    # A budget with two names is refused, whatever is written.
    (folder / "hard-budget.toml").unlink(missing_ok=True)
    code, words = run_in(folder, *command, option, name, "--force")
    assert code in (0, 1), words
    assert (folder / name).read_text(errors="replace") != "an earlier result"


def test_two_outputs_are_two_files(folder: Path) -> None:
    code, words = run_in(folder, "limits", "counts.toml", "--proof", "x", "--report", "./x")
    assert code == 2 and "is named twice, by --report and by --proof" in words
    assert not (folder / "x").exists()


def test_a_design_does_not_replace_its_earlier_channel(folder: Path) -> None:
    assert run_in(folder, "design", "counts.toml")[0] == 0
    before = contents(folder)
    (folder / "counts-optimal.toml").unlink()
    code, words = run_in(folder, "design", "counts.toml", "--eps", "0.1")
    assert code == 2 and "counts-optimal.npz: is there already" in words
    assert (folder / "counts-optimal.npz").read_bytes() == before["counts-optimal.npz"]
    assert run_in(folder, "design", "counts.toml", "--eps", "0.1", "--force")[0] == 0
    assert (folder / "counts-optimal.npz").read_bytes() != before["counts-optimal.npz"]


def test_nothing_is_written_into_a_ledger(folder: Path) -> None:
    assert run_in(folder, "release", "counts.toml")[0] == 0
    for target in ("budget.ledger/x.html", "budget.ledger/ledger.jsonl"):
        code, words = run_in(folder, "audit", "counts.toml", "--report", target, "--force")
        assert code == 2 and "is read by this very run" in words


def test_a_designed_file_in_another_folder_still_finds_everything(folder: Path) -> None:
    text = """version = 1
[policy]
values = { product = [{ file = "codes/sex.csv" }, { range = [1, 2] }] }
[query]
kind = "record"
[mechanism]
kind = "randomised-response"
eps = 1.0
[adversary]
prior = "uniform"
record_prior = "codes/prior.csv"
gains = [{ matrix = "codes/gain.csv", name = "mine" }]
[use]
loss = { matrix = "codes/loss.csv" }
[data]
input = "data.csv"
column = ["sex", "size"]
[release]
ledger = "budget.toml"
ledger_key = "secret.key"
output = "out.csv"
remap = "codes/remap.csv"
[estimate]
reports = ["reports*.csv", "more.csv"]
original = "data.csv"
original_column = "sex"
"""
    (folder / "sub" / "deep").mkdir(parents=True)
    (folder / "through").symlink_to(folder / "sub" / "deep")
    (folder / "wide.toml").write_text(text)
    from sievert.files import load_policy_scenario
    from sievert.questions.design import designed_toml

    scenario = load_policy_scenario(folder / "wide.toml")
    for place in ("sub", "sub/deep", "through", "."):
        made = folder / place / "made.toml"
        made.write_text(designed_toml(scenario, {"matrix": "made.npz", "eps": 1.0}, made.parent))
        moved = load_policy_scenario(made)
        there = {os.path.realpath(path) for path in moved.reads()} - {os.path.realpath(made)}
        here = {os.path.realpath(path) for path in scenario.reads()} - {os.path.realpath(scenario.source)}
        assert there - {os.path.realpath(folder / place / "made.npz")} == here
        assert moved.document.adversary.prior == scenario.document.adversary.prior
        assert moved.document.release is not None and moved.document.release.output == "out.csv"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A limit on the size of files: writing fails as on a full disk."""
    resource = pytest.importorskip("resource")
    import signal

    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        yield tmp_path
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_disk_that_is_full_leaves_the_earlier_result(small_disk: Path) -> None:
    (small_disk / "x.txt").write_text("earlier")
    with pytest.raises(OutputError, match="cannot write there") as found:
        Outputs(force=True).write_text(small_disk / "x.txt", "x" * 5000)
    assert found.value.exit_code == 3
    assert (small_disk / "x.txt").read_text() == "earlier"
    assert [path.name for path in small_disk.iterdir()] == ["x.txt"]


def test_a_file_that_comes_meanwhile_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "x.txt"
    real = os.fsync

    def meanwhile(descriptor: int) -> None:
        real(descriptor)
        target.write_text("somebody else's")

    monkeypatch.setattr(os, "fsync", meanwhile)
    with pytest.raises(FileError, match="is there already"):
        Outputs().write_text(target, "mine")
    assert target.read_text() == "somebody else's"
    assert [path.name for path in tmp_path.iterdir()] == ["x.txt"]


@pytest.mark.parametrize("target", ["pipe", "link", "dangling"])
def test_saving_in_python_replaces_plain_files_only(tmp_path: Path, target: str) -> None:
    (tmp_path / "mine").write_text("mine")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("mine")
    (tmp_path / "dangling").symlink_to("nowhere")
    with pytest.raises(FileError, match=r"is a link|is a device or a pipe"):
        write_text(tmp_path / target, "x")
    assert (tmp_path / "mine").read_text() == "mine" and not (tmp_path / "nowhere").exists()


def test_a_device_is_left_alone(tmp_path: Path) -> None:
    device = tmp_path / "full"
    try:
        os.mknod(device, 0o020666, os.makedev(1, 7))
    except (OSError, AttributeError):
        pytest.skip("needs the right to make a device")
    shutil.copy("examples/census-count.toml", tmp_path / "file.toml")
    code, words = sievert("audit", tmp_path / "file.toml", "--report", device, "--force")
    assert code == 2 and "is a device or a pipe" in words and device.is_char_device()


@pytest.mark.parametrize("option", ["--save-counts", "--report", "--proof"])
def test_no_result_that_the_next_run_would_read(folder: Path, option: str) -> None:
    """A table of counts that the pattern of the reports matches would be counted with them."""
    (folder / "more").mkdir()
    for reports, name in (
        ([], "reports-counted.csv"),
        (["--reports", "rep*.csv"], "reportsnew.csv"),
        (["--reports", str(folder / "**" / "rep*.csv")], "more/reports2.csv"),
    ):
        before = contents(folder)
        code, said = run_in(folder, "estimate", "estimate.toml", *reports, option, name)
        assert code == 2 and "would read it as an input" in said, said
        assert contents(folder) == before
    code, said = run_in(folder, "estimate", "estimate.toml", "--reports", "rep*.csv", option, "counted.csv")
    assert code == 0, said
