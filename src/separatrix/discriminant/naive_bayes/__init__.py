"""Naive Bayes: columns independent within classes."""
