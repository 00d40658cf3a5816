"""Studies of classes in tables beyond memory."""
