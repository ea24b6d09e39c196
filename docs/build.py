"""``python docs/build.py [FOLDER]``: the documentation as a folder of HTML pages (out/docs without a name).

Pages are the Markdown files of this folder; the reference is made from docstrings. Needs no network.
"""

from __future__ import annotations

import html
import posixpath
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from jinja2 import Environment
from markdown_it import MarkdownIt
from reference import pages as reference_pages

HERE = Path(__file__).resolve().parent
README = HERE.parent / "README.md"
ERRATA, THEOREMS = "papers/errata.md", "reference/theorems.md"

TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }} – Sievert</title>
<link rel="stylesheet" href="{{ root }}style.css">
</head>
<body>
<nav aria-label="pages">
<a class="home" href="{{ root }}index.html">Sievert</a>
{% for section, entries in menu %}
<details{% if section == here %} open{% endif %}><summary>{{ section }}</summary>
<ul>{% for name, target in entries %}
<li><a href="{{ root }}{{ target }}"{% if target == path %} aria-current="page"{% endif %}>{{ name }}</a></li>
{%- endfor %}</ul></details>
{% endfor %}
</nav>
<main>{{ body }}</main>
</body>
</html>
"""


def build(target: Path) -> list[Path]:
    """Write every page into a folder; returns the pages."""
    menu_text = (HERE / "menu.txt").read_text(encoding="utf-8")
    sections = _sections(menu_text)
    texts = {"index.md": _readme()}
    for _, names in sections:
        for name in names:
            texts[name] = (HERE / name).read_text(encoding="utf-8")
    papers = sorted(path.relative_to(HERE).as_posix() for path in (HERE / "papers").glob("*.md"))
    texts |= {name: (HERE / name).read_text(encoding="utf-8") for name in papers}
    reference = reference_pages()
    texts |= reference
    sections.append(("Theory", [THEOREMS, ERRATA]))
    sections.append(("Papers", [name for name in papers if name != ERRATA]))
    sections.append(("Reference", sorted(name for name in reference if name != THEOREMS)))
    menu = [
        (section, [(_entry(name, texts[name]), _html_name(name)) for name in names if name in texts])
        for section, names in sections
    ]
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    (target / "style.css").write_text((HERE / "style.css").read_text(encoding="utf-8"), encoding="utf-8")
    template = Environment(autoescape=True).from_string(TEMPLATE)
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    written = []
    for name, text in texts.items():
        path = target / _html_name(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        here = next((section for section, names in sections if name in names), "How to")
        body = _Safe(_linked(_anchored(markdown.render(_visible(text))), name, texts))
        root = "../" * name.count("/")
        page = template.render(
            title=_title(text), body=body, menu=menu, here=here, root=root, path=_html_name(name)
        )
        path.write_text(page, encoding="utf-8")
        written.append(path)
    for picture in [*HERE.rglob("*.svg"), *HERE.rglob("*.png")]:
        copy = target / picture.relative_to(HERE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(picture, copy)
    return written


class _Safe(str):
    """HTML that the template must not escape again."""

    def __html__(self) -> str:
        return self


def _readme() -> str:
    """The README as the first page: its links to docs/ become links beside it."""
    return README.read_text(encoding="utf-8").replace("](docs/", "](")


def _sections(text: str) -> list[tuple[str, list[str]]]:
    """The menu: a section a line, its pages indented below."""
    sections: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith(" "):
            sections[-1][1].append(line.strip())
        elif line.strip():
            sections.append((line.strip(), []))
    return sections


def _visible(text: str) -> str:
    """Markdown without its comments."""
    return re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL)


def _title(text: str) -> str:
    found = re.search(r"^# (.+)$", text, flags=re.MULTILINE)
    return found[1].replace("`", "") if found else "Sievert"


def _entry(name: str, text: str) -> str:
    """The title in the menu; a table or figure of a paper begins with its author."""
    author = re.match(r"papers/([a-z]+)_", name)
    return f"{author[1].capitalize()}, {_title(text)}" if author else _title(text)


def _html_name(name: str) -> str:
    return name.removesuffix(".md") + ".html"


def _linked(body: str, name: str, known: Iterable[str]) -> str:
    """Links between Markdown files become links between pages; files outside docs lose theirs."""

    def target(found: re.Match[str]) -> str:
        link, _, anchor = html.unescape(found[1]).partition("#")
        if link.startswith(("http:", "https:")) or not link:
            return found[0]
        if posixpath.normpath(posixpath.join(posixpath.dirname(name), link)) not in known:
            return found[2]
        return f'<a href="{_html_name(link)}{"#" + anchor if anchor else ""}">{found[2]}</a>'

    return re.sub(r'<a href="([^"]+)">(.*?)</a>', target, body, flags=re.DOTALL)


def _anchored(body: str) -> str:
    """Headings get the anchors that Markdown links to."""

    def named(found: re.Match[str]) -> str:
        words = re.sub(r"<[^>]+>", "", found[2])
        anchor = re.sub(r"[^\w\- ]", "", html.unescape(words).lower()).strip().replace(" ", "-")
        return f'<h{found[1]} id="{anchor}">{found[2]}</h{found[1]}>'

    return re.sub(r"<h([1-4])>(.*?)</h\1>", named, body)


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent / "out" / "docs"
    made = build(folder)
    print(f"{len(made)} pages; open {folder / 'index.html'}")
