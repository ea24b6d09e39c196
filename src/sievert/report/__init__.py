"""What people see: the audit in sentences, pictures, the HTML report."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
