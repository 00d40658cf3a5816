"""Gaussian classes without each of their rows, by downdates of rank one from the one fit."""
