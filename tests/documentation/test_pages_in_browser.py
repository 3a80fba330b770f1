"""Pages of the built documentation in a real browser, as wide as a phone, a laptop and a large screen.

They run after ``make docs``, by ``make docs-look``: without a built documentation there is nothing to look at.
"""

import shutil
from pathlib import Path

import pytest

HTML = Path(__file__).parents[2] / "docs" / "_build" / "html"
if not (HTML / "index.html").is_file():
    pytest.skip("the documentation is not built: make docs", allow_module_level=True)
sync_api = pytest.importorskip("playwright.sync_api", reason="browser tests need the package playwright")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="browser tests need axe-playwright-python")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="browser tests need chromium (apt-get install chromium)")

#: The first page, wide tables, long signatures, code with its output, formulas and pictures.
PAGES = [
    "index",
    "guide/index",
    "guide/which",
    "guide/studies",
    "guide/report",
    "learned_votes_study",
    "tutorials/index",
    "tutorials/own_study",
    "papers/ifsw",
    "api/index",
    "api/generated/weighbors.LearnedVotesClassifier",
    "api/generated/weighbors.EvolutionaryWeigher",
]
WIDTHS = (390, 1200, 1600)

#: Elements that reach over the right edge of the screen, and that no box around them lets scroll.
CUT = """() => [...document.querySelectorAll('.bd-article *')].filter((e) => {
    const box = e.getBoundingClientRect();
    if (box.width === 0 || box.height === 0 || box.right <= innerWidth + 1) return false;
    if (e.closest('mjx-container, .headerlink, .copybtn, [hidden]')) return false;
    for (let a = e.parentElement; a; a = a.parentElement)
        if (['auto', 'scroll'].includes(getComputedStyle(a).overflowX)
            && a.getBoundingClientRect().right <= innerWidth + 1) return false;
    return getComputedStyle(e).overflowX === 'visible' || box.left >= innerWidth;
}).map((e) => e.tagName + ': ' + e.textContent.trim().slice(0, 60))"""


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def visit(browser):
    contexts = []

    def opened(name, *, scheme="light", width=1200):
        context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.goto((HTML / f"{name}.html").as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()


def test_there_are_twelve_pages():
    assert len(PAGES) == 12
    assert [name for name in PAGES if not (HTML / f"{name}.html").is_file()] == []


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_cut(visit, name, scheme, width):
    """The page does not scroll sideways. What is wider than the screen scrolls inside its own box."""
    page = visit(name, scheme=scheme, width=width)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert page.evaluate(CUT) == []


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1200), ("light", 1600)])
def test_axe_finds_nothing(visit, name, scheme, width):
    """Contrast, names of controls, order of headings and the rest, in the part of the page that is ours."""
    page = visit(name, scheme=scheme, width=width)
    results = axe.Axe().run(page, context=".bd-article")
    assert results.violations_count == 0, results.generate_report()


def test_every_cell_of_the_table_of_questions_has_a_link(visit):
    page = visit("guide/which")
    bare = page.evaluate("""() => [...document.querySelectorAll('.bd-article table')[0].querySelectorAll('tbody tr')]
        .filter((row) => row.cells[1].textContent.trim())
        .flatMap((row) => [...row.cells].slice(1)).filter((cell) => !cell.querySelector('a'))
        .map((cell) => cell.parentElement.textContent)""")
    assert bare == []
