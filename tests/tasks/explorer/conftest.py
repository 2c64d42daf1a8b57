"""The models that the explorer shows, asked without a network, and its page in a browser."""

import os
import shutil

import pytest

from tests.tasks.explorer.composed import ALONG_YEARS, EFFECTS, NUMBERED, write_composed
from tests.tasks.explorer.served import Client, served
from tests.tasks.explorer.sight import until
from tests.tasks.tiny_model import write_checkpoint

CHROMIUM = os.environ.get("ATD_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Run folders: one column; ages and genders; pairs of them; genders and years."""
    pytest.importorskip("starlette")
    folder = tmp_path_factory.mktemp("explorer") / "tour"
    write_checkpoint(folder / "one")
    write_composed(folder / "composed", effects=EFFECTS)
    write_composed(folder / "tuples", terms=((0, 1),))
    write_composed(folder / "years", effects=ALONG_YEARS, columns=NUMBERED)
    return folder


@pytest.fixture(scope="session")
def engine(folder):
    from tasks.explore import opened

    return opened(folder / "one")


@pytest.fixture(scope="session")
def composed_engine(folder):
    from tasks.explore import opened

    return opened(folder / "composed")


@pytest.fixture(scope="session")
def years_engine(folder):
    from tasks.explore import opened

    return opened(folder / "years")


@pytest.fixture(scope="session")
def client(engine):
    pytest.importorskip("httpx")
    from tasks.explore.server import application

    return Client(application([engine]))


@pytest.fixture(scope="session")
def ask(composed_engine):
    """Asks the model of ages and genders."""
    pytest.importorskip("httpx")
    from tasks.explore.server import application

    client = Client(application([composed_engine]))
    return lambda kind, **body: client.post(f"/api/models/0/{kind}", json=body).json()


@pytest.fixture(scope="session")
def address(folder):
    with served([folder / name for name in ("one", "composed", "tuples", "years")]) as port:
        yield f"http://127.0.0.1:{port}/"


@pytest.fixture(scope="module")  # it holds an event loop, which tests without a browser need for themselves
def browser():
    pytest.importorskip("playwright")
    if CHROMIUM is None:
        pytest.skip("install chromium (or set ATD_CHROMIUM) to run this test")
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
def composed_page(opened_page):
    return opened_page("#model=tour/composed")
