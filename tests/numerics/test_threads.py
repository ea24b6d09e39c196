"""One thread of BLAS for small matrices: within, nested, and as before afterwards."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest
import scipy.linalg  # noqa: F401  (its library is one of those counted)

from sievert.numerics import one_thread

threadpoolctl = pytest.importorskip("threadpoolctl")


def threads() -> list[int]:
    """Of the libraries of NumPy and SciPy; a peer of another test may have brought its own since."""
    return [
        entry["num_threads"]
        for entry in threadpoolctl.threadpool_info()
        if entry["user_api"] == "blas" and {"numpy.libs", "scipy.libs"} & set(Path(entry["filepath"]).parts)
    ]


def test_the_limit_holds_inside_and_is_lifted_afterwards() -> None:
    with threadpoolctl.threadpool_limits(2, "blas"):
        before = threads()
        assert before and set(before) == {2}
        with one_thread(100) as limited:
            assert limited and set(threads()) == {1}
            with one_thread(10**6) as large, one_thread(3) as again:
                assert not large and again and set(threads()) == {1}
            assert set(threads()) == {1}
        assert threads() == before
        with pytest.raises(KeyError), one_thread(100):
            raise KeyError
        assert threads() == before


def test_only_the_main_thread_sets_the_limit() -> None:
    """Else the one that is lifted last could be another's, which OpenBLAS may ignore."""
    found = []

    def other() -> None:
        with one_thread(100) as limited:
            found.append(limited)

    beside = threading.Thread(target=other)
    beside.start()
    beside.join()
    assert found == [False]


def test_small_matrices_do_without_the_extra() -> None:
    """Without threadpoolctl nothing is limited, and answers are the same."""
    code = (
        "import sys; sys.modules['threadpoolctl'] = None\n"
        "import numpy as np, sievert as sv\n"
        "from sievert.numerics import one_thread\n"
        "with one_thread(9) as limited: assert not limited\n"
        "rng = np.random.default_rng(0)\n"
        "a, b = (sv.Channel(rng.dirichlet(np.ones(20), 20), normalise=True) for _ in range(2))\n"
        "assert sv.refines(a, a.then(b)).holds\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
