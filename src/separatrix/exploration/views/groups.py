"""Questions of the view: sweeps, a tree, silhouettes, and the certificate of the estimator."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

import separatrix as sx
from separatrix.arrays import Floats, Ints, NDArray
from separatrix.cluster.scatter import cluster_projection
from separatrix.cluster.sweeps import (
    Sweep,
    kernel_sweeps,
    kmeans_sweeps,
    kmedoids_sweeps,
    medoid_distances,
)
from separatrix.exploration import plots
from separatrix.exploration.session import Session
from separatrix.exploration.state import ViewState
from separatrix.messages import InputError
from separatrix.pictures.cluster import ClusterProjectionDisplay
from separatrix.statistics.moments import Standardizer

#: What the sweeps depend on.
CAUSES = ("data", "plane", "x", "y", "standardize", "method", "k", "init", "seed", "start")


def trace(session: Session, state: ViewState) -> dict[str, Any]:
    """The points and all sweeps: places of centers, labels and loss."""
    at = cloud(session, state)
    sweeps = _sweeps(session, state)
    most_sweeps = 120  # A page is sent so many sweeps: of more, the first ones and the last
    if len(sweeps) > most_sweeps:
        sweeps = [*sweeps[: most_sweeps - 1], sweeps[-1]]
    moved = [0] + [int((a.labels != b.labels).sum()) for a, b in pairwise(sweeps)]
    centers = None
    if all(sweep.centers is not None for sweep in sweeps):
        centers = plots.pack([at.project(np.asarray(s.centers)) for s in sweeps], "float64")
    return {
        **_points(at),
        "k": clusters(state, at),
        "centers": centers,
        "labels": plots.pack([sweep.labels for sweep in sweeps], "uint8"),
        "losses": [float(sweep.loss) for sweep in sweeps],
        "steps": [sweep.step for sweep in sweeps],
        "moved": moved,
    }


def tree(session: Session, state: ViewState) -> dict[str, Any]:
    """The points, and the merges of the tree with the places of its nodes."""
    at, model = cloud(session, state), _tree(session, state)
    dendrogram = model.dendrogram_
    return {
        **_points(at),
        "left": plots.pack(dendrogram.left, "int32"),
        "right": plots.pack(dendrogram.right, "int32"),
        "heights": plots.pack(dendrogram.heights, "float64"),
        "tops": plots.pack(dendrogram.max_heights, "float64"),
        "first": plots.pack(dendrogram.first_leaf, "int32"),
        "inversions": len(dendrogram.inversions),
        "certificate": plots.certificate_state(model.certificate_),
    }


def silhouettes(session: Session, state: ViewState) -> dict[str, Any]:
    """Silhouettes of a sweep, or of the tree where it is cut: sorted by cluster, largest first."""
    at, labels = cloud(session, state), _labels(session, state)
    comparable = 2 <= len(np.unique(labels)) < len(labels)
    python = _python(state, at, comparable)
    if not comparable:
        return {"silhouette": None, "python": python}
    silhouette = sx.silhouette(at.z, labels)
    order = np.lexsort((-silhouette.samples, labels))
    return {
        "python": python,
        "silhouette": {
            "rows": plots.pack(order, "int32"),
            "labels": plots.pack(labels[order], "int32"),
            "values": plots.pack(silhouette.samples[order], "float64"),
            "mean": silhouette.score,
        },
    }


def certificate(session: Session, state: ViewState) -> dict[str, Any]:
    """The estimator itself: what it proves of the last sweep, and regions of a kernel."""
    at = cloud(session, state)
    model, _ = estimator(state, at)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the certificate has the same reason
        model.fit(at.x)
    same = bool((model.labels_ == _sweeps(session, state)[-1].labels).all())
    answer: dict[str, Any] = {
        "certificate": plots.certificate_state(model.certificate_) if same else None
    }
    grid = 64, 40  # columns and rows of the grid on which regions of a kernel are drawn
    if state.choice("method", METHODS) == "kernel" and at.directions is None:
        regions = model.predict(plots.cells(plots.frame(at.places), grid))
        answer |= {"grid": grid, "regions": plots.pack(regions, "uint8")}
    return answer


def _sweeps(session: Session, state: ViewState) -> list[Sweep]:
    names = (*CAUSES, *(["bandwidth"] if state.values.get("method") == "kernel" else []))
    key = ("sweeps", repr([state.values.get(name) for name in names]))
    return session.once(key, lambda: sweeps(session, state, cloud(session, state)))


def _tree(session: Session, state: ViewState) -> Any:
    key = ("tree", repr([state.values.get(name) for name in (*CAUSES[:5], "linkage")]))
    at = cloud(session, state)
    return session.once(key, lambda: tree_estimator(state, at)[0].fit(at.x))


def _labels(session: Session, state: ViewState) -> NDArray[np.integer]:
    if state.choice("method", METHODS) == "tree":
        level = state.number("level", 0.0, 0.0, 1e300)
        labels: Ints = _tree(session, state).dendrogram_.cut(level=level)
        return labels
    sweeps = _sweeps(session, state)
    return sweeps[min(state.whole("at", len(sweeps) - 1, 0, 10_000), len(sweeps) - 1)].labels


def _points(cloud: Cloud) -> dict[str, Any]:
    if len(cloud.x) < 3:
        raise InputError("there are fewer than three points.")
    return {
        "places": plots.pack(cloud.places, "float64"),
        "numbers": plots.pack(cloud.numbers, "int32"),
        "box": plots.frame(cloud.places).tolist(),
        "axes": cloud.axes,
        "share": cloud.share,
        "columns": cloud.x.shape[1],
        "standardized": cloud.standardizer is not None,
        "scale": None if cloud.directions is not None else cloud.scale.tolist(),
    }


def _python(state: ViewState, cloud: Cloud, comparable: bool) -> str:
    """The estimator, its groups and their silhouettes where there are several."""
    text = estimator(state, cloud)[1]
    lines = ["import separatrix as sx", *cloud.python, f"model = {text}.fit(X)"]
    labels = "model.labels_"
    if state.choice("method", METHODS) == "tree":
        level = state.number("level", 0.0, 0.0, 1e300)
        lines.append(f"labels = model.dendrogram_.cut(level={level!r})")
        labels = "labels"
    seen = "model.standardizer_.transform(X)" if cloud.standardizer is not None else "X"
    if comparable:
        lines.append(f"print(sx.silhouette({seen}, {labels}))")
    return "\n".join(lines)


QUESTIONS = {"trace": trace, "tree": tree, "silhouettes": silhouettes, "certificate": certificate}


# -------------------------------------------------------------------------------------------------
# How the state becomes sweeps, a tree, an estimator, and the line of Python that makes it.


METHODS = ("kmeans", "kmedoids", "kernel", "tree")
LINKAGES = ("ward", "single", "complete", "average", "centroid")

#: Most clusters of a picture.
MOST = 12


def clusters(state: ViewState, cloud: Cloud) -> int:
    """The number of clusters."""
    return min(state.whole("k", 3, 1, MOST), len(cloud.x))


def start_places(state: ViewState, k: int) -> Floats | None:
    """Places at which the hand put the centers; None where they are drawn by a seed."""
    given = state.items("start", MOST)
    if len(given) != k:
        return None
    if not all(isinstance(place, list) and len(place) == 2 for place in given):
        raise InputError("start is not a list of places of two numbers.")
    reader = [[ViewState({"start": value}) for value in place] for place in given]
    return np.array([[v.number("start", 0.0, -1e150, 1e150) for v in place] for place in reader])


def initial(state: ViewState, cloud: Cloud) -> Any:
    """``init`` of K-means (name, or centers of ``z``) or of k-medoids (name, or row numbers)."""
    medoids = state.choice("method", METHODS) == "kmedoids"
    places = start_places(state, clusters(state, cloud))
    if places is None:
        drawn = state.choice("init", ["plusplus", "random"])
        return "random" if drawn == "random" else "k-medoids++" if medoids else "k-means++"
    return _nearest_rows(cloud, cloud.lift(places)) if medoids else cloud.lift(places)


def _nearest_rows(cloud: Cloud, centers: Floats) -> list[int]:
    """The row nearest to every place, none twice."""
    chosen: list[int] = []
    for center in centers:
        away = ((cloud.z - center) ** 2).sum(axis=1)
        away[chosen] = np.inf
        chosen.append(int(away.argmin()))
    return chosen


def gamma(state: ViewState) -> float:
    """γ = 1/(2σ²) of the bandwidth σ, in the units of ``z``."""
    return float(0.5 / state.number("bandwidth", 1.0, 1e-3, 1e3) ** 2)


def sweeps(session: Session, state: ViewState, cloud: Cloud) -> list[Sweep]:
    """The states from the start to the fixed point."""
    method, k = state.choice("method", METHODS), clusters(state, cloud)
    seed = state.whole("seed", 0, 0, 2**31 - 1)
    if method == "kernel":
        return kernel_sweeps(cloud.z, k, gamma(state), seed)
    if method == "kmedoids":
        key = ("distances", id(cloud))
        distances = session.once(key, lambda: (medoid_distances(cloud.z), cloud))[0]
        return kmedoids_sweeps(cloud.z, distances, k, initial(state, cloud), seed)
    return kmeans_sweeps(cloud.z, k, initial(state, cloud), seed)


def estimator(state: ViewState, cloud: Cloud) -> plots.ChosenEstimator:
    """The estimator of the state, and its Python."""
    method = state.choice("method", METHODS)
    if method == "tree":
        return tree_estimator(state, cloud)
    standardize = _standardize(cloud)
    k, seed = clusters(state, cloud), state.whole("seed", 0, 0, 2**31 - 1)
    if method == "kernel":
        given: dict[str, Any] = {
            "gamma": gamma(state),
            "n_init": 1,
            "random_state": seed,
            **standardize,
        }
        return plots.make_estimator("KernelKMeans", k, **given)
    init = initial(state, cloud)
    if isinstance(init, str):
        given = {"init": init, "n_init": 1, "random_state": seed, **standardize}
    else:
        centers = init if isinstance(init, list) else cloud.raw(init).tolist()
        given = {"init": centers, **standardize}
    if method == "kmedoids":
        return plots.make_estimator("KMedoids", k, **given)
    return plots.make_estimator("KMeans", k, **given)


def tree_estimator(state: ViewState, cloud: Cloud) -> plots.ChosenEstimator:
    """The estimator of the tree of the state, and its Python."""
    given = {"linkage": state.choice("linkage", LINKAGES), **_standardize(cloud)}
    return plots.make_estimator("AgglomerativeClustering", **given)


def _standardize(cloud: Cloud) -> dict[str, Any]:
    return {"standardize": True} if cloud.standardizer is not None else {}


# -------------------------------------------------------------------------------------------------
# The rows to group, and the plane in which they are drawn.
#
# two columns           the plane is theirs, in their units
# principal directions  of all columns of numbers, standardized: groups are found in all of them


@dataclass(frozen=True)
class Cloud:
    """Rows ``x`` (n × d), the same as methods see them (``z``), and what draws them."""

    x: Floats
    z: Floats
    numbers: Ints
    axes: tuple[str, str]
    python: tuple[str, ...]
    standardizer: Standardizer | None = None
    directions: Floats | None = None
    share: float = 1.0

    @property
    def places(self) -> Floats:
        """Where the rows are drawn (n × 2)."""
        return self.x if self.directions is None else self.z @ self.directions

    @property
    def scale(self) -> Floats:
        """By how much distances in the plane of two columns are divided."""
        return np.ones(2) if self.standardizer is None else self.standardizer.scale

    def project(self, z: Floats) -> Floats:
        """Where centers are drawn."""
        return self.raw(z) if self.directions is None else z @ self.directions

    def lift(self, places: Floats) -> Floats:
        """Centers of a place of the plane, as methods see them."""
        if self.directions is not None:
            return np.asarray(places @ self.directions.T)
        return places if self.standardizer is None else self.standardizer.transform(places)

    def raw(self, z: Floats) -> Floats:
        """Rows or centers in the units of the table."""
        return z if self.standardizer is None else self.standardizer.inverse_transform(z)


def cloud(session: Session, state: ViewState) -> Cloud:
    """The rows that the state names."""
    key = [state.values.get(name) for name in ("data", "plane", "x", "y", "standardize")]
    return session.once(("cloud", repr(key)), lambda: _cloud(session, state))


def _cloud(session: Session, state: ViewState) -> Cloud:
    if state.choice("data", ["table", "rings"]) == "rings":
        x = rings()
        text = ("from separatrix.exploration.views.groups import rings", "", "X = rings()")
        return Cloud(x, x, np.arange(len(x)), ("across", "up"), text)
    table = session.table
    principal = state.choice("plane", ["principal", "columns"]) == "principal"
    names = list(table.numbers)
    if not names:
        raise InputError(
            "groups need a column of numbers that vary.", remedy="Choose another view."
        )
    if not principal:
        names = [state.choice("x", names), state.choice("y", names, names[-1])]
    rows = table.complete(names)
    if len(rows) < 3:
        raise InputError(f"only {len(rows)} rows have no missing value in {', '.join(names)}.")
    x = table.matrix(names)[rows]
    lines = (
        "from separatrix.exploration import read_table",
        "",
        f"table = {table.source}",
        f"names = {names!r}",
        "X = table.matrix(names)[table.complete(names)]",
    )
    if not principal and not state.flag("standardize", True):
        return Cloud(x, x, rows, (names[0], names[1]), lines)
    standardizer = Standardizer.from_rows(x, np.ones(len(x)))
    z = standardizer.transform(x)
    if not principal:
        return Cloud(x, z, rows, (names[0], names[1]), lines, standardizer)
    codes = np.zeros(len(z), dtype=np.int64)  # one cluster: the plane of largest scatter
    plane = cluster_projection(z, codes)
    display = ClusterProjectionDisplay(plane, codes, ["all"], names)
    first, second = (f"direction {i + 1}: {', '.join(display.main_columns(i))}" for i in (0, 1))
    return Cloud(x, z, rows, (first, second), lines, standardizer, plane.directions, plane.total)


# -------------------------------------------------------------------------------------------------
# Two rings, one inside of the other: groups that no straight line separates.


def rings() -> Floats:
    """100 points about a circle of radius 0.6, and 200 about one of radius 3.

    Examples
    --------
    >>> from separatrix.exploration.views.groups import rings
    >>> rings().shape
    (300, 2)
    """
    rng, outlines = np.random.default_rng(0), []
    for count, radius in ((100, 0.6), (200, 3.0)):
        angle = 2 * np.pi * np.arange(count) / count
        r = radius + 0.16 * rng.standard_normal(count)
        outlines.append(np.column_stack([r * np.cos(angle), r * np.sin(angle)]))
    return np.vstack(outlines)
