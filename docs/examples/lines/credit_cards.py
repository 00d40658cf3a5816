"""
Credit cards: are the standard errors right?
============================================

What 72 households spent with a credit card, by age, income and whether they own their home. The
spread of the spending grows with its mean: then the usual standard errors are not valid.
"""

from statsmodels.datasets import ccard

import separatrix as sx
from separatrix.pictures import ScaleLocationDisplay

table = ccard.load_pandas().data
X, y = table[["AGE", "INCOME", "INCOMESQ", "OWNRENT"]], table["AVGEXP"]
model = sx.LinearRegression().fit(X, y)

# %%
# Residuals that fan out to the right:

ScaleLocationDisplay.from_estimator(model, X, y)

# %%
# Standard errors for equal variances, and four that allow for any.

print(" " * 10 + "".join(f"{name:>10}" for name in model.summary().names))
for kind in ("nonrobust", "HC0", "HC1", "HC2", "HC3"):
    summary = model.summary() if kind == "nonrobust" else model.summary(covariance=kind)
    print(f"{kind:10}" + "".join(f"{error:10.2f}" for error in summary.standard_errors))

# %%
# Is the variance tied to the income? Regress squared residuals on it (Breusch and Pagan): n R² is
# large if so.

squares = (y - model.predict(X)) ** 2
lines = X[["INCOME", "INCOMESQ"]]
statistic = len(y) * sx.LinearRegression().fit(lines, squares).score(lines, squares)
print(f"n R² = {statistic:.1f}; chance alone exceeds 5.99 in 5 % of tables")

low, high = model.summary(covariance="HC3").intervals[2]
print(f"income: {model.coef_[1]:.0f} dollars a step, 95 % interval {low:.0f} to {high:.0f} (HC3)")
print("zero is inside" if low < 0 < high else "zero is outside")
