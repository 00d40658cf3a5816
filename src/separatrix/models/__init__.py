"""Estimators with the scikit-learn API: thin, they compose the other rooms."""
