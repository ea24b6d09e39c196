"""Sievert: measure, bound, compare and design what a privacy mechanism leaks.

>>> import sievert as sv
>>> warner = sv.mechanisms.randomised_response(["yes", "no"], alpha="1/3")
>>> print(sv.epsilon(warner, sv.Policy.local(["yes", "no"])))
ε = ln(3) = 1.09861, between inputs 'yes' and 'no' on output 'yes'
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
