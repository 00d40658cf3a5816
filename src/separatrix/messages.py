"""Errors and warnings: what is wrong, where, and what to do.

Every refusal is an :class:`InputError`, every warning a :class:`SeparatrixWarning` with a code.
"""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


class InputError(ValueError):
    """The input cannot be used: what is wrong, where, and what to do.

    The message reads ``file …, row …, column …: what remedy``. It is a :class:`ValueError`.

    Parameters
    ----------
    what : str
        What is wrong, as a sentence.
    file : str, default=None
        The file, or another name of the table.
    row : int, default=None
        Number of the row; the first row of data is 1.
    column : str, default=None
        Name of the column.
    remedy : str, default=None
        What to do, as a sentence.

    Attributes
    ----------
    what, file, row, column, remedy : object
        As given.

    See Also
    --------
    SeparatrixWarning : A warning with a code.
    scan : Read a table.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.scan({"x": [1.0, 2.0], "y": [1.0, 2.0]}, target="z")
    Traceback (most recent call last):
    ...
    separatrix.messages.InputError: there is no column 'z' (given as target). There are: 'x', 'y'.
    """

    def __init__(
        self,
        what: str,
        *,
        file: str | None = None,
        row: int | None = None,
        column: str | None = None,
        remedy: str | None = None,
    ) -> None:
        location = ", ".join(
            text
            for text in (
                f"file {file}" if file is not None else "",
                f"row {row}" if row is not None else "",
                f"column {column!r}" if column is not None else "",
            )
            if text
        )
        sentence = f"{location}: {what}" if location else what
        super().__init__(f"{sentence} {remedy}" if remedy else sentence)
        self.what, self.file, self.row, self.column, self.remedy = what, file, row, column, remedy

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by all arguments (keyword-only ones would be lost)."""
        place = {"file": self.file, "row": self.row, "column": self.column}
        return _rebuild, (type(self), self.what, place, self.remedy)


def _rebuild(
    kind: type[InputError], what: str, place: dict[str, Any], remedy: str | None
) -> InputError:
    return kind(what, **place, remedy=remedy)


class SeparatrixWarning(UserWarning):
    """A warning with a code, such as ``SEP001 dependent columns: …``.

    Mute one code with ``warnings.filterwarnings("ignore", "SEP001")``. All codes are listed in the
    guide, and printed by ``separatrix explain SEP001``. SEP003, a solver that was stopped early,
    and SEP004 of empty clusters of ``KMeans`` are scikit-learn's ``ConvergenceWarning`` as well.

    See Also
    --------
    InputError : The input cannot be used at all.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import separatrix as sx
    >>> x = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0], [5.0, 10.0]])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = sx.LinearRegression().fit(x, [1.0, 2.0, 3.0, 4.0])
    >>> [(w.category.__name__, str(w.message)[:6]) for w in caught]
    [('SeparatrixWarning', 'SEP001')]
    """


@dataclass(frozen=True)
class WarningEntry:
    """The documentation entry of one warning code: why it is raised, and what to do."""

    code: str
    title: str
    reason: str
    remedy: str


#: Every warning code, with the reason shown in the documentation.
WARNINGS: dict[str, WarningEntry] = {
    warn.code: warn
    for warn in (
        WarningEntry(
            "SEP001",
            "dependent columns",
            "Some columns are linear combinations of others: the fitted values are unique, the "
            "coefficients are not; those of smallest norm were returned.",
            "Remove the columns listed, or use Ridge (--models ridge).",
        ),
        WarningEntry(
            "SEP002",
            "ill-conditioned columns",
            "The columns are so nearly dependent that fewer than four digits of the coefficients "
            "are accurate.",
            "Fit from the rows, or use Ridge.",
        ),
        WarningEntry(
            "SEP003",
            "not converged",
            "The solver stopped before it reached the tolerance, at its limit of iterations or at "
            "the limit of floating-point arithmetic; the certificate reports how close it came.",
            "Raise max_iter or tol, or the penalty.",
        ),
        WarningEntry(
            "SEP004",
            "solution not unique",
            "The objective has more than one minimizer; one of them was returned.",
            "Give more rows, or use LinearRegression; of KMeans, a smaller n_clusters.",
        ),
        WarningEntry(
            "SEP005",
            "unseen level",
            "A discrete column holds a level that was absent from training; it was treated as a "
            "missing value, or encoded as all zeros. Or a column of numbers or dates holds a text.",
            'Fit again with rows of that level; unseen="error" (--unseen error) refuses it '
            "instead.",
        ),
        WarningEntry(
            "SEP006",
            "complete separation",
            "A hyperplane separates the classes (completely, or but for rows on it), so the "
            "likelihood grows without bound along its normal and the maximum likelihood estimate "
            "does not exist.",
            "Give a penalty, such as LogisticRegression(C=1), or more rows.",
        ),
        WarningEntry(
            "SEP007",
            "indefinite kernel",
            "The Gram matrix has a negative eigenvalue: the kernel is not an inner product, the "
            "problem is not convex, and the solution found may be a local one.",
            "Use a Mercer kernel, such as Gaussian.",
        ),
        WarningEntry(
            "SEP008",
            "distance concentration",
            "All pairs of rows are about equally far apart, so that nearest neighbors are hardly "
            "nearer than other rows.",
            "Leave out irrelevant columns, or use a linear model.",
        ),
        WarningEntry(
            "SEP009",
            "copied rows",
            "Rows are exact copies of others, more than chance explains; copies stay in one part "
            "of the split, so that no model is tested on a row that it was fitted to.",
            "Remove the copies if they were made by mistake; give a column of weights (--weight) "
            "if they stand for repeated observations.",
        ),
        WarningEntry(
            "SEP010",
            "target given away",
            "One column alone determines the target: a copy of it in another unit or code, or "
            "something that is known only after it. Scores then say nothing about new rows.",
            "Leave the column out (--kind NAME=ignore), unless it is known whenever a prediction "
            "is needed.",
        ),
        WarningEntry(
            "SEP011",
            "rows not independent",
            "Rows of one group, or rows that follow one another in time, resemble each other: a "
            "random split tests the model on near copies of its training rows.",
            "Name the column: --group keeps the rows of a group in one part, --time tests on the "
            "last rows.",
        ),
        WarningEntry(
            "SEP012",
            "class never found",
            "The model finds no test row of a rare class: its error rate is small because the "
            "class is.",
            "State what a miss costs (--costs), choose by --metric balanced_error, or give more "
            "rows of the class.",
        ),
        WarningEntry(
            "SEP013",
            "column left out",
            "A column of a data frame tells rows apart and says nothing about new ones (a number "
            "or a text of its own in every row), or has no value: the model does not use it.",
            'Drop the column, or keep it all the same: scan(frame, kinds={"NAME": "discrete"}).',
        ),
        WarningEntry(
            "SEP014",
            "parameter adjusted",
            "The prior probabilities of the classes do not add up to 1 and were divided by their "
            "sum; or a smoothing below 1e-10 was raised to it (force_alpha=False).",
            "Give probabilities that add up to 1, in the order of classes_; or a larger alpha.",
        ),
        WarningEntry(
            "SEP015",
            "graph in parts",
            "The graph of points that may merge is not connected; the nearest points of every two "
            "parts were joined, so that the tree has one root.",
            "Nothing, if the parts are to merge last; else connect more neighbors, or cluster the "
            "parts by themselves.",
        ),
        WarningEntry(
            "SEP016",
            "constant label",
            "Of several labels a row may have, one is the same in every training row: there is "
            "nothing to learn, and it is predicted for every row.",
            "Leave the column out of y, or add rows that differ.",
        ),
        WarningEntry(
            "SEP017",
            "noise added",
            "The covariance of a Gaussian process is not positive definite in floating-point "
            "numbers: rows are too near one another for the noise of the model. The least noise "
            "that makes it so was added, and the certificate gives it.",
            "Give the model noise (alpha, or a kernel with White), or leave out rows that are "
            "nearly copies.",
        ),
        WarningEntry(
            "SEP018",
            "chains not mixed",
            "Chains of posterior draws have not forgotten where they started (R̂ above 1.01), so "
            "that their means are not those of the posterior: draw more samples.",
            "Draw more samples (four times as many halve R̂ − 1 or better), or take another "
            "method; do not use means of these draws.",
        ),
        WarningEntry(
            "SEP019",
            "prior decides",
            "A parameter of a prior has units (a rate, a threshold), and in those of this table it "
            "decides the answer more than the rows do.",
            "standardize=True measures them in the data's own units, so that nothing depends on "
            "units.",
        ),
        WarningEntry(
            "SEP020",
            "separating column unused",
            "Rows of one class agree in a column (or a combination of columns) in which classes "
            "differ: it tells them apart without error. A linear discriminant analysis divides by "
            "the spread within classes, which is zero there, and leaves the column out.",
            "Ask whether the column is known before the class is; if so, take "
            'GaussianDiscriminant("shared") or a logistic regression; else drop it.',
        ),
        WarningEntry(
            "SEP021",
            "training rows fitted exactly",
            "The error of the chosen model on its training rows is less than a hundredth of that "
            "on rows left out: it passes through every row, and what it says of its own rows "
            "tells nothing of new ones.",
            "Compare with a simpler model (--models), above all on few rows.",
        ),
        WarningEntry(
            "SEP022",
            "few test rows",
            "Fewer than 30 rows are in the test set: its scores depend on which rows they happen "
            "to be, and models cannot be told apart by them.",
            "Go by the cross-validated scores, or repeat them (--repeats 5); more rows.",
        ),
        WarningEntry(
            "SEP023",
            "not better than the baseline",
            "On the test set the chosen model is worse than the baseline, which predicts one value "
            "for every row, or the difference is within chance; or its decisions are better and "
            "its probabilities worse.",
            "Do not rely on the predictions, or on the probabilities; look for columns that say "
            "more, or get more rows.",
        ),
        WarningEntry(
            "SEP024",
            "overfitting",
            "The error on training rows is less than half of that on rows left out: much of what "
            "was learned holds for the training rows alone.",
            "Fewer columns, a stronger penalty, a simpler model (--models), or more rows.",
        ),
        WarningEntry(
            "SEP025",
            "collinear columns",
            "A coefficient has a variance inflation factor above 10: other columns carry nearly "
            "the same information, so that its standard error is more than three times as large. "
            "Predictions are not affected.",
            "Leave one of these columns out to interpret the others, or use ridge.",
        ),
        WarningEntry(
            "SEP026",
            "uneven residuals",
            "The spread of the residuals changes with the predictions (heteroscedasticity): the "
            "usual standard errors and intervals assume that it does not.",
            'Use robust standard errors, summary(covariance="HC3"), or model the logarithm of a '
            "positive target.",
        ),
        WarningEntry(
            "SEP027",
            "class rarely found",
            "Less than half of the test rows of a class are predicted as such, beyond chance.",
            'State what a miss costs (costs), or choose by metric="balanced_error".',
        ),
        WarningEntry(
            "SEP028",
            "reversed sign",
            "A coefficient and the correlation of its column with the target have opposite signs, "
            "both beyond chance: given the other columns its effect is the reverse of the one it "
            "has alone.",
            "Do not read it as the effect of the column; see which column it is collinear with.",
        ),
        WarningEntry(
            "SEP029",
            "unstable interpolation",
            "The polynomial through all points may be far from the targets between them: their "
            "Lebesgue constant, by which errors are multiplied, is above 100. Equally spaced "
            "points have such constants from about a dozen on (Runge's phenomenon).",
            "Take targets at PolynomialInterpolation.chebyshev_points, or fit a smooth curve "
            "(AdditiveRegressor) or a polynomial of lower degree (PolynomialRegression).",
        ),
    )
}


def warn(code: str, text: str) -> None:
    """Issue ``SEP001 text`` as a :class:`SeparatrixWarning`, at the caller's line outside of us."""
    assert code in WARNINGS, code
    category: type[Warning] = SeparatrixWarning
    if code == "SEP003":
        from separatrix.convergence import NotConvergedWarning

        category = NotConvergedWarning
    warn_as(category, f"{code} {text}")


def warn_as(category: type[Warning], text: str) -> None:
    """Issue a warning at the caller's line outside of us: without a code, those of scikit-learn."""
    level, frame = 2, sys._getframe(1)
    within = ("separatrix", "sklearn.callback")  # the latter wraps a fit that reports to callbacks
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(within):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``Did you mean 'income'?``, or the known names if none is close."""
    names = list(known)
    folded = {other.strip().casefold(): other for other in reversed(names)}  # the first counts
    near = difflib.get_close_matches(name.strip().casefold(), list(folded), n=1, cutoff=0.6)
    if near:
        return f"Did you mean {folded[near[0]]!r}?"
    shown = ", ".join(repr(other) for other in names[:12])
    more = f", … ({len(names)} in all)" if len(names) > 12 else ""
    return f"There are: {shown}{more}." if names else "There are none."


def check_option(name: str, value: Any, options: Iterable[str], also: str = "") -> None:
    """Refuse a value of the parameter ``name`` that is none of its ``options``, nor ``also``."""
    known = list(options)
    if value not in known:
        remedy = did_you_mean(str(value), known)
        raise InputError(
            f"{name}={value!r} is unknown.", remedy=f"{remedy} Or give {also}." if also else remedy
        )
