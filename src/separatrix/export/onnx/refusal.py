"""What has no export, in one sentence each."""

from __future__ import annotations

from separatrix.messages import InputError


class GraphRefused(InputError):
    """A model that no graph of standard operators can stand for."""
