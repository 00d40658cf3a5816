"""Laws that every picture keeps: axes, words, SVG."""

import itertools
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib.figure import Figure

import separatrix.report
from separatrix.pictures import ClusterProjectionDisplay
from separatrix.pictures.regression import ResidualDisplay
from separatrix.pictures.style import GROUPS, SERIES, VARIABLES, group_style
from tests.pictures.gallery import NASTY, every_picture

PICTURES = every_picture()


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture(name):
    """All laws in one test, since drawing takes the time: twice on axes and once as SVG."""
    display = PICTURES[name]
    draws_on_axes_given_and_on_its_own(display)
    is_described_in_words_with_numbers(display)
    # a point of the curve is named by both rates
    does_not_repeat_the_axes(display, exempt=name.startswith("roc"))
    text = display.to_svg("p7")
    svg_is_named_and_small(display, text)
    ids_are_unique_own_and_all_used(text)
    every_color_can_be_changed_by_the_page(text)


def draws_on_axes_given_and_on_its_own(display):
    ax = Figure().add_subplot()
    assert display.plot(ax=ax) is display
    assert display.ax_ is ax
    assert ax.has_data() or ax.patches
    alone = display.plot()
    assert alone.figure_ is not ax.figure
    assert alone.figure_.axes[0] is alone.ax_


def is_described_in_words_with_numbers(display):
    text = display.description
    assert re.search(r"\d", text), text
    assert text.endswith(".")
    assert not re.search(r"\bnan\b", text.lower())
    assert 30 < len(text) < 700


def does_not_repeat_the_axes(display, *, exempt):
    """The text alternative names the axes, the caption beside the plot need not."""
    assert re.search(r"\d", display.caption)
    assert display.caption.endswith(".")
    assert len(display.caption) <= len(display.description)
    axes = [axis for ax in display.figure_.axes for axis in (ax.xaxis, ax.yaxis)]
    labels = [axis.get_label_text().partition(" (")[0] for axis in axes]
    repeated = [text for text in labels if len(text) > 18 and text in display.caption]
    assert exempt or not repeated


def svg_is_named_and_small(display, text):
    root = ET.fromstring(text)
    assert root.get("role") == "img"
    described = {child.tag: child for child in root if child.tag in ("title", "desc")}
    assert described["title"].text == display.heading
    assert display.heading.startswith(display.title)
    assert described["desc"].text == display.description
    assert root.get("aria-labelledby").split() == [
        described[t].get("id") for t in ("title", "desc")
    ]
    assert len(text) < 30_000
    assert "http" not in text
    assert "<style" not in text


def ids_are_unique_own_and_all_used(text):
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert all(i.startswith("p7-") for i in ids)
    wanted = {*re.findall(r"url\(#([^)]+)\)", text), *re.findall(r'href="#([^"]+)"', text)}
    assert wanted <= set(ids)


def every_color_can_be_changed_by_the_page(text):
    bare = re.sub(r"var\(--[a-z0-9-]+, #[0-9a-f]{6}\)", "", text)
    assert not re.findall(r"(?:fill|stroke): ?#[0-9a-f]{3,6}", bare)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("coefficients", "change of the prediction per standard deviation"),
        ("distances", "Signed distance"),
        ("folds", "Error rate"),
        ("generalization gap", "RMSE"),
        ("validation", "Cross-validation RMSE"),
        ("scale", "standardized residual"),
        ("quantiles", "tandardized residual"),
        ("boundary", "mostly"),
        ("importance", "RMSE when a column"),
        ("dependence", "ean prediction"),
    ],
)
def test_words_of_the_axes_are_in_the_text_alternative_alone(name, words):
    assert words in PICTURES[name].description
    assert words not in PICTURES[name].caption


def test_strange_names_survive():
    root = ET.fromstring(PICTURES["raw coefficients"].to_svg())
    texts = ["".join(t.itertext()) for t in root.iter("text")]
    for name in NASTY[:3]:
        assert name in texts
    assert any(t.startswith("xxx") and t.endswith("…") for t in texts)


def test_a_notebook_gets_a_whole_svg():
    ET.fromstring(PICTURES["generalization gap"]._repr_svg_())
    svg = PICTURES["generalization gap"]._repr_svg_()
    assert 'xmlns="http://www.w3.org/2000/svg"' in svg
    assert "background: var(--paper, #fefefe)" in svg  # readable where the notebook is dark


def test_dots_become_few_nodes_and_many_points_a_density():
    rng = np.random.default_rng(1)
    few = ResidualDisplay(rng.normal(size=4000), rng.normal(size=4000)).to_svg()
    assert few.count("<use") <= 6
    assert few.count("h0") == 4000
    many = ResidualDisplay(rng.normal(size=60_000), rng.normal(size=60_000)).to_svg()
    assert many.count("h0") == 0
    assert "crispEdges" in many
    assert len(many) < 45_000


#: Linear RGB as seen by readers without red-sensitive, and without green-sensitive cones.
BLIND = {
    "protan": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deutan": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
}


def test_palette_is_distinguishable_without_color_vision():
    """Pairs stay apart in simulated deuteranopia and protanopia, or differ in lightness."""
    linear = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in SERIES]) ** 2.2
    for matrix in BLIND.values():
        seen = np.clip(linear @ np.array(matrix).T, 0, 1) ** (1 / 2.2)
        for i in range(4):
            for j in range(i):
                assert np.linalg.norm(seen[i] - seen[j]) > 0.12, (SERIES[i], SERIES[j])
    assert len(VARIABLES) == 4 + len(GROUPS)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_twenty_groups_differ_in_color_and_those_of_one_shape_for_color_blind_readers(theme):
    sheet = (Path(separatrix.report.__file__).parent / "style.css").read_text("utf-8")
    colors = dict(
        re.findall(r"--series-(\d+): (#[0-9a-f]{6})", sheet.split("@media")[theme == "dark"])
    )
    assert sorted(map(int, colors)) == list(range(1, 21))
    if theme == "light":
        assert tuple(colors[str(i)] for i in range(1, 21)) == GROUPS
    rgb = np.array(
        [[int(colors[str(i)][j : j + 2], 16) / 255 for j in (1, 3, 5)] for i in range(1, 21)]
    )
    shapes = [group_style(i)[1] for i in range(20)]
    assert len(set(map(group_style, range(20)))) == 20
    assert group_style(20) == group_style(0)
    away = np.linalg.norm(rgb[:, None] - rgb, axis=2)
    assert away[np.triu_indices(20, 1)].min() > 0.15
    for matrix in BLIND.values():
        seen = np.clip(rgb**2.2 @ np.array(matrix).T, 0, 1) ** (1 / 2.2)
        for i, j in itertools.combinations(range(6, 20), 2):
            if shapes[i] == shapes[j]:
                assert np.linalg.norm(seen[i] - seen[j]) > 0.12, (i, j)


def test_markers_become_few_nodes_of_their_shape():
    rng = np.random.default_rng(2)
    x, labels = rng.normal(size=(400, 2)), np.arange(400) % 20
    drawn = ClusterProjectionDisplay.from_rows(x, labels).to_svg()
    assert drawn.count("h0") == 6 * 20  # dots
    assert drawn.count("m-1.4-1.4h2.8v2.8h-2.8z") == 6 * 20
    assert drawn.count("m0-2.1l2.1") == 2 * 20
    assert "var(--series-20," in drawn


def test_importing_pictures_draws_in_nothing_heavy():
    code = (
        "import sys, separatrix.pictures, separatrix.report;"
        "print([m for m in ('matplotlib', 'sklearn', 'numba', 'pyarrow', 'jinja2')"
        " if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
