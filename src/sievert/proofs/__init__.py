"""Proofs as data: every certificate, and its check with no solver.

A proof saves to JSON and `verify` re-checks it from its own numbers. The checks use exact integers, ball
arithmetic, and float sums with a proved rounding error; they import no linear-program solver.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
