"""The studio: a local page that answers while a slider moves.

The server holds no state of its own but its cookie: it is a function from the text of a file to answers, and
everything heavy runs in child processes that can be stopped.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
