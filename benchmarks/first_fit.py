"""What a newcomer waits for: import, help, the first fit ever (compiling) and the next ones."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FITS = """
import numpy as np, separatrix as sx, time, warnings
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
x = rng.standard_normal((200, 8)); y = x @ rng.standard_normal(8) + rng.standard_normal(200)
wide = rng.standard_normal((40, 600)); t = rng.standard_normal(40)
v = np.vander(np.linspace(1, 2, 50), 9)[:, :-1]
labels = np.where(y > 0, "yes", "no")
[getattr(sx, name) for name in sx.__all__]  # imports are timed apart from compilation
FAMILIES = {
    "least squares": lambda: (
        sx.LinearRegression().fit(x, y).summary(), sx.LinearRegression().fit(v, v.sum(axis=1)),
        sx.RidgeCV().fit(x, y), sx.LassoCV().fit(x, y), sx.LassoPath().fit(wide, t),
        sx.HuberRegressor().fit(x, y), sx.LeastAbsoluteRegressor().fit(x, y),
        sx.PolynomialRegression(2).fit(x, y), sx.TotalLeastSquares().fit(x, y),
        sx.LeastSquaresClassifier().fit(x, labels), sx.BasicLinearClassifier().fit(x, labels),
    ),
    "classes": lambda: (
        sx.LinearDiscriminantAnalysis().fit(x, labels), sx.NaiveBayes().fit(x, labels).predict(x),
        sx.QuadraticDiscriminantAnalysis().fit(x, labels).predict_proba(x),
        sx.LogisticRegression(C=1.0).fit(x, labels), sx.IsotonicCalibration().fit(y, labels),
        sx.LogisticCV(5, l1_ratio=1.0, cv=3).fit(x, labels),
    ),
    "support vectors": lambda: (
        sx.Perceptron().fit(x, labels), sx.KernelPerceptron().fit(x, labels),
        sx.SVC().fit(x, labels).predict(x), sx.SVR().fit(x, y), sx.LinearSVC().fit(x, labels),
        sx.LinearSVR().fit(x, y), sx.SVMPath().fit(x, labels), sx.linear_separability(x, labels),
    ),
    "neighbors": lambda: (
        sx.KNeighborsClassifier("auto").fit(x, labels).predict(x), sx.NadarayaWatson().fit(x, y),
        sx.NearestExemplar("manhattan", "medoid").fit(x, labels),
    ),
    "clusters": lambda: (
        sx.KMeans(3).fit(x), sx.KMedoids(3).fit(x), sx.silhouette(x, labels),
        [sx.AgglomerativeClustering(3, linkage=way).fit(x)
         for way in ("single", "complete", "centroid", "ward")],
    ),
}
for name, fits in FAMILIES.items():
    start = time.perf_counter()
    fits()
    print(f"{name}|{time.perf_counter() - start}")
"""


def timed(*command: str, **env: str) -> tuple[float, str]:
    start = time.perf_counter()
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, **env}
    )
    return time.perf_counter() - start, done.stdout.strip()


def main(_quick: bool = False) -> None:
    print("\n## First use in a new process")
    script = str(Path(sys.executable).with_name("separatrix"))
    print(f"import separatrix      {timed(sys.executable, '-c', 'import separatrix')[0]:.2f} s")
    every = "import separatrix as sx; [getattr(sx, name) for name in sx.__all__]"
    print(f"import every model     {timed(sys.executable, '-c', every)[0]:.2f} s")
    print(f"separatrix --help      {min(timed(script, '--help')[0] for _ in range(3)):.2f} s")
    with tempfile.TemporaryDirectory() as cache:
        first, second = (
            dict(line.split("|") for line in _fits(cache).splitlines()) for _ in range(2)
        )
    for family in first:
        print(
            f"{family:16} every kernel of theirs, first ever {float(first[family]):5.2f} s, "
            f"in the next process {float(second[family]):5.2f} s"
        )


def _fits(cache: str) -> str:
    return timed(sys.executable, "-c", FITS, NUMBA_CACHE_DIR=cache)[1]


if __name__ == "__main__":
    main()
