"""Support vector machines: linear and kernel, classification and regression, paths over C."""
