from ._central import NoisyTable as NoisyTable
from ._in_all import InAll as InAll
from ._plan import make_plan as make_plan
from ._preview import Preview as Preview
from ._preview import preview as preview
from ._running import Release as Release
from ._running import run as run
from ._sidecar import noise_proof as noise_proof
