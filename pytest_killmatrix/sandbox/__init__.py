"""Running the whole thing in a disposable copy of the project (``--kill-matrix-sandbox=copy``)."""
