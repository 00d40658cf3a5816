"""``python -m separatrix``: the same as the command ``separatrix``."""

from separatrix.cli import main

main()
