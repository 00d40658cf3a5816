"""What every view owes its reader: names on controls, contrast, a phone's width, text as text."""

import numpy as np
import pytest

import separatrix as sx
from separatrix.exploration.views import VIEWS
from separatrix.samples import sample
from tests.exploration.conftest import settled

HOSTILE = '<img src=x onerror="window.hacked=1">'

#: Controls and pictures without a name, ids used twice, positions in the order of the keys.
UNNAMED = """() => {
  const named = (node) => node.getAttribute('aria-label') || node.getAttribute('aria-labelledby')
    || node.labels?.length || (node.matches('button, a, summary') && node.textContent.trim());
  const nodes = [...document.querySelectorAll(
    'input, select, textarea, button, a, summary, svg[role], [tabindex="0"]:not(pre)')];
  const ids = [...document.querySelectorAll('[id]')].map((node) => node.id);
  return [
    ...nodes.filter((node) => !named(node)).map((node) => node.outerHTML.slice(0, 120)),
    ...ids.filter((id, i) => ids.indexOf(id) !== i),
    ...[...document.querySelectorAll('[tabindex]')].filter((node) => node.tabIndex > 0)
      .map((node) => `tabindex ${node.tabIndex}`),
  ];
}"""

#: Texts whose contrast to what lies behind them is below 4.5 (WCAG AA).
FAINT = """() => {
  const probe = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgba = (color) => {
    probe.clearRect(0, 0, 1, 1);
    probe.fillStyle = color;
    probe.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = probe.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], back) => [r, g, b].map((v, i) => v * a + back[i] * (1 - a));
  const light = (color) => {
    const [r, g, b] = color.map((v) => v / 255)
      .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = (node) => rgba(getComputedStyle(node).backgroundColor);
  const behind = (node) => node
    ? over(paper(node), behind(node.parentElement)) : [255, 255, 255];
  const opacity = (node) => node ? getComputedStyle(node).opacity * opacity(node.parentElement) : 1;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = new Set();
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    const off = node.closest(
      '[aria-disabled], :disabled, option, title, desc, noscript, dialog:not([open])');
    if (!text || off || !node.checkVisibility({visibilityProperty: true})) continue;
    const style = getComputedStyle(node);
    const back = behind(node.closest('svg')?.parentElement ?? node);
    const ink = rgba(node.closest('svg') ? style.fill : style.color);
    ink[3] *= opacity(node);
    const [a, b] = [light(over(ink, back)), light(back)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.add(`${text.slice(0, 30)} ${ratio.toFixed(2)}`);
  }
  return [...found];
}"""

#: Changes of the status while the first slider is dragged over twenty places.
CHATTER = """async () => {
  const slider = document.querySelector('input[type=range]');
  if (!slider) return 0;
  let changes = 0;
  const watch = new MutationObserver(() => { changes += 1; });
  const status = document.querySelector('#status');
  watch.observe(status, {childList: true, characterData: true, subtree: true});
  for (let i = 1; i <= 20; i += 1) {
    slider.value = +slider.min + (+slider.max - +slider.min) * i / 25;
    slider.dispatchEvent(new Event('input', {bubbles: true}));
    await new Promise(requestAnimationFrame);
  }
  watch.disconnect();
  return changes;
}"""

FIGURES = "() => [...document.querySelectorAll('[data-figure]')].map((node) => node.textContent)"


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A model of wines, for the view of one."""
    path = tmp_path_factory.mktemp("model") / "model.sx"
    rows = sx.scan(sample("wine").path, target="cultivar")
    sx.save(sx.LinearDiscriminantAnalysis().fit(rows), path)
    return str(path)


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_can_be_read_and_reached(visit, stored, view):
    tab = visit("wine", "cultivar", f"#{view}", model=stored, width=390)
    assert tab.locator(f"nav a[href='#{view}'][aria-current=page]").count() == 1
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    assert tab.evaluate(UNNAMED) == []
    assert tab.evaluate(FAINT) == []
    tab.emulate_media(color_scheme="dark")
    assert tab.evaluate(FAINT) == []
    assert tab.evaluate(CHATTER) <= 4
    settled(tab)
    before = tab.evaluate(FIGURES)
    tab.reload()
    settled(tab)
    assert tab.evaluate(FIGURES) == before


@pytest.mark.parametrize("view", [view for view in VIEWS if view != "model"])
def test_names_are_shown_as_text(visit, hostile, view):
    tab = visit(hostile, f"{HOSTILE} y", f"#{view}", width=390)
    assert tab.locator(f"nav a[href='#{view}'][aria-current=page]").count() == 1
    assert tab.evaluate("[document.images.length, window.hacked ?? null]") == [0, None]
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    assert HOSTILE in tab.locator("#view").text_content()


@pytest.fixture(scope="module")
def hostile():
    """Names of columns and classes that are markup, and long."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 3))
    label = np.where(x[:, 0] + x[:, 1] > 0, f"{HOSTILE} p", f"{HOSTILE} q")
    names = [f"{HOSTILE} {'long ' * 20}{i}" for i in range(3)]
    return dict(zip(names, x.T, strict=True)) | {f"{HOSTILE} y": label}


def test_back_and_forward_go_between_views(visit):
    tab = visit("wine", "cultivar", "#boundary?x=hue")
    tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")  # the link that skips to the view, and leaves it as it is
    assert tab.evaluate("document.activeElement.id") == "view"
    assert "x=hue" in tab.url
    tab.locator("nav a[href='#decide']").focus()
    tab.keyboard.press("Enter")
    settled(tab)
    assert tab.evaluate("document.activeElement.textContent") == "Decide"
    tab.go_back()
    settled(tab)
    assert tab.locator("nav [aria-current]").inner_text() == "Boundary"
    assert "x=hue" in tab.url
    tab.go_forward()
    settled(tab)
    assert tab.locator("nav [aria-current]").inner_text() == "Decide"


def test_a_table_that_no_view_fits_says_what_they_need(visit):
    tab = visit({"word": ["a", "b", "c"]}, None)
    assert "Boundary needs a column of classes" in tab.locator("#view").inner_text()
    assert tab.locator("nav a:not([aria-disabled])").count() == 0


def test_points_and_names_of_classes_are_drawn_before_the_first_fit(visit, serve):
    """The question of the points is answered at once; the fit is held back until they are there."""
    tab = visit("wine", "cultivar", "#decide")
    waiting = []
    tab.route("**/boundary/fit", lambda route: waiting.append(route))
    tab.locator("nav a[href='#boundary']").click()
    tab.locator("[data-row='177']").wait_for(state="attached")
    names = tab.locator(".legend li").all_inner_texts()
    assert names == ["cultivar A", "cultivar B", "cultivar C"]
    assert tab.locator("#status").inner_text() == "Fitting…"
    waiting[0].continue_()
    tab.unroute("**/boundary/fit")
    settled(tab)
    assert tab.locator("#status").inner_text() == ""
    assert tab.locator(".certificate").is_visible()


def test_a_page_is_saved_with_its_state_and_runs_nothing(visit, chromium, tmp_path):
    tab = visit("wine", "cultivar", "#boundary?model=lda&C=3")
    with tab.expect_download() as saved:
        tab.get_by_role("button", name="Save page").click()
    saved.value.save_as(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script" not in text
    assert "127.0.0.1" not in text
    error = tab.locator("[data-figure=error]").inner_text()
    alone = chromium.new_context(offline=True).new_page()
    problems = []
    alone.on("console", lambda message: problems.append(message.text))
    alone.goto((tmp_path / "page.html").as_uri())
    assert alone.locator("[data-figure=error]").inner_text() == error
    assert alone.locator("select").first.input_value() == "lda"
    assert alone.locator(".point").count() == 178
    assert alone.locator("button").count() == 0
    assert "separatrix explore" in alone.locator("body").inner_text()
    assert problems == []
    alone.close()


def test_an_error_stands_beside_the_control_that_was_used(chromium, serve):
    tab = chromium.new_context(viewport={"width": 390, "height": 800}).new_page()
    tab.goto(serve("wine", "cultivar").address + "#boundary")
    settled(tab)
    tab.route("**/boundary/fit", lambda route: route.fulfill(
        status=400, content_type="application/json", body='{"error": "no such thing."}'
    ))  # fmt: skip
    model = tab.get_by_label("Model", exact=True)
    model.focus()
    model.select_option("qda")
    tab.locator(".problem").wait_for()
    box, problem = model.bounding_box(), tab.locator(".problem").bounding_box()
    assert 0 <= problem["y"] - box["y"] - box["height"] < 60
    assert tab.locator("#status").inner_text() == "no such thing."
    tab.unroute("**/boundary/fit")
    model.select_option("lda")
    settled(tab)
    assert tab.locator(".problem").count() == 0
    tab.context.close()
