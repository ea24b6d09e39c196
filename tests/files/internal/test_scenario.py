"""What a scenario builds, and what each of it needs."""

from functools import cached_property

from sievert.files import PolicyScenario
from sievert.files._scenario import NEEDS


def test_everything_that_is_built_is_shared_by_what_it_needs():
    built = {name for name, item in vars(PolicyScenario).items() if isinstance(item, cached_property)}
    assert built - {"analysis"} == NEEDS.keys()
