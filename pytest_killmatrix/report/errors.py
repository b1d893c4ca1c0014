"""What can go wrong with a report."""

from __future__ import annotations


class ReportError(Exception):
    """A report cannot be written; the message is one line and says what to do."""
