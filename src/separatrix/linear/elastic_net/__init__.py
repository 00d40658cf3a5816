"""Solver of the elastic net, at one penalty or along a path."""
