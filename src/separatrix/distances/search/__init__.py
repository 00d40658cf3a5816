"""Who is nearest: exact search by a tree in few dimensions, by matrix products in many."""
