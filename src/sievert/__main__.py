"""`python -m sievert`."""

from __future__ import annotations

from sievert.cli import main

main()
