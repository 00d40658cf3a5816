"""Linear regression: least squares, ridge, lasso, robust and total least squares, polynomials."""
