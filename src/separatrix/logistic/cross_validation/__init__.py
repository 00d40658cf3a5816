"""Logistic regression with C and ρ chosen on folds by any scorer, as scikit-learn has it."""
