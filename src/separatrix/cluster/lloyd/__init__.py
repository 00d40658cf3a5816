"""Lloyd iterations of K-means: in memory with bounds, over sparse rows, and over a stream."""
