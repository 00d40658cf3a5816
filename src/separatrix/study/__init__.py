"""The main job: split, compare, choose, measure once."""

from separatrix.study.run import run_study

__all__ = ["run_study"]
