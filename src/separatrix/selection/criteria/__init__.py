"""Criteria of complexity: AIC, BIC, description length, structural risk, evidence, validation."""
