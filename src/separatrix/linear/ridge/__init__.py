"""Ridge regression: one penalty, the whole path, or the best point of it."""
