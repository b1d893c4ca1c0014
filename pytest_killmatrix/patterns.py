"""Regular expressions that the clean suite compiled, compiled once more where children begin.

Compiling is pure, and ``re`` keeps what it compiled: a fresh child would do again what the suite has shown to be
needed, which is half of what a short test costs that uses them. Nothing but time can change, so those are left out
whose compiling warns, says something, or depends on the locale.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from typing import Final

Pattern = tuple[str | bytes, int]  # the text and the flags

_LEFT_OUT: Final = (re.DEBUG | re.LOCALE).value


def known() -> list[Pattern]:
    """Those that ``re`` keeps in this process; none where it does not keep them as CPython does."""
    kept = getattr(re, "_cache", None)
    keys = list(kept) if isinstance(kept, dict) else []
    return [
        (key[1], key[2])
        for key in keys
        if isinstance(key, tuple) and len(key) == 3 and type(key[1]) in (str, bytes) and type(key[2]) is int
    ]


def compile_all(patterns: Iterable[Pattern]) -> None:
    """Have ``re`` keep these in this process."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text, flags in patterns:
            if flags & _LEFT_OUT:
                continue
            try:
                re.compile(text, flags)
            except (re.error, Warning, ValueError, OverflowError, RecursionError):
                continue
