"""Gaussian and naive Bayes class models, and the basic linear classifier."""
