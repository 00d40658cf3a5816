"""
Sixteen years, six near twins: how strong a prior do they want?
===============================================================

Longley's columns hardly differ in what they say, so least squares gives them huge coefficients of
opposite signs. A prior pulls them to zero. How hard it should pull, the rows can tell.
"""

from statsmodels.datasets import longley

import separatrix as sx
from separatrix.pictures import CoefficientDisplay, EvidenceCurveDisplay

table = longley.load_pandas()
X, y = table.exog, table.endog

# %%
# The evidence is the probability of these sixteen numbers before they were seen, with all
# coefficients integrated out: a curve over the precision of the prior, with one maximum.

model = sx.BayesianRidge(standardize=True).fit(X, y)
print(f"log evidence {model.log_evidence_:.2f} at a prior precision of {model.lambda_:.3g}")

EvidenceCurveDisplay.from_estimator(model)

# %%
# Coefficients per standard deviation of their column, before and after.

squares = sx.LinearRegression().fit(X, y)
for name, before, after, scale in zip(X.columns, squares.coef_, model.coef_, X.std(), strict=True):
    print(f"{name:8} {scale * before:8.0f} → {scale * after:6.0f}")

CoefficientDisplay.from_estimator(model, X)

# %%
# Does it predict better? Each year from the fifteen others:


def left_out(estimator):
    """Root mean square error, each year left out in turn."""
    errors = []
    for i in X.index:
        fitted = estimator.fit(X.drop(index=i), y.drop(index=i))
        errors.append((y[i] - fitted.predict(X.loc[[i]])[0]) ** 2)
    return (sum(errors) / len(errors)) ** 0.5


errors = [left_out(sx.LinearRegression()), left_out(sx.BayesianRidge(standardize=True))]
print(f"least squares {errors[0]:.0f} thousand jobs off, with the prior {errors[1]:.0f}:", end=" ")
print(
    "better"
    if errors[1] < errors[0]
    else "not better; what it buys is coefficients that make sense"
)
