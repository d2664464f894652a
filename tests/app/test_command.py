"""``dpmic app``: what it needs, what it refuses, and whom it listens to."""

import re
import socket
import sys
import threading
import urllib.error
import urllib.request

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


@pytest.mark.slow
def test_it_listens_to_this_computer_and_stops(tmp_path, monkeypatch):
    monkeypatch.chdir(window.folder(tmp_path))
    servers, opened, said = [], [], []
    begun = threading.Event()
    make = _server.server

    def noting(*arguments):
        servers.append(make(*arguments))
        begun.set()
        return servers[0]

    monkeypatch.setattr(_server, "server", noting)
    monkeypatch.setattr(_server.webbrowser, "open", opened.append)
    serving = threading.Thread(target=app.serve, args=("visits.csv",), kwargs={"say": said.append})
    serving.start()
    assert begun.wait(20)
    address = re.search(r"http://(127\.0\.0\.1:\d+)/enter\?token=(\S+)", said[0])
    host = address[1]
    once = opened[0]
    assert address[2] not in once  # the browser is started with another token
    jar = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    assert jar.open(once).status == 200
    assert "visits.csv" in jar.open(f"http://{host}/").read().decode()
    with pytest.raises(urllib.error.HTTPError, match="403") as refused:
        urllib.request.urlopen(f"http://{host}/")
    refused.value.close()
    port = int(host.partition(":")[2])
    with socket.socket() as other, pytest.raises(OSError, match="refused"):
        other.connect(("127.0.0.2", port))  # another address of the same computer
    servers[0].should_exit = True
    serving.join(20)
    assert said[-1] == "Stopped."
