"""Groups in a table without a target: how many, whether they are real, and what they look like."""
