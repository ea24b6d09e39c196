"""What is released: channels, hypers, priors, composition and the privacy level of a channel."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
