"""The page in a real browser: light and dark, desk and phone, with no complaint on the console."""

import pytest

from tests.report.browser import Browser
from tests.report.conftest import CHROMIUM

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium on this machine: the page was not opened in a browser"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(CHROMIUM, tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def files(pages, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1180], ids=["phone", "desk"])
@pytest.mark.parametrize("name", ["linear", "lasso", "wine", "rejecting"])
def test_opens_without_messages_and_fits(browser, files, name, width, dark):
    path = files / f"{name}.html"
    browser.open(path, width=width, dark=dark)
    assert browser.messages == []
    assert browser.fetched == [f"file://{path}"]
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    wide = browser.evaluate(
        "[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll, pre, svg') &&"
        f" e.getBoundingClientRect().right > {width} + 1).map(e => e.outerHTML.slice(0, 80))"
    )
    assert wide == []
    assert browser.evaluate("document.querySelectorAll('svg').length") >= 4


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_contrasts_with_the_background(browser, files, dark):
    """Contrast of text, captions and links with the page is at least 4.5 (WCAG AA)."""
    browser.open(files / "linear.html", dark=dark)
    ratios = browser.evaluate(
        """(() => {
          const light = c => {
            const [r, g, b] = c.match(/[\\d.]+/g).map(v => v / 255)
              .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const paper = light(getComputedStyle(document.body).backgroundColor);
          const told = ['body', 'figcaption', 'nav a', 'thead th', 'svg text', 'footer'];
          return told.map(s => {
            const style = getComputedStyle(document.querySelector(s));
            const own = light(s === 'svg text' ? style.fill : style.color);
            return (Math.max(own, paper) + 0.05) / (Math.min(own, paper) + 0.05);
          });
        })()"""
    )
    assert min(ratios) >= 4.5, ratios
    background = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(20, 24, 29)") == dark


def test_columns_sort_both_ways(browser, files):
    browser.open(files / "linear.html")
    click = "document.querySelectorAll('#model thead button')[1].click()"
    rows = "[...document.querySelectorAll('#model tbody tr')]"
    read = f"{rows}.map(r => Number(r.cells[1].dataset.value))"
    browser.evaluate(click)
    rising = browser.evaluate(read)
    assert rising == sorted(rising)
    assert len(rising) == 11
    browser.evaluate(click)
    assert browser.evaluate(read) == rising[::-1]
    sort = "document.querySelectorAll('#model thead th')[1].getAttribute('aria-sort')"
    assert browser.evaluate(sort) == "descending"


def test_code_can_be_copied(browser, files):
    browser.open(files / "linear.html")
    assert browser.evaluate("document.querySelectorAll('.copy').length") == 3
    browser.evaluate("document.querySelector('.copy').click()")
    label = "document.querySelector('.copy').textContent"
    answer = browser.send(
        "Runtime.evaluate",
        expression=f"new Promise(r => setTimeout(() => r({label}), 200))",
        awaitPromise=True,
        returnByValue=True,
    )
    assert answer["result"]["value"] in {"Copied", "Selected"}


def test_the_policy_stops_foreign_scripts(browser, files, tmp_path):
    """The console does speak when something is wrong: an added script is refused and reported."""
    text = (files / "linear.html").read_text().replace("</body>", "<script>1</script></body>")
    path = tmp_path / "changed.html"
    path.write_text(text)
    browser.open(path)
    assert any("Content Security Policy" in str(entry) for entry in browser.messages)
