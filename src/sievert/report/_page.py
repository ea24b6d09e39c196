"""An answer as one self-contained HTML page: the verdict, what can be seen at a glance, then every sentence.

The drawing library is a part of the package (`report/plotly`: Plotly's cartesian bundle, with its licence and
SHA-256), so that a page asks nobody for anything and stays below 2 MB.
"""

from __future__ import annotations

import hashlib
import platform
import re
import secrets
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sievert.proofs import checker_path, save_proof
from sievert.results import package_version

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from markupsafe import Markup

    from sievert.files import Scenario
    from sievert.proofs import Proof
    from sievert.results import Result

__all__ = [
    "Page",
    "PageTable",
    "Picture",
    "Sections",
    "drawing_library",
    "is_favourable",
    "page_html",
    "page_of_answer",
    "page_with_proof",
]

Sections = list[tuple[str, list[str]]]

# Rows of numbers below a picture.
MOST_NUMBERS = 30
# Characters of all stills of a page, which leaves room for a proof below the largest page.
MOST_STILLS = 160_000
LIBRARY = "plotly-cartesian.min.js"
# Where a page has room for the proof itself, how large it may be with it, and how it offers the checker.
PROOF_PLACE = "<!-- proof -->"
CHECKER_LINK = '<a download="verify.py"'
LARGEST_PAGE = 2_000_000


class Picture(NamedTuple):
    """A figure with the heading above it and the sentence below it."""

    heading: str
    caption: str
    figure: go.Figure


class PageTable(NamedTuple):
    """Rows of numbers or words under a header; the caption below says what they mean.

    A summary without a header is a list of names with their amounts.
    """

    heading: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: str = ""


@dataclass(frozen=True)
class Page:
    """What a report says.

    Attributes
    ----------
    title : what it is about
    made_by : which command on which file
    headline : the answer in one sentence
    sections : headings with their sentences: those of the terminal
    summary : the table to be seen first
    good : whether the answer is what the reader hopes for; None when there is nothing to hope
    command : what computes the page anew, with its arguments
    proofs : which certificates there are and how to check them again
    text : the TOML file
    private : whether the page holds anything computed from private data
    """

    title: str
    made_by: str
    headline: str
    sections: Sequence[tuple[str, Sequence[str]]]
    good: bool | None = None
    command: str = ""
    summary: PageTable | None = None
    tables: Sequence[PageTable] = ()
    pictures: Sequence[Picture] = ()
    proofs: Sequence[str] = ()
    text: str = ""
    private: bool = False


PROOFS = (
    "The same command with `--proof proof.json` saves the certificate where there is one, and `sievert "
    "verify proof.json FILE` checks it without a solver."
)


def is_favourable(found: Result, scenario: Scenario) -> bool | None:
    """Whether an answer about documents or vectors is what its reader hopes for.

    An audit without limits in [accept] has none to keep, however little it promises.
    """
    told = (getattr(found, name, None) for name in ("passed", "possible", "secure", "good"))
    good = next((said for said in told if said is not None), None)
    accept = getattr(scenario.document, "accept", None)
    limited = accept is not None and any(limit is not None for limit in accept.model_dump().values())
    return good if limited or not good or not hasattr(found, "passed") else None


def page_of_answer(
    found: Result, scenario: Scenario, sections: Sections, pictures: list[Picture], command: str
) -> Page:
    """What the page of an answer about documents or vectors says.

    What an attack found, or was computed from private data, is private.
    """
    name = type(found).__name__
    made = str(getattr(found, "question", "")).capitalize() or next(
        (word for word in ("Audit", "Preview", "Release") if name.endswith(word)), "Attack"
    )
    return Page(
        title=scenario.title,
        made_by=f"{made} of {Path(scenario.source).name}",
        headline=str(found),
        sections=sections,
        good=is_favourable(found, scenario),
        pictures=pictures,
        command=command,
        proofs=[PROOFS] if hasattr(found, "question") else [],
        text=scenario.to_toml(),
        private=made == "Attack" or getattr(found, "private", False) is True,
    )


def page_html(page: Page) -> str:
    """The whole page, working offline: the drawing library is inside it."""
    from jinja2 import Environment
    from markupsafe import Markup

    source = resources.files("sievert.report").joinpath("templates", "page.html").read_text(encoding="utf-8")
    environment = Environment(autoescape=True)
    environment.filters["number"] = _number
    environment.filters["coded"] = _coded
    # Scripts of ours, by a mark that nothing which stands on the page can know.
    mark = secrets.token_hex(16)
    script, policy = Markup(f"<script {mark}>"), Markup(f"<!-- {mark} -->")
    figures = [
        (picture, Markup(_embedded(picture.figure, number, script)), _numbers(picture.figure), image)
        for number, (picture, image) in enumerate(zip(page.pictures, _images(page.pictures), strict=True))
    ]
    library = Markup(f"{script}{drawing_library()}</script>") if figures else ""
    page_text = environment.from_string(source).render(
        page=page,
        policy=policy,
        script=script,
        figures=figures,
        version=package_version(),
        library=library,
        versions=_versions(),
        checker=Markup(_offer()) if page.proofs else "",
    )
    return _with_policy(page_text, script, policy)


def _with_policy(page: str, script: str, place: str) -> str:
    """The page with what it may do: run the scripts that are marked as ours, by their hashes, and ask nobody.

    A script that got onto it in another way does not run.
    """
    own = re.findall(f"{script}(.*?)</script>", page, re.DOTALL)
    hashes = [b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii") for text in own]
    scripts = " ".join(f"'sha256-{found}'" for found in dict.fromkeys(hashes)) or "'none'"
    policy = (
        f"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    whole = page.replace(script, "<script>").replace(place, meta, 1)
    # The name of a file may be bytes that are no text.
    return whole.encode("utf-8", errors="replace").decode("utf-8")


def _numbers(figure: go.Figure) -> PageTable:
    """The numbers behind a picture, of long lists some, so that the page stays below 2 MB."""
    from sievert.report._picture_data import picture_data
    from sievert.report.plots._style import thinned

    found = picture_data(figure)
    return found._replace(rows=[found.rows[place] for place in thinned(len(found.rows), MOST_NUMBERS)])


def _images(pictures: Sequence[Picture]) -> list[str]:
    """Each picture where scripts do not run, as an address that holds it; "" where there is none."""
    if not pictures:
        return []
    from sievert.report.plots._drawing import stills

    images, room = [], MOST_STILLS
    for drawn in stills([picture.figure for picture in pictures]):
        image = b64encode((drawn or "").encode("utf-8")).decode("ascii")
        fits = 0 < len(image) <= room
        images.append(f"data:image/svg+xml;base64,{image}" if fits else "")
        room -= len(image) if fits else 0
    return images


def page_with_proof(page: str, proof: Proof | str) -> str:
    """The page with the proof of its answer, beside the checker; a text says why there is none.

    Of a proof that is too long for a page, it says how to save it.
    """
    before, _, after = page.rpartition(PROOF_PLACE)
    if isinstance(proof, str):
        return f"{before}<p>Not certified: {_coded(proof)}.</p>{after}"
    offered = "" if CHECKER_LINK in page else _offer()
    content = b64encode(save_proof(proof).encode("utf-8")).decode("ascii")
    carried = (
        f'{offered}<p>The proof of this page: <a download="proof.json" href="data:application/json;base64,'
        f'{content}">proof.json</a> ({escape(proof.kind)}).</p>'
    )
    if len(page.encode("utf-8")) + len(carried) <= LARGEST_PAGE:
        return f"{before}{carried}{after}"
    return (
        f"{before}{offered}<p>The proof of this page ({escape(proof.kind)}) is too long to be a part of it; "
        f"the command saves it with <code>--proof proof.json</code>.</p>{after}"
    )


def drawing_library() -> str:
    """Plotly's cartesian bundle."""
    return resources.files("sievert.report").joinpath("plotly", LIBRARY).read_text(encoding="utf-8")


def _offer() -> str:
    """`verify.py` in an address that holds it, to be saved from the page."""
    content = b64encode(checker_path().read_bytes()).decode("ascii")
    return (
        f'<p>Check this page yourself: {CHECKER_LINK} href="data:text/x-python;charset=utf-8;base64,'
        f'{content}">verify.py</a> is one file that needs Python alone; <code>python verify.py proof.json'
        "</code> checks the claim of the saved proof in exact fractions, and knows no file; <code>sievert "
        "verify proof.json FILE</code> compares it with the file that this page is about.</p>"
    )


def _versions() -> str:
    """What the numbers were computed with."""
    packages = {"NumPy": "numpy", "SciPy": "scipy", "highspy": "highspy", "python-flint": "python-flint"}
    used = ", ".join(f"{name} {version(package)}" for name, package in packages.items())
    return f"Computed by Sievert {package_version()} with Python {platform.python_version()}, {used}."


def _coded(sentence: str) -> Markup:
    """A sentence with what stands between backticks as code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(sentence))))


def _number(value: object, digits: int = 6) -> str:
    """A cell of a table: a dash where there is nothing, numbers short, words as they are."""
    if value is None:
        return "–"
    if isinstance(value, bool | str | int):
        return str(value)
    try:
        return f"{float(value):.{digits}g}"  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return str(value)


def _embedded(figure: go.Figure, number: int, script: str) -> str:
    from plotly.io import to_html

    html: str = to_html(
        figure,
        full_html=False,
        include_plotlyjs=False,
        div_id=f"figure-{number}",
        config={"displayModeBar": False, "responsive": True},
    )
    return re.sub('<script(?: type="text/javascript")?>', script, html)
