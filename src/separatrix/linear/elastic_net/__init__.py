"""Lasso and elastic net: estimators, the path solver with its loops, and the certificate."""
