"""alpha in place of eps: the same audit, with fractions as long as they have few digits."""

from fractions import Fraction

import pytest

import sievert as sv
from sievert.files import PolicyScenario

FILE = """version = 1
[policy]
values = {{ range = [0, {last}] }}
secrets = "line"
[query]
kind = "record"
[mechanism]
kind = "{kind}"
{level}
"""
MANY_DIGITS = '"0.951229424500714"'


@pytest.mark.parametrize("kind", ["truncated-geometric", "tight-constraints"])
@pytest.mark.parametrize("alpha", ['"19/20"', MANY_DIGITS])
def test_many_digits_are_no_more_work(kind: str, alpha: str) -> None:
    """Fractions of 250 powers have thousands of digits each: this did not end in 15 minutes."""
    found = sv.audit(
        PolicyScenario.from_text(FILE.format(kind=kind, last=250, level=f"alpha = {alpha}"), ".")
    )
    level = "eps = 0.05129329438755" if alpha == '"19/20"' else "eps = 0.05"
    other = sv.audit(PolicyScenario.from_text(FILE.format(kind=kind, last=250, level=level), "."))
    assert float(found.leakages[0].after) == pytest.approx(float(other.leakages[0].after), rel=1e-9)


def test_few_powers_stay_exact() -> None:
    channel = sv.mechanisms.truncated_geometric(20, alpha="0.951229424500714")
    assert channel.form == "exact"
    assert sv.capacity(channel).factor == 1 + 19 * (1 - Fraction("0.951229424500714")) / (
        1 + Fraction("0.951229424500714")
    )
    # The closed form is exact however many inputs there are.
    large = sv.mechanisms.truncated_geometric(500, alpha="0.951229424500714")
    assert isinstance(sv.capacity(large).factor, Fraction)
