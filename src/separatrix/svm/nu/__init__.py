"""ν-SVMs: the fraction ν of rows beyond the margin is given instead of their cost."""
