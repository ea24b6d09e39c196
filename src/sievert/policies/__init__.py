"""What must stay hidden and what is computed: policies, queries and their answers."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
