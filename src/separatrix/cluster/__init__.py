"""K-means, k-medoids, kernel k-means and agglomerative clustering."""
