"""What an editor knows of public names; checked by mypy, and never run."""

from typing import assert_type

import separatrix as sx
from separatrix.cluster.kmeans import KMeans
from separatrix.linear.lasso import Lasso
from separatrix.rows.rows import Rows
from separatrix.svm.svc import SVC

assert_type(sx.Lasso(alpha=1.0), Lasso)
assert_type(sx.scan("table.csv"), Rows)
assert_type(sx.SVC(C=2.0), SVC)
assert_type(sx.KMeans(3), KMeans)
sx.Lasso(lambda_=1.0)  # type: ignore[call-arg]  # an error that is not found is one
_ = sx.LassoRegression  # type: ignore[attr-defined]
