"""What one pass over the rows becomes; everything here merges with ``+``."""
