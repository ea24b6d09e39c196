"""What tests of tables share."""

import builtins

import pytest


@pytest.fixture(params=["pyarrow", "plain"])
def reader(request, monkeypatch) -> str:
    """Every CSV test runs with pyarrow and without."""
    if request.param == "plain":
        real = builtins.__import__

        def without_arrow(name, *rest, **named):
            if name.startswith("pyarrow"):
                raise ImportError(name)
            return real(name, *rest, **named)

        monkeypatch.setattr(builtins, "__import__", without_arrow)
    else:
        pytest.importorskip("pyarrow")
    return request.param
