"""The view of a boundary, in a browser."""

import numpy as np

import separatrix as sx
from separatrix.exploration import read_table
from separatrix.samples import sample
from tests.exploration.conftest import figure, settled


def test_numbers_are_the_librarys(visit):
    tab = visit("wine", "cultivar", "#boundary?x=alcohol&y=hue&C=2&gamma=0.5")
    X, y = read_table(sample("wine").path).arrays(["alcohol", "hue"], "cultivar")
    model = sx.SVC(C=2.0, gamma=0.5).fit(X, y)
    assert figure(tab, "support") == str(len(model.support_))
    error = 100 * np.mean(model.predict(X) != y)
    assert float(figure(tab, "error").split()[0]) == float(f"{error:.4g}")


def test_a_point_is_moved_by_keys_and_undone(visit):
    tab = visit("wine", "cultivar", "#boundary?x=alcohol&y=hue")
    before = tab.locator("[data-row='0']").get_attribute("transform")
    tab.locator(".plane svg").focus()
    tab.keyboard.press("n")
    tab.keyboard.press("Shift+ArrowRight")
    settled(tab)
    assert tab.locator("[data-row='0']").get_attribute("transform") != before
    assert "edits=" in tab.url
    tab.keyboard.press("Control+z")
    settled(tab)
    assert tab.locator("[data-row='0']").get_attribute("transform") == before
