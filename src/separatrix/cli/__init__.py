"""The command ``separatrix``: one file a command, nothing heavy before it is needed."""

from separatrix.cli.main import main

__all__ = ["main"]
