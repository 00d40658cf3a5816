"""Fitted estimators survive skops, which mlflow stores models with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from tests.laws.data import fitted, points, table
from tests.registry import CLUSTERERS, HIERARCHIES, REGISTRY

#: One row for each class: the attributes of its options are of the same types.
ROWS = {type(row.make()).__name__: row for row in (*REGISTRY, *CLUSTERERS, *HIERARCHIES)[::-1]}

skops = pytest.importorskip("skops.io")


def stored_and_loaded(model: Any) -> Any:
    data = skops.dumps(model)
    return skops.loads(data, trusted=skops.get_untrusted_types(data=data))


@pytest.mark.parametrize("name", sorted(ROWS))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_models_predict_the_same(name: str) -> None:
    row, model = ROWS[name], fitted(ROWS[name].name)
    back = stored_and_loaded(model)
    x = points() if row.task == "clustering" else table(row)[0]
    if hasattr(model, "predict"):
        assert np.array_equal(back.predict(x), model.predict(x))
    assert str(back.certificate_) == str(model.certificate_)


def test_models_of_tables_with_levels_and_missing_values() -> None:
    frame = pd.DataFrame(
        {
            "a": [1.0, 2.0, None, 4.0, 5.5, 6.0],
            "b": list("xyxyzx"),
            "y": [1.0, 2.0, 2.5, 4.0, 5.0, 7.0],
        }
    )
    model = sx.Ridge(1.0).fit(sx.scan(frame, target="y"))
    back = stored_and_loaded(model)
    assert np.array_equal(back.predict(frame), model.predict(frame))
