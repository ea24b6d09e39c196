"""One module a command: from a scenario to a result, and the one check of [accept]."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
