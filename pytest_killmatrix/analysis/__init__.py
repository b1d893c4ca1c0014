"""Pure functions over stored cells: statuses, scores, and later deltas and redundancy."""
