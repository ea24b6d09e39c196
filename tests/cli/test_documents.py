"""The commands on documents: audit, preview, release, attack; every other question answers or says why."""

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sievert as sv
from sievert.cli import main
from sievert.errors import BudgetError, DataError, FileError, LedgerError, NotAcceptedError, OutputError
from sievert.files import described
from sievert.ledger import Reservation
from sievert.questions.documents import (
    about_documents,
    attack_documents,
    compare_documents,
    estimate_documents,
)

LETTERS = Path("examples/letters")
Change = Callable[..., Path]


@pytest.fixture
def letters(tmp_path: Path) -> Change:
    """A copy of the example with fewer words, and changes in its text."""
    shutil.copytree(LETTERS, tmp_path / "letters")

    def change(*pairs: tuple[str, str]) -> Path:
        path = tmp_path / "letters" / "letters.toml"
        text = (LETTERS / "letters.toml").read_text(encoding="utf-8")
        for old, new in (('embedding = "small"', 'embedding = "small"\nvocabulary = 4000'), *pairs):
            assert old in text
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")
        return path

    return change


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(part) for part in arguments])
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


def test_an_audit_says_nats_and_the_verdict(letters: Change, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "audit", letters())
    assert code == 0
    words = " ".join(out.split())
    assert "above about 5 nats this is no promise" in words
    assert "harvest.txt and voyage.txt" in words
    found = json.loads(run(capsys, "audit", letters(), "--json")[1])
    assert found["passed"] and found["worst"] > 100 and found["sampler"] == "exact"


def test_limits_are_judged(letters: Change, capsys: pytest.CaptureFixture[str]) -> None:
    strict = letters(("[mechanism]", "[accept]\nnats = 5.0\n[mechanism]"))
    assert run(capsys, "audit", strict)[0] == 1
    assert run(capsys, "release", strict, "--preview")[0] == 1
    with pytest.raises(NotAcceptedError, match="accepted are 5"):
        sv.release.run(strict)
    mild = letters(
        ("[mechanism]", "[accept]\nnats = 5.0\nguess = 0.99\n[mechanism]"), ("eps = 4.0", "eps = 0.04")
    )
    assert run(capsys, "audit", mild)[0] == 0
    assert sv.audit(mild).guess < 0.99


def test_accept_needs_references(letters: Change) -> None:
    path = letters(
        ("[mechanism]", "[accept]\nnats = 5.0\n[mechanism]"),
        ('references = ["references/harvest.txt", "references/voyage.txt"]\n', ""),
    )
    found = sv.audit(path)
    assert not found.passed and "needs documents.references" in found.failed[0]


def test_a_preview_reads_no_letter(letters: Change, capsys: pytest.CaptureFixture[str]) -> None:
    path = letters()
    shutil.rmtree(path.parent / "texts")
    code, out, _ = run(capsys, "release", path, "--preview")
    assert code == 0 and "ε = 12 per unit of distance" in " ".join(out.split())
    assert not list(path.parent.glob("*.ledger"))


def test_a_release_charges_writes_and_says_what_it_means(
    letters: Change, capsys: pytest.CaptureFixture[str]
) -> None:
    path = letters()
    code, out, _ = run(capsys, "release", path)
    assert code == 0, out
    with (path.parent / "out" / "letters.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 24 and {len(row["words"].split()) for row in rows} == {60}
    beside = json.loads((path.parent / "out" / "letters.csv.json").read_text(encoding="utf-8"))
    assert beside["charged"] == "12" and beside["mechanism"]["sampler"] == "exact"
    assert "no promise" in beside["meaning"]
    assert not any(name in json.dumps(beside) for name in ("lincoln", "1861"))
    second = sv.release.run(path, output=path.parent / "out" / "again.csv", id="again")
    assert second.remaining == 0 and second.secure
    with pytest.raises(BudgetError, match="12"):
        sv.release.run(path, output=path.parent / "out" / "third.csv", id="third")
    texts = [
        (path.parent / "out" / name).read_text(encoding="utf-8") for name in ("letters.csv", "again.csv")
    ]
    assert texts[0] != texts[1]


def test_a_seed_repeats_and_marks_every_row(letters: Change) -> None:
    path = letters(("[release]", "[release]\ntest_seed = 7"))
    done = sv.release.run(path)
    assert not done.secure and "NOT PRIVATE" in str(done)
    again = sv.release.run(path, output=path.parent / "b.csv", id="b")
    assert Path(done.output).read_text(encoding="utf-8") == Path(again.output).read_text(encoding="utf-8")
    assert "drawn from a test seed" in Path(done.output).read_text(encoding="utf-8")
    with pytest.raises(FileError, match="does not say that it is a test"):
        sv.release.run(letters(), insecure_rng=3)


def test_an_interrupted_run_is_finished_with_the_same_words(letters: Change, monkeypatch: Any) -> None:
    """It stops after the charge; run again it costs nothing, and the budget is spent once."""
    path = letters()
    real = Reservation.commit

    def stop(*arguments: Any, **noted: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Reservation, "commit", stop)
    with pytest.raises(OutputError, match=r"is charged .* and not published"):
        sv.release.run(path)
    assert not (path.parent / "out" / "letters.csv").exists()
    monkeypatch.setattr(Reservation, "commit", real)
    done = sv.release.run(path)
    assert done.resumed and done.eps == 0 and done.remaining == 12
    assert "words" in json.loads(Path(done.sidecar).read_text(encoding="utf-8"))


def test_an_interrupted_run_goes_elsewhere_with_another_output(letters: Change, monkeypatch: Any) -> None:
    """As with tables: the same words at no further cost, where the second command says."""
    path = letters(("[release]", "[release]\ntest_seed = 5"))
    real = Reservation.commit

    def stop(*arguments: Any, **noted: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Reservation, "commit", stop)
    with pytest.raises(OutputError, match="No space"):
        sv.release.run(path)
    monkeypatch.setattr(Reservation, "commit", real)
    with pytest.raises(LedgerError, match="was begun differently"):
        sv.release.run(path, insecure_rng=6)
    elsewhere = path.parent / "elsewhere.csv"
    done = sv.release.run(path, output=elsewhere)
    assert done.resumed and done.remaining == 12 and elsewhere.is_file()


def test_laplace_noise_must_be_asked_for_as_floats(letters: Change) -> None:
    noisy = ('kind = "word-exponential"', 'kind = "word-laplace"')
    with pytest.raises(FileError, match='sampler = "float"'):
        sv.release.run(letters(noisy))
    done = sv.release.run(letters(noisy, ("[release]", '[release]\nsampler = "float"')))
    assert not done.secure and done.arithmetic == "float"
    assert "floating point" in str(done)


def test_data_that_does_not_fit_charges_nothing(letters: Change, capsys: pytest.CaptureFixture[str]) -> None:
    path = letters(("documents_per_person = 3", "documents_per_person = 2"))
    with pytest.raises(DataError, match=r"more than 2 document\(s\)"):
        sv.release.run(path)
    path = letters()
    (path.parent / "texts" / "grant" / "x.txt").write_bytes(b"caf\xe9")
    code, _, err = run(capsys, "release", path, "--details")
    assert code == 4 and "UTF-8" in err
    assert "UTF-8" not in run(capsys, "release", path)[2], "what did not fit is private"
    (path.parent / "texts" / "grant" / "x.txt").write_text("zzqqxx", encoding="utf-8")
    wider = letters(("documents_per_person = 3", "documents_per_person = 4"))
    with pytest.raises(DataError, match="has no word of the vocabulary"):
        sv.release.run(wider)
    kept = letters(
        ("documents_per_person = 3", "documents_per_person = 4"), ("[release]", '[release]\nempty = "keep"')
    )
    assert not list(path.parent.glob("*.ledger")) or sv.release.preview(kept).remaining == 24
    assert sv.release.run(kept).documents == 25


@pytest.mark.parametrize("question", ["explain", "limits", "breach", "design"])
def test_every_question_answers(letters: Change, capsys: pytest.CaptureFixture[str], question: str) -> None:
    code, out, err = run(capsys, question, letters())
    assert code == 0, err
    assert len(out.splitlines()) > 3
    found = json.loads(run(capsys, question, letters(), "--json")[1])
    assert found["facts"]


def test_what_the_answers_say(letters: Change) -> None:
    scenario = sv.load(letters(("eps = 4.0", "eps = 0.005")))
    explained = about_documents("explain", scenario)  # type: ignore[arg-type]
    nats = explained.facts["nats"]
    assert explained.facts["guess"] == pytest.approx(1 / (1 + 2.718281828459045**-nats))
    breach = about_documents("breach", scenario)  # type: ignore[arg-type]
    assert breach.facts["guesses"][10] >= breach.facts["guesses"][1]
    assert about_documents("limits", scenario).facts["bits"] > 0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "message"),
    [("estimate", "run sievert release, or name --reports"), ("infer", "sievert attack")],
)
def test_refusals_name_the_nearest_question(
    letters: Change, capsys: pytest.CaptureFixture[str], question: str, message: str
) -> None:
    code, _, err = run(capsys, question, letters())
    assert code == 2 and message in err


def test_comparing_two_files(letters: Change, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "letters" / "other.toml"
    shutil.copy(letters(("eps = 4.0", "eps = 2.0")), other)
    assert run(capsys, "compare", letters(), other)[0] == 0
    assert run(capsys, "compare", other, letters())[0] == 1
    code, _, err = run(capsys, "compare", other, "examples/census-count.toml")
    assert code == 2 and "only one has [documents]" in err
    few = [("vocabulary = 4000", "vocabulary = 30"), ('token = "thing"\n', 'token = "the"\n')]
    small = sv.load(letters(*few))
    shutil.copy(letters(*few, ("eps = 4.0", "eps = 0.5")), other)
    found = compare_documents(small, sv.load(other))  # type: ignore[arg-type]
    assert found.question == "compare"
    with pytest.raises(FileError, match="another embedding"):
        compare_documents(sv.load(letters()), sv.load(other))  # type: ignore[arg-type]


def test_an_attack_shows_success_and_promise(letters: Change, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "attack", letters(), "--eps", "30")
    assert code == 0, err
    words = " ".join(out.split())
    assert "author, character 4-grams" in words and "nats between two documents" in words
    assert "An attack that fails proves nothing" in words
    code, _, err = run(capsys, "attack", "examples/census-count.toml")
    assert code == 2 and "has no [documents]" in err


def test_an_attack_needs_authors(letters: Change) -> None:
    with pytest.raises(FileError, match=r"documents\.person: is missing"):
        attack_documents(sv.load(letters(('person = "folder"\n', ""))))  # type: ignore[arg-type]
    with pytest.raises(FileError, match="'washington' has none"):
        attack_documents(sv.load(letters(('washington = "before 1900", ', ""))))  # type: ignore[arg-type]


# ── A table of 30 words: every question, with page and proof ────────────────────────────────────────────────


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three authors with two documents each, two references, 30 words in three dimensions."""
    folder = tmp_path_factory.mktemp("tiny")
    rng = np.random.default_rng(5)
    words = [f"{a}{b}" for a in ("sea", "car", "sky") for b in "abcdefghij"]
    centres = np.repeat([[0, 0, 0], [6, 0, 0], [0, 6, 0]], 10, axis=0)
    np.savez(folder / "table.npz", words=np.array(words), vectors=centres + rng.standard_normal((30, 3)))
    for number, author in enumerate(("ann", "bob", "cyd")):
        (folder / "texts" / author).mkdir(parents=True)
        for name in "12":
            text = " ".join(rng.choice(words[10 * number : 10 * number + 10], 12))
            (folder / "texts" / author / f"{name}.txt").write_text(text, encoding="utf-8")
    for name, start in (("one", 0), ("two", 3)):
        (folder / f"{name}.txt").write_text(" ".join(words[start : start + 4]), encoding="utf-8")
    (folder / "budget.toml").write_text("person = 100.0\n", encoding="utf-8")
    (folder / "tiny.toml").write_text(
        """version = 1
title = "Tiny"
[documents]
input = "texts/*/*.txt"
person = "folder"
documents_per_person = 2
embedding = "table.npz"
scale = 1.0
references = ["one.txt", "two.txt"]
[mechanism]
kind = "word-exponential"
eps = 0.5
[release]
ledger = "budget.toml"
[attack]
eps = [0.5, 8.0]
draws = 1
success = 0.7
""",
        encoding="utf-8",
    )
    return folder / "tiny.toml"


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("explain", ["--releases", "2"]),
        ("explain", ["--eps", "0.1"]),
        ("breach", ["--observations", "1,4"]),
        ("limits", ["--eps", "0.2"]),
        ("design", []),
        ("compare", []),
        ("release", ["--preview"]),
    ],
)
def test_pages_and_proofs(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], question: str, options: list[str]
) -> None:
    page, proof = tmp_path / "page.html", tmp_path / "proof.json"
    files = [tiny, tiny] if question == "compare" else [tiny]
    proofs = [] if question == "breach" else ["--proof", proof]
    code, out, err = run(capsys, question, *files, *options, *proofs, "--report", page)
    assert code == (3 if question == "limits" else 0), err
    assert "Tiny" in page.read_text(encoding="utf-8")
    if question in ("breach", "limits"):
        assert question == "breach" or "There is no certificate to save: the bound is a sum" in out
        return
    code, out, _ = run(capsys, "verify", proof, *files, *options[: 2 * ("--eps" in options)])
    assert code == 0 and out.startswith("verified: about")
    # A mechanism at another ε than the file's is not what the file promises.
    assert run(capsys, "verify", proof, *files)[0] == (3 if "--eps" in options else 0)
    other = tmp_path / "other.toml"
    other.write_text(tiny.read_text(encoding="utf-8").replace("eps = 0.5\n[rel", "eps = 0.6\n[rel"))
    for name in ("table.npz", "one.txt", "two.txt"):
        shutil.copy(tiny.parent / name, tmp_path / name)
    files[-1] = other
    assert run(capsys, "verify", proof, *files)[0] == 1


def test_the_largest_eps_for_a_guess(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(run(capsys, "explain", tiny, "--guess", "0.6", "--json")[1])["facts"]
    told = json.loads(run(capsys, "explain", tiny, "--eps", str(found["eps"]), "--json")[1])["facts"]
    assert told["guess"] == pytest.approx(0.6, abs=1e-12)
    assert run(capsys, "explain", tiny, "--guess", "0.4")[0] == 2
    code, _, err = run(capsys, "explain", tiny, "--delta", "0.1")
    assert code == 2 and "--delta: says nothing about the [documents]" in err


def test_the_best_channel_of_a_small_vocabulary(tiny: Path, tmp_path: Path) -> None:
    """Three points: no mechanism with that ε moves words less, and the exponential moves them more."""
    scenario = sv.load(tiny)
    found = about_documents("design", scenario)
    best, usual = found.facts["optimal"], found.facts["word-exponential"]["moved"][0]
    assert best["at least"] <= best["moved"] <= best["at least"] * (1 + 1e-6)
    exponential = sv.text.word_channel(scenario.embedding, 0.5, kind="word-exponential").matrix
    assert best["moved"] < (exponential * scenario.embedding.metric().matrix).sum() / 30
    assert usual > 0 and found.certificate.verify()
    equal = found.facts["equal success"]
    assert set(equal["kinds"]) == {"word-laplace", "word-exponential", "word-projected-laplace"}
    for row in equal["kinds"].values():
        assert row["eps"] is None or dict(row["curve"])[row["eps"]] <= 0.7
    assert found.private and found.chosen is not None


def test_word_frequencies_from_what_was_released(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half of all words are one word; the reports show it less often than the estimate does."""
    words = [*sv.load(tiny).embedding.words]
    texts = [" ".join([words[0]] * 10 + words[10:20]) for _ in range(40)]
    table = sv.load(tiny).embedding
    noisy = sv.text.obfuscate(texts, table, 3.0, kind="word-exponential", insecure_rng=3).documents
    reports = tmp_path / "reports.csv"
    reports.write_text("words\n" + "\n".join(" ".join(one) for one in noisy) + "\n", encoding="utf-8")
    file = tmp_path / "tiny.toml"
    file.write_text(tiny.read_text(encoding="utf-8").replace("eps = 0.5\n[rel", "eps = 3.0\n[rel"))
    for name in ("table.npz", "one.txt", "two.txt"):
        shutil.copy(tiny.parent / name, tmp_path / name)
    proof, page = tmp_path / "proof.json", tmp_path / "page.html"
    options = ("--reports", reports, "--proof", proof, "--report", page)
    code, _, err = run(capsys, "estimate", file, *options)
    assert code == 0, err
    found = estimate_documents(sv.load(file), reports=[str(reports)])
    share = dict(zip(found.estimate.inputs, found.estimate.distribution, strict=True))[words[0]]
    raw = found.reported[words[0]] / sum(found.reported.values())
    assert raw < 0.45 and share == pytest.approx(0.5, abs=0.06)
    assert run(capsys, "verify", proof, file)[0] == 0
    laplace = file.read_text(encoding="utf-8").replace("word-exponential", "word-laplace")
    file.write_text(laplace, encoding="utf-8")
    code, _, err = run(capsys, "estimate", file, "--reports", reports)
    assert code == 2 and "has no list of probabilities" in err


def test_an_attack_has_a_page_and_a_device_that_is_not_there_is_refused(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert run(capsys, "attack", tiny, "--report", page)[0] == 0
    assert "promised: no more than" in page.read_text(encoding="utf-8")
    for command in ("attack", "release"):
        code, _, err = run(capsys, command, tiny, "--device", "cuda:77")
        assert code == 2 and "device is 'cuda:77'" in err
    assert not list(tiny.parent.glob("*.ledger"))
    code, _, err = run(capsys, "release", "examples/census-count.toml", "--device", "cpu")
    assert code == 2 and "--device: goes with [documents]" in err


def test_what_clusters_show_is_never_called_safe(tiny: Path, monkeypatch: Any) -> None:
    other = tiny.with_name("clusters.toml")
    text = tiny.read_text(encoding="utf-8")
    other.write_text(
        text.replace('word-exponential"\neps = 0.5', 'word-clusters"\nclusters = 2\neps = 0.001'),
        encoding="utf-8",
    )
    plain, shown = described(tiny), described(other)
    assert plain is not None and shown is not None
    assert not compare_documents(plain, shown).good
    monkeypatch.setattr("sievert.questions.documents.LARGEST_CHANNEL", 0)
    found = compare_documents(plain, shown)
    assert not found.good and "tells words apart for certain" in found.sentence
    assert compare_documents(shown, shown).good
    assert about_documents("limits", shown).facts["bits"] >= 1.0


def test_names_and_references_that_are_no_usual_text(tiny: Path) -> None:
    text = tiny.read_text(encoding="utf-8")
    tiny.with_name("posts.jsonl").write_text('{"said": "seaa", "who": "\\ud800"}\n\n', encoding="utf-8")
    path = tiny.with_name("posts.toml")
    told = text.replace(
        '"texts/*/*.txt"\nperson = "folder"', '"posts.jsonl"\ncolumn = "said"\nperson = "who"'
    )
    path.write_text(told, encoding="utf-8")
    with pytest.raises(DataError, match="line 1: who holds a text that is not Unicode"):
        sv.release.run(path)
    tiny.with_name("posts.jsonl").write_text('{"said": "seaa", "who": "\\u200bzoë"}\n\n', encoding="utf-8")
    assert sv.release.run(path).documents == 1
    path.write_text(told.replace('"two.txt"]', '"short.txt"]'), encoding="utf-8")
    tiny.with_name("short.txt").write_text("seaa", encoding="utf-8")
    scenario = described(path)
    assert scenario is not None
    for question in ("explain", "breach"):
        assert about_documents(question, scenario).sentence.startswith("No bound in nats")


def test_documents_come_out_in_no_order(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "v.txt").write_text("".join(f"{chr(97 + i) * 2} {100 * i}\n" for i in range(26)))
    for letter in "abcdefghijklmnopqrstuvwxyz":
        (tmp_path / "in" / f"{letter}.txt").write_text(letter * 2)
    (tmp_path / "budget.toml").write_text("person = 100.0\n")
    path = tmp_path / "f.toml"
    path.write_text(
        'version = 1\n[documents]\ninput = "in/*.txt"\nembedding = "v.txt"\nscale = 1.0\n'
        '[mechanism]\nkind = "word-exponential"\neps = 1.0\n'
        '[release]\nledger = "budget.toml"\nempty = "keep"\ntest_seed = 1\n'
    )
    found = sv.release.run(path)
    with open(found.output, encoding="utf-8") as lines:
        words = [row["words"] for row in csv.DictReader(lines)]
    assert sorted(words) == [letter * 2 for letter in "abcdefghijklmnopqrstuvwxyz"]
    assert words != sorted(words)
    path.write_text(path.read_text().replace("scale", 'length = "sample"\nsize = 3\nscale'))
    with pytest.raises(FileError, match="would show by its length"):
        sv.release.run(path, output=tmp_path / "again.csv")


def test_an_output_is_never_taken_for_documents(tmp_path: Path) -> None:
    """A pattern that names the output would read released words as private ones in the next run."""
    (tmp_path / "v.txt").write_text("sea 0\nlake 1\n")
    (tmp_path / "in.csv").write_text('who,said\n1,sea\n1.0,"lake"\n')
    (tmp_path / "budget.toml").write_text("person = 9.0\n")
    path = tmp_path / "f.toml"
    text = (
        'version = 1\n[documents]\ninput = "*.csv"\ncolumn = "said"\nperson = "who"\nembedding = "v.txt"\n'
        'scale = 1.0\ndocuments_per_person = 2\n[mechanism]\nkind = "word-exponential"\neps = 1.0\n'
        '[release]\nledger = "budget.toml"\n'
    )
    path.write_text(text)
    with pytest.raises(FileError, match=r"is a file that documents.input \(\*.csv\) names"):
        sv.release.run(path)
    assert "documents.input" in sv.release.preview(path).why_not[0]
    (tmp_path / "out").mkdir()
    done = sv.release.run(path, output=tmp_path / "out" / "noisy.csv", device="cpu")
    assert done.documents == 2 and done.eps == 2
    again = sv.release.preview(path, output=tmp_path / "out" / "noisy.csv")
    assert not again.possible and "is there already" in again.why_not[0]
    path.write_text(text.replace("documents_per_person = 2\n", ""))
    with pytest.raises(DataError, match="the same person has more than 1"):
        sv.release.run(path, output=tmp_path / "out" / "more.csv")
    with pytest.raises(FileError, match="device is 'cpu'; it goes with a file with"):
        sv.release.run("examples/census-count.toml", device="cpu")
