"""Problem in, Solution out: one file a method."""
