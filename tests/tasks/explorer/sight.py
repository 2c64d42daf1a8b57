"""What is to be seen on the page: where things are, and waiting for them."""

from __future__ import annotations


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
