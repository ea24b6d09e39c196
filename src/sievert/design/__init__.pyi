from ._candidates import Alternative as Alternative
from ._candidates import Candidates as Candidates
from ._candidates import Leak as Leak
from ._candidates import candidates as candidates
from ._leakage_families import Frontier as Frontier
