"""How a Postgres that a file names is connected to: what the URL may say, and what keeps a password from it.

The host must be allowed outside the file (`_hosts`). The password is proved by SCRAM, never sent, and the
server proves that it knows it too; over a network the proof is bound to TLS. What the environment says about
these (libpq's own variables) or the owner behind an allowed host is heeded; a file may say nothing of it.
"""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from sievert.errors import FileError
from sievert.numerics import abbreviated
from sievert.tables._hosts import is_loopback, require_allowed

__all__ = ["UNLESS_TOLD", "postgres_told", "require_postgres"]

# What may stand after the question mark: nothing that names a host or a file, or weakens the connection.
PARAMETERS = ("connect_timeout",)
ON_A_SOCKET = {"require_auth": "scram-sha-256,none"}  # the server of a socket may know by itself who asks
ON_THIS_MACHINE = {"require_auth": "scram-sha-256"}
OVER_A_NETWORK = {**ON_THIS_MACHINE, "sslmode": "require", "channel_binding": "require"}
VARIABLES = {
    "require_auth": "PGREQUIREAUTH",
    "sslmode": "PGSSLMODE",
    "channel_binding": "PGCHANNELBINDING",
}
UNLESS_TOLD = (
    "over TCP it must take SCRAM-SHA-256, and TLS where it is on another machine, unless the environment "
    f"says otherwise ({', '.join(VARIABLES.values())})"
)


def require_postgres(url: str) -> dict[str, str]:
    """Refuse a host that only the file allows; what the owner says about it outside the file."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        raise FileError(
            f"data.source: {abbreviated(url)} has no port that can be; it is a whole number up to 65535"
        ) from None
    if parts.hostname:
        return require_allowed(url, "data.source")
    if port is not None:
        raise FileError(
            f"data.source: {abbreviated(url)} names a port and no host; name both, or neither (PGHOST, "
            f"PGPORT)"
        )
    return {}


def postgres_told(url: str) -> dict[str, Any]:
    """What the driver is told: by the URL, its owner, and for host and port, which Ibis fills in, libpq."""
    parts = urlsplit(url)
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    for name in given:
        if name not in PARAMETERS:
            raise FileError(
                f"data.source: {abbreviated(name)} may not stand after the question mark, only "
                "connect_timeout may; host and port stand in the URL, and its owner says the rest outside "
                "the file (PGHOST, PGSSLMODE, PGSSLROOTCERT, PGSERVICE, PGOPTIONS)"
            )
    own = require_postgres(url)
    try:
        port = parts.port or int(os.environ.get("PGPORT") or 5432)
    except ValueError:
        raise FileError(f"PGPORT: {abbreviated(os.environ['PGPORT'])} is not a port") from None
    host = parts.hostname or os.environ.get("PGHOST")
    database, *schema = unquote(parts.path).strip("/").split("/", 1)
    told = {
        "host": host,
        "port": port,
        "user": parts.username,
        "database": database or os.environ.get("PGDATABASE"),
        "schema": schema[0] if schema else None,
        **_guarded(host),
        **given,
        **own,
    }
    return {name: value for name, value in told.items() if value is not None}


def _guarded(host: str | None) -> dict[str, str]:
    """What keeps a password from being sent, where the environment says nothing about it."""
    if host is None or host.startswith(("/", "@")):
        wanted = ON_A_SOCKET
    else:
        wanted = ON_THIS_MACHINE if is_loopback(host) else OVER_A_NETWORK
    return {name: value for name, value in wanted.items() if VARIABLES[name] not in os.environ}
