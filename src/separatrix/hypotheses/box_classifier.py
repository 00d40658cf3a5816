"""Classification by boxes, one or several for each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.estimators import class_labels
from separatrix.estimators.base import RowsEstimator, reads_tables
from separatrix.formula import nodes
from separatrix.hypotheses import version_space
from separatrix.hypotheses.claims import Claims, boxes_formula
from separatrix.messages import InputError, check_option, did_you_mean
from separatrix.mixins import ClassifierMixin
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters
from separatrix.rows.rows import InMemory, Rows
from separatrix.rows.schema import Block, Encoding, Term, to_array
from separatrix.statistics.columns import column_extremes
from separatrix.statistics.moments import prepare
from separatrix.threads import on_one_blas_thread

# -------------------------------------------------------------------------------------------------
# Classification by boxes: the version space between most specific and most general box.


HYPOTHESES = ("specific", "average", "short", "general")


@dataclass(frozen=True)
class Examples:
    """Rows that ``partial_fit`` has seen: values, class codes and weights."""

    x: Floats
    codes: Ints
    w: Floats

    def __add__(self, other: Examples) -> Examples:
        return Examples(
            np.concatenate([self.x, other.x]),
            np.concatenate([self.codes, other.codes]),
            np.concatenate([self.w, other.w]),
        )


@declare_parameters
class BoxClassifier(ClassifierMixin, Claims, RowsEstimator):
    """One box for each class, between the most specific and the most general that fit the rows.

        S ⊆ h ⊆ some member of G   for every box h with the rows of the class and no other

    S is the bounding box of the class. G, the boxes that cannot grow without taking another class
    in, is a set in general, and may be too large to list: it is represented by the rows of other
    classes that bound it, from which membership follows exactly
    (:class:`~separatrix.hypotheses.version_space.VersionSpace`). The average lies halfway
    between S and the box common to all members of G.

    Where no box separates a class from the others, the box with the fewest errors is found by
    branch and bound, the rows on its wrong side are errors, and the version space is that of the
    others. The certificate states the errors and the fewest that any box can have: they are equal
    for few columns, and usually else. Only the order of values decides S, G and the errors; the
    average, and the scores, scale with the columns.

    With a ``perturbation`` δ the recorded values are within δ of the true ones. A box is then
    consistent if rows at some such places make it so: it meets x ± δ of every row of the class, and
    contains x ± δ of no other row. So if the class is a box, it is one of these: a row in S, which
    shrinks by δ, is of the class wherever the rows truly are, and one outside of G, which grows, is
    not.

    Parameters
    ----------
    hypothesis : {"specific", "average", "short", "general"}, default="average"
        The box that predicts: S, the average, the average without needless conditions, or the box
        common to all of G.
    concept : label, default=None
        The class that is a box, of two, while the other one is all the rest; None gives a box to
        each class.
    max_nodes : int, default=5000
        Nodes of branch and bound, for each class, after which the errors are bounded only.
    perturbation : float, array-like of shape (n_columns,) or dict, default=0.0
        δ in units of the columns: one for all columns of numbers, one for each column, or a
        dictionary of those that are not zero by name. Levels are taken to be known exactly, and
        so is a column in which all rows agree.
    reject : bool, default=False
        Whether rows are rejected that no box or several boxes contain. With a ``concept``, rows
        between S and G.
    reject_label : str, number or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    concepts_ : ndarray
        The labels of the classes that have a box.
    spaces_ : list of VersionSpace
        S and G of each: ``specific``, ``common``, ``average``, ``general()``, ``possible(X)``.
    perturbation_ : ndarray of shape (d,)
        δ of each column of the design.
    boxes_ : list of Box
        The boxes that predict: ``lower`` and ``upper`` faces.
    rules_ : list of str
        The boxes as conditions on the columns by name.
    errors_ : ndarray
        Weight of the rows of a class outside of its box and of others inside.
    error_bounds_ : ndarray
        The fewest errors that any box can have.
    scale_ : ndarray of shape (d,)
        The range of each column, the unit of scores.
    n_samples_fit_ : int
        Rows of positive weight; those of other classes that bound G are stored in ``spaces_``.
    certificate_ : Certificate
        All errors, and the fewest that are possible.

    See Also
    --------
    UnionOfBoxes : Several boxes for each class.
    BallClassifier : The smallest enclosing ball of each class.
    EllipsoidClassifier : The ellipsoid of least volume around each class.
    query : Rows worth labeling: those between S and G.
    RejectOption : Rejection where no class is likely enough.

    Notes
    -----
    ``fit`` reads tables that are streamed in two passes and stores none of their rows, unless they
    contradict all boxes. ``partial_fit`` stores the rows, since rows to come may do so, and gives
    what ``fit`` gives on all of them.

    References
    ----------
    T. M. Mitchell, Generalization as search, Artificial Intelligence 18, 1982.

    H. Hirsh, Learning from data with bounded inconsistency, ICML, 1990.

    D. P. Dobkin, D. Gunopulos, W. Maass, Computing the maximum bichromatic discrepancy, 1996.

    Examples
    --------
    >>> import separatrix as sx
    >>> X = [[1.0, 1.0], [2.0, 3.0], [6.0, 2.0], [8.0, 3.0]]
    >>> model = sx.BoxClassifier(reject=True).fit(X, ["a", "a", "b", "b"])
    >>> print(model.describe())
    a: x0 ≤ 4 (2 of 2 rows, 0 of other classes)
    b: x0 ≥ 4 (2 of 2 rows, 0 of other classes)
    >>> model.spaces_[0].specific.upper.tolist(), model.spaces_[0].common.upper.tolist()
    ([2.0, 3.0], [6.0, inf])
    >>> model.predict([[0.0, 2.0], [4.0, 2.0], [5.0, 2.0]]).tolist()
    ['a', 'reject', 'b']
    >>> blurred = sx.BoxClassifier(perturbation=0.25, reject=True).fit(X, ["a", "a", "b", "b"])
    >>> blurred.spaces_[0].specific.upper.tolist(), blurred.spaces_[0].common.upper.tolist()
    ([1.75, 2.75], [6.25, inf])
    """

    _sparse_ok = False
    _any_size = True
    spaces_: list[version_space.VersionSpace] = field(init=False)
    perturbation_: Floats = field(init=False)

    hypothesis: str = "average"
    _: KW_ONLY
    concept: Any = None
    max_nodes: int = 5000
    perturbation: Any = 0.0
    reject: bool = False
    reject_label: Any = None

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        self._check()
        self.__dict__.pop("examples_", None)
        if isinstance(X, Rows):
            spaces = consistent_spaces(self, X)
            if spaces is not None:
                return self._accept(*spaces)
        coded = class_labels.coded_rows(self, X, y, sample_weight)
        return self._fit_rows(Examples(dense(coded.x), coded.codes, coded.w), coded.encoding)

    @on_one_blas_thread
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Fit to these rows and all rows of earlier calls, which are stored.

        ``classes`` lists all labels, if the first call does not have them all.
        """
        self._check()
        seen: Examples | None = getattr(self, "examples_", None)
        if seen is None:
            self.__dict__.pop("classes_", None)
        known = class_labels.known_classes(self, X, classes)
        rows = class_labels.rows_with_codes(
            self, X, y, sample_weight, known=known, closed=known is not None, reset=seen is None
        )
        coded = class_labels.coded_arrays(rows)
        new = Examples(dense(coded.x), coded.codes, coded.w)
        self.examples_ = new if seen is None else seen + new
        return self._fit_rows(self.examples_, coded.encoding)

    def _check(self) -> None:
        check_option("hypothesis", self.hypothesis, HYPOTHESES)
        if not isinstance(self.max_nodes, int | np.integer) or self.max_nodes < 1:
            raise InputError(f"max_nodes={self.max_nodes!r} must be a whole number above zero.")

    def _fit_rows(self, rows: Examples, encoding: Encoding) -> Self:
        scale = np.ptp(rows.x, axis=0)
        self.perturbation_ = perturbation_of(self.perturbation, encoding, scale)
        class_spaces = [
            class_space(rows.x, rows.codes, rows.w, k, self.max_nodes, self.perturbation_)
            for k in self._concept_codes()
        ]
        return self._accept(class_spaces, encoding, scale, len(rows.w))

    def _concept_codes(self) -> list[int]:
        """Positions of the classes that have a box."""
        labels = self.classes_.tolist()
        if self.concept is None:
            return list(range(len(labels)))
        if self.concept not in labels or len(labels) > 2:
            raise InputError(
                f"concept={self.concept!r} must be one of two classes, and they are {labels[:12]}.",
                remedy="Leave concept out to give each class a box.",
            )
        return [labels.index(self.concept)]

    def _accept(
        self, class_spaces: list[ClassSpace], encoding: Encoding, scale: Floats, n: int
    ) -> Self:
        self.encoding_ = encoding
        self.concepts_ = self.classes_[self._concept_codes()]
        self.spaces_ = [box.space for box in class_spaces]
        self.errors_ = np.array([box.errors for box in class_spaces])
        self.error_bounds_ = np.array([box.bound for box in class_spaces])
        self.counts_ = np.array([[box.covered, box.weight, box.others] for box in class_spaces])
        self.scale_ = scale
        self.n_samples_fit_ = n
        self.certificate_ = certificate(class_spaces, perturbed=bool(self.perturbation_.any()))
        self._set_labels()
        return self

    @property
    def boxes_(self) -> list[version_space.Box]:
        """The boxes that predict."""
        check_is_fitted(self)
        name = {"general": "common"}.get(self.hypothesis, self.hypothesis)
        return [getattr(space, name) for space in self.spaces_]

    @property
    def rules_(self) -> list[str]:
        """The boxes as conditions on the columns by name."""
        return [rule(box, self.encoding_.terms.items) for box in self.boxes_]

    def _texts(self) -> list[str]:
        return self.rules_

    def certainty(self, X: Any) -> NDArray[np.int8]:
        """What the version spaces say of each row: 1, 0 or −1 for each class with a box.

        1: the row is in S, and so in every consistent box. −1: it is in none. 0, doubt: in some.
        """
        x = np.asarray(self._design(X))
        certainties = np.empty((len(x), len(self.spaces_)), dtype=np.int8)
        for k, space in enumerate(self.spaces_):
            certainties[:, k] = np.where(space.certain(x), 1, np.where(space.possible(x), 0, -1))
        return certainties

    def _claims(self, X: Any) -> NDArray[np.bool_]:
        x = np.asarray(self._design(X))
        return np.stack([box.contains(x) for box in self.boxes_], axis=1)

    def _margins(self, X: Any) -> Floats:
        x = np.asarray(self._design(X))
        return np.stack([box.margins(x, self.scale_) for box in self.boxes_], axis=1)

    def _uncertain(self, X: Any) -> NDArray[np.bool_]:
        if self.concept is None:
            return super()._uncertain(X)
        return np.asarray(self.certainty(X)[:, 0] == 0)

    def formula(self) -> nodes.ClassFormula:
        """The class whose box, or union of boxes, claims the row by the largest margin."""
        return boxes_formula(self)


def dense(x: Any) -> Floats:
    """Rows of a design, dense and in one piece."""
    return np.ascontiguousarray(to_array(x), dtype=np.float64)


# -------------------------------------------------------------------------------------------------
# Classification by a union of boxes for each class.


@declare_parameters
class UnionOfBoxes(ClassifierMixin, Claims, RowsEstimator):
    """At most m boxes for each class; a row belongs where some box has it deepest inside.

        minimize over B₁ … Bₘ   Σ w [x ∉ ∪ B, of the class] + Σ w [x ∈ ∪ B, of another]

    Boxes are chosen one by one, each by branch and bound with the largest gain beside those before,
    and then every one is replaced by the best beside the others until none gains. Enough boxes can
    represent any labels of distinct rows; few boxes are rules to read.

    Parameters
    ----------
    n_boxes : int, default=2
        m, the most boxes of a class.
    hypothesis : {"specific", "average", "short", "general"}, default="average"
        The boxes that predict: the tight ones, those halfway to the most general, these without
        needless conditions, or the most general ones (see :class:`BoxClassifier`).
    max_nodes : int, default=1000
        Nodes of branch and bound for each box, after which it is the best one found.
    solver : {"greedy", "annealing"}, default="greedy"
        Where the replacements begin: at boxes chosen one by one; or besides at the best union that
        simulated annealing passes through, the one with fewer errors being taken.
    max_evaluations : int, default=10000
        Moves of annealing, for each class.
    random_state : int, RandomState or None, default=0
        What the moves are drawn from.
    reject : bool, default=False
        Whether rows are rejected that no class or several classes claim.
    reject_label : str, number or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    spaces_ : list of list of VersionSpace
        For each class the version spaces of its boxes.
    boxes_ : list of list of Box
        For each class the boxes that predict.
    rules_ : list of str
        The boxes as conditions on the columns by name, joined by "or".
    errors_ : ndarray of shape (K,)
        Weight of the rows of a class outside of its boxes and of others inside.
    scale_ : ndarray of shape (d,)
        The range of each column, the unit of scores.
    certificate_ : Certificate
        The errors, and whether no change of one box makes fewer.

    See Also
    --------
    BoxClassifier : One box for each class, with the fewest errors.
    EllipsoidClassifier : The ellipsoid of least volume around each class.

    Examples
    --------
    >>> import separatrix as sx
    >>> X = [[1.0], [2.0], [4.0], [5.0], [7.0], [8.0]]
    >>> model = sx.UnionOfBoxes(2).fit(X, list("aabbaa"))
    >>> print(model.describe())
    a: x0 ≤ 3 or x0 ≥ 6 (4 of 4 rows, 0 of other classes)
    b: 3 ≤ x0 ≤ 6 (2 of 2 rows, 0 of other classes)
    """

    _sparse_ok = False
    _any_size = True
    spaces_: list[list[version_space.VersionSpace]] = field(init=False)

    n_boxes: int = 2
    _: KW_ONLY
    hypothesis: str = "average"
    max_nodes: int = 1000
    solver: str = "greedy"
    max_evaluations: int = 10_000
    random_state: Any = 0
    reject: bool = False
    reject_label: Any = None

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        check_option("hypothesis", self.hypothesis, HYPOTHESES)
        check_option("solver", self.solver, ("greedy", "annealing"))
        for name in ("n_boxes", "max_nodes", "max_evaluations"):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < 1:
                raise InputError(f"{name}={value!r} must be a whole number above zero.")
        coded = class_labels.coded_rows(self, X, y, sample_weight)
        self.encoding_ = coded.encoding
        x = dense(coded.x)
        moves = self.max_evaluations if self.solver == "annealing" else 0
        seed = int(check_random_state(self.random_state).randint(2**31 - 1)) if moves else 0
        options = (self.n_boxes, self.max_nodes, moves, seed)
        class_unions = [
            version_space.class_union(x, coded.codes, coded.w, k, *options)
            for k in range(len(self.classes_))
        ]
        self._accept(class_unions, np.ptp(x, axis=0))
        return self

    def _accept(self, class_unions: list[version_space.ClassUnion], scale: Floats) -> None:
        self.concepts_ = self.classes_
        self.spaces_ = [box.spaces for box in class_unions]
        self.errors_ = np.array([box.errors for box in class_unions])
        self.counts_ = np.array([[box.covered, box.weight, box.others] for box in class_unions])
        self.scale_ = scale
        errors = float(self.errors_.sum())
        claim = "Each union of boxes contains all rows of its class and no other row"
        if errors > 0.0:
            exact = all(box.exact for box in class_unions)
            claim = (
                "No other place of one box, and none more or less, makes fewer errors"
                if exact
                else "No change of one box in one column makes fewer errors"
            ) + " (rows of a class outside of its boxes, others inside)"
            claim += without_a_box([(box.errors, box.weight) for box in class_unions])
        notes: tuple[str, ...] = ()
        if self.solver == "annealing" and errors > 0.0:
            count = f"{self.max_evaluations:,} moves"
            notes = (f"A start for each class is the best of {count} of simulated annealing.",)
        self.certificate_ = Certificate(claim, primal=errors, notes=notes, promised=())
        self._set_labels()

    @property
    def boxes_(self) -> list[list[version_space.Box]]:
        """For each class the boxes that predict."""
        check_is_fitted(self)
        name = {"general": "common"}.get(self.hypothesis, self.hypothesis)
        return [[getattr(space, name) for space in spaces] for spaces in self.spaces_]

    @property
    def rules_(self) -> list[str]:
        """The boxes as conditions on the columns by name."""
        terms = self.encoding_.terms.items
        return [any_of([rule(box, terms) for box in boxes]) for boxes in self.boxes_]

    def _texts(self) -> list[str]:
        return self.rules_

    def _claims(self, X: Any) -> NDArray[np.bool_]:
        x = np.asarray(self._design(X))
        return np.stack(
            [np.any([box.contains(x) for box in boxes], axis=0) for boxes in self.boxes_], axis=1
        )

    def _margins(self, X: Any) -> Floats:
        x = np.asarray(self._design(X))
        return np.stack(
            [
                np.max([box.margins(x, self.scale_) for box in boxes], axis=0)
                for boxes in self.boxes_
            ],
            axis=1,
        )

    def formula(self) -> nodes.ClassFormula:
        """The class whose box, or union of boxes, claims the row by the largest margin."""
        return boxes_formula(self)


# -------------------------------------------------------------------------------------------------
# Version spaces of classes from rows: consistent where boxes are, with the fewest errors else.


@dataclass(frozen=True)
class ClassSpace:
    """The version space of a class, its errors, and the fewest errors that a box can have.

    ``covered`` and ``others`` are the weights of the rows of the class and of others in the boxes,
    ``weight`` is the weight of all rows of the class.
    """

    space: version_space.VersionSpace
    errors: float
    bound: float
    covered: float
    others: float
    weight: float


def perturbation_of(given: Any, encoding: Encoding, scale: Floats) -> Floats:
    """The bound of each column of the design; 0 of levels and of marks of missing values.

    It is 0 where all rows have one value, too: perturbed ones would differ, and a column in which
    every row may be apart from all others would make any labels consistent.
    """
    names = list(encoding.schema.names)
    if isinstance(given, dict):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise InputError(
                f"perturbation names {unknown[0]!r}, and there is no such column.",
                remedy=did_you_mean(str(unknown[0]), [str(name) for name in names]),
            )
        given = [given.get(name, 0.0) for name in names]
    bounds = np.asarray(given, dtype=np.float64)
    if bounds.ndim > 1 or (bounds.ndim == 1 and len(bounds) != len(names)):
        raise InputError(
            f"perturbation has the shape {bounds.shape}, and there are {len(names)} columns.",
            remedy="Give one number, one for each column, or a dictionary by name.",
        )
    if not (np.isfinite(bounds).all() and (bounds >= 0.0).all()):
        raise InputError(f"perturbation={given!r} must be finite and not below zero.")
    by_name = dict(zip(names, np.broadcast_to(bounds, len(names)).tolist(), strict=True))
    terms = encoding.terms
    exact = [term.level is not None or term.missing for term in terms]
    return np.where(exact | (scale == 0.0), 0.0, [by_name.get(t.column, 0.0) for t in terms])


def class_space(
    x: Floats, codes: Ints, w: Floats, label: int, max_nodes: int, perturbation: Floats
) -> ClassSpace:
    """The version space of one class against all others.

    Rows that the box with the fewest errors has on its wrong side are errors; the version space is
    that of the other rows. Perturbed rows have a column for each face of boxes.
    """
    members = codes == label
    weight = float(w[members].sum())
    perturbed = bool(perturbation.any())
    if perturbed:
        x = version_space.both_faces(x, members, perturbation)
    if not members.any():
        empty = (
            version_space.perturbed_space(x[:0], x, perturbation)
            if perturbed
            else version_space.version_space(x[:0], x)
        )
        return ClassSpace(empty, 0.0, 0.0, 0.0, 0.0, 0.0)
    fewest = version_space.fewest_errors(x, members, w, max_nodes)
    inside = ((x >= fewest.lower) & (x <= fewest.upper)).all(axis=1)
    positive, negative = x[members & inside], x[~members & ~inside]
    space = (
        version_space.perturbed_space(positive, negative, perturbation)
        if perturbed
        else version_space.version_space(positive, negative)
    )
    covered, others = float(w[members & inside].sum()), float(w[~members & inside].sum())
    return ClassSpace(space, weight - covered + others, fewest.bound, covered, others, weight)


def certificate(spaces: list[ClassSpace], *, perturbed: bool = False) -> Certificate:
    """The errors of the boxes, and the fewest that boxes can have."""
    errors = sum(found.errors for found in spaces)
    bound = min(errors, sum(found.bound for found in spaces))
    gap = errors - bound
    total = sum(found.weight for found in spaces)
    rounding = 64.0 * float(np.finfo(float).eps) * total  # a pairwise sum of up to 2⁶⁴ weights
    exact = gap <= rounding
    if errors == 0.0:
        claim = "Each box contains all rows of its class and no other row"
    elif exact:
        claim = (
            "No boxes with a row of their class make fewer errors (rows of a class outside of its "
            "box, others inside)"
            + without_a_box([(space.errors, space.weight) for space in spaces])
        )
    else:
        claim = (
            "No change of a box in one column makes fewer errors (rows of a class outside of its "
            "box, others inside), and whether another box does is open"
        )
    notes: tuple[str, ...] = ()
    if perturbed:
        notes = (
            "A row of the class is inside where some place within the perturbation is, another row "
            "where all such places are.",
        )
        if errors == 0.0:
            notes += (
                "If a class is a box and the true rows are within the perturbation, its box "
                "contains S and lies in a member of G.",
            )
    return Certificate(
        claim,
        primal=errors,
        dual=errors if exact else bound,
        gap=0.0 if exact else gap,
        tolerance=1e-9,
        rounding=rounding,
        notes=notes,
        promised=("gap",),
    )


def without_a_box(classes: Sequence[tuple[float, float]]) -> str:
    """What to add where classes, given by their errors and weight, do better without any box."""
    fewer = [weight < errors for errors, weight in classes]
    if not any(fewer):
        return ""
    least = sum(min(pair) for pair in classes)
    return (
        f"; {sum(fewer)} of {len(fewer)} classes had better have no box, as other rows outweigh "
        f"theirs: that makes {least:g}"
    )


# -------------------------------------------------------------------------------------------------
# Version spaces of a table that is read in blocks: two statistics, each of one pass.
#
# The smallest and largest values of each class are S. The second pass looks for rows of other
# classes inside: if there are none, the rows that bound G are all that is needed. Both merge with
# ``+``.


@dataclass
class ClassExtremes:
    """Smallest and largest value of each column, and the weight, for each class."""

    faces: dict[Term, Floats] = field(default_factory=dict)
    weight: dict[Term, float] = field(default_factory=dict)

    def fresh(self) -> Self:
        """The statistic of no rows."""
        return type(self)()

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        for j, term in enumerate(block.targets):
            members = (block.y[:, j] > 0.5) & (block.weights > 0.0)
            if members.any():
                extremes = column_extremes(np.ascontiguousarray(block.dense()[members]))
                self._add(term, extremes, float(block.weights[members].sum()))

    def _add(self, term: Term, faces: Floats, weight: float) -> None:
        if term in self.faces:
            low = np.minimum(self.faces[term][0], faces[0])
            faces = np.stack([low, np.maximum(self.faces[term][1], faces[1])])
        self.faces[term] = faces
        self.weight[term] = self.weight.get(term, 0.0) + weight

    def __add__(self, other: Self) -> Self:
        total = type(self)(dict(self.faces), dict(self.weight))
        for term, faces in other.faces.items():
            total._add(term, faces, other.weight[term])
        return total


class OtherClasses:
    """The rows of other classes that bound G of each class, and whether any is inside S.

    With a ``perturbation`` rows and faces have a column for each face.
    """

    def __init__(self, faces: dict[Term, Floats], perturbation: Floats | None = None) -> None:
        self.faces, self.perturbation = faces, perturbation
        self.rows: dict[Term, Floats] = {}
        self.inside = False

    def fresh(self) -> Self:
        """The statistic of no rows."""
        return type(self)(self.faces, self.perturbation)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        if self.inside:
            return
        x = block.dense()
        for term, faces in self.faces.items():
            j = block.targets.position.get(term)
            other = block.weights > 0.0
            if j is not None:
                other &= block.y[:, j] < 0.5
            rows = x[other]
            if self.perturbation is not None:
                rows = version_space.both_faces(rows, np.zeros(len(rows), bool), self.perturbation)
                rows = version_space.one_sided(rows, faces)
            self._add(term, version_space.bounding(rows, *faces))

    def _add(self, term: Term, rows: Floats) -> None:
        if term in self.rows:
            joined = np.concatenate([self.rows[term], rows])
            rows = version_space.bounding(joined, *self.faces[term])
        self.rows[term] = rows
        self.inside = self.inside or bool(np.isnan(rows).all(axis=1).any())

    def __add__(self, other: Self) -> Self:
        total = self.fresh()
        total.rows, total.inside = dict(self.rows), self.inside or other.inside
        if not total.inside:
            for term, rows in other.rows.items():
                total._add(term, rows)
        return total


def consistent_spaces(model: Any, X: Rows) -> tuple[list[ClassSpace], Encoding, Floats, int] | None:
    """Version spaces of a stream, its encoding, the range of each design column, and its rows.

    None for rows in memory, and where no boxes are consistent.
    """
    if isinstance(X, InMemory):
        return None
    rows = class_labels.class_rows(model, X, None, None)
    prepared = prepare(rows)
    terms = class_labels.class_terms(model, rows, prepared.targets)
    first = prepared.rows.reduce(ClassExtremes())
    lower, upper = zip(*first.faces.values(), strict=True)
    scale = np.max(upper, axis=0) - np.min(lower, axis=0)
    bounds = perturbation_of(model.perturbation, prepared.encoding, scale)
    model.perturbation_ = bounds
    perturbed, faces = bool(bounds.any()), first.faces
    if perturbed:
        faces = {term: np.concatenate([face, face], axis=1) for term, face in faces.items()}
    second = prepared.rows.reduce(OtherClasses(faces, bounds if perturbed else None))
    if second.inside:
        return None
    spaces = []
    for code in model._concept_codes():
        term = terms.items[code]
        space = (
            version_space.within_perturbed(faces[term], second.rows[term], bounds)
            if perturbed
            else version_space.within_bounds(faces[term], second.rows[term])
        )
        weight = first.weight[term]
        spaces.append(ClassSpace(space, 0.0, 0.0, weight, 0.0, weight))
    return spaces, prepared.encoding, scale, prepared.moments.count


# -------------------------------------------------------------------------------------------------
# Boxes in words: one rule for each class, with the names of the columns.


def rule(box: version_space.Box, terms: Sequence[Term]) -> str:
    """The conditions of a box, ``2.1 ≤ petal width ≤ 2.5 and color = red``.

    Faces that are infinite have no condition; a box without any is "always", one of no points
    "never".
    """
    if box.empty:
        return "never"
    conditions = [
        text
        for term, low, high in zip(terms, box.lower.tolist(), box.upper.tolist(), strict=True)
        if (text := _condition(term, low, high, "<" if box.open else "≤"))
    ]
    return " and ".join(conditions) or "always"


def any_of(rules: Sequence[str]) -> str:
    """Rules joined by "or", in parentheses where they have several conditions."""
    if len(rules) == 1:
        return rules[0]
    return " or ".join(f"({text})" if " and " in text else text for text in rules)


def _condition(term: Term, low: float, high: float, sign: str) -> str:
    if term.level is not None:
        return _level(term, low, high)
    below, above = np.isfinite(low), np.isfinite(high)
    name = str(term)
    if below and above:
        if low == high:
            return f"{name} = {low:.6g}"
        return f"{low:.6g} {sign} {name} {sign} {high:.6g}"
    if above:
        return f"{name} {sign} {high:.6g}"
    return f"{name} {'>' if sign == '<' else '≥'} {low:.6g}" if below else ""


def _level(term: Term, low: float, high: float) -> str:
    """An indicator is 0 or 1: a face between them asks for the level, or for another."""
    if low > 0.0:
        return f"{term.column} = {term.level}"
    return f"{term.column} ≠ {term.level}" if high < 1.0 else ""
