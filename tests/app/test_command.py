"""``dpmic app``: what it needs, what it refuses, and whom it listens to."""

import os
import queue
import re
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import commands
import pytest
import window

from dpmic import app
from dpmic.app import _server

pytest.importorskip("uvicorn", reason="the window needs the extra app")


@pytest.fixture
def run(monkeypatch, capsys):
    return commands.runner(monkeypatch, capsys)


def test_without_the_extra_it_says_how_to_install_it(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, _, err = run("app", "--no-browser")
    assert code == 2
    assert "pip install 'dpmic[app]'" in err


def test_a_wrong_file_or_port_is_a_sentence(run, tmp_path):
    code, _, err = run("app", tmp_path / "nowhere.csv", "--no-browser")
    assert (code, "there is no such file" in err) == (2, True)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, _, err = run("app", "--no-browser", "--port", taken.getsockname()[1])
    assert code == 2
    assert "a free one is taken" in err


@pytest.fixture
def started(tmp_path, monkeypatch):
    """Start the command as a thread: what it says, what it opens, and how to stop it."""
    monkeypatch.chdir(window.folder(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    servers, opened, said = [], queue.Queue(), []
    begun, make = threading.Event(), _server.server

    def noting(*arguments):
        servers.append(make(*arguments))
        begun.set()
        return servers[0]

    monkeypatch.setattr(_server, "server", noting)
    monkeypatch.setattr(_server.webbrowser, "open", opened.put)
    options = {"say": said.append}
    serving = threading.Thread(target=app.serve, args=("visits.csv",), kwargs=options, daemon=True)

    def stop():
        servers[0].should_exit = True
        serving.join(60)
        assert not serving.is_alive()

    def start():
        serving.start()
        assert begun.wait(60)
        return re.search(r"http://(127\.0\.0\.1:\d+)/([\w-]+)/enter\?token=(\S+)", said[0])

    start.opened, start.said, start.stop = opened, said, stop
    yield start
    if serving.is_alive():
        stop()


def visitor():
    return urllib.request.build_opener(urllib.request.HTTPCookieProcessor())


@pytest.mark.slow
def test_it_listens_to_this_computer_and_stops(started):
    address, host, path, _ = (found := started())[0], *found.groups()
    inside = visitor()
    assert inside.open(address).status == 200
    assert "visits.csv" in inside.open(f"http://{host}/{path}/").read().decode()
    for place in (f"http://{host}/", f"http://{host}/{path}/"):
        with pytest.raises(urllib.error.HTTPError, match="403") as refused:
            urllib.request.urlopen(place)
        refused.value.close()
    port = int(host.partition(":")[2])
    with socket.socket() as other, pytest.raises(OSError, match="refused"):
        other.connect(("127.0.0.2", port))  # another address of the same computer
    started.stop()
    assert started.said[-1] == "Stopped."


@pytest.mark.slow
def test_the_browser_is_started_with_a_file_that_only_its_owner_can_read(started, tmp_path):
    """All users can read the arguments of a process; so no token may be among them."""
    found = started()
    opened = started.opened.get(timeout=60)
    assert opened.startswith("file://")
    assert not [secret for secret in found.groups()[1:] if secret in opened]
    page = Path(urllib.request.url2pathname(opened.removeprefix("file://")))
    assert page.parent.parent == tmp_path
    if os.name == "posix":
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
        assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
    led = re.search(r"0;url=(http[^']+)'", page.read_text())[1]
    assert led.startswith(f"http://{found[1]}/{found[2]}/enter?token=")
    assert found[3] not in led  # the token that it prints is another one
    assert visitor().open(led).status == 200
    assert not page.parent.exists()  # it has been used
    with pytest.raises(urllib.error.HTTPError, match="403") as refused:
        visitor().open(led)
    refused.value.close()


@pytest.mark.slow
def test_a_file_that_nobody_has_used_is_gone_at_the_end(started, tmp_path):
    started()
    started.opened.get(timeout=60)
    assert list(tmp_path.glob("dpmic-*/window.html"))
    started.stop()
    assert not list(tmp_path.glob("dpmic-*"))


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["folder", "browser"])
def test_the_printed_address_works_where_no_browser_can_be_opened(started, monkeypatch, broken):
    def fail(*_, **__):
        raise {"folder": OSError("no space"), "browser": _server.webbrowser.Error("none")}[broken]

    if broken == "folder":
        monkeypatch.setattr(_server.tempfile, "mkdtemp", fail)
    else:
        monkeypatch.setattr(_server.webbrowser, "open", fail)
    assert visitor().open(started()[0]).status == 200
    started.stop()
    assert started.said[-1] == "Stopped."


@pytest.mark.slow
def test_a_connection_that_asks_nothing_is_closed(started):
    """Else any user of this computer could take all that the process may have."""
    port = int(started()[1].partition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=60) as idle:
        assert idle.recv(1) == b""


BLOCKED = """
import os, signal, sys, threading, time, urllib.request
from dpmic import app
from dpmic.app import _routes

def blocked(session):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(1000)

def visit(address):
    visitor = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    visitor.open(address)
    visitor.open(address.partition("enter")[0])

def say(words):
    print(words)
    if "http" in words:
        threading.Thread(target=visit, args=(words.split()[-1],), daemon=True).start()

_routes.start = blocked
app.serve(browser=False, say=say)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_it_even_while_a_page_is_blocked():
    """As when a drive is gone, from which a table is read."""
    ended = subprocess.run(
        [sys.executable, "-c", BLOCKED], capture_output=True, text=True, timeout=60, check=True
    )
    assert ended.stdout.endswith("Stopped.\n")


def test_a_server_that_is_stopped_early_leaves_no_socket(tmp_path, monkeypatch):
    monkeypatch.chdir(window.folder(tmp_path))
    given = []
    server = SimpleNamespace(run=lambda sockets: given.extend(sockets))
    monkeypatch.setattr(_server, "server", lambda *_: server)
    app.serve(browser=False, say=lambda _: None)
    assert [own.fileno() for own in given] == [-1]
