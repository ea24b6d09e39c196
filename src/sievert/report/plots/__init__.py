"""Pictures: one function each, returning a Plotly figure without a title, for a page to give it a heading.

Colours mean the same in all of them (see `style`): grey is before the release, blue after, red a limit.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
