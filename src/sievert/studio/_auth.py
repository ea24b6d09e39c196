"""Who may ask: one browser on this machine, by a cookie that a link from the terminal gave it.

A page of another site can send requests to a server on this machine, and a name of its own can lead here (DNS
rebinding). So the Host must be ours, an Origin must be ours, what changes anything must say its Origin, and
the cookie, which no other site can send (SameSite=Strict) and no script can read (HttpOnly), must be right.
The link works once.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

__all__ = ["HEADERS", "Auth"]

# Nothing from elsewhere, nothing inline, nothing evaluated; nothing kept, guessed at, framed or told on.
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
SAFE = ("GET", "HEAD")
# Of two that contradict each other, somebody else might read the other one.
ONCE = ("host", "origin", "cookie", "sec-fetch-site", "content-type")


@dataclass
class Auth:
    """Lets in who holds the cookie, from this machine's own page.

    Attributes
    ----------
    port : where the server listens; the only Host names are 127.0.0.1 and localhost with it
    token : what the link in the terminal carries; None once it was used
    """

    port: int
    token: str | None = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    key: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def link(self) -> str:
        """The address to open first."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """The cookie's name: of two studios on one machine each has its own, for ports share cookies."""
        return f"sievert-studio-{self.port}"

    @property
    def set_cookie(self) -> str:
        """The header that gives the cookie."""
        return f"{self.cookie}={self.key}; HttpOnly; SameSite=Strict; Path=/"

    def takes(self, token: str) -> bool:
        """Whether the token of a link is right; it is so once."""
        right = self.token is not None and hmac.compare_digest(token.encode(), self.token.encode())
        if right:
            self.token = None
        return right

    def refusal(self, method: str, given: Iterable[tuple[str, str]], *, opening: bool = False) -> str | None:
        """Why a request is refused before anything else is looked at; None: it is not.

        `opening` says that it is the link's, which the browser may follow from a file of this machine.
        """
        told = [(name.lower(), value) for name, value in given]
        headers = dict(told)
        if any(sum(name == once for name, _ in told) > 1 for once in ONCE):
            return f"each of {', '.join(ONCE)} may be said once"
        hosts = (f"127.0.0.1:{self.port}", f"localhost:{self.port}")
        host = headers.get("host", "")
        if host not in hosts:
            return "the Host is not this studio's"
        if "upgrade" in headers:
            return "nothing is upgraded here: the studio has no websockets"
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return "the Origin is not this studio's page"
        if origin is None and method not in SAFE:
            return "the Origin is missing"
        followed = opening and headers.get("sec-fetch-mode") == "navigate"
        followed = followed and headers.get("sec-fetch-dest") == "document" and origin is None
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not followed:
            return "the request comes from another site"
        return None

    def knows(self, cookies: Mapping[str, str]) -> bool:
        """Whether the cookie is there and right."""
        return hmac.compare_digest(cookies.get(self.cookie, "").encode(), self.key.encode())
