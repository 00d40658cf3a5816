"""Codes are documented, messages say where, and warnings point at the caller."""

from __future__ import annotations

import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import separatrix as sx
from separatrix.messages import WARNINGS, InputError, SeparatrixWarning, warn

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "warnings.md"


def test_every_code_has_its_entry() -> None:
    entries = dict(re.findall(r"^## (SEP\d{3}) (.+)$", PAGE.read_text(), re.MULTILINE))
    assert entries == {code: entry.title for code, entry in WARNINGS.items()}


def test_an_error_states_where_and_what_to_do() -> None:
    error = InputError("is not a number.", file="t.csv", row=7, column="age", remedy="Mend it.")
    assert str(error) == "file t.csv, row 7, column 'age': is not a number. Mend it."
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.row, again.column) == (str(error), 7, "age")
    assert isinstance(error, ValueError)


def test_a_warning_points_at_the_line_that_called() -> None:
    x = np.ones((5, 2))
    with pytest.warns(SeparatrixWarning) as caught:
        sx.LinearRegression().fit(x, np.arange(5.0))
    assert caught[0].filename == __file__


def test_a_warning_can_be_muted_by_its_code() -> None:
    x = np.ones((5, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "SEP001")
        sx.LinearRegression().fit(x, np.arange(5.0))


def test_ordinary_columns_raise_no_notice() -> None:
    rng = np.random.default_rng(0)
    base = rng.standard_normal((200, 1))
    x = base + 1e-3 * rng.standard_normal((200, 4))  # strongly correlated, not dependent
    with warnings.catch_warnings():
        warnings.simplefilter("error", SeparatrixWarning)
        sx.LinearRegression().fit(x * [1e-6, 1.0, 1e6, 1.0] + 1000.0, base[:, 0])


def test_a_solver_stopped_early_warns_as_scikit_learn_does() -> None:
    with pytest.warns(ConvergenceWarning, match="SEP003") as caught:
        warn("SEP003", "stopped")
    assert issubclass(caught[0].category, SeparatrixWarning)
