"""Inside `_for_channel`: the staircase sampler."""

from fractions import Fraction as F

import numpy as np

from sievert.channels import GaussianLaw, StaircaseLaw
from sievert.sampling import SeededBits
from sievert.sampling._for_channel import ClampedNoise, law_sampler

SIZE = 200_000


def test_clamped_noise_of_any_law() -> None:
    for law in (StaircaseLaw(F(1), 4), GaussianLaw(F(3, 2))):
        sampler = law_sampler(law, (0, 3), "fixed", SeededBits(4))
        assert isinstance(sampler, ClampedNoise)
        drawn = sampler.draw(np.full(SIZE, 1))
        assert set(np.unique(drawn)) == {0, 1, 2, 3}
        low = float(np.exp(law.log_upper(np.array([1.0]))[0]))
        assert abs((drawn == 0).mean() - low) < 6 * np.sqrt(low / SIZE)
        assert sampler.parameters["low"] == 0 and sampler.secure is False
