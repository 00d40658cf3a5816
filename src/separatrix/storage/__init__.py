"""Save and load without pickle: models as ``.sx``, mergeable moments as ``.moments``."""

from separatrix.storage.model_file import load, load_study, save
from separatrix.storage.moments_file import StoredMoments, load_moments, save_moments

__all__ = ["StoredMoments", "load", "load_moments", "load_study", "save", "save_moments"]
