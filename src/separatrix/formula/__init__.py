"""A fitted model as a formula: kinds of nodes that numbers, graphs and texts are made from."""
