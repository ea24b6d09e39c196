"""Explain what mechanisms of other libraries promise: OpenDP's measurements, dp-accounting's events."""

from __future__ import annotations

from sievert.limits._events import explain_dp_accounting
from sievert.limits._measurements import explain_opendp

__all__ = ["explain_dp_accounting", "explain_opendp"]


def __dir__() -> list[str]:
    return sorted(__all__)
