"""
Is consumption a straight line of income?
=========================================

Fifty years of American households, quarter by quarter: what they could spend and what they did. A
straight line explains nearly all of it. Polynomials explain more, as they must; is a bend
justified?
"""

from statsmodels.datasets import macrodata

import separatrix as sx
from separatrix.pictures import CriteriaDisplay, ResidualDisplay

table = macrodata.load_pandas().data
X, y = table[["realdpi"]], table["realcons"]

# %%

line = sx.PolynomialRegression(1).fit(X, y)
print(f"R² of a straight line: {line.score(X, y):.4f}")
ResidualDisplay.from_predictions(y, line.predict(X), row_labels=table["year"].astype(int))

# %%
# What is left has a shape. Every criterion charges for further degrees, each in its own way:

orders = [sx.PolynomialRegression(k) for k in range(1, 9)]
found = sx.criteria(orders, X, y)
for name, choice in found.choices.items():
    print(f"{name:20} " + ("–" if choice is None else f"degree {choice}"))

CriteriaDisplay(found)

# %%
# Quarters that follow each other are alike, and most of these criteria take rows for independent.
# The last ten years, predicted from the years before:

early, late = table["year"] < 1999, table["year"] >= 1999
for model in orders[:5]:
    model.fit(X[early], y[early])
    error = ((y[late] - model.predict(X[late])) ** 2).mean() ** 0.5
    digits = model.certificate_.digits
    print(f"degree {model.degree}: {error:7.1f} billion dollars off ({digits:.0f} correct digits)")
