"""The explorer's page in a real browser: load, pick, mix, generate, search, paste, unknown word, download, keyboard."""

import os
import shutil
import threading
import time

import pytest

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

    folder = tmp_path_factory.mktemp("page")
    engines = [opened(write_checkpoint(folder / "tour" / "one")), opened(write_checkpoint(folder / "tour" / "two"))]
    server = uvicorn.Server(uvicorn.Config(application(engines), log_level="warning"))
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
def page(browser, address):
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.foreign, page.failures = [], []
    page.on("request", lambda r: r.url.startswith((address, "data:", "blob:")) or page.foreign.append(r.url))
    page.on("pageerror", lambda error: page.failures.append(str(error)))
    page.goto(address)
    page.wait_for_selector("#samples blockquote")
    yield page
    assert not page.foreign and not page.failures
    page.close()


def dot(page, name):
    return page.locator(f'.dot[aria-label="{name}"] circle').last


def settled(page):
    page.wait_for_selector("#samples[aria-busy=false]")
    return page.locator("#samples").inner_text()


def test_pick_and_mix(page):
    before = settled(page)
    dot(page, "shakespeare-hamlet").click(force=True)
    page.locator(".slider").nth(1).wait_for()
    page.locator(".mark").wait_for()  # where the mix lies
    page.wait_for_timeout(300)
    mixed = settled(page)
    assert mixed != before
    page.locator(".slider input").nth(1).fill("1.5")
    page.wait_for_timeout(400)
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


def test_neighbours_and_unknown_word(page):
    page.fill("#word", "light")
    page.press("#word", "Enter")
    page.wait_for_selector("#lists table")
    assert page.locator("#lists tbody tr").count() == 30
    page.fill("#word", "lihgt")
    page.press("#word", "Enter")
    page.get_by_text("the model does not know the word “lihgt”").wait_for()
    assert page.locator("#lists table").count() == 0
    page.get_by_role("button", name="light", exact=True).click()
    page.wait_for_selector("#lists table")
    assert page.locator("#unknown").inner_text() == ""


def test_paste_a_text(page):
    page.fill("#text", "The lord said to the king: the whale and the ship <img src=x onerror=alert(1)>")
    page.click("#read")
    page.wait_for_selector("#placed table")
    assert page.locator(".mark title").last.text_content() == "your text"
    assert page.locator("#reader img").count() == 0
    page.click("#into-mix")
    page.locator(".slider", has_text="your text").wait_for()
    page.evaluate("document.getElementById('text').value = 'word '.repeat(209715)")
    page.click("#read")
    page.get_by_text("1,048,575 characters are too many").wait_for()


def test_hostile_attribute_names_are_shown_as_text(page):
    assert dot(page, NAMES[4]).count() == 1 and page.locator("main b").count() == 0
    page.select_option("#add", NAMES[5])
    page.locator(".slider", has_text="../../etc/passwd").wait_for()


def test_downloads(page):
    page.fill("#word", "light")
    page.press("#word", "Enter")
    page.wait_for_selector("#lists table")
    tables = {"map-csv": b'"attribute"', "near-csv": b'"word"', "samples-csv": b'"mix"'}
    pictures = dict.fromkeys(["map-png", "near-png", "samples-png"], b"\x89PNG")
    for button, start in {**tables, **pictures}.items():
        with page.expect_download() as download:
            page.click(f"#{button}")
        with open(download.value.path(), "rb") as file:
            assert file.read(len(start)) == start


def test_keyboard_alone(page):
    page.locator(".dot[tabindex='0']").focus()
    for key in ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
    name = page.evaluate("document.activeElement.getAttribute('aria-label')")
    chosen = page.locator(f'.dot[aria-label="{name}"]').get_attribute("aria-selected")
    page.keyboard.press("Enter")
    page.wait_for_timeout(200)
    assert page.locator(f'.dot[aria-label="{name}"]').get_attribute("aria-selected") != chosen


def test_another_model(page):
    page.select_option("#model", label="tour/two")
    page.wait_for_selector("#samples blockquote")
    assert page.locator(".dot").count() == len(NAMES)


def test_a_phone_shows_it_without_sideways_scrolling(page):
    page.set_viewport_size({"width": 360, "height": 740})
    page.wait_for_timeout(200)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    box = page.locator("#map svg").bounding_box()
    assert box["width"] > 250
    size = page.locator("#map text").first.evaluate("node => node.getBoundingClientRect().height")
    assert size >= 10
