"""The README shows what really comes out."""

import re
import subprocess
import sys
from pathlib import Path

README = Path("README.md").read_text(encoding="utf-8")


def test_the_audit_in_the_readme_is_real() -> None:
    command = [sys.executable, "-m", "sievert", "audit", "examples/census-count.toml"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={"COLUMNS": "80"})
    assert done.stdout.rstrip() in README


def test_the_python_in_the_readme_is_real() -> None:
    code, shown = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", README, re.DOTALL).groups()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == shown
