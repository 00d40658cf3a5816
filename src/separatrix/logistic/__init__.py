"""Logistic regression: two classes and softmax, paths over the penalty, inference."""
