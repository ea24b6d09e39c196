"""Which mechanism is best: optimal design, what standard mechanisms would cost, and the price of privacy."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
