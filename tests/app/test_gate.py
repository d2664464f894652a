"""Who may ask: path, cookie and token, Host and Origin, and what every answer forbids."""

import asyncio

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


PLACES = ("", "protect", "job", "job.toml", "ledger", "plan?epsilon=1", "app.js")


def test_without_the_cookie_nothing_is_shown(outside):
    for place in (*PLACES, "nowhere"):
        answer = outside.get(place)
        assert answer.status == 403
        assert "that dpmic app printed in the terminal" in answer.text
        assert "age" not in answer.text.replace("page", "")


def test_without_the_secret_path_nothing_is_shown_to_the_one_with_the_cookie(inside):
    """And nobody learns whether a path was right: all refusals are the same."""
    path = inside.keys.path
    places = ["/", "/protect", "/x/protect", f"/{path}", f"/{path[:-1]}/protect", f"//{path}/job"]
    places += [f"/{path.swapcase()}/protect", "/\xff/protect"]
    refused = {inside.ask("GET", place, b"", {}).body for place in places}
    assert inside.get("protect").status == 200
    inside.cookie = ""
    refused |= {inside.get(place).body for place in ("", "protect", "nowhere")}
    (only,) = refused
    assert b"Refused" in only


def test_a_wrong_token_does_not_enter(outside):
    for token in ("?token=x", "", "?token=", "?token=%ff", f"?token={outside.keys.cookie}"):
        assert outside.get(f"enter{token}").status == 403
    assert outside.get(f"/enter?token={outside.keys.token}").status == 403
    for cookie in ("dpmic=x", f"other={outside.keys.cookie}", f"dpmic={outside.keys.token}"):
        outside.cookie = cookie
        assert outside.get("protect").status == 403


def test_the_token_becomes_a_cookie_that_nobody_else_can_use(outside):
    """No script, no other site, and no other port of this computer: that has other paths."""
    entered = outside.get(f"enter?token={outside.keys.token}")
    name, *parts = (part.strip() for part in entered.header("set-cookie").split(";"))
    assert name == f"dpmic={outside.keys.cookie}"
    assert {"HttpOnly", "SameSite=strict", f"Path=/{outside.keys.path}/"} == set(parts)
    keys = {outside.keys.path, outside.keys.cookie, outside.keys.token, outside.keys.once}
    assert len(keys) == 4
    assert not [key for key in keys if key in entered.text]
    assert "url=.'" in entered.text  # the address bar is cleared


def test_a_cookie_that_another_port_has_set_locks_nobody_out(inside):
    inside.cookie = f"{inside.cookie}; dpmic=planted; a=b"
    assert inside.get("protect").status == 200


def test_the_token_in_the_file_opens_once(outside):
    used = []
    outside.keys.used = lambda: used.append(True)
    once = outside.keys.once
    assert outside.get("enter?token=x").status == 403
    assert used == []
    assert outside.get(f"enter?token={once}", sec_fetch_site="cross-site").header("set-cookie")
    assert used == [True]
    again = outside.get(f"enter?token={once}")
    assert again.status == 403
    assert "has opened it before" in again.text
    assert outside.get("enter?token=").status == 403  # the used one is not an empty one
    assert outside.get(f"enter?token={outside.keys.token}").status == 200


def test_the_entrance_is_for_reading_and_for_no_script(outside):
    """A file that leads there comes from elsewhere and has no origin."""
    place = f"enter?token={outside.keys.token}"
    assert outside.get(place, origin="null").status == 403
    assert outside.ask("POST", place, b"", {"origin": window.ORIGIN}).status == 403


def test_what_is_not_http_is_not_answered(inside):
    async def never(*_):
        raise AssertionError("answered")

    asyncio.run(inside.gate({"type": "websocket", "path": "/", "headers": []}, never, never))


def test_no_page_holds_the_secret_path(inside):
    """A page or a report that is saved or sent on reveals nothing."""
    for place in (*PLACES, "columns", "question", "epsilon", "rehearsal", "consent", "result"):
        answer = inside.get(place)
        assert answer.status == 200
        assert not [key for key in vars(inside.keys).values() if str(key) in answer.text]
        assert answer.header("referrer-policy") == "same-origin"


FOREIGN = [
    {"host": "evil.example:8765"},  # DNS rebinding
    {"host": "127.0.0.1:9999"},
    {"host": "localhost:8765"},
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"origin": "http://127.0.0.1:9999"},
    {"sec_fetch_site": "cross-site"},
    {"sec_fetch_site": "same-site"},  # another port of this computer
]


@sweep("headers", FOREIGN, ids=str)
def test_what_another_page_asks_is_refused(headers, tmp_path):
    inside = window.Window(window.folder(tmp_path), "visits.dpmic.toml").enter()
    assert inside.get("protect").status == 200
    assert inside.get("protect", **headers).status == 403
    before = inside.session.text
    assert inside.post("epsilon", {"epsilon": "9"}, **headers).status == 403
    assert inside.session.text == before


def test_a_form_without_an_origin_is_refused(inside):
    assert inside.post("epsilon", {"epsilon": "9"}, origin=None).status == 403


def test_other_methods_are_refused(inside):
    for method in ("HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"):
        assert inside.ask(method, "protect", b"", {}).status == 405


def test_every_answer_forbids_what_it_does_not_need(inside):
    for place in (*PLACES, "nowhere", "enter?token=x"):
        answer = inside.get(place)
        policy = answer.header("content-security-policy")
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert answer.header("cache-control") == "no-store"
        assert answer.header("x-content-type-options") == "nosniff"


def test_pages_need_nothing_from_elsewhere_and_nothing_inline(inside):
    for place in ("", "protect", "columns", "question", "epsilon", "job", "nowhere"):
        text = inside.get(place).text
        assert "//" not in text.replace("http://127.0.0.1", "").replace("://", "")
        for inline in ("style=", "onclick", "<style", "javascript:"):
            assert inline not in text


def test_a_fault_is_a_sentence_without_its_words(inside, monkeypatch, capfd):
    def fail(_):
        raise RuntimeError("patient 4711 has dose 12.5")

    monkeypatch.setattr(type(inside.session), "names", fail)
    answer = inside.get("columns")
    assert answer.status == 500
    assert "RuntimeError" in answer.text
    for shown in (answer.text, *capfd.readouterr()):
        assert "4711" not in shown
        assert "Traceback" not in shown


def test_an_unknown_page_is_a_sentence(inside):
    answer = inside.get("nowhere")
    assert answer.status == 404
    assert "no such page" in answer.text
    deep = inside.get("explore/nowhere")  # where links and style sheets would not be found
    assert (deep.status, "href" in deep.text) == (404, False)
