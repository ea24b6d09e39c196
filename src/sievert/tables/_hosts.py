"""Which hosts may be connected to: those that the owner allows outside the file that names them.

A driver sends its password to the host that it is told, and Ray unpickles what its head answers. A file may
come from someone else, so a host in a file is connected to only when it is allowed by an option, in the
environment or in the owner's own list. On a terminal a database is asked about once, and the answer is kept
in that list; machines that run code (Spark, Ray) are never asked about.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import parse_qsl

from sievert.errors import FileError, OutputError
from sievert.numerics import abbreviated

__all__ = ["address_of", "asking_about_hosts", "hosts_allowed", "is_loopback", "require_allowed", "user_list"]

VARIABLE = "SIEVERT_HOSTS"
# Schemes that mean the same, and the port that is meant where none is named.
ALIASES = {"postgresql": "postgres", "pyspark": "spark"}
PORTS = {"postgres": 5432, "spark": 7077, "ray": 10001}
ADDRESS = re.compile(r"([a-z][a-z0-9+.-]*)://([A-Za-z0-9._:,\[\]-]*)")
GIVEN: ContextVar[tuple[str, ...]] = ContextVar("GIVEN", default=())
Ask = Callable[[str], bool]
ASK: ContextVar[Ask | None] = ContextVar("ASK", default=None)


def address_of(url: str) -> str:
    """The address that a URL names: scheme, host and port.

    >>> address_of("postgresql://ann@DB.example.org/clinic"), address_of("ray://head:10002")
    ('postgres://db.example.org:5432', 'ray://head:10002')
    """
    scheme, _, rest = url.partition("://")
    host = re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]
    scheme = ALIASES.get(scheme, scheme)
    found = ADDRESS.fullmatch(f"{scheme}://{host}")
    if found is None:
        raise FileError(f"{abbreviated(url)}: names no host that can be; write {scheme}://host:port")
    if scheme in PORTS and "," not in host and not re.search(r"[^:\[]:[0-9]*$|\]:[0-9]*$", host):
        host = f"{host}:{PORTS[scheme]}"
    return f"{scheme}://{host.lower()}"


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by its address or by the name that only means it.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("127.0.0.1.example.org")
    (True, True, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def require_allowed(url: str, key: str, *, asks: bool = True) -> dict[str, str]:
    """Refuse the host of a URL that the owner has not allowed; what the owner says about it otherwise.

    `asks` says that a terminal may be asked. Parameters may stand behind an allowed address, such as
    `postgres://db.example.org:5432?sslmode=disable`: there they are the owner's, in a file they are not.
    """
    address = address_of(url)
    for text in _allowed():
        if address_of(text) == address:
            return dict(parse_qsl(text.partition("?")[2], keep_blank_values=True))
    ask = ASK.get()
    if asks and ask is not None and ask(address):
        _remember(address)
        return {}
    raise FileError(
        f"{key}: names the host {address}, which would get your password and your questions; nothing was "
        "connected to. If it is the right one, allow it outside the file: with --allow-host, by "
        f"{VARIABLE}={address} in the environment, or by a line in {_shown(user_list())}"
    )


@contextmanager
def hosts_allowed(hosts: Iterable[str]) -> Iterator[None]:
    """Inside, these addresses are allowed too."""
    given = tuple(hosts)
    for text in given:
        _require_address(text, "hosts")
    token = GIVEN.set((*GIVEN.get(), *given))
    try:
        yield
    finally:
        GIVEN.reset(token)


@contextmanager
def asking_about_hosts(ask: Ask) -> Iterator[None]:
    """Inside, an unknown database is asked about."""
    token = ASK.set(ask)
    try:
        yield
    finally:
        ASK.reset(token)


def user_list() -> Path | None:
    """The owner's own list of hosts, one a line; None where there is no home."""
    told = os.environ.get("XDG_CONFIG_HOME", "")
    with suppress(RuntimeError):
        return (Path(told) if os.path.isabs(told) else Path.home() / ".config") / "sievert" / "hosts"
    return None


def _allowed() -> list[str]:
    """Every address that is allowed outside of files."""
    found = [*GIVEN.get()]
    for text in re.split(r"[\s;]+", os.environ.get(VARIABLE, "").strip()):
        if text:
            _require_address(text, VARIABLE)
            found.append(text)
    path = user_list()
    if path is None or not path.is_file():
        return found
    mark = path.stat()
    if mark.st_uid not in (os.getuid(), 0) or mark.st_mode & 0o022:
        raise FileError(f"{_shown(path)}: others may write it, so it allows no host; chmod 600 it")
    for line in path.read_text(encoding="utf-8").splitlines():
        text = line.partition("#")[0].strip()
        if text:
            _require_address(text, _shown(path))
            found.append(text)
    return found


def _require_address(text: str, where: str) -> None:
    address, _, _ = text.partition("?")
    if ADDRESS.fullmatch(address) is None:
        raise FileError(
            f"{where}: {abbreviated(text)} is no address; write postgres://host:port or ray://host:port"
        )


def _remember(address: str) -> None:
    """Keep an answer, for the owner alone."""
    path = user_list()
    if path is None:
        return
    try:
        for folder in reversed((path.parent, *path.parent.parents)):
            folder.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8") as stream:
            stream.write(f"{address}\n")
    except OSError as problem:
        raise OutputError(
            f"{_shown(path)}: cannot be written ({problem.strerror}); use --allow-host"
        ) from None


def _shown(path: Path | None) -> str:
    """A path as its owner writes it."""
    if path is None:
        return "~/.config/sievert/hosts"
    with suppress(RuntimeError, ValueError):
        return f"~/{path.relative_to(Path.home())}"
    return str(path)
