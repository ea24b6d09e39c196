"""Hypothesis strategies for our laws and for yours, and attacks on what floats give away."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
