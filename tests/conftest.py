"""What every test may use: repeatable Hypothesis runs, and peers as oracles."""

import importlib
import io
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from fractions import Fraction
from functools import cache
from importlib.metadata import requires
from pathlib import Path
from subprocess import CompletedProcess
from types import ModuleType
from typing import Any
from unittest import mock

# Before NumPy is there: tests share the cores already, and threads that wait for each other cost them most.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Pages carry no stills, whatever browser there is; the tests of stills name one.
os.environ["SIEVERT_BROWSER"] = ""
# What this machine remembers of ledgers lies apart for the tests, and goes with them.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="sievert-states-")

import pytest
from hypothesis import HealthCheck, settings
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

# The same examples in every run, so that a failure repeats; HYPOTHESIS_PROFILE=search looks further.
settings.register_profile(
    "repeat",
    derandomize=True,
    max_examples=50,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "search", parent=settings.get_profile("repeat"), derandomize=False, max_examples=1000
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))

# A script with modules of its own; `python tests/mutate_checks.py` runs it.
collect_ignore = ["mutate_checks.py"]


def pytest_sessionfinish() -> None:
    """Remove what was remembered of ledgers."""
    shutil.rmtree(os.environ["XDG_STATE_HOME"], ignore_errors=True)


BROWSER_OPTIONS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
    "--disable-lcd-text",
]

# The distribution that brings each peer, where its name is not the module's.
DISTRIBUTIONS = {"ot": "POT", "faiss": "faiss-cpu", "sklearn": "scikit-learn"}


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser, or a skipped test; SIEVERT_REQUIRE_BROWSER=1 (as in CI) makes it a failure."""
    found = next((path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None)
    if found is None:
        reason = "chromium was not found (Debian package chromium)"
        if os.environ.get("SIEVERT_REQUIRE_BROWSER") == "1":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    return found


@pytest.fixture(scope="session")
def started_browser(chromium: str) -> Iterator[Any]:
    """One headless Chromium for all tests: Playwright runs once in a process."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=chromium, args=BROWSER_OPTIONS)
        yield started
        started.close()


@pytest.fixture(scope="session")
def oracle() -> Callable[[str], ModuleType]:
    """Import a peer to check ours against: ``qif = oracle("qif")``.

    Without the peer the test is skipped; with SIEVERT_REQUIRE_ORACLES=1 (as in CI) it fails instead,
    unless pyproject.toml says by a marker that the peer has no wheel for this interpreter.
    """
    return _import_peer


def _import_peer(module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        distribution = DISTRIBUTIONS.get(module, module)
        reason = f"the peer {distribution} cannot be imported ({error})"
        if os.environ.get("SIEVERT_REQUIRE_ORACLES") == "1" and _is_expected(distribution):
            pytest.fail(f"{reason}; SIEVERT_REQUIRE_ORACLES=1 asks for it", pytrace=False)
        pytest.skip(reason)


def _is_expected(distribution: str) -> bool:
    """Whether the ``test`` extra installs the distribution on this interpreter."""
    wanted = [Requirement(line) for line in requires("sievert") or []]
    named = [r for r in wanted if canonicalize_name(r.name) == canonicalize_name(distribution)]
    if not named:
        raise LookupError(f"{distribution} is not in the test extra of pyproject.toml; add it there")
    return any(r.marker is None or r.marker.evaluate({"extra": "test"}) for r in named)


@pytest.fixture(scope="session", autouse=True)
def commands_are_made_once() -> Iterator[None]:
    """Typer makes all commands anew for each line that is typed, which takes as long as many an answer."""
    from typer import main, testing

    made = cache(main.get_command)
    with mock.patch.object(main, "get_command", made), mock.patch.object(testing, "_get_command", made):
        yield


@pytest.fixture
def files_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several command lines about one file: what follows from its text alone is worked out once."""
    from sievert import files

    def once(read: Callable[[Path], object]) -> Callable[[Path], object]:
        known = cache(lambda path, text: read(path))
        return lambda path: known(path, path.read_bytes() if path.is_file() else None)

    monkeypatch.setattr(files, "load", once(files.load))
    monkeypatch.setattr(files, "load_policy_scenario", once(files.load_policy_scenario))


@pytest.fixture(scope="session")
def sievert() -> Callable[..., CompletedProcess[str]]:
    """The command line in this process, where a new one would load everything again.

    `sievert("audit", path)` is the same entry point with the same exit code and output.
    """
    from sievert.cli import main

    def run(*arguments: object) -> CompletedProcess[str]:
        out, err, words = io.StringIO(), io.StringIO(), ["sievert", *map(str, arguments)]
        streams = redirect_stdout(out), redirect_stderr(err)
        with streams[0], streams[1], mock.patch("sys.argv", words), pytest.raises(SystemExit) as ended:
            main()
        return CompletedProcess(words, int(ended.value.code or 0), out.getvalue(), err.getvalue())

    return run


@pytest.fixture(scope="session")
def map_noise() -> Callable[..., Any]:
    """Planar noise on a region of so many rows and columns, ε for a cell: ``map_noise(6, 6, "1/2")``."""
    from sievert.channels import PlanarNoise
    from sievert.spaces import Region

    def build(rows: int, columns: int, step: str | Fraction) -> PlanarNoise:
        region = Region(0.0, 0.0, (rows - 0.5) / 1105.74, (columns - 0.5) / 1113.2, 100)
        assert region.shape == (rows, columns)
        return PlanarNoise(region, Fraction(step) / 100)

    return build
