"""Learning curves: error over complexity and amount of data, and what more of either would give."""
