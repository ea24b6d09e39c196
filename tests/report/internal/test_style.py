"""Inside `_style`: pictures carry the numbers they should."""

from itertools import pairwise

from sievert.report.plots import _style as style


def lightness(colour: str) -> float:
    red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_neighbouring_colours_differ_in_grey() -> None:
    for first, second in pairwise(style.CURVES):
        assert abs(lightness(first) - lightness(second)) > 0.1
    assert len(set(style.DASHES)) == len(set(style.SYMBOLS)) == len(style.CURVES)
    assert abs(lightness(style.BEFORE) - lightness(style.AFTER)) > 0.3
