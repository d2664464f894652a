"""A window without a server: what a browser would send it, and a table to choose."""

import asyncio
import re
import time
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from urllib.parse import urlencode, urljoin

import numpy as np
import pyarrow as pa
from pyarrow import csv

from dpmic.app._gate import ENTRY, Gate, Keys
from dpmic.app._routes import application
from dpmic.app._session import Session
from dpmic.privacy._pairs import TableQuery
from dpmic.privacy.independence import IndependenceQuery
from dpmic.privacy.release import ReleaseQuery

HOST = "127.0.0.1:8765"
ORIGIN = f"http://{HOST}"
N = 300
_RNG = np.random.default_rng(20261118)
AGE = _RNG.uniform(20, 90, N).round(3)
DOSE = (AGE * 2 + _RNG.normal(0, 9, N)).round(3)
TABLE = pa.table(
    {
        "patient": np.arange(N),
        "age": AGE,
        "dose": DOSE,
        "noise": _RNG.random(N),
        "ward": np.where(np.arange(N) % 2, "a", "b"),
    }
)

JOB = """\
[data]
file = "visits.csv"
dataset = "visits"
people = 300
[privacy]
person = "patient"
epsilon = 1.0
ledger = "visits.ledger"
[question]
ask = "one pair"
x = "age"
y = "dose"
[columns]
age = { bounds = [0, 120] }
dose = { bounds = [0, 400] }
"""


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: list
    body: bytes

    @property
    def text(self):
        return self.body.decode()

    def header(self, name):
        return next((value for key, value in self.headers if key == name), None)

    @property
    def alerts(self):
        found = re.search(r"role='alert'>(.*?)</div>", self.text, re.DOTALL)
        return unescape(re.sub(r"<[^>]+>", " ", found[1])).strip() if found else ""


class Window:
    """One window and its browser, which keeps its cookie and every answer.

    Places are below the secret path: ``"protect"``, or ``""`` for the start.
    """

    def __init__(self, folder, file=None):
        self.session, self.keys = Session(Path(folder)), Keys()
        if file is not None:
            self.session.begin(file)
        self.gate = Gate(application(self.session), HOST, self.keys)
        self.cookie, self.traffic = "", []

    def enter(self):
        entered = self.get(f"{ENTRY}?token={self.keys.token}")
        self.cookie = entered.header("set-cookie").partition(";")[0]
        return self

    def get(self, place, **headers):
        return self.ask("GET", place, b"", headers)

    def post(self, place, given=None, **headers):
        """Send a form, and go where it leads; by default it is of the table or job of now."""
        place = place if "?" in place else self.session.own(place)
        kind = {"origin": ORIGIN, "content-type": "application/x-www-form-urlencoded"}
        sent = self.ask("POST", place, urlencode(given or {}).encode(), {**kind, **headers})
        return self.follow(place, sent)

    def follow(self, place, sent):
        """Go where an answer leads, which is relative to the place that was asked."""
        if sent.status != 303:
            return sent
        return self.get(urljoin(f"/{place}", sent.header("location")).removeprefix("/"))

    def upload(self, name, content, **headers):
        head = f'--X\r\nContent-Disposition: form-data; name="upload"; filename="{name}"\r\n\r\n'
        body = head.encode() + content + b"\r\n--X--\r\n"
        kind = {"origin": ORIGIN, "content-type": "multipart/form-data; boundary=X"}
        return self.follow("upload", self.ask("POST", "upload", body, {**kind, **headers}))

    def ask(self, method, place, body, headers, gone=False):
        """Ask for a place below the secret path, or for one that begins with a slash."""
        path, _, query = place.partition("?")
        path = path if path.startswith("/") else f"/{self.keys.path}/{path}"
        own = {"host": HOST, "cookie": self.cookie, "content-length": str(len(body))}
        own |= {name.replace("_", "-"): value for name, value in headers.items()}
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "scheme": "http",
            "server": ("127.0.0.1", 8765),
            "headers": [(k.encode(), v.encode("latin-1")) for k, v in own.items() if v is not None],
        }
        parts = [body[at : at + 2**16] for at in range(0, len(body), 2**16)] or [b""]
        messages = [
            {"type": "http.request", "body": part, "more_body": place < len(parts) - 1}
            for place, part in enumerate(parts)
        ]
        self.unread = iter([{"type": "http.disconnect"}] if gone else messages)
        sent = []

        async def receive():
            return next(self.unread)

        async def send(message):
            sent.append(message)

        asyncio.run(self.gate(scope, receive, send))
        names = [(k.decode(), v.decode()) for k, v in sent[0]["headers"]]
        answer = Answer(
            sent[0]["status"], names, b"".join(message.get("body", b"") for message in sent[1:])
        )
        self.traffic.append(answer)
        return answer

    def settled(self, place, seconds=60):
        """Return a page once nothing on it is running."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            shown = self.get(place)
            if "id='progress'" not in shown.text:
                return shown
            time.sleep(0.02)
        raise AssertionError(f"{place} is still at work")

    def nonce(self):
        """Prepare the query, and return what consents to it."""
        self.post("consent")
        shown = self.settled("consent")
        found = re.search(r"name='nonce' value='([^']+)'", shown.text)
        assert found is not None, shown.alerts
        return found[1]


def folder(tmp_path, job=JOB):
    """Make a folder with a table and a job file."""
    csv.write_csv(TABLE, tmp_path / "visits.csv")
    (tmp_path / "visits.dpmic.toml").write_text(job)
    return tmp_path


def exact_scores(monkeypatch):
    """Return a list that every score without noise joins, of queries that are charged."""
    found = []
    for kind in (ReleaseQuery, TableQuery, IndependenceQuery):

        def noting(self, private, compute=kind.compute):
            exact = compute(self, private)
            if self.terms.ledger is not None:
                score = exact[0] if isinstance(exact, tuple) else exact
                found.extend(np.atleast_1d(score).tolist())
            return exact

        monkeypatch.setattr(kind, "compute", noting)
    return found


def leaked(numbers, text, digits):
    """Return the numbers that a text holds, with so many decimals or with ten and more.

    Noise meets eight decimals of one of three scores once in 200,000 runs of three sessions.
    """

    def held(number):
        rounded = re.escape(f"{number:.{digits}f}")
        return re.search(rf"(?<![\d.]){rounded}(?!\d)", text) or f"{number:.11f}"[:-1] in text

    return {number for number in numbers if number % 1 and held(number)}
