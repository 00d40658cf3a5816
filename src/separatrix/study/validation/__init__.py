"""Validation beyond one set of folds: repeats, leave-one-out, and nested selection."""
