"""Pages in a real browser: one Chromium a module, one server a table, no error in its console."""

import shutil

import pytest

from separatrix.exploration.serve import Page, describe_table
from separatrix.exploration.session import Session
from separatrix.samples import sample

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="session")
def serve():
    """serve(table, target): the running page of a table (a sample's name, or what scan takes)."""
    pages = {}

    def page_of(table, target=None, model=None):
        key = (id(table) if not isinstance(table, str) else table, target, model)
        if key not in pages:
            given = str(sample(table).path) if isinstance(table, str) else table
            shown = None if table is None else describe_table(given, target, 2_000, {})
            pages[key] = (Page(Session(shown, model)).start(), table)
        return pages[key][0]

    yield page_of
    for page, _ in pages.values():
        page.close()


@pytest.fixture(scope="module")
def chromium():
    """A browser; closed with the module, as Playwright's event loop would disturb other tests."""
    sync_api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this computer")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium, serve):
    """visit(table, target, "#view?state"): a tab, once the view has drawn its first answer."""
    problems, contexts = [], []

    def open_tab(table, target=None, address="", *, model=None, width=1280, dark=False):
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
        )
        contexts.append(context)
        context.set_default_timeout(20_000)
        tab = context.new_page()
        tab.on("pageerror", lambda error: problems.append(str(error)))
        tab.on("console", lambda m: m.type in ("error", "warning") and problems.append(m.text))
        tab.goto(serve(table, target, model).address + address)
        settled(tab)
        return tab

    yield open_tab
    for context in contexts:
        context.close()
    assert problems == []


def settled(tab):
    """Wait until no question is open and the view has drawn."""
    tab.locator("body[data-idle=true]").wait_for()


def figure(tab, name):
    """The text of a figure of the page."""
    return tab.locator(f"[data-figure='{name}']").inner_text()
