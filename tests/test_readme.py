"""The README shows what really comes out."""

import os
import re
import subprocess
import sys
from pathlib import Path

import sievert as sv

README = Path("README.md").read_text(encoding="utf-8")


def test_the_audit_in_the_readme_is_real() -> None:
    command = [sys.executable, "-m", "sievert", "audit", "examples/census-count.toml"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "80"}
    )
    assert done.stdout.rstrip() in README


def test_the_python_in_the_readme_is_real() -> None:
    code, shown = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", README, re.DOTALL).groups()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == shown


def test_the_caption_of_the_picture() -> None:
    """29 %, 41 % and 90 % at ε = 1: found, and at most."""
    policy, query = sv.Policy.differential(5, records=100), sv.Query.count([0, 1])
    noise = sv.mechanisms.truncated_geometric(101, 1.0)
    assert round(sv.record_leakage(noise, policy, query=query).after, 2) == 0.29
    assert 0.40 < sv.explain(eps=1, values=5).after <= 0.41
    assert 0.89 < sv.explain(eps=1, values=5, releases=10).after <= 0.90
