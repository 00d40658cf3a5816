"""Hyperplanes, quadrics, normal distributions, convex hulls and linear separability."""
