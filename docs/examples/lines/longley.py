"""
Longley: how many digits can be believed?
=========================================

Sixteen years of the American economy, six columns that nearly say the same: since 1967 this table
has been what programs for least squares are tried on. Correct coefficients are known to fifteen
digits (NIST); how many does each way of computing reach, and does it know?
"""

import numpy as np
from statsmodels.datasets import longley

import separatrix as sx
from separatrix.pictures import CorrelationDisplay

table = longley.load_pandas()
X, y = table.exog, table.endog
certified = np.array(  # NIST: Statistical Reference Datasets
    [
        15.0618722713733,
        -0.358191792925910e-01,
        -2.02022980381683,
        -1.03322686717359,
        -0.511041056535807e-01,
        1829.15146461355,
    ]
)


def digits(coef):
    """Correct digits of the worst coefficient."""
    return -np.log10(np.max(np.abs(coef / certified - 1)))


# %%
# The normal equations in double precision, as in many textbooks; NumPy; and this library.

ones = np.column_stack([np.ones(len(y)), X])
normal = np.linalg.solve(ones.T @ ones, ones.T @ y)[1:]
svd = np.linalg.lstsq(ones, y, rcond=None)[0][1:]
model = sx.LinearRegression().fit(X, y)
for name, coef in {
    "normal equations": normal,
    "NumPy (SVD)": svd,
    "separatrix": model.coef_,
}.items():
    print(f"{name:17} {digits(coef):4.1f} digits")

# %%
# Only one of them says how far it can be trusted. Its count is a bound, and it holds.

print(model.certificate_)
assert model.certificate_.digits <= digits(model.coef_)

# %%
# Arithmetic is not the only limit: the years themselves hardly tell the columns apart.

print(model.summary().to_frame().set_index("term")[["estimate", "p", "VIF"]].round(3))

CorrelationDisplay.from_rows(X)
