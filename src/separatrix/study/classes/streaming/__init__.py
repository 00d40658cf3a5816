"""Studies of classes in tables beyond memory, or of which there are only moments."""
