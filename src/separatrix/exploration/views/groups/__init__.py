"""The view of groups: K-means, k-medoids and kernel k-means sweep by sweep, and trees to cut."""
