"""
Does a model predict the same when it leaves the library?
=========================================================

A support vector machine needs its rows, calibration its sigmoid, the reject option its costs. All
of it can be written as a graph that other programs run, or as plain Python. Is anything lost?
"""

# %%
# A Gaussian SVM on two measurements of tumors, in standard units.
import numpy as np
import onnxruntime
from sklearn.datasets import load_breast_cancer

import separatrix as sx
from separatrix.pictures import SupportVectorDisplay

tumors = load_breast_cancer()
X, y = tumors.data[:, [1, 4]], tumors.target_names[tumors.target]
X = (X - X.mean(axis=0)) / X.std(axis=0)
svm = sx.SVC(gamma=0.3).fit(X[::2], y[::2])
SupportVectorDisplay.from_estimator(svm, X[::2], y[::2], names=["texture", "smoothness"])

# %%
# With calibrated probabilities, as an ONNX graph in double precision, run by ONNX Runtime.
calibrated = sx.CalibratedClassifier(sx.SVC(gamma=0.3), method="platt").fit(X[::2], y[::2])
graph = sx.export_model(calibrated, "onnx")
session = onnxruntime.InferenceSession(graph.content)
answers, p = session.run(["prediction", "probabilities"], {"X": np.ascontiguousarray(X)})
print(graph.check)
equal = (answers == calibrated.predict(X)).sum()
print(f"{len(graph.content):,} bytes; {equal} of {len(X)} answers equal")
print(f"largest difference of a probability: {np.abs(p - calibrated.predict_proba(X)).max():.0e}")

# %%
# As a Python module that imports nothing but ``math``: here a logistic model that may abstain.
careful = sx.RejectOption(sx.LogisticRegression(), costs=0.2).fit(X[::2], y[::2])
module = sx.export_model(careful, "python")
space = {}
exec(module.content, space)
rows = [space["predict"]({"x0": a, "x1": b}) for a, b in X]
equal = sum(
    row["predicted"] == answer for row, answer in zip(rows, careful.predict(X), strict=True)
)
print(module.check)
print(f"{equal} of {len(X)} answers equal; the first: {rows[0]['predicted']}")

# %%
# What a language cannot hold is refused, and the refusal names those that can.
try:
    sx.export_model(svm, "sql")
except ValueError as refusal:
    print(refusal)
