"""Families of private channels (Fernandes, Sec 3.4, 4.7.1).

Each takes the number of inputs (or their labels) and exactly one of `eps` (nats) and `alpha` = e^-eps;
a rational alpha gives an exact channel.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
