"""
Is a naive Bayes probability of 99 % right 99 times?
====================================================

Naive Bayes takes its columns for independent. The thirty measurements of a tumor are not: radius,
perimeter and area say one thing three times, and the model counts it three times. Its answers may
still be right; are its probabilities?
"""

# %%
# Train on every other tumor, and calibrate on out-of-fold scores of the same training rows.
from sklearn.datasets import load_breast_cancer

import separatrix as sx
from separatrix.pictures import CalibrationDisplay

tumors = load_breast_cancer()
X, y = tumors.data, tumors.target_names[tumors.target]
train, test = slice(0, None, 2), slice(1, None, 2)
models = {
    "as it is": sx.GaussianNB(),
    "sigmoid": sx.CalibratedClassifier(sx.GaussianNB(), method="platt"),
    "isotonic": sx.CalibratedClassifier(sx.GaussianNB(), method="isotonic"),
}
p = {name: m.fit(X[train], y[train]).predict_proba(X[test])[:, 1] for name, m in models.items()}
sure = p["as it is"] > 0.99
right = (y[test][sure] == "malignant").mean()
print(f"{sure.sum()} tumors have a probability above 99 % of being malignant: {right:.1%} are")

# %%
# Observed frequencies against predicted probabilities of the test rows. The diagonal is where they
# should be.
CalibrationDisplay.from_predictions(y[test], {k: p[k] for k in ("as it is", "sigmoid")})

# %%
# The Brier score is the mean squared error of a probability; the calibration error how far the dots
# are from the diagonal.
print("            Brier   error  wrong")
for name, values in p.items():
    found = sx.reliability(y[test], values)
    errors = ((values > 0.5) != (y[test] == "malignant")).sum()
    print(f"{name:>9} {found.brier:7.4f} {found.expected_calibration_error:7.4f} {errors:6}")
