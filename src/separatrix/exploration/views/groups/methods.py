"""How the state becomes sweeps, a tree, an estimator, and the line of Python that makes it."""

from __future__ import annotations

from typing import Any

import numpy as np

import separatrix as sx
from separatrix.cluster.sweeps import (
    Sweep,
    kernel_sweeps,
    kmeans_sweeps,
    kmedoids_sweeps,
    medoid_distances,
)
from separatrix.exploration.session import Session
from separatrix.exploration.state import State
from separatrix.exploration.views.groups.cloud import Cloud
from separatrix.messages import InputError
from separatrix.rows.block import Floats

METHODS = ("kmeans", "kmedoids", "kernel", "tree")
LINKAGES = ("ward", "single", "complete", "average", "centroid")

#: Most clusters of a picture.
MOST = 12


def clusters(state: State, cloud: Cloud) -> int:
    """The number of clusters."""
    return min(state.whole("k", 3, 1, MOST), len(cloud.x))


def start_places(state: State, k: int) -> Floats | None:
    """Places at which the hand put the centers; None where they are drawn by a seed."""
    given = state.items("start", MOST)
    if len(given) != k:
        return None
    if not all(isinstance(place, list) and len(place) == 2 for place in given):
        raise InputError("start is not a list of places of two numbers.")
    reader = [[State({"start": value}) for value in place] for place in given]
    return np.array([[v.number("start", 0.0, -1e150, 1e150) for v in place] for place in reader])


def initial(state: State, cloud: Cloud) -> Any:
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


def gamma(state: State) -> float:
    """γ = 1/(2σ²) of the bandwidth σ, in the units of ``z``."""
    return float(0.5 / state.number("bandwidth", 1.0, 1e-3, 1e3) ** 2)


def sweeps(session: Session, state: State, cloud: Cloud) -> list[Sweep]:
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


def estimator(state: State, cloud: Cloud) -> tuple[Any, str]:
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
        return sx.KernelKMeans(k, **given), _call("KernelKMeans", given, k)
    init = initial(state, cloud)
    if isinstance(init, str):
        given = {"init": init, "n_init": 1, "random_state": seed, **standardize}
    else:
        centers = init if isinstance(init, list) else cloud.raw(init).tolist()
        given = {"init": centers, **standardize}
    if method == "kmedoids":
        return sx.KMedoids(k, **given), _call("KMedoids", given, k)
    return sx.KMeans(k, **given), _call("KMeans", given, k)


def tree_estimator(state: State, cloud: Cloud) -> tuple[Any, str]:
    """The estimator of the tree of the state, and its Python."""
    given = {"linkage": state.choice("linkage", LINKAGES), **_standardize(cloud)}
    return sx.AgglomerativeClustering(**given), _call("AgglomerativeClustering", given)


def _standardize(cloud: Cloud) -> dict[str, Any]:
    return {"standardize": True} if cloud.standardizer is not None else {}


def _call(name: str, given: dict[str, Any], *first: Any) -> str:
    values = [repr(v) for v in first] + [f"{key}={value!r}" for key, value in given.items()]
    return f"sx.{name}({', '.join(values)})"
