"""The linear SVM: minimize the regularized hinge loss over w and b."""
