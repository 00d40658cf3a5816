"""The kernel SVM, solved in its dual."""
