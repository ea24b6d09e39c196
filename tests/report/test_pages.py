"""A page holds everything itself: small, nothing from elsewhere, the terminal's sentences, its command."""

import hashlib
import html
import re
import shlex
from importlib import resources
from pathlib import Path

import pytest

import sievert as sv
from sievert.cli import main
from sievert.questions.breach import breach_of
from sievert.report import Page, PageTable, Picture, breach, drawing_library, page_html
from sievert.report.plots import policy_graph

# Of plotly.js-cartesian-dist-min 4.1.1, as its registry hands it out.
BUNDLE = "79542150855a52c567260e3137095dbe2b744e6d702a5cabe67da246942fba7a"


def text_of(page: str) -> str:
    without = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", without)).split())


def test_the_drawing_library_is_the_one_that_was_published() -> None:
    folder = resources.files("sievert.report") / "plotly"
    listed = dict(reversed(line.split()) for line in (folder / "SHA256SUMS").read_text().splitlines())
    assert set(listed) == {"LICENSE", "plotly-cartesian.min.js"}
    for name, digest in listed.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    assert listed["plotly-cartesian.min.js"] == BUNDLE
    assert hashlib.sha256(drawing_library().encode()).hexdigest() == BUNDLE
    assert "MIT License" in (folder / "LICENSE").read_text()


def test_a_page_asks_nobody_for_anything() -> None:
    picture = Picture("A ring", "Six values.", policy_graph(sv.graphs.cycle(6)))
    page = page_html(Page("Title", "Made by hand", "Nothing.", [], pictures=[picture]))
    own = page.replace(drawing_library(), "")
    assert not re.search(r"""(src|href)\s*=\s*["']|@import|url\(|https?://(?!www\.w3\.org)""", own)
    assert len(page.encode()) < 2_000_000
    assert "<script" not in page_html(Page("Title", "Made by hand", "Nothing.", []))


def test_pictures_come_before_prose() -> None:
    picture = Picture("A ring", "Six values.", policy_graph(sv.graphs.cycle(6)))
    summary = PageTable("At a glance", ("", "this"), [("guess", "10%")], "What it means.")
    page = page_html(
        Page(
            "Title",
            "Made by hand",
            "The answer.",
            [("Words", ["A sentence."])],
            command="sievert audit a.toml --report b.html",
            summary=summary,
            pictures=[picture],
            text="version = 1",
        )
    )
    found = text_of(page)
    order = ["The answer.", "At a glance", "A ring", "A sentence.", "version = 1", "sievert audit a.toml"]
    assert [found.index(words) for words in order] == sorted(found.index(words) for words in order)
    assert '<th scope="col">this</th>' in page
    assert 'role="img" aria-label="A ring. Six values."' in page


@pytest.mark.parametrize(
    "command",
    [
        "audit examples/survey-response.toml",
        "explain --eps 1.5 --values 4",
        "limits examples/survey-response.toml --eps 0.5",
        "breach examples/survey-response.toml --observations 3,5",
    ],
)
def test_the_command_at_the_foot_writes_the_page_again(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), "--report", str(tmp_path / "page.html")])
    assert not ended.value.code
    first = (tmp_path / "page.html").read_text(encoding="utf-8")
    shown = re.search(r"computed anew by <code>(.*?)</code>", first)
    assert shown is not None
    again = shlex.split(html.unescape(shown[1]))
    # Folders of the user are nobody's business.
    assert again == ["sievert", *command.split(), "--report", "page.html"]
    again[-1] = str(tmp_path / "again.html")
    with pytest.raises(SystemExit):
        main(again[1:])
    second = (tmp_path / "again.html").read_text(encoding="utf-8")
    assert text_of(second) == text_of(first).replace("page.html", "again.html")
    capsys.readouterr()


def test_every_sentence_about_breaches_is_on_the_page() -> None:
    scenario = sv.load("examples/survey-response.toml")
    found = breach_of(scenario)
    shown = text_of(breach.page(found, scenario))
    for heading, sentences in breach.lines(found):
        for words in (heading, *sentences):
            assert words in shown
