"""Hypotheses as sets of points: version spaces of boxes, balls and ellipsoids, what they can shatter, where to ask next."""
