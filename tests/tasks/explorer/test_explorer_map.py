"""The explorer's map in a real browser: zoom, search, colours, keyboard, phone."""

import pytest

from tests.tasks.explorer.sight import data, place, until, zoom
from tests.tasks.tiny_model import NAMES


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


def test_search(composed_page):
    page = composed_page
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


def test_colours_say_a_column(composed_page):
    page = composed_page
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


def test_a_phone_shows_it_without_sideways_scrolling(composed_page):
    page = composed_page
    page.set_viewport_size({"width": 360, "height": 740})
    for tab in ("mixer", "neighbours", "differ", "reader"):
        page.click(f"#tab-{tab}")
        page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.locator("#map canvas").bounding_box()["width"] > 250
    assert data(page, "labels")


def test_a_phone_shows_a_list_along_a_number_whole(opened_page):
    page = opened_page("#model=tour/years&tab=differ&pair=1")
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator("#differing caption", has_text="along year").wait_for()
    assert (
        page.evaluate(
            "(({scrollWidth, clientWidth}) => scrollWidth - clientWidth)(document.getElementById('differing'))"
        )
        <= 0
    )


def test_a_missing_number_has_no_colour_of_the_ramp(opened_page):
    page = opened_page("#model=tour/years&colour=column+year")
    assert page.locator("#legend").inner_text().split("\n") == ["1990", "2000", "2010", "others"]
    colour = "name => document.getElementById('map').map.byName.get(name).colour"
    assert page.evaluate(colour, "year=missing") == page.evaluate(colour, "gender=male")
