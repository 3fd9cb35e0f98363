"""Long calls do not look again and again through all that was there before them."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

OFTEN = 30.0
"""Seconds after which garbage is looked for everywhere once more."""
_last_look = time.monotonic()


@contextmanager
def set_aside() -> Iterator[None]:
    """Meanwhile, the collector of garbage leaves alone what there is now.

    Tracing a program makes a million objects, so that Python looks for garbage often, and each time among the hundreds
    of thousands that JAX and its companions consist of: that was a sixth of a short fit. Nothing is kept for good.
    Python forgets here how long ago it has looked everywhere, therefore this remembers. A process that has set objects
    aside itself (`gc.freeze`) is left as it is.
    """
    global _last_look
    if gc.get_freeze_count():
        yield
        return
    try:
        gc.freeze()
        yield
    finally:
        gc.unfreeze()
        if gc.isenabled() and time.monotonic() - _last_look > OFTEN:
            gc.collect()
            _last_look = time.monotonic()
