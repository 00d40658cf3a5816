"""Kernels of the differences of rows, κ(x, z) = f(x − z), and constants."""
