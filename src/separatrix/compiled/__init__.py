"""Numba loops: arrays and scalars in, arrays out."""
