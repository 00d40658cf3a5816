"""What all estimators share: validation, targets, class labels, weights, standardization."""
