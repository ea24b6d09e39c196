from ._children import Children as Children
from ._children import Run as Run
from ._desk import Desk as Desk
from ._gate import Gate as Gate
from ._serving import serve as serve
from ._site import Studio as Studio
