"""Reports in a real browser: the system's chromium, driven by playwright."""

import chromium
import pytest
from report_kinds import HOSTILE, KINDS, built

pytestmark = pytest.mark.full

CONTRAST = """() => {
  const part = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  const colour = (text) => text.match(/[\\d.]+/g).map(Number);
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const c = colour(getComputedStyle(node).backgroundColor);
      if (c.length === 3 || c[3] > 0) return c;
    }
  };
  const low = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || node.closest("script, title, desc, .said") || /band/.test(node.classList)) continue;
    const style = getComputedStyle(node);
    const letters = colour(node.closest("svg") ? style.fill : style.color);
    const [a, b] = [light(letters), light(behind(node))].sort((x, y) => x - y);
    if ((b + 0.05) / (a + 0.05) < 4.5) low.push(`${node.tagName} ${node.textContent}`);
  }
  return low;
}"""


@pytest.fixture(scope="module")
def browser():
    with chromium.started() as found:
        yield found


@pytest.fixture
def visit(browser, tmp_path):
    """Return a function that opens the page of one kind; it fails on any complaint or request."""
    contexts, complaints, requests = [], [], []

    def opened(kind, width=1000, **options):
        file = tmp_path / f"{kind}.html"
        file.write_text(built(kind), encoding="utf-8")
        options.setdefault("viewport", {"width": width, "height": 800})
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(file.as_uri())
        return page

    yield opened
    assert complaints == []
    assert len(requests) == len(contexts)  # each page, and nothing it asked for
    assert all(url.startswith("file:") for url in requests)
    for context in contexts:
        context.close()


def column(page, place):
    """Return the cells of a column as they stand."""
    return page.locator(f"table.sortable tbody tr > :nth-child({place})").all_inner_texts()


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_fits_a_phone(visit, kind):
    page = visit(kind, 360)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.set_viewport_size({"width": 320, "height": 600})  # and one enlarged four times
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_names_do_nothing(visit, kind):
    page = visit(kind)
    assert page.evaluate("window.evil") is None
    assert page.locator("script").count() == 1
    assert page.locator("img").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_letters_stand_out(visit, kind, scheme):
    page = visit(kind, color_scheme=scheme)
    assert page.evaluate(CONTRAST) == []


def test_the_dark_page_is_dark(visit):
    colour = "getComputedStyle(document.body).backgroundColor"
    assert visit("matrix", color_scheme="light").evaluate(colour) == "rgb(255, 255, 255)"
    assert visit("matrix", color_scheme="dark").evaluate(colour) == "rgb(17, 21, 27)"


def test_a_click_sorts(visit):
    page = visit("screening")
    values = [float(words) for words in column(page, 2)]
    assert values == sorted(values, reverse=True)
    page.get_by_role("button", name="value").click()
    assert [float(words) for words in column(page, 2)] == sorted(values)
    head = page.get_by_role("columnheader", name="value")
    assert head.get_attribute("aria-sort") == "ascending"
    page.get_by_role("button", name="noise interval").click()
    lows = [float(words.split()[0]) for words in column(page, 3)]
    assert lows == sorted(lows, reverse=True)
    assert head.get_attribute("aria-sort") == "none"
    told = page.get_by_role("status").inner_text()
    assert told == "Sorted by noise interval, 95%, descending."


def test_the_keyboard_sorts(visit):
    page = visit("pairwise")
    page.get_by_role("button", name="pair").focus()
    page.keyboard.press("Enter")
    names = column(page, 1)
    page.keyboard.press("Space")
    assert column(page, 1) == names[::-1]
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "MIC"
    page.keyboard.press("Enter")
    scores = [float(words) for words in column(page, 2)]
    assert scores == sorted(scores, reverse=True)


def test_rows_stay_together(visit):
    page = visit("pairwise")
    rows = sorted(page.locator("tbody tr").all_inner_texts())
    page.get_by_role("button", name="p", exact=True).click()
    assert sorted(page.locator("tbody tr").all_inner_texts()) == rows


def test_without_scripts_a_page_stands(visit):
    page = visit("screening", java_script_enabled=False)
    values = [float(words) for words in column(page, 2)]
    assert values == sorted(values, reverse=True)
    assert page.get_by_role("button").count() == 0
    assert page.locator("th[aria-sort=descending]").inner_text() == "value"


def test_a_screen_reader_finds_its_way(visit):
    page = visit("matrix")
    assert page.get_by_role("heading", level=1).count() == 1
    assert page.get_by_role("heading", name="Guarantee").is_visible()
    assert page.get_by_role("table", name="Pairs, the largest value first.").is_visible()
    assert page.get_by_role("rowheader").count() == 6
    assert page.get_by_role("img", name="Published values of all pairs").is_visible()
    assert page.get_by_role("region", name="What was spent, and what is left").is_visible()


def test_figures_are_drawn_inside_the_page(visit):
    for kind in ("score", "histogram", "test", "matrix", "screening"):
        page = visit(kind, 360)
        for drawing in page.locator("svg[role=img]").all():
            box = drawing.bounding_box()
            assert box["width"] > 200
            assert box["height"] >= 14
        for words in page.locator(".plane > text, .bars > text").all():
            box = words.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 361, words.inner_html()


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_prints(visit, kind):
    page = visit(kind, color_scheme="dark")
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 700, "height": 900})
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    wide = "[...document.querySelectorAll('svg.heat')].map((e) => e.getBoundingClientRect().right)"
    assert all(right <= 701 for right in page.evaluate(wide))
    assert page.evaluate(CONTRAST) == []


def test_the_title_is_the_names(visit):
    assert visit("cross").title() == HOSTILE
