"""Fitted models as ONNX graphs of double precision."""
