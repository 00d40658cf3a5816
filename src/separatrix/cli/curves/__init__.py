"""``separatrix curve``."""
