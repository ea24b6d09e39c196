from ._polytope import Membership as Membership
from ._polytope import Polytope as Polytope
from ._polytope import Vertices as Vertices
from ._polytope import polytope as polytope
