"""Statistics by class and part, and rows of which only those are left."""
