"""What is to be known of other processes; the standard library only."""

from __future__ import annotations

import os


def alive(pid: int) -> bool:
    """Whether there is a process with this number, whoever owns it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
