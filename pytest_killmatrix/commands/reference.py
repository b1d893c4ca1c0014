"""The reference page of the command, from its own parsers (``python -m pytest_killmatrix.commands.reference``)."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator

from pytest_killmatrix.cli import COMMANDS


def reference() -> str:
    """The page as Markdown."""
    lines = [
        "# The killmatrix command",
        "",
        "<!-- generated: python -m pytest_killmatrix.commands.reference > docs/reference/command.md -->",
        "",
        "`killmatrix COMMAND` reads the sidecar of a run and changes nothing. Without `--db` that is",
        "`.killmatrix.sqlite` here, or in the nearest directory above that has one. Exit status: 0, or 4 with one line",
        "on standard error that says what would do. `harness` and `variants` write files and have more to say:",
        "[harness mutation](harness.md), [how to audit a grader](../how-to/audit-a-grader.md).",
        "",
    ]
    for name, summary in COMMANDS.items():
        parser = argparse.ArgumentParser(add_help=False)
        importlib.import_module(f"pytest_killmatrix.commands.{name}").configure(parser)
        lines += [f"## {name}", "", f"{summary[0].upper()}{summary[1:]}.", "", "| argument | meaning |", "|---|---|"]
        lines += _rows(parser)
        lines.append("")
    return "\n".join(lines)


def _rows(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        value = action.metavar or ("{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest)
        name = ", ".join(action.option_strings) if action.option_strings else str(value)
        if action.option_strings and action.nargs != 0:
            name += f" {value}"
        words = (action.help or "").replace("%(default)s", str(action.default)).replace("|", "\\|")
        if isinstance(action, argparse._SubParsersAction):
            steps = [f"`{choice.dest}`: {choice.help}" for choice in action._choices_actions]
            words = f"{'; '.join(steps)}. `--help` after one of them says more"
        yield f"| `{name}` | {words} |"


if __name__ == "__main__":
    print(reference(), end="")
