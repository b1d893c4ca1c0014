"""``--mutation-baseline``: the same mutants, met by the suite as it was at a git ref and as it is now."""
