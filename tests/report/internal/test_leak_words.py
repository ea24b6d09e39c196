"""Inside `_leak_words`: a page holds everything itself."""

from sievert.design import Leak
from sievert.report.design import _leak_words as design_words


def test_a_guess_that_a_release_leaves_as_it_was_is_a_share() -> None:
    leak = Leak("within 300", 0.08708000000000002, 0.08708, False)
    assert design_words((leak,)).endswith(": 8.71% → 8.71%")
