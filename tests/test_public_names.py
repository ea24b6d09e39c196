"""The public face: every name of the design loads lazily, and importing costs next to nothing."""

import inspect
import subprocess
import sys

import sievert as sv


def test_every_public_name_loads() -> None:
    for name in sv.__all__:
        assert getattr(sv, name) is not None
    assert set(sv.__all__) <= set(dir(sv))


def test_import_loads_no_numerics() -> None:
    code = "import sys, sievert; print([m for m in ('numpy', 'plotly', 'pydantic') if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )


def test_leakage_shows_its_parameters() -> None:
    parameters = list(inspect.signature(sv.leakage).parameters)
    assert parameters == ["channel", "prior", "gain", "kind", "case"]
    assert "How much a release helps an adversary" in (inspect.getdoc(sv.leakage) or "")
