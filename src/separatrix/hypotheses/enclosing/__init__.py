"""The smallest ball and the ellipsoid of least volume around points; their proof is the support."""
