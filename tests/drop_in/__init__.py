"""scikit-learn's own tests, run with the classes of the same name from here in place of its own.

``python -m tests.drop_in linear_model svm -k huber`` runs the test modules of those packages and
lists what fails, class by class.
"""
