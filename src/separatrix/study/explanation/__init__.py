"""What the columns are like, and what the chosen model makes of them."""
