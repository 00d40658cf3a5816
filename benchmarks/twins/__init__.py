"""Estimators of every family with the twin, the arguments and the objective of their races."""

from twins import bayes, cluster, discriminant, linear, neighbors

FAMILIES = (linear, discriminant, neighbors, cluster, bayes)
ENTRIES = tuple(entry for family in FAMILIES for entry in family.ENTRIES)
