"""Studies of a numeric target."""
