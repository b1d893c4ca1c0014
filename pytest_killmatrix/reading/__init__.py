"""Finding in a sidecar what somebody asked for: the file, a mutant, a test, the delta. Reads only."""
