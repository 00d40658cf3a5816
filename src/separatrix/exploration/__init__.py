"""``separatrix explore``: a page on this computer alone, where models follow the hand.

session (table, model) → application (routes) → guard (who may ask) → serve (127.0.0.1)
view: question + state of the page → answer        pure functions, one folder a view
"""

from __future__ import annotations

from separatrix.exploration.table import PageTable, read_table

__all__ = ["PageTable", "read_table"]
