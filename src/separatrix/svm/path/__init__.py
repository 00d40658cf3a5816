"""The exact regularization path of an SVM over C."""
