"""Which address shows what. Reading changes nothing; what changes something is sent, and leads on.

So every page can be read again, and the browser's own back and forward work.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from dpmic.app import _exploring, _outcome, _publishing, _steps
from dpmic.app._bodies import TooLargeError, read_form, read_upload
from dpmic.app._frame import STATIC, Page, document, field, form, shipped
from dpmic.app._session import Session
from dpmic.app._task import FAULT
from dpmic.errors import DpmicError, InputError
from dpmic.job import for_the_file
from dpmic.report.markup import paragraphs, text

Endpoint = Callable[[Request], Awaitable[Response]]

SHOWN = {
    **_steps.SHOWN,
    "/epsilon": _publishing.epsilon,
    "/rehearsal": _publishing.rehearsal,
    "/consent": _publishing.consent,
    "/result": _publishing.result,
    "/ledger": _publishing.ledger_page,
}
NEXT = {"/protect": "/columns", "/columns": "/question", "/question": "/epsilon"}
NEXT |= {"/epsilon": "/rehearsal"}


def application(session: Session) -> Starlette:
    """Return the application of one window."""
    window = Window(session)
    routes = [Route(place, window.step(place)) for place in SHOWN]
    routes += [Route(place, window.changed(place), methods=["POST"]) for place in NEXT]
    routes += [
        Route("/", window.answered(start)),
        Route("/static/{name}", window.static),
        Route("/plan", window.plan),
        Route("/progress", window.progress),
        Route("/file", window.sent(choose_file), methods=["POST"]),
        Route("/upload", window.upload, methods=["POST"]),
        Route("/begin/{mode}", window.begin, methods=["POST"]),
        Route("/job", window.sent(rewrite), methods=["POST"]),
        Route("/job.toml", window.job_file),
        Route("/rehearsal", window.sent(rehearse), methods=["POST"]),
        Route("/consent", window.sent(prepare), methods=["POST"]),
        Route("/spend", window.sent(spend), methods=["POST"]),
        Route("/{what}/stop", window.stop, methods=["POST"]),
        Route("/result/{name}", window.result_file),
        Route("/explore", window.explore),
        Route("/explore", window.sent(score), methods=["POST"]),
        Route("/explore/pair", window.pair),
        Route("/explore/{name}", window.explored_file),
    ]
    known: Any = {HTTPException: window.unknown, Exception: window.fault}
    return Starlette(routes=routes, exception_handlers=known)


# What a form does: each returns where to go next


def choose_file(session: Session, given: dict[str, str]) -> str:
    """Take the file that somebody names."""
    name = given.get("file", "").strip()
    if not name:
        raise InputError("the file", "it has no name", "write where it is")
    session.begin(name)
    return "/protect" if session.mode else "/"


def rewrite(session: Session, given: dict[str, str]) -> str:
    """Replace the text of the job."""
    session.rewrite(given.get("text", ""))
    return "/job"


def rehearse(session: Session, _: dict[str, str]) -> str:
    """Begin the rehearsal."""
    session.rehearse()
    return "/rehearsal"


def prepare(session: Session, _: dict[str, str]) -> str:
    """Prepare the query."""
    session.prepare()
    return "/consent"


def spend(session: Session, given: dict[str, str]) -> str:
    """Run the query that somebody has consented to."""
    session.spend(given.get("nonce", ""))
    return "/result"


def score(session: Session, _: dict[str, str]) -> str:
    """Score the pairs of an open table."""
    if session.mode != "open":
        raise InputError("the table", "this window makes a private job", "start over first")
    _exploring.begin(session)
    return "/explore"


class Window:
    """The endpoints of one session. Work is done in threads, so that the window stays awake."""

    def __init__(self, session: Session) -> None:
        self.session = session

    # Kinds of endpoints

    def answered(self, show: Callable[[Session], Page]) -> Endpoint:
        """Return an endpoint that shows a page."""

        async def endpoint(_: Request) -> Response:
            return await run_in_threadpool(self._shown, lambda: show(self.session))

        return endpoint

    def step(self, place: str) -> Endpoint:
        """Return the endpoint of a step, which needs a job."""
        shown = self.answered(SHOWN[place])

        async def endpoint(request: Request) -> Response:
            if self.session.mode != "private":
                return _to("/")
            return await shown(request)

        return endpoint

    def sent(self, act: Callable[[Session, dict[str, str]], str]) -> Endpoint:
        """Return an endpoint that acts on a form and leads on; a refusal leads back."""

        async def endpoint(request: Request) -> Response:
            given = await self._form(request)
            if isinstance(given, Response):
                return given
            back = {"/file": "/", "/spend": "/consent"}.get(request.url.path, request.url.path)
            return await run_in_threadpool(self._acted, lambda: act(self.session, given), back)

        return endpoint

    def changed(self, place: str) -> Endpoint:
        """Return the endpoint of a step's form; it leads on once nothing is wrong there."""
        changes: Any = {**_steps.CHANGES, "/epsilon": _publishing.apply_epsilon}

        def act(session: Session, given: dict[str, str]) -> str:
            if session.mode != "private":
                return "/"
            changes[place](given, session)
            found = _steps.lacking(session.job, place)
            if found.open:
                session.said = found.all[-1]
            return place if found.all else NEXT[place]

        return self.sent(act)

    # Endpoints of their own

    async def static(self, request: Request) -> Response:
        """Send a style sheet or a script."""
        name = request.path_params["name"]
        if name not in STATIC:
            raise HTTPException(404)
        return Response(shipped(name), media_type=STATIC[name][2])

    async def plan(self, request: Request) -> Response:
        """Send the plan for one position of the slider."""
        if self.session.mode != "private":
            return _to("/")
        written = request.query_params.get("epsilon", "")[:40]
        shown = await run_in_threadpool(_publishing.plan, self.session, written)
        return HTMLResponse(shown)

    async def upload(self, request: Request) -> Response:
        """Take an uploaded table or job file, into memory."""
        try:
            table = await read_upload(request)
        except TooLargeError as error:
            return self._refused(error, 413)
        except DpmicError as error:
            return self._refused(error, 400)

        def act() -> str:
            self.session.take(table)
            return "/protect" if self.session.mode else "/"

        return await run_in_threadpool(self._acted, act, "/")

    async def begin(self, request: Request) -> Response:
        """Begin a private job, look at an open table, or start over."""
        mode = request.path_params["mode"]
        await read_form(request)

        def act() -> str:
            if mode == "private":
                self.session.make_job()
                return "/protect"
            if mode == "open" and self.session.mode != "private":
                _exploring.begin(self.session)
                return "/explore"
            if mode == "over":
                self.session.start_over()
            return "/"

        return await run_in_threadpool(self._acted, act, "/")

    async def stop(self, request: Request) -> Response:
        """Stop what may be stopped."""
        tasks = {
            "rehearsal": [self.session.rehearsal],
            "consent": [self.session.preparation],
            "explore": [self.session.scores, *self.session.pairs.values()],
        }
        what = request.path_params["what"]
        for task in tasks.get(what, []):
            if task is not None:
                task.stop()
        return _to(f"/{what}")

    async def progress(self, request: Request) -> Response:
        """Send how far a piece of work is; nothing once it has ended."""
        place = request.query_params.get("of", "")
        running = {
            "/rehearsal": [self.session.rehearsal],
            "/consent": [self.session.preparation],
            "/result": [self.session.run],
            "/explore": [self.session.scores, *self.session.pairs.values()],
        }.get(place, [])
        for task in running:
            if task is not None and task.state == "running":
                return HTMLResponse(_publishing.how_far(task))
        return Response(status_code=204)

    async def job_file(self, request: Request) -> Response:
        """Send the job file, or the one that the result was made by."""
        session = self.session
        if session.mode != "private":
            return _to("/")
        shown = session.text
        if request.query_params.get("run") and session.run is not None:
            shown = str(session.run.about)
        name = f"{_outcome.stem(session)}.dpmic.toml"
        return _file(shown.encode(), "application/toml", name)

    async def result_file(self, request: Request) -> Response:
        """Send the result as a file."""
        session, kind = self.session, _kind(request)
        if session.run is None or session.run.state != "done":
            raise HTTPException(404)
        result = session.run.result
        name = f"{_outcome.stem(session)}.{kind}"

        def make() -> Response:
            content = _outcome.as_file(result, kind, _outcome.report(session))
            return _file(content, _outcome.TYPES[kind], name)

        return await self._made(make)

    async def explore(self, request: Request) -> Response:
        """Show all pairs of an open table."""
        if self.session.mode != "open":
            return _to("/")
        query = dict(request.query_params)
        return await run_in_threadpool(
            self._shown, lambda: _exploring.overview(self.session, query)
        )

    async def pair(self, request: Request) -> Response:
        """Show one pair of an open table."""
        if self.session.mode != "open":
            return _to("/")
        x, y = (request.query_params.get(axis, "") for axis in "xy")
        return await run_in_threadpool(self._shown, lambda: _exploring.look(self.session, x, y))

    async def explored_file(self, request: Request) -> Response:
        """Send pairs of an open table as a file."""
        if self.session.mode != "open":
            raise HTTPException(404)
        kind, name = _kind(request), request.path_params["name"]
        x, y = (request.query_params.get(axis, "") for axis in "xy")
        single = name.startswith("pair.") and bool(x or y)

        def make() -> Response:
            if single:
                content = _exploring.pair_as_file(self.session, kind, x, y)
            else:
                content = _exploring.as_file(self.session, kind)
            return _file(content, _outcome.TYPES[kind], name)

        return await self._made(make)

    async def unknown(self, _: Request, error: Exception) -> Response:
        """Say that there is no such page."""
        status = error.status_code if isinstance(error, HTTPException) else 404
        body = paragraphs("There is no such page.") + "<p><a href='/'>To the start</a></p>"
        return HTMLResponse(document(Page("", "Not found", body), self.session), status)

    async def fault(self, _: Request, error: Exception) -> Response:
        """Say that something failed, without its words, which may hold data."""
        said = FAULT.format(kind=type(error).__name__)
        return HTMLResponse(document(Page("", "A fault", "", [said]), self.session), 500)

    # How they answer

    def _shown(self, show: Callable[[], Page]) -> Response:
        try:
            shown = show()
        except DpmicError as error:
            body = "<p><a href='/job'>To the job file</a> <a href='/'>To the start</a></p>"
            shown = Page("", "That does not work", body, [error.spelled(for_the_file)])
        return HTMLResponse(document(shown, self.session))

    def _acted(self, act: Callable[[], str], back: str) -> Response:
        try:
            return _to(act())
        except DpmicError as error:
            self.session.said = error.spelled(for_the_file)
            return _to(back)

    def _refused(self, error: DpmicError, status: int) -> Response:
        shown = start(self.session)
        page = Page(shown.place, shown.title, shown.body, [error.spelled(for_the_file)])
        return HTMLResponse(document(page, self.session), status)

    async def _form(self, request: Request) -> dict[str, str] | Response:
        try:
            return await read_form(request)
        except TooLargeError as error:
            return self._refused(error, 413)

    async def _made(self, make: Callable[[], Response]) -> Response:
        try:
            return await run_in_threadpool(make)
        except DpmicError as error:
            return self._refused(error, 400)


def start(session: Session) -> Page:
    """Show how to begin: a file, and what is to be done with it."""
    if session.mode:
        now = f"This window is working on {session.file or session.path.name}."
        place = "/protect" if session.mode == "private" else "/explore"
        body = paragraphs(now) + f"<p><a href='{place}'>Go on</a></p>"
        body += form("/begin/over", "", "Start over")
        return Page("/", "Start", body)
    chosen = ""
    if session.file:
        chosen = (
            f"<section><h2>The table: <bdi>{text(session.file)}</bdi></h2>"
            + paragraphs("Only its header was read.")
            + form("/begin/private", "", "Publish under differential privacy")
            + paragraphs("If nothing in the table is sensitive:")
            + form("/begin/open", "", "Explore without privacy", plain=True)
            + "</section>"
        )
    place = field("file", "Path on this computer", hint="a table, or a job file (.dpmic.toml)")
    pick = (
        "<div class='field'><label for='upload'>Or upload a file, at most 200 MiB"
        "</label><input type='file' id='upload' name='upload' required></div>"
    )
    body = (
        f"{chosen}<section><h2>{'Another file' if chosen else 'Choose a file'}</h2>"
        f"{form('/file', place, 'Open', plain=True)}"
        f"{form('/upload', pick, 'Upload', kind='multipart/form-data', plain=True)}"
        f"{paragraphs('An uploaded file is kept in memory and never stored.')}</section>"
    )
    return Page("/", "Which columns depend on each other?", body)


def _to(place: str) -> Response:
    return RedirectResponse(place, 303)


def _kind(request: Request) -> str:
    kind = str(request.path_params["name"]).rpartition(".")[2]
    if kind not in _outcome.KINDS:
        raise HTTPException(404)
    return kind


def _file(content: bytes, kind: str, name: str) -> Response:
    safe = "".join(letter for letter in name if letter.isalnum() or letter in "-_.")
    headers = {
        "content-disposition": f'attachment; filename="{safe.encode("ascii", "ignore").decode()}"'
    }
    return Response(content, media_type=kind, headers=headers)
