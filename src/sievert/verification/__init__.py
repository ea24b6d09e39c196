"""Is this proof about this file? What a proof is about is compared with what the file asks, rebuilt.

A proof holds by its own numbers; that they are the numbers of this policy, this query and this ε is not taken
from what the proof says of itself.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
