"""Inside `_line`: sums after many releases."""

from __future__ import annotations

import pytest

from sievert.channels import NoiseLaw
from tests.observations.lines import LAWS, adversaries, by_outputs, line


@pytest.mark.parametrize("law", [LAWS[0], LAWS[4]], ids=repr)
def test_what_is_bounded_encloses_the_gain(law: NoiseLaw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sievert.observations._scalar_grid.LARGEST_CHANNEL", 0)
    for view in (line(range(5), law), line(range(5), law, [0.1, 0.4, 0.1, 0.2, 0.2])):
        for adversary in adversaries(5):
            found = view.gain(adversary, 2)
            true = by_outputs(view, adversary, 2)
            assert found.lower * (1 - 1e-11) <= true <= found.upper * (1 + 1e-11)
            assert found.exact == found.method.startswith("exact")
