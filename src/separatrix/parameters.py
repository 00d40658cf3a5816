"""Constructors of estimators, and the texts of parameters and attributes that many classes share.

The annotated names of a class are its parameters, with their types and defaults:

    alpha: float = 1.0
    _: KW_ONLY
    n_jobs: int | None = None

:func:`declare_parameters` makes the constructor of them, as a dataclass has it.

A docstring lists a shared parameter with its type and its default, and leaves the description out:

    n_jobs : int, default=None

:func:`describe_parameters` adds the shared descriptions when the class is created. So an editor,
which reads the source, shows every name, type and default; ``help()``, a notebook and the reference
show the whole. A description that stands in the docstring is left as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from typing import TypeVar, dataclass_transform

C = TypeVar("C", bound=type)

IGNORED = "Ignored; accepted for scikit-learn compatibility."

#: Name → what it is. A name with another meaning in some class is described there.
DESCRIPTIONS = {
    # parameters
    "X": "The rows.",
    "algorithm": IGNORED + " The search is exact, and measures which\n"
    "method is faster.",
    "alpha_1": "Shape of the Gamma density of α.",
    "alpha_2": "Rate of the Gamma density of α, in squared units of the target.",
    "cache_size": "Megabytes for the cache of kernel rows.",
    "class_weight": "Weights of classes, which multiply those of the rows.",
    "coef0": "Constant term of the polynomial and the sigmoid kernel given by name.",
    "copy_X": IGNORED,
    "cv": "A number of folds is stratified by class.",
    "decay": "λ, above 0 and at most 1.",
    "degree": "Degree of the polynomial kernel given by name.",
    "fit_intercept": "Whether the model has an intercept.",
    "force_alpha": "Whether an ``alpha`` below 1e-10 stays as it is; else it is raised to that.",
    "gamma": "Coefficient of a kernel given by name, as in scikit-learn.",
    "kernel": "As in :class:`SVC`.",
    "l1_ratio": "ρ, the fraction of the ℓ₁ part: 0 is ridge, 1 is lasso.",
    "labels": "Names of the classes.",
    "lambda_1": "Shape of the Gamma density of λ.",
    "lambda_2": "Rate of the Gamma density of λ, in squared units of the coefficients.",
    "leaf_size": IGNORED,
    "level": "Level of the intervals.",
    "max_exact": "Rows up to which the fit is exact.",
    "max_points": "Above so many points their density is drawn.",
    "metric": 'A name, a metric, a function of two points, or "precomputed" (a matrix, or a\n'
    "sparse graph of neighbors). Metrics of strings or mixed rows take lists of objects for ``X``.",
    "metric_params": "Parameters of a metric that is given by name, or keywords of a function.",
    "n_jobs": "Threads that may be used; None or -1 for all that the process has.",
    "names": "Names of the columns.",
    "p": 'The exponent of "minkowski": 1 is Manhattan, 2 Euclidean distance.',
    "positive": "Whether coefficients are constrained to be ≥ 0.",
    "priors": "Prior probabilities of the classes; None takes the class proportions.",
    "radius": "The largest distance of a neighbor.",
    "reject_label": 'What ``predict`` returns for rejected rows; None is "reject", or −1 (one\n'
    "less than the smallest class, if that is less) among numbers.",
    "residuals": "Observed minus fitted values.",
    "rounds": "Updates of the metric; 0 leaves it even.",
    "row_labels": "Names of the rows; their positions if None.",
    "selection": IGNORED,
    "share": "τ, from 0 to 1: the share of the kernel along columns.",
    "shown": "Classes drawn: of more than six, the most frequent.",
    "shrinking": IGNORED,
    "spread": "Bandwidths h and g, in mean distances of two rows.",
    "standardize": "Standardize the columns first, so that their units do not matter.",
    "time_budget": "Seconds after which the best solution so far is returned, with\n"
    "its duality gap.",
    "verbose": IGNORED,
    "weights": "v of a neighbor at distance d: 1; 1/d; exp(−d²/2h²) with h the distance of the\n"
    "farthest neighbor; exp(−d²/2h²) with the bandwidth of a :class:`Gaussian`; or a function of\n"
    'an array of distances. None is "uniform".',
    # attributes
    "C_": "The chosen C.",
    "X_offset_": "Means of the columns, or zeros without an intercept.",
    "X_scale_": "Ones.",
    "certificate_": "What is certain about the fit.",
    "class_count_": "Total sample weight of each class.",
    "classes_": "The class labels in order.",
    "codes_": "Classes of the training rows, as positions in ``classes_``.",
    "coef_": "Coefficients b, one row per target if there are several.",
    "effective_metric_": 'The metric by its plainest name: "minkowski" with p = 2 is "euclidean".',
    "effective_metric_params_": "Its parameters.",
    "gaps_": "Duality gap at every penalty.",
    "intercept_": "Intercept a.",
    "intercepts_": "Intercepts for every penalty.",
    "mean_": "μ, the column means.",
    "means_": "Class means.",
    "metric_": "The metric with what it learned from the training rows.",
    "moments_": "Moments of the training rows, to which ``partial_fit`` adds.",
    "n_iter_": "Number of iterations.",
    "n_rows_": "Number of rows, the sum of their weights.",
    "n_samples_fit_": "The number of training rows of positive weight.",
    "n_search_rows_": "Number of rows that the search used.",
    "n_support_path_": "Number of support vectors at each C, among the rows of the search: a row\n"
    "counts by the share of the SVMs fitted with it in which it is one.",
    "points_": "Training rows of positive weight, standardized if ``standardize``.",
    "priors_": "Prior probabilities.",
    "r_squared_": "R² of the posterior mean on the training rows.",
    "sample_weight_": "Weights of the training rows.",
    "standardizer_": "Means and scales of the columns if ``standardize``.",
    "targets_": "Targets of the training rows.",
    "weights_": "The weights a.",
}  # fmt: skip

#: A line ``name : type`` that no deeper line follows.
_UNDESCRIBED = re.compile(r"^( *)(\w+) : .*\n(?!\1 )", re.MULTILINE)


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def declare_parameters(cls: C) -> C:
    """Take the annotated names of a class as the parameters of its constructor, and describe them.

    What follows ``_: KW_ONLY`` is taken by name; ``field(init=False)`` is what ``fit`` sets.
    """
    dataclass(cls, eq=False, repr=False, match_args=False)
    for parameter in fields(cls):
        if parameter.init and parameter.name in vars(cls):
            delattr(cls, parameter.name)  # a derived class with fewer parameters has no defaults
    return describe_parameters(cls)


def describe_parameters(cls: C) -> C:
    """Add the shared descriptions to the docstring of a class, where it gives none."""
    if cls.__doc__:  # which ``python -OO`` removes
        cls.__doc__ = _UNDESCRIBED.sub(_with_description, cls.__doc__)
    return cls


def _with_description(entry: re.Match[str]) -> str:
    text = DESCRIPTIONS.get(entry[2])
    if text is None:
        return entry[0]
    indent = f"{entry[1]}    "
    return f"{entry[0]}{indent}{text.replace(chr(10), chr(10) + indent)}\n"
