"""Linear regression by least squares: estimator, solvers from moments or rows, certificate."""
