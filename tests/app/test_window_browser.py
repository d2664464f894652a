"""The window in a real browser, on a hospital's table: from the file to the report."""

import datetime
import http.server
import os
import re
import signal
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path

import chromium
import hospital
import pytest
import window
from project import ROOT

import dpmic

pytest.importorskip("uvicorn", reason="the window needs the extra app")
pytestmark = pytest.mark.full

PEOPLE, VISITS = 1500, 2500
PATIENCE = 120_000
"""Milliseconds to wait for what a page is to show: a slow machine is not a fault."""

STEPS = ("protect", "columns", "question", "epsilon", "rehearsal", "consent", "result")
AXE = Path(os.environ.get("DPMIC_AXE", ROOT / ".venv/axe/node_modules/axe-core/axe.min.js"))
TABLE = hospital.made(VISITS, PEOPLE, 21)


@pytest.fixture(scope="module")
def browser():
    with chromium.started() as found:
        yield found


@pytest.fixture
def folder(tmp_path):
    hospital.write(TABLE, tmp_path / "visits.csv")
    return tmp_path


def recording(app, sent):
    """Return an application that notes every byte that it sends, heads and addresses included."""

    async def recorded(scope, receive, send):
        async def noted(message):
            place = scope["path"].rpartition("/")[2]
            sent.append(f"{place} {message.get('headers', '')}".encode())
            sent.append(message.get("body", b""))
            await send(message)

        await app(scope, receive, noted)

    return recorded


class Served:
    """A window with its server, in a thread of this process."""

    def __init__(self, folder, file):
        from dpmic.app._gate import Keys
        from dpmic.app._server import _bound, server
        from dpmic.app._session import Session

        self.session, self.keys = Session(folder), Keys()
        if file is not None:
            self.session.begin(file)
        self.listening = _bound(0)
        host = f"127.0.0.1:{self.listening.getsockname()[1]}"
        self.base = f"http://{host}/{self.keys.path}"
        self.address = self.keys.address(host, self.keys.token)
        self.server = server(self.session, self.keys, host)
        self.sent = []
        self.server.config.app = recording(self.server.config.app, self.sent)
        run = {"sockets": [self.listening]}
        self.thread = threading.Thread(target=self.server.run, kwargs=run, daemon=True)
        self.thread.start()

    def stop(self):
        self.server.should_exit = True
        self.thread.join(60)
        assert not self.thread.is_alive()
        self.listening.close()


@pytest.fixture
def serve(folder):
    """Return a function that serves a window; no page of it may complain."""
    served = []

    def begun(file="visits.csv"):
        served.append(Served(folder, file))
        return served[-1]

    yield begun
    for each in served:
        each.stop()


@pytest.fixture
def visit(browser):
    """Return a function that opens a window; it fails on any complaint and any foreign request."""
    contexts, complaints, requests, bases = [], [], [], []

    def opened(served, quiet=True, **options):
        options.setdefault("viewport", {"width": 1000, "height": 800})
        contexts.append(browser.new_context(**options))
        contexts[-1].set_default_timeout(PATIENCE)
        page = contexts[-1].new_page()
        bases.append(served.base)
        if quiet:
            page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(served.address)
        page.wait_for_url(served.base + "/")
        return page

    yield opened
    assert complaints == []
    known = (*(f"{base}/" for base in bases), "data:", "file:")
    foreign = [url for url in requests if not url.startswith(known)]
    assert foreign == []
    for context in contexts:
        context.close()


def save(page):
    page.get_by_role("button", name="Save and go on").click()


def protect(page):
    page.get_by_label("A column identifies the person").check()
    page.get_by_label("Column that identifies people").select_option("patient")
    page.get_by_label("About how many people").fill(str(PEOPLE))
    save(page)


def columns(page):
    for name, domain in hospital.COLUMNS.items():
        if name == "patient":
            continue
        own = page.locator("fieldset.column").filter(has=page.get_by_text(name, exact=True))
        entry = tomllib.loads(f"x = {domain}")["x"]
        if entry == "ignore":
            own.get_by_label("Values").select_option("ignore")
        elif "categories" in entry:
            own.get_by_label("Values").select_option("categories")
            own.get_by_label("Categories").fill(", ".join(entry["categories"]))
        else:
            dates = isinstance(entry["bounds"][0], datetime.date)
            own.get_by_label("Values").select_option("dates" if dates else "bounds")
            own.get_by_label("From").fill(str(entry["bounds"][0]))
            own.get_by_label("To").fill(str(entry["bounds"][1]))
    page.get_by_label("The decimal sign").select_option(",")
    page.get_by_label("How to treat them").select_option("drop")
    page.get_by_label("Least share of records").fill("0.7")
    save(page)


def question(page):
    page.get_by_label("The strongest pairs").check()
    page.get_by_label("How many pairs").fill("4")
    save(page)


def epsilon(page):
    page.get_by_label("Epsilon as a number").fill("1.5")
    page.get_by_label("Name of the dataset").fill("visits 2024")
    page.get_by_label("Create this ledger").fill("3")
    save(page)


def rehearsal(page):
    page.get_by_role("button", name="Rehearse").click()
    page.wait_for_selector("article")
    page.get_by_role("link", name="Next: Consent").click()


def prepare(page):
    page.get_by_role("button", name="Read the table").click()
    page.wait_for_selector("text=Guarantee, as it will be printed")


def consent(page):
    prepare(page)
    page.get_by_role("button", name="Spend epsilon = 1.5 and publish").click()
    page.wait_for_selector("article")


ACTS = (protect, columns, question, epsilon, rehearsal, consent)


def through(page, acts=ACTS, each=lambda page: None):
    """Go through the steps; ``each`` looks at every one before it is filled in."""
    each(page)
    page.get_by_role("button", name="Publish under").click()
    page.wait_for_url("**/protect")
    for act, place in zip(acts, STEPS[1:], strict=False):
        each(page)
        act(page)
        page.wait_for_url(re.compile(rf"/{place}(\?run=\d+)?$"))
    each(page)


def ledger(folder):
    return dpmic.Ledger(folder / "visits.ledger")


def test_from_the_file_to_the_report(serve, visit, folder):
    served = serve()
    page = visit(served)
    through(page)
    page.get_by_role("heading", name="The strongest 4 of 55 pairs").wait_for()
    assert 1.49 < ledger(folder).spent <= 1.5
    for words, begin in {
        "Report, HTML": b"<!doctype html>",
        "JSON": b"{",
        "CSV": b'"x","y"',
        "Figure, PNG": b"\x89PNG",
        "Job file, visits": b"# A job for dpmic",
    }.items():
        with page.expect_download() as download:
            page.get_by_role("link", name=words).first.click()
        assert Path(download.value.path()).read_bytes().startswith(begin)
    page.get_by_role("link", name="Ledger").click()
    page.get_by_role("cell", name="answered").wait_for()
    assert "1.5" in page.get_by_role("main").inner_text()
    job = page.context.request.get(f"{served.base}/job.toml?run=1").text()
    (folder / "again.dpmic.toml").write_text(job)
    again = dpmic.Job.load(folder / "again.dpmic.toml").run()  # the script that the page shows
    assert again.replayed is not None
    published = served.session.runs[-1].result.result
    assert (again.pairs, again.values) == (published.pairs, published.values)


def test_nothing_unnoised_in_any_traffic(serve, visit, folder, monkeypatch):
    """Three sessions, as in test_spending: noise may hit a score's four decimals by chance."""
    exact, sessions = window.exact_scores(monkeypatch), []
    for _ in range(3):
        (folder / "visits.ledger").unlink(missing_ok=True)
        served = serve()
        page = visit(served)
        through(page)
        for kind in ("html", "json", "csv"):
            page.context.request.get(f"{served.base}/result.{kind}")
        page.get_by_role("link", name="Ledger").click()
        page.get_by_role("link", name="Job file").click()
        page.get_by_role("link", name="Result").click()
        sessions.append(b"\n".join(served.sent).decode("utf-8", "replace"))
    assert len(exact) == 3 * 55
    assert all("Guarantee" in whole for whole in sessions)
    strong = [score for score in exact if score > 0.2]  # others are near the page's public numbers
    assert len(strong) >= 15
    assert set.intersection(*(window.leaked(strong, whole, 4) for whole in sessions)) == set()
    notes = [str(note) for note in TABLE["note"].dropna()]
    weights = list(TABLE["weight"].dropna())
    for whole in sessions:
        assert not window.leaked(exact, whole, 8)
        assert not [note for note in notes if note in whole]
        assert not [name for name in TABLE["patient"] if name in whole]
        found = {f"{value:.1f}" for value in weights} & set(re.findall(r"\b\d+\.\d\b", whole))
        assert not {value for value in found if float(value) > 40}


def test_every_step_can_be_read_again_and_left_back_and_forth(serve, visit):
    served = serve()
    page = visit(served)

    def look(page):
        heading, job = page.locator("h1").inner_text(), served.session.current
        page.reload()
        assert page.locator("h1").inner_text() == heading
        assert served.session.current is job

    through(page, each=look)
    shown = page.locator("article").inner_text()
    visited = []
    for _ in range(6):
        page.go_back()
        assert page.get_by_role("alert").count() == 0
        visited.append(page.locator("h1").inner_text())
    assert "Consent" in visited
    for _ in range(6):
        page.go_forward()
    assert page.url == f"{served.base}/result?run=1"
    assert page.locator("article").inner_text() == shown
    page.get_by_role("link", name="Columns").click()
    assert page.locator("fieldset.column").nth(2).get_by_label("To").input_value() == "120"
    assert served.session.runs[-1].state == "done"


def test_the_plan_follows_the_slider(serve, visit, folder):
    page = visit(serve())
    through(page, ACTS[:3])
    page.wait_for_load_state()
    meters = page.locator("#plan meter")
    assert meters.count() == 3  # noise, error and chance, before a ledger is named
    noise = float(meters.first.get_attribute("value"))
    said = page.locator("#plan").inner_text()
    page.get_by_label("Epsilon: smaller values").fill("4")
    page.wait_for_function("old => document.querySelector('#plan').innerText !== old", arg=said)
    assert page.get_by_label("Epsilon as a number").input_value() == "4"
    assert float(meters.first.get_attribute("value")) < noise / 2
    epsilon(page)
    page.wait_for_url("**/rehearsal")
    page.get_by_role("link", name="Epsilon").click()
    page.wait_for_selector("text=3 of 3 left, 1.5 after this")
    page.wait_for_load_state()  # and with it the script
    page.get_by_label("Epsilon: smaller values").fill("4")
    page.wait_for_selector("text=too little for this")
    page.get_by_role("link", name="Columns").click()
    page.wait_for_url("**/columns")
    page.go_back()  # the field may have kept its 4, and the plan is that of the field
    page.wait_for_function(
        "() => document.querySelector('#plan').innerText.includes("
        "'epsilon = ' + document.querySelector('#epsilon').value)"
    )


def test_two_tabs_and_a_double_click_spend_once(serve, visit, folder):
    served = serve()
    page = visit(served)
    through(page, ACTS[:-1])
    prepare(page)
    other = page.context.new_page()
    other.goto(f"{served.base}/consent")
    for tab in (page, other):
        button = tab.get_by_role("button", name="Spend epsilon")
        button.dblclick(no_wait_after=True)
    for tab in (page, other):
        tab.wait_for_selector("article")
        assert tab.url.endswith("/result?run=1")
    assert len(ledger(folder).history()) == 1
    assert ledger(folder).spent <= 1.5
    other.go_back()
    other.go_back()
    assert other.get_by_role("button", name="Spend epsilon").count() == 0


def test_a_closed_tab_loses_nothing(serve, visit, folder):
    served = serve()
    page = visit(served)
    through(page, ACTS[:-1])
    prepare(page)
    page.get_by_role("button", name="Spend epsilon").click(no_wait_after=True)
    for _ in range(3000):
        if served.session.runs:
            break
        page.wait_for_timeout(20)
    page.context.new_page()
    page.close()
    served.session.runs[-1].wait(60)
    later = visit(served)
    later.get_by_role("link", name="Go on").click()
    later.get_by_role("link", name="Result").click()
    later.locator("article").wait_for()
    assert len(ledger(folder).history()) == 1


def command(folder, *words):
    """Start the command, and return its process and the address that it prints."""
    started = subprocess.Popen(
        [sys.executable, "-m", "dpmic", "app", *words, "--no-browser"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    return started, re.search(r"http\S+", started.stdout.readline())[0]


def ready(folder):
    """Write a job that can run, and make its ledger."""
    from dpmic.job import template

    names = list(TABLE.columns)
    text = template("visits.csv", names, "visits.dpmic.toml")
    text = hospital.filled_in(text, people=PEOPLE, rows=1)
    text = text.replace('# decimal = ","', 'decimal = ","')
    (folder / "visits.dpmic.toml").write_text(text)
    dpmic.Ledger(folder / "visits.ledger", 3)


def asked_to_spend(browser, address):
    """Open a window of a command, and go to the page that asks for consent."""
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    page.wait_for_url(re.compile(r":\d+/[\w-]+/$"))
    page.goto(f"{address.partition('/enter')[0]}/consent")
    prepare(page)
    return page


@pytest.mark.parametrize("after", [0, 0.05, 0.2])
def test_ctrl_c_in_the_middle(browser, folder, after):
    ready(folder)
    process, address = command(folder, "visits.dpmic.toml")
    try:
        page = asked_to_spend(browser, address)
        page.get_by_role("button", name="Spend epsilon").click(no_wait_after=True)
        time.sleep(after)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[0]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert process.returncode == 0
    assert "Stopped" in said
    assert "Traceback" not in said
    assert "token" not in said.partition("Ctrl-C stops it.")[2]
    page.close()
    process, address = command(folder, "visits.dpmic.toml")  # what was charged is finished
    try:
        page = asked_to_spend(browser, address)
        page.get_by_role("button", name=re.compile("Spend|Show|Finish")).click()
        page.wait_for_selector("article")
        page.close()
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    (entry,) = ledger(folder).history()
    assert entry.answered
    assert ledger(folder).spent <= 1


def test_an_address_without_the_token_shows_nothing(serve, visit, browser):
    """Neither without the cookie, nor with it but without the path."""
    served = serve()
    page = visit(served)
    through(page, ACTS[:2])
    stranger, host = browser.new_page(), served.base.rpartition("/")[0]
    for place in ("/", "/columns", "/job.toml", "/enter", "/enter?token=x"):
        for address in (served.base + place, host + place):
            answer = stranger.goto(address)
            assert answer.status == 403
            assert "diagnosis" not in stranger.content()
    stranger.close()
    assert page.context.request.get(f"{host}/columns").status == 403
    assert page.context.request.get(f"{served.base}/columns").status == 200


def test_the_browser_is_led_in_by_a_file(serve, browser, tmp_path):
    from dpmic.app._gate import leading

    served = serve()
    file = tmp_path / "window.html"
    file.write_text(leading(served.keys.address(served.base.split("/")[2], served.keys.once)))
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(file.as_uri(), wait_until="commit")
        page.wait_for_url(f"{served.base}/")
        assert "The table: visits.csv" in page.inner_text("main")
        page.get_by_role("button", name="Publish under").click()
        page.wait_for_url("**/protect")
        page.reload()
        assert "Whom to protect" in page.inner_text("h1")
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(file.as_uri(), wait_until="commit")
        page.wait_for_selector("text=has opened it before")


@pytest.fixture
def evil(tmp_path):
    """Serve pages on another port, and return their folder, the port, and what was asked."""
    pages, asked = tmp_path / "evil", []
    pages.mkdir()

    class Noting(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=pages)

        def do_GET(self):
            asked.append(f"{self.path}\n{self.headers}")
            super().do_GET()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Noting)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield pages, server.server_address[1], asked
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_a_page_of_another_site_or_port_can_do_nothing(serve, visit, evil, name):
    """The browser has the cookie; a form, a script and a frame of others try to use it.

    They even know the secret path, which they could not. Another port of the same computer is the
    same site for a browser, and receives the cookies that are not below a path of their own.
    """
    served = serve()
    page = visit(served)
    through(page, ACTS[:4])
    before = served.session.text
    pages, port, asked = evil
    address = f"http://{name}:{port}"
    (pages / "form.html").write_text(
        f"<form method=post action='{served.base}/epsilon'><input name=epsilon value=9>"
        f"<button>go</button></form><a href='{served.base}/job'>look</a>"
    )
    (pages / "read.html").write_text(
        f"<iframe src='{served.base}/job'></iframe><script src='{served.base}/app.js'></script>"
        f"<script>document.cookie = 'dpmic=planted; path=/'; fetch('{served.base}/job.toml',"
        "{credentials: 'include'}).then(a => a.text()).then(t => document.title = t)"
        ".catch(() => document.title = 'blocked')</script>"
    )
    other = page.context.new_page()
    for words, role in {"go": "button", "look": "link"}.items():
        other.goto(f"{address}/form.html")
        with other.expect_navigation():
            other.get_by_role(role, name=words).click()
        assert "Refused" in other.content()
    other.goto(f"{address}/read.html")
    other.wait_for_function("document.title === 'blocked'")
    assert "diagnosis" not in "".join(frame.content() for frame in other.frames)
    assert served.session.text == before
    assert len(asked) >= 3
    secrets = [served.keys.path, served.keys.cookie, served.keys.token]
    assert not [secret for secret in secrets if secret in "".join(asked)]
    page.reload()  # the cookie that was planted there locks nobody out
    page.get_by_role("heading", name="Rehearsal").wait_for()


def test_half_a_gigabyte_is_refused_with_a_sentence(serve, visit, tmp_path):
    large = tmp_path / "large.csv"
    with open(large, "wb") as file:
        file.truncate(500 * 2**20)
    served = serve(None)
    page = visit(served, quiet=False)
    page.get_by_label("Or upload a file").set_input_files(large)
    page.get_by_role("button", name="Upload", exact=True).click()
    page.wait_for_selector("[role=alert]")
    assert "it has 500 MiB, and at most 200 MiB" in page.get_by_role("alert").inner_text()
    assert served.session.table is None


def test_an_upload_is_as_good_as_a_file(serve, visit, folder):
    served = serve(None)
    page = visit(served)
    content = (folder / "visits.csv").read_bytes()
    (folder / "visits.csv").unlink()
    file = {"name": "visits.csv", "mimeType": "text/csv", "buffer": content}
    page.get_by_label("Or upload a file").set_input_files(file)
    page.get_by_role("button", name="Upload", exact=True).click()
    through(page)
    page.locator("article").wait_for()
    assert {file.name for file in folder.iterdir()} <= {"visits.ledger", "visits.ledger.lock"}


def test_without_privacy(serve, visit):
    served = serve()
    page = visit(served)
    page.get_by_role("button", name="Explore without privacy").click()
    page.wait_for_selector("table.matrix")
    page.get_by_label("With").select_option("age")
    page.get_by_role("button", name="Filter").click()
    rows = page.locator("table.sortable tbody tr")
    assert rows.count() == 10
    page.get_by_role("button", name="MICe").click()  # sorted by the report's script
    first = page.locator("table.sortable tbody td").first.inner_text()
    assert float(first) == min(map(float, page.locator("table.sortable td").all_inner_texts()))
    page.locator("table.matrix").get_by_role("link", name="age and ward").first.click()
    page.wait_for_selector("article")
    assert "p = " in page.locator(".answer").inner_text()
    assert page.locator("article svg").count() >= 2
    for words in ("Report, HTML", "JSON", "CSV", "Figure, PNG"):
        with page.expect_download() as download:
            page.get_by_role("link", name=words, exact=True).click()
        assert download.value.failure() is None, words
        assert Path(download.value.path()).stat().st_size > 50
    page.go_back()
    page.locator("table.matrix").wait_for()


def press(page, until, key="Tab", most=200):
    """Press a key until what has the focus is as wanted."""
    for _ in range(most):
        if page.evaluate(f"(() => {{ const it = document.activeElement; return {until}; }})()"):
            return
        page.keyboard.press(key)
    raise AssertionError(f"the keyboard does not reach {until}")


def button(words):
    return f"it.tagName === 'BUTTON' && it.textContent.startsWith({words!r})"


def test_the_keyboard_alone_is_enough(serve, visit, folder):
    ready(folder)
    served = serve("visits.dpmic.toml")
    page = visit(served)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the page"
    press(page, "it.textContent === 'Go on'")
    page.keyboard.press("Enter")
    page.wait_for_url("**/protect")
    press(page, "it.name === 'people'")
    page.keyboard.press("Control+a")
    page.keyboard.type("1600")
    page.keyboard.press("Enter")
    page.wait_for_url("**/columns")
    press(page, "it.name === 'high-3'")
    page.keyboard.press("Control+a")
    page.keyboard.type("110")
    press(page, button("Save"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/question")
    press(page, "it.name === 'ask'")
    page.keyboard.press("ArrowDown")  # all pairs
    press(page, button("Save"))
    page.keyboard.press("Space")
    page.wait_for_url("**/epsilon")
    page.wait_for_load_state()
    press(page, "it.id === 'slider'")
    before = page.locator("#plan").inner_text()
    page.keyboard.press("PageUp")
    page.wait_for_function("old => document.getElementById('plan').innerText !== old", arg=before)
    press(page, button("Save"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/rehearsal")
    press(page, button("Rehearse"))
    page.keyboard.press("Enter")
    page.wait_for_selector("article")
    press(page, "it.textContent === 'Next: Consent'")
    page.keyboard.press("Enter")
    page.wait_for_url("**/consent")
    press(page, button("Read the table"))
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Guarantee, as it will be printed")
    press(page, button("Spend"))
    page.keyboard.press("Enter")
    page.wait_for_selector("article")
    written = tomllib.loads(served.session.text)
    assert written["data"]["people"] == 1600
    assert written["columns"]["age"]["bounds"] == [0, 110]
    assert written["question"]["ask"] == "all pairs"
    assert written["privacy"]["epsilon"] > 1


def faults(page):
    """Return what axe finds."""
    if not AXE.exists():
        pytest.skip(f"no axe-core at {AXE}: npm install --prefix .venv/axe axe-core")
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run()")["violations"]
    return [(rule["id"], [node["html"][:200] for node in rule["nodes"]]) for rule in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1000, 360])
def test_axe_finds_nothing_and_every_step_fits(serve, visit, scheme, width):
    page = visit(serve(), color_scheme=scheme, viewport={"width": width, "height": 800})

    def look(page):
        assert faults(page) == [], page.url
        assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url

    through(page, each=look)
    for words, place in {"Ledger": "ledger", "Job file": "job", "Start": ""}.items():
        page.get_by_role("link", name=words, exact=True).click()
        page.wait_for_url(f"**/{place}")
        look(page)
    page.get_by_role("button", name="Start over").click()
    page.wait_for_selector("text=Choose a file")
    look(page)
    page.get_by_label("Path on this computer").fill("visits.csv")
    page.get_by_role("button", name="Open").click()
    page.get_by_role("button", name="Explore without privacy").click()
    page.wait_for_selector("table.matrix")
    look(page)
    page.locator("table.matrix a").first.click()
    page.wait_for_selector("article")
    look(page)


def test_the_window_works_without_scripts(serve, visit, folder):
    page = visit(serve(), java_script_enabled=False)
    page.get_by_role("button", name="Publish under").click()
    for act in ACTS[:4]:
        act(page)
    page.get_by_role("button", name="Rehearse").click()
    page.wait_for_selector("article")  # by the refresh for those without scripts
    page.get_by_role("link", name="Next: Consent").click()
    consent(page)
    assert len(ledger(folder).history()) == 1
