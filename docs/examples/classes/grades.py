"""
Does a new way of teaching raise grades?
========================================

32 students of economics: their grade point average, a test of what they knew before, whether they
were taught by a new method (PSI), and whether their grade improved. Did the method help, and by how
much, with the other two the same?
"""

# %%
# Maximum likelihood: no penalty, so that coefficients can be read.
import numpy as np
from statsmodels.datasets import spector

import separatrix as sx
from separatrix.pictures import CoefficientDisplay

table = spector.load_pandas()
model = sx.LogisticRegression(C=np.inf).fit(table.exog, table.endog == 1)
print(model.summary())

# %%
# Drawn for one standard deviation of each column, so that lengths compare.
CoefficientDisplay.from_estimator(model, table.exog)

# %%
# The odds ratio says by which factor PSI multiplies the odds. What that is for a student depends on
# where the student stands.
student = table.exog.iloc[[0, 0]].assign(GPA=3.0, TUCE=22.0, PSI=[0.0, 1.0])
for gpa in (2.5, 3.0, 3.5):
    before, after = model.predict_proba(student.assign(GPA=gpa))[:, 1]
    print(
        f"grade point average {gpa}: {before:.0%} improve without the method, {after:.0%} with it"
    )
