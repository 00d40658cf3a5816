"""``separatrix cluster``."""
