"""
How many tumors would a doctor have to look at?
===============================================

A classifier that must answer always errs somewhere. One that may hand a case to a doctor errs less:
how much does each case that is handed over buy?
"""

# %%
# Half of the tumors train, the other half are diagnosed, by two measurements of a quick look:
# mean texture and mean area.
from sklearn.datasets import load_breast_cancer

import separatrix as sx
from separatrix.pictures import CoverageRiskDisplay, DecisionBoundaryDisplay

tumors = load_breast_cancer(as_frame=True)
X = tumors.data[["mean texture", "mean area"]]
y = tumors.target_names[tumors.target]
model = sx.LogisticRegression(C=float("inf")).fit(X[::2], y[::2])
wrong = (model.predict(X[1::2]) != y[1::2]).sum()
print(f"always answering: {wrong} of {len(y[1::2])} tumors are wrong")

# %%
# A doctor's look shall cost a tenth of a wrong diagnosis. The model then abstains where its largest
# probability is below 90 %: the gray band.
careful = sx.RejectOption(model, costs=0.1).fit(X[::2], y[::2])
DecisionBoundaryDisplay.from_estimator(careful, X[1::2], y[1::2])

# %%
# Every other cost of a look is a point of one curve.
CoverageRiskDisplay.from_estimator(careful, X[1::2], y[1::2])

# %%
# So much work for so few errors among the others, by the cost of a look:
print("cost   doctor looks at   wrong")
for cost in (0.5, 0.3, 0.2, 0.1, 0.05, 0.02):
    answers = sx.RejectOption(model, costs=cost).fit(X[::2], y[::2]).predict(X[1::2])
    looks = answers == "reject"
    errors = (answers[~looks] != y[1::2][~looks]).sum()
    print(f"{cost:4} {looks.sum():8} ({looks.mean():4.0%}) {errors:6} of {(~looks).sum()}")
