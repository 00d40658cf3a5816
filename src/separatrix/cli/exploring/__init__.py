"""``separatrix explore``."""
