"""Hypotheses as sets of points: version spaces of boxes, balls and ellipsoids.

And what hypotheses can shatter, and where to ask next.
"""
