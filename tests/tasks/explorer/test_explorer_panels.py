"""The explorer's panels in a real browser: mixer, neighbours, words that differ, texts, links, downloads."""

from tests.tasks.explorer.sight import compare, data, place, settled, zoom


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


def test_a_base_profile(composed_page):
    page = composed_page
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


def test_a_link_restores_what_was_chosen(composed_page, opened_page):
    page = composed_page
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


def test_words_that_differ_with_intervals(composed_page):
    page = composed_page
    page.click("#tab-differ")
    page.wait_for_selector("#differing table")
    rows = page.locator("#differing tbody tr")
    assert rows.count() == 2 and page.locator("#differing i").count() == 0
    assert rows.first.inner_text().split() == ["<i>sea</i>", "0.40", "0.30", "–", "0.50", "<", "0.001", "9", "7"]
    rows.nth(1).locator("button").click()  # a word of the model
    page.wait_for_selector("#lists table")
    assert page.locator("#lists caption").all_inner_texts() == ["A: gender=female", "B: gender=male"]
    page.click("#tab-differ")
    page.select_option("#pair", label="two values of my choice")
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


def test_each_column_has_its_likeliest_values(composed_page):
    page = composed_page
    page.click("#tab-reader")
    page.fill("#text", "the lord said to the king and the whale was very bright . " * 5)
    page.click("#read")
    page.wait_for_selector("#placed table")
    assert page.locator("#placed .pair caption").all_inner_texts() == ["age", "gender"]
    assert page.locator("#placed .pair td", has_text="%").count() == 5


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


def test_words_that_change_along_a_number(opened_page):
    page = opened_page("#model=tour/years&tab=differ")
    page.wait_for_selector("#differing table")
    assert page.locator("#pair option").all_inner_texts()[:2] == ["gender: female, male", "along year"]
    page.select_option("#pair", label="along year")
    page.locator("#differing caption", has_text="along year").wait_for()
    assert "changes along year" in page.locator("#differ-note").inner_text()
    row = page.locator("#differing tbody tr").first
    assert row.inner_text().split() == ["whale", "0.35", "0.20", "–", "0.50", "0.010", "1,234"]
    row.locator("button").click()
    page.wait_for_selector("#lists table")
    assert page.locator("#lists caption").all_inner_texts() == ["A: year=1990", "B: year=2010"]
