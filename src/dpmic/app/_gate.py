"""Who may ask: this computer's browser, by its own address, with the token."""

from __future__ import annotations

import secrets
import sys
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
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
ENTRY = "/enter"
NO_TOKEN = (
    "This window belongs to the person who started it. Open the address that dpmic app printed in "
    "the terminal."
)
USED = (
    "This address works once. Open the one that dpmic app printed in the terminal. If "
    "no window has opened, somebody else may have used it: stop dpmic app with Ctrl-C."
)
FOREIGN = (
    "This request came from another page and was refused. Use the address that dpmic app printed."
)
HOST = "This window is reached only by the address that dpmic app printed."
METHOD = "Only GET and POST requests are answered."


@dataclass
class Keys:
    """The secrets of one process.

    ``token`` is in the printed address and then in a cookie. ``once`` is in the address that the
    browser is started with, which other users of the computer can read among its arguments: it
    opens the window a single time.
    """

    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    once: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    def admits(self, given: str) -> bool:
        """Return whether a token opens the window; the one for a single use is then used up."""
        if _same(given, self.token):
            return True
        if self.once and _same(given, self.once):
            self.once = ""
            return True
        return False


class Gate:
    """Everything that is asked passes through here, and so does every answer."""

    def __init__(self, inner: ASGIApp, host: str, keys: Keys) -> None:
        self.inner, self.host, self.keys = inner, host, keys
        self.cookie = f"dpmic-{host.partition(':')[2]}"  # cookies do not distinguish ports

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, let in or answer; errors leave without their words, which may hold data."""
        if scope["type"] != "http":
            return
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
            await self.inner(scope, receive, sealed)
        except Exception as error:
            kind = type(error).__name__
            print(f"dpmic: {kind} in the app", file=sys.stderr)
            if not begun:
                await plain("A fault", FAULT.format(kind=kind), 500)(scope, receive, sealed)

    def _answer(self, scope: Scope) -> Response | None:
        """Return a refusal, or the way in; None for what may pass."""
        headers = {name.decode("latin-1"): own.decode("latin-1") for name, own in scope["headers"]}
        method, origin = scope["method"], headers.get("origin")
        if headers.get("host") != self.host:
            return plain("Refused", HOST, 403)
        if method not in ("GET", "POST"):
            return plain("Refused", METHOD, 405)
        if (origin is not None or method == "POST") and origin != f"http://{self.host}":
            return plain("Refused", FOREIGN, 403)
        if headers.get("sec-fetch-site") == "cross-site" and scope["path"] != ENTRY:
            return plain("Refused", FOREIGN, 403)
        if scope["path"] == ENTRY and method == "GET":
            return self._entry(scope)
        if not _same(_cookie(headers.get("cookie", ""), self.cookie), self.keys.token):
            return plain("Refused", NO_TOKEN, 403)
        return None

    def _entry(self, scope: Scope) -> Response:
        """Turn a token in the address into a cookie, and clear the address bar.

        Not by a redirect: after a link in a mail the browser would not send the new cookie.
        """
        query = parse_qs(scope["query_string"].decode("latin-1"))
        if not self.keys.admits(query.get("token", [""])[0]):
            return plain("Refused", USED, 403)
        answer = HTMLResponse(
            "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
            "<link rel='icon' href='data:,'><title>dpmic</title>"
            "<meta http-equiv='refresh' content='0;url=/'></head>"
            "<body><p><a href='/'>Continue</a></p></body></html>"
        )
        answer.set_cookie(self.cookie, self.keys.token, httponly=True, samesite="strict")
        return answer


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


def _cookie(header: str, name: str) -> str:
    """Return the value of one cookie."""
    try:
        found: Any = SimpleCookie(header).get(name)
    except CookieError:
        return ""
    return "" if found is None else str(found.value)
