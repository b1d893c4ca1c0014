"""Two changes of the same size to the suite of ``examples/inventory``, each measured against the suite before it.

``python compare.py`` needs git, and pytest with pytest-killmatrix; it works in a temporary directory and prints a line
for each change. ``--scope`` is that of ``--mutation-scope``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CHANGES = ("well-covered", "thin")


def measure(change: str, scope: str, folder: Path) -> dict[str, Any]:
    """The JSON report of one change."""
    project, report = folder / "inventory", folder / "report.json"
    shutil.copytree(HERE.parent / "inventory", project, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV", "GIT"))}
    who = ["-c", "user.name=example", "-c", "user.email=example@localhost"]
    for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-q", "-m", "before"]):
        subprocess.run(["git", *words], cwd=project, env=environ, check=True)
    shutil.copy(HERE / change / "test_change.py", project / "tests")
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--mutation-baseline=HEAD",
        f"--mutation-scope={scope}", f"--kill-matrix-json={report}",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=project, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return found


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--scope", default="covered", choices=("covered", "all"))
    scope = parser.parse_args().scope
    print(f"{'change':14}{'raw score':>22}{'gained by assertion':>22}{'of headroom':>13}")
    for change in CHANGES:
        with tempfile.TemporaryDirectory() as folder:
            report = measure(change, scope, Path(folder))
        raw, delta = report["score"]["assertion"], report["delta"]
        fraction = f"{raw['value']:.1%} ({raw['numerator']} of {raw['denominator']})"
        print(f"{change:14}{fraction:>22}{delta['gained_by_assertion']:>22}{delta['headroom']:>13}")


if __name__ == "__main__":
    main()
