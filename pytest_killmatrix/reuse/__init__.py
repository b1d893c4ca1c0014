"""Cells of earlier runs: which of them still hold."""
