from ._auth import Auth as Auth
from ._serving import serve as serve
from ._session import Session as Session
from ._site import Studio as Studio
from ._worker_pool import Run as Run
from ._worker_pool import WorkerPool as WorkerPool
