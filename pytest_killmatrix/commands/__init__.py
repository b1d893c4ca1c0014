"""What ``killmatrix`` can do: a module for each command, loaded only when it is the one that was asked for.

Each has ``configure(parser)``, which adds its arguments, and ``run(arguments)``, which gives the exit status.
"""

from __future__ import annotations


class CommandError(Exception):
    """A command cannot do what was asked; the message is one line and says what would do."""
