"""Losses, penalties, problems and the solvers that several families share."""
