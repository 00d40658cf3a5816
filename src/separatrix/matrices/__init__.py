"""Products with wide and sparse matrices: on threads, never filled in, always the same bits."""
