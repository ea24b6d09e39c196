"""What the benchmarks import is installed by the extra of their own environment."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Parts of ours that need an extra wherever they are imported.
NEEDS = {"studio": "studio", "tables": "sql", "release": "sql"}


def of_extra(name: str) -> tuple[set[str], set[str]]:
    """Distributions of an extra, and the extras within it."""
    found, extras = set(), {name}
    for line in PROJECT["optional-dependencies"][name]:
        requirement = Requirement(line)
        if requirement.name != "sievert":
            found.add(canonicalize_name(requirement.name))
        for inner in requirement.extras if requirement.name == "sievert" else ():
            more, within = of_extra(inner)
            found, extras = found | more, extras | within
    return found, extras


def imports() -> set[str]:
    """Every module that a benchmark imports, anywhere in it."""
    names = set()
    for path in (ROOT / "benchmarks").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module)
    return names


def test_the_environment_of_the_benchmarks_has_what_they_import() -> None:
    found, extras = of_extra("bench")
    found |= {canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"]}
    known = packages_distributions()
    for name in sorted(imports()):
        top = name.partition(".")[0]
        if top == "sievert":
            part = re.split(r"\.", name)[1] if "." in name else ""
            assert NEEDS.get(part, "bench") in extras, f"{name} needs the extra {NEEDS[part]}"
        elif top not in sys.stdlib_module_names and top not in ("benchmarks", "tests"):
            names = {canonicalize_name(each) for each in known.get(top, [top])}
            assert names & found, f"{name} is of none of the packages of the extra bench"
