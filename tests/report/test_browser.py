"""The page in a real browser: Debian's chromium, driven by playwright."""

import shutil

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="browser tests need the package playwright")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="browser tests need axe-playwright-python")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="browser tests need chromium (apt-get install chromium)")

A4 = {"width": 688, "height": 1000}  # pixels between the margins of the page


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory, wine, hostile, number_report):
    home = tmp_path_factory.mktemp("pages")
    for name, report in (("wine", wine), ("hostile", hostile), ("numbers", number_report)):
        report.save(home / f"{name}.html")
    return home


@pytest.fixture
def visit(browser, files):
    """Open a page; whatever the browser complains of, asks for or pops up ends the test."""
    contexts, trouble = [], []

    def opened(name, *, scheme="light", viewport=None, javascript=True):
        context = browser.new_context(
            color_scheme=scheme, viewport=viewport or {"width": 1100, "height": 900}, java_script_enabled=javascript
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: trouble.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("dialog", lambda dialog: (trouble.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        address = (files / f"{name}.html").as_uri()
        page.on("request", lambda request: trouble.append(request.url) if request.url != address else None)
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not trouble


@pytest.mark.parametrize(
    ("name", "scheme", "width"),
    [("wine", "light", 1100), ("wine", "dark", 1100), ("hostile", "dark", 360), ("numbers", "light", 360)],
)
def test_axe_finds_nothing(visit, name, scheme, width):
    """Labels, roles, contrast and order of headings, everything unfolded; where it is narrow, scrolling too."""
    page = visit(name, scheme=scheme, viewport={"width": width, "height": 900})
    page.evaluate("document.querySelectorAll('details').forEach((d) => d.open = true)")
    results = axe.Axe().run(page)
    assert results.violations_count == 0, results.generate_report()
    checked = {rule["id"] for rule in results.response["passes"]}
    assert {"color-contrast", "document-title", "html-has-lang"} <= checked
    assert width > 360 or "scrollable-region-focusable" in checked


def test_dark_is_dark(visit):
    colours = {
        scheme: visit("wine", scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    }
    assert colours == {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 24, 27)"}
    ink = visit("wine", scheme="dark").locator("#features svg text").first.evaluate("(t) => getComputedStyle(t).fill")
    assert ink == "rgb(232, 234, 236)"


def column(page, table, place):
    return page.locator(f"#table-{table} tbody tr > :nth-child({place})").all_inner_texts()


def test_tables_sort_by_numbers_and_words(visit, wine):
    page = visit("wine")
    weights = [row["weight"] for row in wine.data["features"]["rows"]]
    names = column(page, "features", 2)
    head = page.locator("#table-features thead th")
    head.nth(2).locator("button").click()  # already by weight, largest first
    assert head.nth(2).get_attribute("aria-sort") == "descending"
    assert column(page, "features", 2) == names
    head.nth(2).locator("button").click()
    assert head.nth(2).get_attribute("aria-sort") == "ascending"
    shown = page.locator("#table-features tbody tr > :nth-child(3)").evaluate_all("(c) => c.map((x) => +x.dataset.v)")
    assert shown == sorted(weights)
    head.nth(1).locator("button").click()
    assert column(page, "features", 2) == sorted(names, key=str.lower)
    assert head.nth(2).get_attribute("aria-sort") is None
    assert "sorted by feature" in page.locator("#said").inner_text()


def test_tables_sort_by_keyboard(visit):
    page = visit("wine")
    button = page.locator("#table-features thead th").nth(0).locator("button")
    button.focus()
    page.keyboard.press("Enter")
    assert [int(rank) for rank in column(page, "features", 1)] == list(range(13, 0, -1))
    page.keyboard.press("Space")
    assert [int(rank) for rank in column(page, "features", 1)] == list(range(1, 14))


def test_missing_numbers_stay_last(visit, hostile):
    page = visit("hostile")
    values = ["", "0.5", "-1", "0.25"]
    page.evaluate(
        """(values) => { const rows = document.querySelectorAll('#table-features tbody tr');
        rows.forEach((row, i) => row.cells[2].dataset.v = values[i] ?? ''); }""",
        values,
    )
    button = page.locator("#table-features thead th").nth(2).locator("button")
    for expected in (["0.5", "0.25", "-1", ""], ["-1", "0.25", "0.5", ""]):
        button.click()
        cells = page.locator("#table-features tbody tr > :nth-child(3)")
        assert cells.evaluate_all("(c) => c.map((x) => x.dataset.v)")[:4] == expected


def test_links_lead_to_the_rows(visit, wine):
    page = visit("wine")
    first = wine.data["instances"]["lowest"][0]["row"]
    page.locator("#table-instances tbody a").first.click()
    assert page.evaluate("location.hash") == f"#row-{first}"
    assert page.locator(f"#row-{first}").is_visible()
    for link in page.locator("nav a").all():
        assert page.locator(link.get_attribute("href")).count() == 1


@pytest.mark.parametrize("name", ["wine", "hostile", "numbers"])
def test_print_cuts_nothing(visit, name):
    page = visit(name, viewport=A4)
    page.emulate_media(media="print")
    wide = page.evaluate(
        """() => [...document.querySelectorAll('table, svg, .instance, p, li')]
        .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 || e.getBoundingClientRect().left < -1)
        .map((e) => e.id || e.textContent.slice(0, 40))"""
    )
    assert wide == []
    hidden = page.evaluate(
        """() => [...document.querySelectorAll('.scroll, .picture')]
        .filter((e) => e.scrollWidth > e.clientWidth + 1 || getComputedStyle(e).overflowX !== 'visible').length"""
    )
    assert hidden == 0
    assert not page.locator("nav").is_visible()
    assert page.locator("#table-features").is_visible()
    assert page.pdf(format="A4")[:5] == b"%PDF-"


@pytest.mark.parametrize("name", ["wine", "hostile", "numbers"])
def test_narrow_screens_scroll_tables_not_the_page(visit, name):
    page = visit(name, viewport={"width": 360, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.locator(".scroll").first.get_attribute("tabindex") == "0"


def test_without_javascript_everything_can_be_read(visit):
    page = visit("wine", javascript=False)
    assert page.locator("#table-features tbody tr").count() == 13
    assert page.locator("#table-features thead button").count() == 0


def test_hostile_names_run_nothing(visit, hostile):
    page = visit("hostile")
    page.wait_for_timeout(100)  # a dialog or request would be noted
    assert page.locator("script").count() == 2
    assert page.locator("#table-features").get_by_text("<script>alert('name')</script>").count() == 1
    numbers = page.evaluate("JSON.parse(document.getElementById('numbers').textContent)")
    assert numbers == hostile.data


@pytest.mark.parametrize("name", ["wine", "hostile", "numbers"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200, 1600])
def test_nothing_is_cut_off(visit, name, scheme, width):
    """The page does not scroll sideways, no figure is wider than its place, and contents stay in view if it is wide."""
    page = visit(name, scheme=scheme, viewport={"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    hidden = "[...document.querySelectorAll('.picture')].map((e) => e.scrollWidth - e.clientWidth)"
    assert max(page.evaluate(hidden)) <= 0
    page.evaluate("document.getElementById('made').scrollIntoView({behavior: 'instant'})")
    top = page.evaluate("document.querySelector('nav').getBoundingClientRect().bottom")
    assert (top > 0) == (width == 1600)


@pytest.mark.parametrize("name", ["wine", "numbers"])
def test_figures_stand_beside_their_tables_on_a_wide_screen(visit, name):
    places = """() => [...document.querySelectorAll('.beside')].map((e) => {
        const [figure, tables] = [...e.children].map((c) => c.getBoundingClientRect());
        return [figure.right <= tables.left, Math.abs(figure.top - tables.top)]; })"""
    wide = visit(name, viewport={"width": 1600, "height": 900}).evaluate(places)
    assert len(wide) >= 3
    assert all(beside and apart < 40 for beside, apart in wide)
    assert not any(beside for beside, _ in visit(name, viewport={"width": 1200, "height": 900}).evaluate(places))


def test_the_table_of_features_is_whole_on_a_wide_screen(visit):
    page = visit("wine", viewport={"width": 1600, "height": 900})
    assert (
        page.evaluate(
            "(({scrollWidth, clientWidth}) => scrollWidth - clientWidth)(document.querySelector('#features .scroll'))"
        )
        <= 0
    )


@pytest.mark.parametrize("name", ["wine", "numbers"])
def test_cells_on_a_phone_have_room(visit, name):
    """No row of a table is taller than six lines: the table scrolls inside its box instead."""
    page = visit(name, viewport={"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    tallest = page.evaluate("Math.max(...[...document.querySelectorAll('tbody tr')].map((e) => e.clientHeight))")
    assert tallest <= 6 * 24


def test_axe_finds_nothing_on_a_wide_screen(visit):
    page = visit("wine", viewport={"width": 1600, "height": 900})
    results = axe.Axe().run(page)
    assert results.violations_count == 0, results.generate_report()
