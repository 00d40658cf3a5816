"""Cluster analysis: how many clusters, whether they are real, what they are like."""
