"""The sidecar: one SQLite file that keeps runs, tests, mutants and cells (``writer``, ``reader``, ``schema``)."""
