"""Who may ask: the token, the Host, the Origin, and what every answer forbids."""

import pytest
import window
from sweeps import sweep

pytest.importorskip("starlette", reason="the window needs the extra app")


@pytest.fixture
def outside(tmp_path):
    """A window that nobody has entered."""
    return window.Window(window.folder(tmp_path), "visits.dpmic.toml")


@pytest.fixture
def inside(outside):
    return outside.enter()


PLACES = ("/", "/protect", "/job", "/job.toml", "/ledger", "/plan?epsilon=1", "/static/app.js")


def test_without_the_token_nothing_is_shown(outside):
    for place in PLACES:
        answer = outside.get(place)
        assert answer.status == 403
        assert "that dpmic app printed in the terminal" in answer.text
        assert "age" not in answer.text.replace("page", "")


def test_a_wrong_token_does_not_enter(outside):
    assert outside.get("/enter?token=x").status == 403
    assert outside.get("/enter").status == 403
    outside.cookie = "dpmic-8765=x"
    assert outside.get("/protect").status == 403


def test_the_token_becomes_a_cookie_that_no_script_and_no_other_site_can_use(outside):
    entered = outside.get(f"/enter?token={outside.keys.token}")
    cookie = entered.header("set-cookie")
    assert cookie.startswith("dpmic-8765=")  # cookies do not distinguish ports
    assert {"HttpOnly", "SameSite=strict"} <= {part.strip() for part in cookie.split(";")}
    assert outside.keys.token not in entered.text
    assert "url=/'" in entered.text  # the address bar is cleared


def test_the_address_that_the_browser_is_started_with_opens_once(outside):
    once = outside.keys.once
    assert outside.get(f"/enter?token={once}").header("set-cookie")
    again = outside.get(f"/enter?token={once}")
    assert again.status == 403
    assert "works once" in again.text
    assert outside.get("/enter?token=").status == 403  # the used one is not an empty one
    assert outside.get(f"/enter?token={outside.keys.token}").status == 200


FOREIGN = [
    {"host": "evil.example:8765"},  # DNS rebinding
    {"host": "127.0.0.1:9999"},
    {"host": "localhost:8765"},
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"origin": "http://127.0.0.1:9999"},
    {"sec_fetch_site": "cross-site"},
]


@sweep("headers", FOREIGN, ids=str)
def test_what_another_page_asks_is_refused(headers, tmp_path):
    inside = window.Window(window.folder(tmp_path), "visits.dpmic.toml").enter()
    assert inside.get("/protect").status == 200
    assert inside.get("/protect", **headers).status == 403
    before = inside.session.text
    assert inside.post("/epsilon", {"epsilon": "9"}, **headers).status == 403
    assert inside.session.text == before


def test_a_form_without_an_origin_is_refused(inside):
    assert inside.post("/epsilon", {"epsilon": "9"}, origin=None).status == 403


def test_other_methods_are_refused(inside):
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE"):
        assert inside.ask(method, "/protect", b"", {}).status == 405


def test_every_answer_forbids_what_it_does_not_need(inside):
    for place in (*PLACES, "/nowhere", "/enter?token=x"):
        answer = inside.get(place)
        policy = answer.header("content-security-policy")
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert answer.header("cache-control") == "no-store"
        assert answer.header("x-content-type-options") == "nosniff"


def test_pages_need_nothing_from_elsewhere_and_nothing_inline(inside):
    for place in ("/", "/protect", "/columns", "/question", "/epsilon", "/job", "/nowhere"):
        text = inside.get(place).text
        assert "//" not in text.replace("http://127.0.0.1", "").replace("://", "")
        for inline in ("style=", "onclick", "<style", "javascript:"):
            assert inline not in text


def test_a_fault_is_a_sentence_without_its_words(inside, monkeypatch, capfd):
    def fail(_):
        raise RuntimeError("patient 4711 has dose 12.5")

    monkeypatch.setattr(type(inside.session), "names", fail)
    answer = inside.get("/columns")
    assert answer.status == 500
    assert "RuntimeError" in answer.text
    for shown in (answer.text, *capfd.readouterr()):
        assert "4711" not in shown
        assert "Traceback" not in shown


def test_an_unknown_page_is_a_sentence(inside):
    answer = inside.get("/nowhere")
    assert answer.status == 404
    assert "no such page" in answer.text
