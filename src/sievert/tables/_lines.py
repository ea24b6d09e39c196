"""Lines of a table that is shown on a terminal."""

from __future__ import annotations

__all__ = ["TableLine"]


class TableLine(str):
    """A row laid out under its header: a terminal that is wide enough shows it in one line, as it is.

    Examples
    --------
    >>> TableLine("stays  184").split()
    ['stays', '184']
    """

    __slots__ = ()
