"""What each family of models claims, recomputed from the rows."""
