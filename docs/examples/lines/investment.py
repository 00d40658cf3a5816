"""
Does every firm invest alike?
=============================

Investment of eleven American firms over twenty years, by their market value and their stock of
plant and equipment. One line for all firms, a level for each, or a line for each?
"""

from statsmodels.datasets import grunfeld

import separatrix as sx
from separatrix.pictures import CoefficientDisplay, ResidualDisplay

table = grunfeld.load_pandas().data
y, X = table["invest"], table[["value", "capital", "firm"]]

# %%
# Columns of text become levels by themselves: one coefficient for each firm but the first.

pooled = sx.LinearRegression().fit(X[["value", "capital"]], y)
levels = sx.LinearRegression().fit(X, y)
print(f"one line:              R² {pooled.summary().r_squared:.3f}")
print(f"a level for each firm: R² {levels.summary().r_squared:.3f}")
test = levels.summary().f_test(pooled.summary())
print(f"F test of the levels: {test.statistic:.1f}, p = {test.p_value:.0e}")

# %%
# The firms' levels, beside what value and capital explain:

CoefficientDisplay.from_estimator(levels)

# %%
# Slopes of their own for every firm, by hand: products of the columns with each firm.

own = X[["value", "capital"]].copy()
for firm in X["firm"].unique():
    for column in ("value", "capital"):
        own[f"{column} of {firm}"] = X[column] * (X["firm"] == firm)
    own[firm] = (X["firm"] == firm).astype(float)
own = own.drop(columns=["value", "capital", X["firm"].iloc[0]])
lines = sx.LinearRegression().fit(own, y)
print(f"a line for each firm:  R² {lines.summary().r_squared:.3f}")
test = lines.summary().f_test(levels.summary())
print(f"F test of the slopes: {test.statistic:.1f}, p = {test.p_value:.0e}")
capital = {
    name[11:]: b for name, b in zip(own.columns, lines.coef_, strict=True) if "capital" in name
}
least, most = min(capital, key=capital.get), max(capital, key=capital.get)
print(f"of a dollar of capital: {capital[least]:.2f} ({least}) to {capital[most]:.2f} ({most})")

# %%

ResidualDisplay.from_predictions(y, lines.predict(own), row_labels=X["firm"])
