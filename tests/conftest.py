"""What all tests share: how they are run."""

from __future__ import annotations

import gc
from typing import Any


def pytest_collection_finish(session: Any) -> None:
    """Garbage collection leaves out what is there before the first test.

    Thousands of tests and the imported libraries are some millions of objects; to traverse them
    again and again takes a tenth of the time.
    """
    del session
    gc.collect()
    gc.freeze()
