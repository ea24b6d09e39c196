"""`python -m sievert`."""

from sievert.cli import main

main()
