"""The process: a server of this computer alone, until Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dpmic.errors import DependencyError, InputError

if TYPE_CHECKING:
    import uvicorn

    from dpmic.app._gate import Keys
    from dpmic.app._session import Session

LOCAL = "127.0.0.1"
GRACE = 1.0
"""Seconds to end for a thread that answers a request, once the server has ended."""


def serve(
    file: str | None = None,
    *,
    port: int = 0,
    browser: bool = True,
    say: Callable[[str], object] = print,
) -> None:
    """Serve the window until Ctrl-C, on 127.0.0.1 and to nobody without the token.

    Parameters
    ----------
    file : str, optional
        A table, or a job file.
    port : int
        By default one that is free.
    browser : bool
        Whether to open a browser.
    say : callable
        Is told the address.

    Raises
    ------
    DependencyError
        If the extra ``app`` is not installed.
    InputError
        If there is no such file, or the port is taken.
    """
    # Figures are drawn in threads, which no window on the screen allows.
    os.environ.setdefault("MPLBACKEND", "Agg")
    try:
        import uvicorn  # noqa: F401

        from dpmic.app._gate import Keys
        from dpmic.app._session import Session
    except ImportError as error:
        if (error.name or "").startswith("dpmic"):
            raise
        reason = "dpmic app needs it and it is not installed"
        raise DependencyError(
            error.name or "starlette", reason, "pip install 'dpmic[app]'"
        ) from None
    session, keys, others = Session(Path.cwd()), Keys(), set(threading.enumerate())
    if file is not None:
        session.begin(file)
    with _bound(port) as listening:  # the server closes it, too, unless it is stopped early
        host = f"{LOCAL}:{listening.getsockname()[1]}"
        say(f"The window is at {keys.address(host, keys.token)}")
        say("Only this computer can open it. Ctrl-C stops it.")
        with _browser(keys, host) if browser else nullcontext(), suppress(KeyboardInterrupt):
            server(session, keys, host).run(sockets=[listening])
    say(session.farewell())
    _end_despite(set(threading.enumerate()) - others)


def _end_despite(threads: Iterable[threading.Thread]) -> None:
    """End the process if one of its threads is blocked, such as by a drive that is gone."""
    if threading.current_thread() is not threading.main_thread():
        return  # the process is somebody else's
    waited_for = [thread for thread in threads if not thread.daemon]
    for thread in waited_for:
        thread.join(GRACE)
    if any(thread.is_alive() for thread in waited_for):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


@contextmanager
def _browser(keys: Keys, host: str) -> Iterator[None]:
    """Open a file that leads to the window, since all users can read a browser's arguments.

    Only its owner can read the file (on Windows, by its place). It is gone once its token was
    used, at the latest when the window stops. If there is no such file, the printed address works.
    """
    from dpmic.app._gate import leading

    with suppress(OSError):
        folder = Path(tempfile.mkdtemp(prefix="dpmic-"))
        keys.used = partial(shutil.rmtree, folder, ignore_errors=True)
        page = folder / "window.html"
        with open(page, "x", encoding="utf-8", opener=partial(os.open, mode=0o600)) as file:
            file.write(leading(keys.address(host, keys.once)))
        # In a thread: some browsers return only when they are closed.
        threading.Thread(target=_browse, args=(page.as_uri(),), daemon=True).start()
    try:
        yield
    finally:
        keys.used()


def _browse(address: str) -> None:
    with suppress(OSError, webbrowser.Error):
        webbrowser.open(address)


def server(session: Session, keys: Keys, host: str) -> uvicorn.Server:
    """Return the server of one window; it writes no log, whose lines would hold the token."""
    import uvicorn

    from dpmic.app._gate import Gate
    from dpmic.app._routes import application

    config = uvicorn.Config(
        Gate(application(session), host, keys),
        http=_protocol(),
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=1,
        backlog=64,  # asyncio logs each of them while there is no descriptor left
    )
    return uvicorn.Server(config)


def _protocol() -> type[asyncio.Protocol]:
    """Return HTTP whose connections end after seconds without a request, the first one, too.

    Else anybody on this computer could keep all that a process may have.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Impatient(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    return Impatient


def _bound(port: int) -> socket.socket:
    """Return a socket that listens on this computer alone."""
    found = socket.socket()
    try:
        if os.name == "posix":  # elsewhere it would let others listen there, too
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        elif exclusive := getattr(socket, "SO_EXCLUSIVEADDRUSE", None):
            found.setsockopt(socket.SOL_SOCKET, exclusive, 1)
        found.bind((LOCAL, port))
        found.listen()  # who comes before the server is up waits
    except (OSError, OverflowError) as error:
        found.close()
        reason = getattr(error, "strerror", None) or "it cannot be used"
        raise InputError(f"port {port}", reason, "leave it out, and a free one is taken") from None
    return found
