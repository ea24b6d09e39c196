"""What any mechanism that obeys a policy could leak: published bounds, better ones, the exact maximum."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
