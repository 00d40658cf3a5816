"""Metrics, exemplars and exact nearest-neighbor search."""
