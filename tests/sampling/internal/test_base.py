"""Inside `_base`: bit sources: repeatable where asked for by name, independent of batches, counted."""

import pytest

from sievert.sampling._base import philox


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ((0, 0, 0, 0), (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_philox_known_answers(counter: tuple[int, ...], key: tuple[int, int], words: str) -> None:
    """The published test vectors of Random123."""
    assert " ".join(f"{int(word):08x}" for word in philox(counter, key)) == words  # type: ignore[arg-type]
