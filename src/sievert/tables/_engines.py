"""Who does the units of work: this process, a pool of processes, or a Ray cluster of several machines.

An engine maps a function over tasks and gives the results in the order of the tasks. A worker that dies is
replaced and its task done again, so work must give the same however often it is done. Work is told what all
tasks share once, not with each.
"""

from __future__ import annotations

import os
import pickle
import secrets
import socket
import tempfile
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from sievert.errors import FileError, OutputError, SievertError
from sievert.kinds import ConfigType, Positive, variant
from sievert.tables._driver_words import PRIVATE_WORDS, class_of, whole
from sievert.tables._hosts import require_allowed

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

__all__ = ["Engine", "Work", "Workers"]

Work = Callable[[Any, Any], Any]  # of what is shared and a task

# How often a task may lose its worker before the run is given up.
MOST_DEATHS = 3
# Tasks that are under way or wait, for each worker: results are taken in order, and memory is bounded.
AHEAD = 2
# A pool takes some 2 seconds to begin, in which one process draws so many rows.
FEWEST_ROWS = 10_000_000
CLUSTER_PORT = 10001
CONNECT_SECONDS = 10.0
TOKEN = "RAY_AUTH_TOKEN"
SAFE_PATH = "PYTHONSAFEPATH"
# Of a folder for Ray: the paths of sockets below it are 107 bytes at most.
LONGEST_PLACE = 24


class Workers(ABC):
    """Workers that know what is shared; `close` lets them go."""

    def __init__(self, shared: Any, count: int) -> None:
        self.shared, self.count = shared, count

    def map(self, work: Work, tasks: Sequence[Any]) -> Iterator[Any]:
        """The result of every task, in order; a task whose worker died is done again."""
        begun: deque[Any] = deque()
        submitted, deaths = 0, 0
        for number in range(len(tasks)):
            while True:
                try:
                    # After a death one task runs alone, so that it is known whose the next one is.
                    ahead = 1 if deaths else AHEAD * self.count
                    while submitted < min(len(tasks), number + ahead):
                        begun.append(self.submit(work, tasks[submitted]))
                        submitted += 1
                    found = self.result(begun[0])
                    break
                except WorkerDied as problem:
                    deaths += 1
                    if deaths >= MOST_DEATHS:
                        raise OutputError(
                            f"engine: a worker died {deaths} times on one task ({problem}); see that it has "
                            "memory enough, or use smaller files"
                        ) from None
                    self.restart()
                    begun.clear()
                    submitted = number
            begun.popleft()
            deaths = 0
            yield found

    @abstractmethod
    def submit(self, work: Work, task: Any) -> Any:
        """Begin a task."""

    @abstractmethod
    def result(self, begun: Any) -> Any:
        """What a task gave."""

    @abstractmethod
    def restart(self) -> None:
        """Replace workers that died."""

    @abstractmethod
    def close(self) -> None:
        """Let the workers go."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()


class WorkerDied(Exception):
    """A worker is gone, and its task was not finished."""


class Engine(ConfigType, noun="engine"):
    """Who draws the units of a folder of files; what comes out does not depend on it."""

    text_key = "address"
    text_words = "the address of a Ray cluster, ray://host:port"
    # Whether it is this process, which can do anything.
    alone: ClassVar[bool] = False

    @abstractmethod
    def start(self, shared: Any, rows: int | None = None) -> Workers:
        """Workers for about so many rows (None: not known), or an error that says why there are none."""

    @property
    @abstractmethod
    def words(self) -> str:
        """Who does the work."""


@variant(Engine, "one")
class OneProcess(Engine):
    """This process, one unit after another: the default."""

    alone = True

    def start(self, shared: Any, rows: int | None = None) -> Workers:
        return _Here(shared, 1)

    @property
    def words(self) -> str:
        return "in this process"


class _Here(Workers):
    """Tasks are done when their results are asked for."""

    def submit(self, work: Work, task: Any) -> Any:
        return work, task

    def result(self, begun: Any) -> Any:
        work, task = begun
        return work(self.shared, task)

    def restart(self) -> None:
        """Who is here does not die alone."""

    def close(self) -> None:
        """Nobody was called."""


@variant(Engine, "processes")
class Processes(Engine):
    """A pool of new processes on this machine; rows that one process has done sooner are done in this one."""

    workers: Annotated[
        Positive | None,
        Field(
            description="how many processes; unless given as many as there are processors, for fewer than "
            "10 million rows none"
        ),
    ] = None

    def start(self, shared: Any, rows: int | None = None) -> Workers:
        if self.workers is None and rows is not None and rows < FEWEST_ROWS:
            return _Here(shared, 1)
        return _Pool(shared, self.workers or os.cpu_count() or 1)

    @property
    def words(self) -> str:
        return f"in {self.workers or 'as many as there are processors,'} processes of this machine"


class _Pool(Workers):
    """Processes that are begun anew, so that no lock or thread of this one is copied into them."""

    def __init__(self, shared: Any, count: int) -> None:
        super().__init__(shared, count)
        self._content = pickle.dumps(shared)
        self._pool = self._new()

    def _new(self) -> ProcessPoolExecutor:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        with _nothing_from_the_folder():
            return ProcessPoolExecutor(self.count, get_context("spawn"), _receive, (self._content,))

    def submit(self, work: Work, task: Any) -> Any:
        with _nothing_from_the_folder(), _deaths():  # processes are begun as tasks come
            return self._pool.submit(_done, work, task)

    def result(self, begun: Any) -> Any:
        with _deaths():
            return begun.result()

    def restart(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = self._new()

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _nothing_from_the_folder() -> Iterator[None]:
    """Have a Python that is begun inside import nothing from the current folder, as `python -c` would.

    A file `multiprocessing.py` may have come along there, or have been planted by another user.
    """
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SAFE_PATH]
        else:
            os.environ[SAFE_PATH] = before


@contextmanager
def _deaths() -> Iterator[None]:
    from concurrent.futures import BrokenExecutor

    try:
        yield
    except BrokenExecutor as problem:
        raise WorkerDied(str(problem)) from None


# What all tasks share, in a process of a pool; of Ray, by the name of the object.
_RECEIVED: dict[str, Any] = {}


def _receive(content: bytes) -> None:
    _RECEIVED[""] = pickle.loads(content)


def _done(work: Work, task: Any) -> Any:
    return work(_RECEIVED[""], task)


class _Ray(Engine):
    """What both engines on Ray have in common."""

    @abstractmethod
    def connection(self) -> AbstractContextManager[dict[str, Any]]:
        """How Ray is begun or reached, for as long as it is used."""

    def start(self, shared: Any, rows: int | None = None) -> Workers:
        try:
            import ray
        except ImportError:
            raise FileError(
                'release.engine: Ray is not installed; install sievert[cluster], or use engine = "processes"'
            ) from None
        with ExitStack() as ended:
            if not ray.is_initialized():
                self._begin(ray, ended)
            workers = _RayWorkers(shared)
            workers.ended = ended.pop_all()
            return workers

    def _begin(self, ray: Any, ended: ExitStack) -> None:
        """Begin or reach Ray, to be left when the stack is closed."""
        try:
            settings = ended.enter_context(self.connection())
            ended.callback(_left, ray)
            ray.init(log_to_driver=False, configure_logging=False, **settings)
        except SievertError:
            raise
        except ImportError as problem:
            raise FileError(f"release.engine: {problem}; install sievert[cluster]") from None
        except Exception as problem:
            raise OutputError(
                f"release.engine: Ray cannot be reached or begun {self.words} "
                f"({type(problem).__name__}: {str(problem).splitlines()[0] if str(problem) else ''}); "
                "nothing was charged. See that the cluster runs, with the same versions of Python and Ray"
            ) from None


@variant(Engine, "ray")
class LocalRay(_Ray):
    """Ray on this machine, begun for the run; one that the program has begun already is used."""

    workers: Annotated[
        Positive | None, Field(description="how many processes; as many as there are processors unless given")
    ] = None

    @contextmanager
    def connection(self) -> Iterator[dict[str, Any]]:
        from ray.job_config import JobConfig

        with _only_ours() as folder, _nothing_from_the_folder():
            yield {
                "address": "local",
                # Otherwise workers import from the current folder first.
                "job_config": JobConfig(_client_job=True),
                "num_cpus": self.workers,
                "include_dashboard": False,
                "object_store_memory": 80 * 2**20,
                "_temp_dir": folder,
            }

    @property
    def words(self) -> str:
        return "by Ray on this machine"


@variant(Engine, key="address")
class RayCluster(_Ray):
    """A Ray cluster that runs already; its machines see the files under the same paths."""

    address: Annotated[str, Field(description="of its head, `ray://host:port`")]

    @field_validator("address")
    @classmethod
    def _is_address(cls, text: str) -> str:
        try:
            parts = urlsplit(text)
            whole = parts.scheme == "ray" and bool(parts.hostname) and (parts.port or CLUSTER_PORT) > 0
        except ValueError:
            parts, whole = urlsplit(""), False
        if not whole:
            names = ", ".join(f'"{name}"' for name in Engine.names())
            raise ValueError(f"is neither {names} nor the address of a cluster, ray://host:port")
        if parts.username or parts.password or parts.path or parts.query:
            raise ValueError("an address is ray://host:port and nothing else, without a name or password")
        return text

    def connection(self) -> AbstractContextManager[dict[str, Any]]:
        # What its head answers is unpickled, which runs it.
        require_allowed(self.address, "release.engine", asks=False)
        parts = urlsplit(self.address)
        # Ray's client tries for half a minute; a port that nobody listens at is known at once.
        with socket.create_connection(
            (str(parts.hostname), parts.port or CLUSTER_PORT), timeout=CONNECT_SECONDS
        ):
            return nullcontext({"address": self.address})

    @property
    def words(self) -> str:
        return f"by the Ray cluster at {self.address}"


@contextmanager
def _only_ours() -> Iterator[str]:
    """A folder for a Ray that is begun inside, which asks for a token that it alone is told.

    Ray lets every user write in its folder, where its sockets lie: so it lies in one that only we enter.
    """
    place = os.environ.get("RAY_TMPDIR") or tempfile.gettempdir()
    if os.name != "nt" and len(os.fsencode(place)) > LONGEST_PLACE:
        place = "/tmp"
    own = TOKEN not in os.environ
    with tempfile.TemporaryDirectory(prefix="sievert-", dir=place, ignore_cleanup_errors=True) as folder:
        try:
            if own:
                os.environ[TOKEN] = secrets.token_hex(32)
                _forget_token()
            yield os.path.join(folder, "ray")
        finally:
            if own:
                del os.environ[TOKEN]
                _forget_token()


def _forget_token() -> None:
    """Have Ray read its token anew, which it keeps for as long as a process lives."""
    with suppress(Exception):  # a Ray that knows no tokens
        import_module("ray._raylet").AuthenticationTokenLoader.instance().reset_cache()


def _left(ray: Any) -> None:
    """Leave Ray; a cluster that is gone cannot be left."""
    with suppress(Exception):
        ray.shutdown()


class _RayWorkers(Workers):
    """Tasks of Ray, which does one again itself whose worker died."""

    def __init__(self, shared: Any) -> None:
        import ray

        self._ray: Any = ray
        super().__init__(shared, max(1, int(self._ray.cluster_resources().get("CPU", 1))))
        self.ended = ExitStack()
        self._object = ray.put(pickle.dumps(shared))
        self._task = ray.remote(max_retries=MOST_DEATHS - 1)(_done_by_ray)

    def submit(self, work: Work, task: Any) -> Any:
        # In a list Ray hands on the object's name, and a worker fetches it once, not for each task.
        return self._task.remote(work, task, [self._object])

    def result(self, begun: Any) -> Any:
        problems = self._ray.exceptions
        try:
            return self._ray.get(begun)
        except problems.RayTaskError as problem:
            raise problem.cause from None
        except (problems.RayError, ConnectionError) as problem:
            raise OutputError(
                f"engine: Ray gave up ({class_of(problem)}); {PRIVATE_WORDS}", private=whole(problem)
            ) from None

    def restart(self) -> None:
        """Ray has done so."""

    def close(self) -> None:
        del self._object
        self.ended.close()


def _done_by_ray(work: Work, task: Any, named: list[Any]) -> Any:
    import ray

    name = named[0].hex()
    if name not in _RECEIVED:
        _RECEIVED.clear()
        _RECEIVED[name] = pickle.loads(ray.get(named[0]))
    return work(_RECEIVED[name], task)
