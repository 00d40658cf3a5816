"""Whether the absence of a value says something: decided by the rows that predict each fold.

    L(policy) = Σ w ‖y − ŷ₋f(x)‖² over the folds f,    ŷ₋f: ridge regression without fold f

Under "mean" a missing value is the mean of its column, or its most frequent level: right where it
is missing by chance. Under "indicator" the row says besides that it is missing: right where "no
value" is a level of its own (no turbocharger, no garage). The second is taken where it predicts
better by more than one standard error of the difference. Of classes y are their indicators.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from separatrix.arrays import Floats, Ints
from separatrix.linear.ridge import RidgeCV
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import to_array
from separatrix.statistics.moments import prepare
from separatrix.study.design import RowFolds


def choose_missing_policy(folds: RowFolds) -> tuple[RowFolds, list[str]]:
    """The folds with the policy that predicts better, where it is to be compared; in words."""
    table = folds.table
    if table.schema.missing != "compare" or not any(term.missing for term in table.block.terms):
        return folds, []
    policies = [_with_policy(table, policy) for policy in ("mean", "indicator")]
    splits = [folds.split(fold) for fold in range(folds.k)]
    plain, better = (np.concatenate([_losses(one, *split) for split in splits]) for one in policies)
    rows = np.concatenate([test for _, test in splits])
    w = table.block.weights[rows]
    gain = plain - better
    mean = float(w @ gain / w.sum())
    error = float(np.sqrt(w @ (gain - mean) ** 2 / w.sum() / len(rows)))
    taken = int(mean > error)
    verdict = ("are not marked by columns", "are marked by columns of their own")[taken]
    without, marked = np.sqrt([w @ plain / w.sum(), w @ better / w.sum()])
    message = (
        f"Missing values {verdict}: the error of ridge regression out of fold is {without:.4g} "
        f"without such columns and {marked:.4g} with them (override: `missing`)."
    )
    return replace(folds, table=policies[taken]), [message]


def _with_policy(table: InMemory, policy: str) -> InMemory:
    marked = table.with_hashes()
    marked.schema = replace(table.schema, missing=policy)
    return marked


def _losses(table: InMemory, training: Ints, test: Ints) -> Floats:
    """Squared errors of the rows of a fold, by ridge regression on the others."""
    inside, outside = table.take(training), table.take(test)
    encoding = prepare(inside).encoding
    x, new = (to_array(encoding.apply(part.block).x) for part in (inside, outside))
    model = RidgeCV(np.logspace(-2, 4, 13), standardize=True)
    model.fit(x, inside.block.y, inside.block.weights)
    predicted = np.asarray(model.predict(new)).reshape(len(test), -1)
    return np.asarray(((outside.block.y - predicted) ** 2).sum(axis=1))
