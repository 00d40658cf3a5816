"""One module for each family of models: from fitted parameters to expressions."""
