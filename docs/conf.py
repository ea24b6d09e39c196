"""The documentation: Markdown pages, a reference from docstrings, an index of theorems. No network."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "_ext"))

import sievert

project = "Sievert"
author = "The Sievert developers"
version = release = sievert.__version__
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "reference_pages",
]
exclude_patterns = ["_ext", "README.md"]
default_role = "code"

# Pages
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]

# Docstrings
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autosummary_generate = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# Looks
html_theme = "pydata_sphinx_theme"
html_title = "Sievert"
html_show_sourcelink = False
html_static_path = []
html_theme_options = {
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "navigation_with_keys": False,
    "show_toc_level": 2,
}
html_sidebars = {"**": ["sidebar-nav-bs"]}
