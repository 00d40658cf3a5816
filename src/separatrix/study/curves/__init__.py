"""`separatrix curve`: what more rows, more columns or a more flexible model would give."""
