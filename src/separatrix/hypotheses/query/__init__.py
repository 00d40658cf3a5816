"""Where to ask next: rows worth labeling, and the labels that asking there saves."""
