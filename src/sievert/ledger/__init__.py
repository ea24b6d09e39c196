"""What has been spent: budgets, the chain of releases and its locks."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
