"""
Stack loss: which days are not like the others?
===============================================

For 21 days a plant that makes nitric acid noted the flow of air, the temperature of the cooling
water, the concentration of the acid, and how much ammonia went up the stack. Do a few days decide
what least squares finds?
"""

import numpy as np
from statsmodels.datasets import stackloss

import separatrix as sx
from separatrix.pictures import LeverageDisplay

table = stackloss.load_pandas()
X, y = table.exog, table.endog
days = np.arange(1, len(y) + 1)

# %%
# Residuals against leverage: a day can bend the plane only if it has both.

squares = sx.LinearRegression().fit(X, y)
cook = squares.summary().cooks_distance
for i in np.argsort(-cook)[:3]:
    print(f"day {days[i]:2}: Cook's distance {cook[i]:.2f}")

LeverageDisplay.from_estimator(squares, row_labels=days)

# %%
# Two losses that large residuals pull less: Huber's, and absolute values.

huber = sx.HuberRegressor().fit(X, y)
absolute = sx.LeastAbsoluteRegressor().fit(X, y)
for name, model in {"squares": squares, "Huber": huber, "absolute": absolute}.items():
    residuals = np.abs(y - model.predict(X))
    far = sorted(days[np.argsort(-residuals)[:4]].tolist())
    print(
        f"{name:9} slopes {np.round(model.coef_, 2)}, median residual {np.median(residuals):.2f},"
    )
    print(f"{'':9} farthest days {far}")

# %%
# Without the four farthest days least squares comes close to what absolute values found with them.

far = np.argsort(-np.abs(y - absolute.predict(X)))[:4]
rest = np.setdiff1d(np.arange(len(y)), far)
again = sx.LinearRegression().fit(X.iloc[rest], y.iloc[rest])
for name, model in {"all days": squares, "17 days": again, "absolute": absolute}.items():
    print(f"{name:9} slopes {np.round(model.coef_, 2)}")
print(absolute.certificate_)
