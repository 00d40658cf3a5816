"""Checks of exports: the answers of the model and of what was written, on the same rows."""
