"""The view of decisions: costs and abstention over calibrated out-of-fold probabilities."""
