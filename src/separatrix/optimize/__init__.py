"""Losses, penalties, duality certificates, and solvers used by several families."""
