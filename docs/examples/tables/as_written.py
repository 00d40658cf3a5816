"""
Can a table be read as people write it?
=======================================

Semicolons, decimal commas, percent signs, dashes where nobody measured, a remark above the header:
a spreadsheet as people write it. Must it be cleaned before a model sees it?
"""

# %%
# The crime table of the American states, first as it should be, then as somebody wrote it down.
import tempfile
from pathlib import Path

import numpy as np
from statsmodels.datasets import statecrime

import separatrix as sx
from separatrix.pictures import CoefficientDisplay

clean = statecrime.load_pandas().data.drop(index="District of Columbia")
written = clean.map(lambda value: f"{value:.2f}".replace(".", ","))
written["poverty"] += "%"
written.iloc[[3, 17], 4] = "-"
file = Path(tempfile.mkdtemp()) / "crime.csv"
file.write_text("# copied by hand, 2009\n" + written.to_csv(sep=";"), encoding="cp1252")
print("\n".join(file.read_text(encoding="cp1252").splitlines()[:6]))

# %%
# What was read how, in words:
rows = sx.scan(file, target="violent")
for note in rows.notes:
    print("-", note)

# %%
# The model of the written table beside that of the clean one, without the two states whose number
# of single parents is missing.
model = sx.LinearRegression().fit(sx.scan(file, target="violent", missing="drop"))
known = np.delete(np.arange(len(clean)), [3, 17])
X, y = clean.iloc[known].drop(columns="violent").round(2), clean.iloc[known]["violent"]
reference = sx.LinearRegression().fit(X, y)
print(f"largest difference of a coefficient: {np.abs(model.coef_ - reference.coef_).max():.0e}")
CoefficientDisplay.from_estimator(reference, X)
