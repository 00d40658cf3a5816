"""The view of groups, in a browser."""

import contextlib
import io
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import separatrix as sx
from separatrix.exploration import read_table
from separatrix.exploration.views.groups import rings
from separatrix.samples import sample
from tests.exploration.conftest import figure, settled

TWO = "plane=columns&x=alcohol&y=hue"
GROUPS = "[...document.querySelectorAll('[data-layer=dots] path')].map(p => p.getAttribute('fill'))"


@pytest.fixture(scope="module")
def wine():
    table = read_table(sample("wine").path)
    return table.matrix(table.numbers), table.matrix(["alcohol", "hue"])


def same_partition(tab, labels):
    colors = np.array(tab.evaluate(GROUPS))
    pairs = set(zip(colors.tolist(), np.asarray(labels).tolist(), strict=True))
    assert len(pairs) == len(set(colors.tolist())) == len(np.unique(labels))


def number(tab, name):
    return float(figure(tab, name).replace("−", "-"))


def shown(value, digits):
    return float(f"{value:.{digits}g}")


def test_the_last_sweep_is_the_librarys(visit, wine):
    whole, two = wine
    tab = visit("wine", "cultivar", "#groups?k=3&seed=2&init=random")
    model = sx.KMeans(3, init="random", n_init=1, random_state=2, standardize=True).fit(whole)
    assert number(tab, "loss") == shown(model.inertia_, 6)
    z = model.standardizer_.transform(whole)
    assert number(tab, "silhouette") == shown(sx.silhouette(z, model.labels_).score, 4)
    same_partition(tab, model.labels_)
    assert figure(tab, "certificate") == str(model.certificate_)
    tab.evaluate(f"location.hash = '#groups?method=kmedoids&k=4&seed=1&standardize=false&{TWO}'")
    settled(tab)
    model = sx.KMedoids(4, n_init=1, random_state=1).fit(two)
    assert number(tab, "loss") == shown(model.inertia_, 6)
    same_partition(tab, model.labels_)
    tab.evaluate("location.hash = '#groups?method=kernel&data=rings&k=2&bandwidth=0.8'")
    settled(tab)
    model = sx.KernelKMeans(2, gamma=0.5 / 0.8**2, n_init=1, random_state=0).fit(rings())
    assert number(tab, "loss") == shown(model.inertia_, 6)
    same_partition(tab, model.labels_)
    same_partition(tab, np.repeat([0, 1], [100, 200]))  # what no straight line does


def test_sweeps_forward_and_back_and_a_center_that_starts_elsewhere(visit, wine):
    tab = visit("wine", "cultivar", f"#groups?{TWO}&k=2&start=[[11.5,0.6],[12,0.6]]&sweep=0")
    _, two = wine
    start = [[11.5, 0.6], [12.0, 0.6]]
    assert figure(tab, "sweep").startswith("0 of ")
    tab.get_by_label("A sweep forward").click()
    settled(tab)
    assert figure(tab, "sweep").startswith("1 of ")
    assert "sweep=1" in tab.url
    tab.emulate_media(reduced_motion="reduce")
    tab.reload()
    settled(tab)
    tab.locator(".picture svg").focus()
    tab.keyboard.press("n")
    tab.keyboard.press("Shift+ArrowRight")
    settled(tab)
    assert figure(tab, "sweep").startswith("0 of ")
    box = tab.locator("[data-center='1'] circle").bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 220, box["y"] - 60, steps=4)
    tab.mouse.up()
    settled(tab)
    start = tab.evaluate(
        "JSON.parse(new URLSearchParams(location.hash.split('?')[1]).get('start'))"
    )
    model = sx.KMeans(2, init=start, standardize=True).fit(two)
    tab.locator(".view input[type=range]").last.press("End")
    settled(tab)
    assert number(tab, "loss") == shown(model.inertia_, 6)
    same_partition(tab, model.labels_)


def test_the_cut_follows_mouse_and_keys_and_the_link_and_python_repeat_it(visit, wine):
    tab = visit("wine", "cultivar", "#groups?method=tree&linkage=average")
    whole, _ = wine
    model = sx.AgglomerativeClustering(linkage="average", standardize=True).fit(whole)
    z = model.standardizer_.transform(whole)

    def equal():
        level = number(tab, "level")
        labels = model.dendrogram_.cut(level=level)
        assert number(tab, "groups") == len(np.unique(labels))
        assert number(tab, "silhouette") == shown(sx.silhouette(z, labels).score, 4)
        same_partition(tab, labels) if len(np.unique(labels)) <= 6 else None
        return labels

    assert len(np.unique(equal())) == 3
    tab.locator(".handle").focus()
    tab.keyboard.press("ArrowDown")
    settled(tab)
    assert len(np.unique(equal())) == 4
    box = tab.locator(".wide svg:visible").first.bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + 0.3 * box["height"])
    tab.mouse.down()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + 0.45 * box["height"], steps=5)
    tab.mouse.up()
    settled(tab)
    labels = equal()
    address, mean = tab.url, number(tab, "silhouette")
    tab.get_by_role("button", name="Python").click()
    code, out = tab.locator("#code code").inner_text(), io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, names := {})
    np.testing.assert_array_equal(names["labels"], labels)
    assert out.getvalue().startswith(f"Silhouette {mean:.3f}")
    tab.get_by_role("button", name="Close").click()
    with tab.expect_download() as saved:
        tab.get_by_role("button", name="Save picture").click()
    assert ET.parse(saved.value.path()).getroot().tag.endswith("svg")
    again = visit("wine", "cultivar", "#" + address.split("#")[1])
    assert number(again, "silhouette") == mean


def test_the_hand_is_followed_at_2000_rows(visit):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2_000, 2)) + 3.0 * rng.integers(0, 3, size=(2_000, 1))
    table = {"a": x[:, 0].tolist(), "b": x[:, 1].tolist()}
    tab = visit(table, None, "#groups?method=tree&linkage=ward")
    frames = tab.evaluate("""async () => {
      const host = document.querySelector('.handle').ownerSVGElement;
      const box = host.getBoundingClientRect();
      const send = (type, y) => host.dispatchEvent(new PointerEvent(type,
        { pointerId: 1, clientX: box.left + 200, clientY: box.top + y, bubbles: true }));
      host.setPointerCapture = () => {};
      const times = [];
      send('pointerdown', 40);
      for (let i = 0; i < 30; i += 1) {
        const start = performance.now();
        send('pointermove', 40 + 5 * i);
        host.getBoundingClientRect();
        times.push(performance.now() - start);
        await new Promise(requestAnimationFrame);
      }
      send('pointerup', 200);
      return times.sort((a, b) => a - b);
    }""")
    assert frames[15] < 1000 / 60
    settled(tab)
    tab.evaluate("location.hash = '#groups?k=4&seed=1'")
    settled(tab)
    best = tab.evaluate("""async () => {
      const slider = document.querySelector('.view input[type=range]');
      const loss = () => document.querySelector('[data-figure=loss]').textContent;
      let best = Infinity;
      for (const k of [4, 6, 5, 7, 4, 6]) {
        const before = loss(), start = performance.now();
        slider.value = k;
        slider.dispatchEvent(new Event('input'));
        while (loss() === before) await new Promise(requestAnimationFrame);
        best = Math.min(best, performance.now() - start);
        await new Promise((done) => setTimeout(done, 150));
      }
      return best;
    }""")
    assert best < 100
