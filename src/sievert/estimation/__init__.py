"""What samples and aggregates tell: distributions from noisy reports, audits of black boxes, intervals."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
