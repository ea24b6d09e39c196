"""What is not needed is not imported: a command answers at once."""

import subprocess
import sys

import pytest

HEAVY = {
    *("scipy.signal", "scipy.stats", "scipy.optimize", "scipy.sparse", "scipy.spatial", "scipy.ndimage"),
    *("plotly", "jinja2", "igraph", "highspy", "narwhals", "pandas", "polars", "pyarrow", "numba"),
}
COMMAND = "from sievert.cli import main\nmain(['explain', '--eps', '3', '--values', '5'])"

# The studio listens before anything is computed: its command and its server need no mathematics.
STUDIO = "import os\nos.execv = print\nfrom sievert.cli import main\nmain(['studio', '--no-browser'])"
SERVER = "from sievert.studio import Studio, serve\nimport uvicorn"


@pytest.mark.parametrize(
    ("start", "missing"),
    [
        ("import sievert", {"numpy", *HEAVY}),
        (COMMAND, HEAVY),
        (STUDIO, {"numpy", "rich.console", *HEAVY}),
        (SERVER, {"numpy", "pydantic", "typer", *HEAVY}),
    ],
)
def test_nothing_heavy_is_imported(start: str, missing: set[str]) -> None:
    code = f"try:\n    {start.replace(chr(10), chr(10) + '    ')}\nexcept SystemExit:\n    pass\n"
    code += "import sys\nprint('imported', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = set(done.stdout.rsplit("imported ", 1)[1].split())
    assert "sievert" in imported
    assert not imported & missing
