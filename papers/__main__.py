"""``python -m papers [NAME ...]``: regenerate tables and figures into docs/papers/ (all without a name).

A script is a module of this folder with ``build() -> Page``. Exit code 1 when an entry neither agrees nor is
a known erratum.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from papers import places_city, places_pictures, readme_picture
from papers.page import Page
from papers.picture import write_svg

HERE = Path(__file__).resolve().parent
TARGET = HERE.parent / "docs" / "papers"


def main(names: Sequence[str]) -> int:
    """Build the named scripts; 0 done, 1 an entry differs, 2 no such script."""
    known = sorted(
        path.stem
        for path in HERE.glob("*.py")
        if "\ndef build() -> Page:" in path.read_text(encoding="utf-8")
    )
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no script named {', '.join(unknown)}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    TARGET.mkdir(parents=True, exist_ok=True)
    differing = 0
    for name in names or known:
        page: Page = importlib.import_module(f"papers.{name}").build()
        partial = TARGET / f"{name}.md.partial"
        partial.write_text(page.text(), encoding="utf-8")
        partial.replace(TARGET / f"{name}.md")
        for file, figure in page.figures.items():
            write_svg(figure, TARGET / f"{file}.svg")
        print(f"{page.title}: {page.summary()}")
        for entry in page.entries:
            if not entry.agrees:
                print(f"  {entry}")
        differing += sum(entry.status == "DIFFERS" for entry in page.entries)
    if not names:
        readme_picture.main()
        places_pictures.main()
        places_city.main()
    print(f"written to {TARGET.relative_to(HERE.parent)}/")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
