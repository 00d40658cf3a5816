"""Metrics that are learned: neighborhood components, large margins, gradients of smooth models."""
