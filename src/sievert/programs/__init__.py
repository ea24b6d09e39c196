"""Linear programs, in floats and in rationals: the only room that imports the solver."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
