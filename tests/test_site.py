"""The documentation as pages: it builds without a network and every link leads somewhere."""

import importlib.util
import re
import sys
from html import unescape
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sys.path.insert(0, "docs")
    try:
        builder = _module("docs/build.py")
    finally:
        sys.path.remove("docs")
    folder = tmp_path_factory.mktemp("site")
    assert len(builder.build(folder)) > 30
    return folder


def _module(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_build", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_link_leads_somewhere(site: Path) -> None:
    missing = []
    pages = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html")}
    for page, text in pages.items():
        for link in re.findall(r'(?:href|src)="([^"]+)"', text):
            target, _, anchor = unescape(link).partition("#")
            if target.startswith(("http:", "https:")):
                continue
            file = (page.parent / target).resolve() if target else page.resolve()
            if not file.is_file() or (anchor and f'id="{anchor}"' not in file.read_text(encoding="utf-8")):
                missing.append(f"{page.relative_to(site)}: {link}")
    assert missing == []


def test_every_page_is_in_the_menu(site: Path) -> None:
    front = (site / "index.html").read_text(encoding="utf-8")
    for page in site.rglob("*.html"):
        assert f'href="{page.relative_to(site).as_posix()}"' in front, page


def test_the_reference_has_every_public_name(site: Path) -> None:
    import sievert as sv

    text = "".join(page.read_text(encoding="utf-8") for page in (site / "reference").glob("*.html"))
    for name in sv.__all__:
        assert f"sv.{name}" in text or name.startswith("_") or name == "leakage", name


def test_every_theorem_is_said_in_words(site: Path) -> None:
    text = (site / "reference" / "theorems.html").read_text(encoding="utf-8")
    rows = re.findall(r"<td>((?:Def|Lem|Prop|Thm|Cor|Ex) [\d.]+)</td>\s*<td>(.*?)</td>", text)
    assert len(rows) > 50
    assert [name for name, words in rows if not words] == []
    # And nothing is said of a statement that no line of code names.
    assert len(Path("docs/statements.txt").read_text(encoding="utf-8").splitlines()) == len(rows)


def test_the_menu_says_whose_figure_it_is(site: Path) -> None:
    front = (site / "index.html").read_text(encoding="utf-8")
    assert re.search(r'href="papers/alvim_figure_8\.html">Alvim, Fig 8: ', front)
