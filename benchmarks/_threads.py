"""One thread for matrix products, imported before NumPy: ratios that do not say how busy the machine is.

The threads of a matrix library wait for each other by spinning, so that on processors with other work a small
product takes a hundred times as long as with one. A limit of the environment that is set already holds. What
a benchmark starts in a process of its own runs as it does for users.
"""

from __future__ import annotations

import os

NAMES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


def _load() -> dict[str, str]:
    """Load the libraries, which read the limit once, and leave the environment as it was."""
    missing = [name for name in NAMES if name not in os.environ]
    os.environ.update(dict.fromkeys(missing, "1"))
    used = {name: os.environ[name] for name in NAMES}
    import numpy.linalg
    import scipy.linalg

    assert numpy.linalg and scipy.linalg
    for name in missing:
        del os.environ[name]
    return used


LIMITS = _load()
