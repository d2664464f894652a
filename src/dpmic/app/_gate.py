"""Who may ask: this computer's browser, by a secret address, with a secret cookie."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dpmic.app._task import FAULT
from dpmic.report.markup import paragraphs, text

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
ENTRY = "enter"
COOKIE = "dpmic"
OWN = (None, "same-origin", "none")
"""What browsers say of a request that no other site began; old ones say nothing."""

NO_TOKEN = (
    "This window belongs to the person who started it. Open the address that dpmic app printed in "
    "the terminal."
)
USED = (
    "This address does not open the window, or has opened it before. Open the one that dpmic app "
    "printed in the terminal."
)
FOREIGN = (
    "This request came from another page and was refused. Use the address that dpmic app printed."
)
HOST = "This window is reached only by the address that dpmic app printed."
METHOD = "Only GET and POST requests are answered."


def _secret() -> str:
    return secrets.token_urlsafe(32)


@dataclass
class Keys:
    """The secrets of one process.

    All pages are below ``path``, since a cookie is sent to every port of a computer, but only to
    addresses below its own path. ``token`` is in the printed address, and ``once``, good for a
    single use, in the file that the browser is started with. Both are exchanged for ``cookie``.
    """

    path: str = field(default_factory=_secret)
    cookie: str = field(default_factory=_secret)
    token: str = field(default_factory=_secret)
    once: str = field(default_factory=_secret)
    used: Callable[[], object] = lambda: None
    """Called when ``once`` was used."""

    def address(self, host: str, token: str) -> str:
        """Return the address of the entrance."""
        return f"http://{host}/{self.path}/{ENTRY}?token={token}"

    def admits(self, given: str) -> bool:
        """Return whether a token opens the window; the one for a single use is then used up."""
        if _same(given, self.token):
            return True
        if self.once and _same(given, self.once):
            self.once = ""
            self.used()
            return True
        return False


class Gate:
    """Everything that is asked passes through here, and so does every answer."""

    def __init__(self, inner: ASGIApp, host: str, keys: Keys) -> None:
        self.inner, self.host, self.keys = inner, host, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, let in or answer; errors leave without their words, which may hold data."""
        if scope["type"] != "http":
            return  # such as a WebSocket, which the server then closes
        begun = False

        async def sealed(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                added = ((name.encode(), value.encode()) for name, value in HEADERS.items())
                message = {**message, "headers": [*message.get("headers", ()), *added]}
            await send(message)

        answer = self._answer(scope)
        if answer is not None:
            await answer(scope, receive, sealed)
            return
        try:
            await self.inner({**scope, "root_path": f"/{self.keys.path}"}, receive, sealed)
        except Exception as error:
            kind = type(error).__name__
            print(f"dpmic: {kind} in the app", file=sys.stderr)
            if not begun:
                await plain("A fault", FAULT.format(kind=kind), 500)(scope, receive, sealed)

    def _answer(self, scope: Scope) -> Response | None:
        """Return a refusal, or the way in; None for what may pass."""
        headers = {name.decode("latin-1"): own.decode("latin-1") for name, own in scope["headers"]}
        method, origin = scope["method"], headers.get("origin")
        path, below, place = scope["path"].removeprefix("/").partition("/")
        entry = place == ENTRY and method == "GET"
        if headers.get("host") != self.host:
            return plain("Refused", HOST, 403)
        if method not in ("GET", "POST"):
            return plain("Refused", METHOD, 405)
        if (origin is not None or method == "POST") and origin != f"http://{self.host}":
            return plain("Refused", FOREIGN, 403)
        if headers.get("sec-fetch-site") not in OWN and not entry:
            return plain("Refused", FOREIGN, 403)
        if not below or not _same(path, self.keys.path):
            return plain("Refused", NO_TOKEN, 403)
        if entry:
            return self._entry(scope)
        given = headers.get("cookie", "").split(";")
        if not any(_same(own.strip(), f"{COOKIE}={self.keys.cookie}") for own in given):
            return plain("Refused", NO_TOKEN, 403)
        return None

    def _entry(self, scope: Scope) -> Response:
        """Turn a token in the address into a cookie, and clear the address bar.

        Not by a redirect: after a link in a file the browser would not send the new cookie.
        """
        query = parse_qs(scope["query_string"].decode("latin-1"))
        if not self.keys.admits(query.get("token", [""])[0]):
            return plain("Refused", USED, 403)
        answer = HTMLResponse(leading("."))
        path = f"/{self.keys.path}/"
        answer.set_cookie(COOKIE, self.keys.cookie, path=path, httponly=True, samesite="strict")
        return answer


def leading(address: str) -> str:
    """Return a page that leads on at once."""
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<link rel='icon' href='data:,'><title>dpmic</title>"
        f"<meta http-equiv='refresh' content='0;url={text(address)}'></head>"
        f"<body><p><a href='{text(address)}'>Continue</a></p></body></html>"
    )


def plain(title: str, words: str, status: int) -> Response:
    """Return a page without links to anything, for those who may not see more."""
    return HTMLResponse(
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width'><meta name='color-scheme' "
        f"content='light dark'><title>{text(title)}</title></head>"
        f"<body><main><h1>{text(title)}</h1>{paragraphs(words)}</main></body></html>",
        status,
    )


def _same(given: str, secret: str) -> bool:
    return secrets.compare_digest(given.encode(), secret.encode())
