"""The explorer's page in a real browser: map, search, mixer, words, texts, links, downloads, keyboard, phone."""

import os
import shutil
import threading
import time

import pytest

from tests.tasks.test_explorer import EFFECTS, write_composed
from tests.tasks.tiny_model import NAMES, write_checkpoint

pytest.importorskip("starlette")
pytest.importorskip("playwright")
CHROMIUM = os.environ.get("ATD_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="install chromium (or set ATD_CHROMIUM) to run this test")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    import uvicorn

    from tasks.explore import HOST, listen, opened
    from tasks.explore.server import application

    folder = tmp_path_factory.mktemp("page") / "tour"
    runs = [
        write_checkpoint(folder / "one"),
        write_composed(folder / "composed", effects=EFFECTS),
        write_composed(folder / "tuples", terms=((0, 1),)),
    ]
    server = uvicorn.Server(uvicorn.Config(application([opened(run) for run in runs]), log_level="warning"))
    socket = listen(0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://{HOST}:{socket.getsockname()[1]}/"
    server.should_exit = True
    thread.join(10)


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        yield chromium
        chromium.close()


@pytest.fixture
def opened_page(browser, address):
    """Opens the page at a link; nothing foreign is asked for, nothing fails."""
    pages = []

    def open_at(link=""):
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        pages.append(page)
        page.foreign, page.failures = [], []
        page.on("request", lambda r: r.url.startswith((address, "data:", "blob:")) or page.foreign.append(r.url))
        page.on("pageerror", lambda error: page.failures.append(str(error)))
        page.goto(address + link)
        page.wait_for_selector("#samples blockquote", state="attached")
        until(page, "document.getElementById('map').dataset.zoom")
        return page

    yield open_at
    for page in pages:
        assert not page.foreign and not page.failures
        page.close()


@pytest.fixture
def page(opened_page):
    return opened_page()


@pytest.fixture
def composed(opened_page):
    return opened_page("#model=tour/composed")


def until(page, script):
    """Wait for an expression to be true; the page's policy forbids the browser to do so by itself."""
    for _ in range(300):
        if page.evaluate(script):
            return
        page.wait_for_timeout(50)
    raise AssertionError(script)


def data(page, name):
    """What the map says it shows."""
    page.wait_for_timeout(80)  # a frame
    return page.locator("#map").get_attribute(f"data-{name}") or ""


def zoom(page):
    return [float(number) for number in data(page, "zoom").split()]


def place(page, name):
    """Where an attribute is on the screen."""
    script = "([m, name]) => { const p = m.map.byName.get(name); return m.map.at(p.u, p.v); }"
    x, y = page.evaluate(script, [page.query_selector("#map"), name])
    box = page.locator("#map canvas").bounding_box()
    return box["x"] + x, box["y"] + y


def settled(page):
    page.wait_for_timeout(150)
    page.wait_for_selector("#samples[aria-busy=false]", state="attached")
    return page.locator("#samples").inner_text()


def compare(page, word):
    page.click("#tab-neighbours")
    page.fill("#word", word)
    page.press("#word", "Enter")


def test_pick_and_mix(page):
    before = settled(page)
    page.mouse.click(*place(page, "shakespeare-hamlet"))
    page.locator(".slider").nth(1).wait_for()
    mixed = settled(page)
    assert mixed != before
    assert data(page, "marks") == "mix" and "shakespeare-hamlet" in data(page, "chosen")
    page.locator(".slider input").nth(1).fill("1.5")
    page.wait_for_timeout(300)
    assert settled(page) != mixed
    page.locator(".slider button").first.click()
    assert page.locator(".slider").count() == 1
    page.click("#clear")
    page.get_by_text("Nothing in the mix").wait_for()


def test_another_draw_and_start_text(page):
    before = settled(page)
    page.click("#again")
    page.wait_for_timeout(300)
    assert settled(page) != before
    page.fill("#start", "The king")
    page.locator("#samples blockquote", has_text="The king").first.wait_for()


def test_the_map_zooms_and_moves(page):
    assert zoom(page) == [1, 0.5, 0.5]
    x, y = place(page, NAMES[0])
    page.mouse.move(x, y)
    page.mouse.wheel(0, -300)
    k, *_ = zoom(page)
    assert k > 1.5
    assert place(page, NAMES[0]) == pytest.approx((x, y), abs=1)  # what is under the pointer stays there
    page.mouse.move(x + 40, y + 40)
    page.mouse.down()
    page.mouse.move(x + 90, y + 70, steps=4)
    page.mouse.up()
    assert place(page, NAMES[0]) == pytest.approx((x + 50, y + 30), abs=1)
    page.click("#zoom-in")
    assert zoom(page)[0] > k
    page.click("#zoom-reset")
    assert zoom(page) == [1, 0.5, 0.5] and page.locator(".slider").count() == 1  # to drag is not to pick


def test_two_fingers_zoom(page):
    page.evaluate("""() => {
        const canvas = document.querySelector("#map canvas");
        canvas.setPointerCapture = () => {};
        const send = (kind, id, x) => {
            const { left, top } = canvas.getBoundingClientRect();
            const at = { pointerId: id, pointerType: "touch", clientX: left + x, clientY: top + 150 };
            canvas.dispatchEvent(new PointerEvent(kind, at));
        };
        send("pointerdown", 1, 150); send("pointerdown", 2, 250);
        send("pointermove", 1, 100); send("pointermove", 2, 300);
        send("pointerup", 1, 100); send("pointerup", 2, 300);
    }""")
    assert zoom(page)[0] == pytest.approx(2, rel=0.01) and page.locator(".slider").count() == 1


def test_keyboard_alone(page):
    page.locator("#map canvas").focus()
    for key in ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
    name = page.evaluate("document.getElementById('map').map.focus.name")
    assert page.locator("#map-note").inner_text().startswith(name)
    before = name in data(page, "chosen").split("\n")
    page.keyboard.press("Enter")
    assert (name in data(page, "chosen").split("\n")) != before
    page.keyboard.press("+")
    page.keyboard.press("Shift+ArrowRight")
    assert zoom(page)[0] == 1.4 and zoom(page)[1] > 0.5
    page.keyboard.press("0")
    assert zoom(page) == [1, 0.5, 0.5]


def test_thousands_of_points_move_smoothly(page):
    spent, few, many = page.evaluate("""async () => {
        const { map } = document.getElementById("map");
        const draw = n => Math.abs(Math.sin(n * 12.9898) * 43758.5453) % 1;
        map.show(Array.from({ length: 5000 }, (_, i) =>
            ({ name: `no ${i}`, label: `no ${i}`, x: draw(i), y: draw(i + 0.5), words: 5000 - i, colour: "#0072b2" })));
        map.draw();
        const start = performance.now();
        for (let i = 0; i < 10; i += 1) { map.setLook([2 + i / 10, 0.5, 0.5]); map.draw(); }
        const spent = (performance.now() - start) / 10;
        const labels = () => { map.draw(); return map.holder.dataset.labels.split("\\n"); };
        map.setLook([1, 0.5, 0.5]);
        const few = labels();
        map.setLook([20, 0.5, 0.5]);
        const isIn = ([x, y]) => x > 0 && y > 0 && x < map.width && y < map.height;
        const inSight = map.points.filter(p => isIn(map.at(p.u, p.v)));
        return [spent, few, labels().length / inSight.length];
    }""")  # fmt: skip
    assert "no 0" in few and len(few) > 20  # that with most text has its label
    assert many > 3 * len(few) / 5000  # a larger share of what is in sight
    assert spent < 250  # milliseconds a frame, on a busy machine without a graphics card


def test_labels_do_not_overlap(page):
    overlaps = page.evaluate("""async () => {
        const { placed } = await import("/labels.js");
        const points = Array.from({ length: 400 }, (_, i) => ({ x: (i * 37) % 500, y: (i * 91) % 400, width: 60 }));
        const boxes = placed(points, 500, 400).map(({ x, y }) => [x, y - 12, x + 60, y + 4]);
        const hit = (a, b) => a[0] < b[2] && a[2] > b[0] && a[1] < b[3] && a[3] > b[1];
        return [boxes.length, boxes.filter((a, i) => boxes.some((b, j) => j < i && hit(a, b))).length];
    }""")
    assert overlaps[0] > 20 and overlaps[1] == 0


def test_search(composed):
    page = composed
    page.fill("#find", "gender:female")
    page.locator("#found button", has_text="gender=female").wait_for()
    assert data(page, "lit") == "1" and zoom(page)[0] > 1
    page.press("#find", "Enter")
    until(page, "document.getElementById('map').map.focus?.name === 'gender=female'")
    page.fill("#find", "30-39")
    page.locator("#found button", has_text="age=30–39").wait_for()
    page.fill("#find", "ligh")
    page.locator("#found button", has_text="word: lights").click()
    page.wait_for_selector("#lists table")
    assert page.input_value("#word") == "lights"
    page.fill("#find", "zzz")
    page.locator("#found", has_text="no attribute is called").wait_for()
    page.fill("#find", "")
    page.wait_for_selector("#found", state="hidden")
    assert data(page, "lit") == ""


def test_colours_say_a_column(composed):
    page = composed
    legend = page.locator("#legend")
    assert legend.inner_text().split("\n") == ["age", "gender"]
    page.select_option("#colour", label="gender")
    assert legend.inner_text().split("\n") == ["female", "male", "<b>x</b>", "no gender"]
    page.select_option("#view", label="age")
    assert page.evaluate("document.getElementById('map').map.points.map(p => p.label)") == ["20s", "30–39"]
    assert legend.inner_text().split("\n") == ["20s", "30–39"]
    page.select_option("#model", label="tour/tuples")
    until(page, "document.getElementById('map').map.points.length === 6")
    page.select_option("#colour", label="gender")
    assert legend.inner_text().split("\n") == ["female", "male", "<b>x</b>"]
    page.select_option("#model", label="tour/one")
    page.wait_for_selector("#colour", state="hidden")


def test_a_base_profile(composed):
    page = composed
    before = settled(page)
    page.select_option("#base-form select[name=gender]", "male")
    page.locator(".slider small", has_text="gender=male").wait_for()
    with_base = settled(page)
    assert with_base != before
    page.select_option("#add", "age=20s")
    page.locator(".slider", has_text="age=20s with gender=male").wait_for()
    page.click("#keep-base")
    page.locator(".slider", has_text="gender=male").nth(2).wait_for()
    page.select_option("#base-form select[name=gender]", "")
    assert page.locator(".slider", has_text="gender=male").count() == 1  # the copy stays
    page.select_option("#model", label="tour/one")
    page.wait_for_selector("#base", state="hidden")


def test_a_link_restores_what_was_chosen(composed, opened_page):
    page = composed
    page.select_option("#view", label="gender")
    page.select_option("#base-form select[name=age]", "30–39")
    page.select_option("#add", "gender=<b>x</b>")
    page.locator(".slider input").first.fill("-0.5")
    page.fill("#start", "the king & queen")
    page.click("#again")
    page.locator("#zoom-in").click()
    page.locator("#map canvas").focus()
    page.keyboard.press("ArrowLeft")
    compare(page, "light")
    page.select_option("#b", "gender=male")
    page.locator("#lists caption", has_text="B: gender=male").wait_for()
    lists, look = page.locator("#lists").inner_text(), zoom(page)
    page.click("#copy")
    page.locator("#copied:not(:empty)").wait_for()
    link = "#" + page.url.split("#", 1)[1]

    other = opened_page(link)
    other.wait_for_selector("#lists table")
    assert other.locator("#lists").inner_text() == lists and zoom(other) == look
    assert other.locator("#facts").inner_text() == page.locator("#facts").inner_text()
    assert other.input_value("#view") == "2" and other.locator("#tab-neighbours[aria-selected=true]").count() == 1
    assert other.evaluate("document.getElementById('map').map.focus?.name") == page.evaluate(
        "document.getElementById('map').map.focus?.name"
    )
    other.click("#tab-mixer")
    page.click("#tab-mixer")
    assert settled(other) == settled(page) and other.locator(".slider").count() == 2
    assert other.input_value("#base-form select[name=age]") == "30–39"
    other.evaluate("location.hash = '#model=tour/tuples&tab=differ'")  # a link put into an open page
    other.locator("#differing caption", has_text="age=20s against age=30–39").wait_for()


def test_a_link_from_anywhere_does_no_harm(opened_page):
    link = '#model=tour/composed&tab=<b>&zoom=[1]&mix=[{"name":"<img src=x>","weight":1},{"base":true,"weight":1}]'
    page = opened_page(link + '&base={"x":"y"}&view=77&toString=1&__proto__=2&words=1e9&a=<b>&find=<b>')
    assert page.locator(".slider").count() == 1 and zoom(page) == [1, 0.5, 0.5]
    assert page.locator("main b, main img").count() == 0
    page = opened_page("#model=<b>gone</b>")
    page.get_by_text("which is not served here").wait_for()


def test_words_that_differ_with_intervals(composed):
    page = composed
    page.click("#tab-differ")
    page.wait_for_selector("#differing table")
    rows = page.locator("#differing tbody tr")
    assert rows.count() == 2 and page.locator("#differing i").count() == 0
    assert rows.first.inner_text().split() == ["<i>sea</i>", "0.40", "0.30", "–", "0.50", "<", "0.001", "9", "7"]
    rows.nth(1).locator("button").click()  # a word of the model
    page.wait_for_selector("#lists table")
    assert page.locator("#lists caption").all_inner_texts() == ["A: gender=female", "B: gender=male"]
    page.click("#tab-differ")
    page.select_option("#pair", label="two values of my choice (no intervals)")
    page.locator("#differ-note", has_text="No intervals").wait_for()


def test_words_that_differ_without_intervals(page):
    page.click("#tab-differ")
    page.get_by_text("There is no effects.json in the run folder.").wait_for()
    assert page.locator("#differing tbody tr").count() > 10
    page.locator("#differing tbody button").first.click()
    page.wait_for_selector("#lists table")


def test_neighbours_and_unknown_word(page):
    compare(page, "light")
    page.wait_for_selector("#lists table")
    assert page.locator("#lists tbody tr").count() == 30
    compare(page, "lihgt")
    page.get_by_text("the model does not know the word “lihgt”").wait_for()
    assert page.locator("#lists table").count() == 0
    page.get_by_role("button", name="light", exact=True).click()
    page.wait_for_selector("#lists table")
    assert page.locator("#unknown").inner_text() == ""


def test_paste_a_text(page):
    page.click("#tab-reader")
    page.fill("#text", "The lord said to the king: the whale and the ship <img src=x onerror=alert(1)>")
    page.click("#read")
    page.wait_for_selector("#placed table")
    assert "your text" in data(page, "marks")
    assert page.locator("#reader img").count() == 0
    page.locator("#warnings li", has_text="known words: mostly chance").wait_for()
    page.locator("#warnings li", has_text="The model does not know").wait_for()
    page.click("#into-mix")
    page.locator(".slider", has_text="your text").wait_for()
    page.click("#tab-reader")
    page.evaluate("document.getElementById('text').value = 'word '.repeat(209715)")
    page.click("#read")
    page.get_by_text("1,048,575 characters are too many").wait_for()


def test_each_column_has_its_likeliest_values(composed):
    page = composed
    page.click("#tab-reader")
    page.fill("#text", "the lord said to the king and the whale was very bright . " * 5)
    page.click("#read")
    page.wait_for_selector("#placed table")
    assert page.locator("#placed .pair caption").all_inner_texts() == ["age", "gender"]
    assert page.locator("#placed .pair td", has_text="%").count() == 5


def test_hostile_attribute_names_are_shown_as_text(page):
    assert page.evaluate("document.getElementById('map').map.byName.has('m/30/<b>arts</b>')")
    page.fill("#find", "<b>")
    page.locator("#found button", has_text=NAMES[4]).wait_for()
    page.press("#find", "Escape")
    page.select_option("#add", NAMES[4])
    page.locator(".slider", has_text=NAMES[4]).wait_for()
    assert page.locator("main b").count() == 0
    page.select_option("#add", NAMES[5])
    page.locator(".slider", has_text="../../etc/passwd").wait_for()


def test_downloads(page):
    compare(page, "light")
    page.wait_for_selector("#lists table")
    near = {"near-csv": b'"word"', "near-png": b"\x89PNG", "map-csv": b'"attribute"', "map-png": b"\x89PNG"}
    mixed = {"samples-csv": b'"mix"', "samples-png": b"\x89PNG"}
    for tab, files in {"neighbours": near, "mixer": mixed}.items():
        page.click(f"#tab-{tab}")
        for button, start in files.items():
            with page.expect_download() as download:
                page.click(f"#{button}")
            with open(download.value.path(), "rb") as file:
                assert file.read(len(start)) == start


def test_a_phone_shows_it_without_sideways_scrolling(composed):
    page = composed
    page.set_viewport_size({"width": 360, "height": 740})
    for tab in ("mixer", "neighbours", "differ", "reader"):
        page.click(f"#tab-{tab}")
        page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.locator("#map canvas").bounding_box()["width"] > 250
    assert data(page, "labels")
