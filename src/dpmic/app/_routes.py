"""Which address shows what. Reading changes nothing; what changes something is sent, and leads on.

So every page can be read again, and the browser's own back and forward work.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from secrets import token_urlsafe
from typing import Any, TypeVar
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from dpmic.app import _exploring, _outcome, _publishing, _steps
from dpmic.app._bodies import TooLargeError, read_form, read_upload
from dpmic.app._frame import OPEN, STATIC, STEPS, Page, document, field, form, shipped
from dpmic.app._gate import plain
from dpmic.app._session import Session, before_a_job
from dpmic.app._task import FAULT, Task
from dpmic.errors import DpmicError, InputError, ParameterError
from dpmic.job import as_entry
from dpmic.privacy.ledger import patience
from dpmic.report.markup import paragraphs, text

Endpoint = Callable[[Request], Awaitable[Response]]
Given = Mapping[str, str]
T = TypeVar("T")

SHOWN = {
    **_steps.SHOWN,
    "epsilon": _publishing.epsilon,
    "rehearsal": _publishing.rehearsal,
    "consent": _publishing.consent,
    "ledger": _publishing.ledger_page,
}
SECONDS = 2.0
"""How long a page waits for a locked ledger, since all tabs wait for the page."""

NEXT = {"protect": "columns", "columns": "question", "question": "epsilon"}
NEXT |= {"epsilon": "rehearsal"}


def application(session: Session) -> Starlette:
    """Return the application of one window."""
    window = Window(session)
    routes = [Route(f"/{place}", window.step(place)) for place in SHOWN]
    routes += [Route(f"/{place}", window.changed(place), methods=["POST"]) for place in NEXT]
    routes += [Route(f"/{name}", window.static(name)) for name in STATIC]
    acts = {
        "file": (choose_file, "."),
        "private": (begin_private, "."),
        "open": (begin_open, "."),
        "over": (start_over, "."),
        "job": (rewrite, "job"),
        "rehearsal": (rehearse, "rehearsal"),
        "consent": (prepare, "consent"),
        "spend": (spend, "consent"),
        "explore": (score, "explore"),
    }
    for name, (act, back) in acts.items():
        routes.append(Route(f"/{name}", window.sent(act, back), methods=["POST"]))
    routes += [
        Route("/", window.answered(lambda session, _: start(session))),
        Route("/plan", window.plan),
        Route("/progress", window.progress),
        Route("/stop", window.stop, methods=["POST"]),
        Route("/upload", window.upload, methods=["POST"]),
        Route("/job.toml", window.job_file),
        Route("/result", window.answered(result)),
        Route("/result.{kind}", window.made(result_file)),
        Route("/explore", window.looked(_exploring.overview)),
        Route("/explore.{kind}", window.made(explored_file)),
        Route("/pair", window.looked(look)),
        Route("/pair.{kind}", window.made(pair_file)),
    ]
    known: Any = {HTTPException: window.unknown, Exception: fault}
    return Starlette(routes=routes, exception_handlers=known)


# What a form does: each returns where to go next


def choose_file(session: Session, given: Given) -> str:
    """Take the file that somebody names."""
    name = os.path.expanduser(given.get("file", "").strip().strip("\"'"))
    if not name:
        raise InputError("the file", "it has no name", "write where it is")
    session.begin(name)
    return "protect" if session.mode else "."


def begin_private(session: Session, _: Given) -> str:
    """Begin a job for the table."""
    session.make_job()
    return "protect"


def begin_open(session: Session, _: Given) -> str:
    """Score the pairs of an open table, once for two clicks."""
    if session.mode != "open":
        session.refuse_another()
        _exploring.begin(session)
    return "explore"


def start_over(session: Session, _: Given) -> str:
    """Forget the table and the job."""
    session.start_over()
    return "."


def rewrite(session: Session, given: Given) -> str:
    """Replace the text of the job."""
    session.rewrite(given.get("text", ""))
    return "job"


def rehearse(session: Session, _: Given) -> str:
    """Begin the rehearsal."""
    session.rehearse()
    return "rehearsal"


def prepare(session: Session, _: Given) -> str:
    """Prepare the query."""
    session.prepare()
    return "consent"


def spend(session: Session, given: Given) -> str:
    """Run the query that somebody has consented to."""
    return f"result?run={session.spend(given.get('nonce', '')) + 1}"


def score(session: Session, _: Given) -> str:
    """Score the pairs of an open table again."""
    if session.mode != "open":
        raise InputError("the table", "this window does not explore one", "start over first")
    _exploring.begin(session)
    return "explore"


NAMING = (choose_file, spend)
"""Forms that say themselves what they act on: a file by its name, a consent by its nonce."""


# Pages and files that depend on what stands behind the question mark


def result(session: Session, query: Given) -> Page:
    """Show one result, by default the latest."""
    return _publishing.result(session, _number(session, query))


def _number(session: Session, query: Given) -> int:
    """Return the place of a run."""
    written = query.get("run", "") or str(len(session.runs))
    if not written.isdecimal() or len(written) > 9 or int(written) > len(session.runs):
        raise HTTPException(404)
    return int(written) - 1


def result_file(session: Session, query: Given, kind: str) -> tuple[bytes, str]:
    """Make a file of one result."""
    number = _number(session, query)
    if number < 0 or session.runs[number].state != "done":
        raise HTTPException(404)
    done: _outcome.Outcome = session.runs[number].result
    made = _outcome.as_file(done.result, kind, done.report)
    session.downloaded.add(number)
    return made, _outcome.stem(done.job.path.name)


def look(session: Session, query: Given) -> Page:
    """Show one pair of an open table."""
    return _exploring.look(session, query.get("x", ""), query.get("y", ""))


def explored_file(session: Session, _: Given, kind: str) -> tuple[bytes, str]:
    """Make a file of all pairs of an open table."""
    return _exploring.as_file(session, kind), _outcome.stem(session.file)


def pair_file(session: Session, query: Given, kind: str) -> tuple[bytes, str]:
    """Make a file of one pair of an open table."""
    x, y = query.get("x", ""), query.get("y", "")
    return _exploring.pair_as_file(session, kind, x, y), _outcome.stem(f"{x}-{y}")


class Window:
    """The endpoints of one session. Work is done in threads, so that the window stays awake."""

    def __init__(self, session: Session) -> None:
        self.session, self._planning = session, asyncio.Lock()
        self._told: dict[str, str] = {}

    # Kinds of endpoints

    def answered(self, show: Callable[[Session, Given], Page]) -> Endpoint:
        """Return an endpoint that shows a page."""

        async def endpoint(request: Request) -> Response:
            query = dict(request.query_params)
            return await self._alone(lambda: self._shown(lambda: show(self.session, query), query))

        return endpoint

    def step(self, place: str) -> Endpoint:
        """Return the endpoint of a step, which needs a job."""
        return self._only("private", self.answered(lambda session, _: SHOWN[place](session)))

    def looked(self, show: Callable[[Session, Given], Page]) -> Endpoint:
        """Return the endpoint of a page that shows an open table."""
        return self._only("open", self.answered(show))

    def _only(self, mode: str, endpoint: Endpoint) -> Endpoint:
        async def guarded(request: Request) -> Response:
            if self.session.mode == mode:
                return await endpoint(request)
            told = request.query_params.get("told")
            return _to(f".?told={quote(told)}" if told else ".")

        return guarded

    def sent(self, act: Callable[[Session, Given], str], back: str) -> Endpoint:
        """Return an endpoint that acts on a form and leads on; a refusal leads back."""

        async def endpoint(request: Request) -> Response:
            try:
                given = await read_form(request)
            except TooLargeError as error:
                return await self._refused(error, 413)
            of = None if act in NAMING else request.query_params.get("of", "")
            return await self._alone(lambda: self._acted(lambda: self._own(act, given, of), back))

        return endpoint

    def _own(self, act: Callable[[Session, Given], str], given: Given, of: str | None) -> str:
        """Act on a form, unless it is of a table or a job that somebody has left."""
        if act is start_over and not (self.session.mode or self.session.file):
            return "."  # a second click
        if of not in (None, str(self.session.begun)):
            reason = "another job was begun since it was shown, so nothing was changed"
            raise ParameterError("this page", reason, "go on from here")
        return act(self.session, given)

    def changed(self, place: str) -> Endpoint:
        """Return the endpoint of a step's form; it leads on once nothing is wrong there."""
        changes: Any = {**_steps.CHANGES, "epsilon": _publishing.apply_epsilon}

        def act(session: Session, given: Given) -> str:
            if session.mode != "private":
                return "."
            changes[place](given, session)
            found = _steps.lacking(session.job, place)
            if found.open:
                session.said = found.all[-1]
            return place if found.all else NEXT[place]

        return self.sent(act, place)

    def made(self, make: Callable[[Session, Given, str], tuple[bytes, str]]) -> Endpoint:
        """Return an endpoint that sends a file."""

        async def endpoint(request: Request) -> Response:
            kind, query = request.path_params["kind"], dict(request.query_params)
            if kind not in _outcome.KINDS:
                raise HTTPException(404)
            try:
                content, name = await self._alone(lambda: make(self.session, query, kind))
            except DpmicError as error:
                return await self._refused(error, 400)
            return _file(content, _outcome.TYPES[kind], f"{name}.{kind}")

        return endpoint

    # Endpoints of their own

    def static(self, name: str) -> Endpoint:
        """Return the endpoint of a style sheet or a script."""

        async def endpoint(_: Request) -> Response:
            return Response(shipped(name), media_type=STATIC[name][2])

        return endpoint

    async def plan(self, request: Request) -> Response:
        """Send the plan for one position of the slider, unless it has moved on meanwhile."""
        written = request.query_params.get("epsilon", "")[:40]
        async with self._planning:
            if await request.is_disconnected():
                return Response(status_code=204)
            shown = await self._alone(lambda: _publishing.plan(self.session, written))
        return HTMLResponse(shown)

    async def upload(self, request: Request) -> Response:
        """Take an uploaded table or job file, into memory."""
        try:
            table = await read_upload(request)
        except TooLargeError as error:
            return await self._refused(error, 413)
        except DpmicError as error:
            return await self._refused(error, 400)

        def act() -> str:
            self.session.take(table)
            return "protect" if self.session.mode else "."

        return await self._alone(lambda: self._acted(act, "."))

    async def stop(self, request: Request) -> Response:
        """Stop what may be stopped, if it is that of the page that was shown."""
        place = (await read_form(request)).get("what", "")
        back = place if place in STEPS or place in OPEN else "."

        def act(_: Session, __: Given) -> str:
            for task in self._tasks(place):
                task.stop()
            return back

        of = request.query_params.get("of", "")
        return await self._alone(lambda: self._acted(lambda: self._own(act, {}, of), back))

    async def progress(self, request: Request) -> Response:
        """Send how far a piece of work is; nothing once it has ended."""
        for task in self._tasks(request.query_params.get("of", "")):
            if task.state == "running":
                return HTMLResponse(_publishing.how_far(task))
        return Response(status_code=204)

    def _tasks(self, place: str) -> list[Task]:
        """Return the work that a page waits for."""
        session = self.session
        own: dict[str, list[Task | None]] = {
            "rehearsal": [session.rehearsal],
            "consent": [session.preparation],
            "result": [*session.runs],
            "explore": [session.scores, *session.looks.values()],
        }
        return [task for task in own.get(place, []) if task is not None]

    async def job_file(self, request: Request) -> Response:
        """Send the job file, or the one that a result was made by."""
        session, query = self.session, dict(request.query_params)
        if query.get("run"):
            number = _number(session, query)
            if number < 0:
                raise HTTPException(404)
            job = session.runs[number].about
        elif session.current is not None:
            job = session.current
        else:
            return _to(".")
        name = f"{_outcome.stem(job.path.name)}.dpmic.toml"
        return _file(job.text.encode(), "application/toml", name)

    async def unknown(self, request: Request, error: Exception) -> Response:
        """Say that there is no such page; deeper down no link and no style sheet is found."""
        status = error.status_code if isinstance(error, HTTPException) else 404
        title, said = "Not found", "There is no such page."
        if request.url.path.count("/") > 2:
            return plain(title, said, status)
        body = paragraphs(said) + "<p><a href='.'>To the start</a></p>"
        page = Page("", title, body)
        shown = await self._alone(lambda: document(page, self.session))
        return HTMLResponse(shown, status)

    # How they answer

    async def _alone(self, work: Callable[[], T]) -> T:
        """Do something in a thread, while no other tab changes the state."""

        def locked() -> T:
            with patience(SECONDS), self.session.lock:
                return work()

        return await run_in_threadpool(locked)

    def _shown(self, show: Callable[[], Page], query: Given) -> Response:
        self.session.said = self._told.pop(query.get("told", ""), "")
        try:
            shown = show()
        except FAILURES as error:
            body = "<p><a href='job'>To the job file</a> <a href='.'>To the start</a></p>"
            shown = Page("", "That does not work", body, [_sentence(error, self.session)])
        return HTMLResponse(document(shown, self.session))

    def _acted(self, act: Callable[[], str], back: str) -> Response:
        session = self.session
        try:
            back = act()
        except FAILURES as error:
            session.said = _sentence(error, session)
        if not session.said:
            return _to(back)
        key = token_urlsafe(8)  # for this tab, whichever asks first
        self._told[key], session.said = session.said, ""
        return _to(f"{back}?told={key}")

    async def _refused(self, error: DpmicError, status: int) -> Response:
        def shown() -> Response:
            page = start(self.session)
            said = [_sentence(error, self.session)]
            page = Page(page.place, page.title, page.body, said)
            return HTMLResponse(document(page, self.session), status)

        return await self._alone(shown)


FAILURES = (DpmicError, OSError, RecursionError)


def _sentence(error: Exception, session: Session) -> str:
    """Return an error in words, those of the system without its names of files."""
    if isinstance(error, DpmicError):
        return error.spelled(before_a_job if session.current is None else as_entry)
    if not isinstance(error, OSError):
        return "This text is nested too deeply."
    reason = error.strerror or type(error).__name__
    return f"A file or folder cannot be used: {reason}. Check its name and its permissions."


async def fault(_: Request, error: Exception) -> Response:
    """Say that something failed, without its words, which may hold data."""
    return plain("A fault", FAULT.format(kind=type(error).__name__), 500)


def start(session: Session) -> Page:
    """Show how to begin: a file, and what is to be done with it."""
    if session.mode:
        now = f"This window is working on {session.about}."
        place = "protect" if session.mode == "private" else "explore"
        body = paragraphs(now) + f"<p><a href='{place}'>Go on</a></p>"
        body += form(session.own("over"), "", "Start over")
        return Page(".", "Start", body)
    chosen = ""
    if session.file:
        chosen = (
            f"<section><h2>The table: <bdi>{text(session.file)}</bdi></h2>"
            + paragraphs(_steps.was_read(session.file))
            + form(session.own("private"), "", "Publish under differential privacy")
            + paragraphs("If nothing in the table is sensitive:")
            + form(session.own("open"), "", "Explore without privacy", plain=True)
            + "</section>"
        )
    place = field("file", "Path on this computer", hint="a table, or a job file (.dpmic.toml)")
    pick = (
        "<div class='field'><label for='upload'>Or upload a file, at most 200 MiB"
        "</label><input type='file' id='upload' name='upload' required></div>"
    )
    body = (
        f"{chosen}<section><h2>{'Another file' if chosen else 'Choose a file'}</h2>"
        f"{form('file', place, 'Open', plain=True)}"
        f"{form('upload', pick, 'Upload', kind='multipart/form-data', plain=True)}"
        f"{paragraphs('An uploaded file is kept in memory and never stored.')}</section>"
    )
    return Page(".", "Which columns depend on each other?", body)


def _to(place: str) -> Response:
    return RedirectResponse(place, 303)


def _file(content: bytes, kind: str, name: str) -> Response:
    safe = "".join(letter for letter in name if letter.isalnum() or letter in "-_.")
    headers = {
        "content-disposition": f'attachment; filename="{safe.encode("ascii", "ignore").decode()}"'
    }
    return Response(content, media_type=kind, headers=headers)
