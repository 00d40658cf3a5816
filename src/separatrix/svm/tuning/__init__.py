"""Choice of C, bandwidth and ε by cross-validation, and predictions out of fold."""
