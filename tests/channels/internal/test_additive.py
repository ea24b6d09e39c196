"""Long kernels of added noise."""

from unittest.mock import patch

import numpy as np
import pytest

import sievert as sv
from sievert.channels import _convolution


def test_long_kernels_go_through_fourier_transforms() -> None:
    kernel = np.random.default_rng(0).dirichlet(np.ones(600))
    right, left = np.random.default_rng(1).random(1099), np.random.default_rng(2).random(500)
    channel, ring = sv.Channel.from_noise(kernel, 500), sv.Channel.from_noise(kernel, 600, 7, cyclic=True)
    around = np.random.default_rng(3).random(600)
    for limit in (10**9, 0):
        with patch.object(_convolution, "LARGEST_DIRECT", limit):
            assert channel.matvec(right) == pytest.approx(channel.matrix @ right, rel=1e-12)
            assert channel.rmatvec(left) == pytest.approx(left @ channel.matrix, rel=1e-12)
            assert ring.matvec(around) == pytest.approx(ring.matrix @ around, rel=1e-12)
            assert ring.rmatvec(around) == pytest.approx(around @ ring.matrix, rel=1e-12)
