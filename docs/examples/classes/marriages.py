"""
Who has an affair, by her own account?
======================================

6 366 women answered a magazine in 1974: how they rate their marriage, their age, years married,
children, religion, education, occupations. Some answers are numbers, some are codes. Which of them
change the odds of an affair?
"""

# %%
# Naive Bayes describes numbers by normal densities and codes by frequencies, class by class.
import numpy as np
from statsmodels.datasets import fair

import separatrix as sx
from separatrix.pictures import CalibrationDisplay, PermutationImportanceDisplay

table = fair.load_pandas().data
affair = np.where(table.pop("affairs") > 0, "affair", "none")
codes = ["rate_marriage", "religious", "occupation", "occupation_husb"]
X = table.astype(dict.fromkeys(codes, "str"))
train = np.arange(len(X)) % 2 == 0
model = sx.NaiveBayes().fit(X[train], affair[train])
print(model.certificate_)

# %%
# Odds by the rating of the marriage alone, from the counts: 1 is very poor, 5 very good.
for rating in sorted(X["rate_marriage"].unique()):
    mine = X["rate_marriage"] == rating
    share = (affair[mine] == "affair").mean()
    print(f"rating {rating}: {share:.0%} of {mine.sum()} women had an affair")

# %%
# Which answers does the model need? Each is permuted among the other half of the women.
PermutationImportanceDisplay.from_estimator(model, X[~train], affair[~train])

# %%
# Are its probabilities right, although years married, age and children are far from independent?
CalibrationDisplay.from_estimator(model, X[~train], affair[~train])

# %%
logistic = sx.LogisticRegression(C=np.inf).fit(X[train], affair[train])
for name, one in {"naive Bayes": model, "logistic": logistic}.items():
    p = one.predict_proba(X[~train])
    error = (one.classes_[p.argmax(axis=1)] != affair[~train]).mean()
    calibration = sx.expected_calibration_error(affair[~train], p[:, 1])
    print(f"{name:>11}: {error:.1%} wrong, calibration error {calibration:.3f}")
