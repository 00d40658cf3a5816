"""The likelihood of classes whose scores are linear: value, gradient and Hessian over rows."""
