"""The main job: split, compare, choose, measure once."""
