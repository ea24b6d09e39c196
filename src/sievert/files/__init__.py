"""What the TOML file says: its schema, its mistakes in words, and the scenario that every question reads."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
