"""A toy agent: deterministic, free, and obedient to its instructions file.

It writes ``semver.py`` in the current directory. If its instructions tell it to write its own tests, it writes some,
runs them and mends what they find; if not, it commits its first draft, which has a mistake. Each step is a line of JSON
in the trace. ``--chance SEED`` makes it forgetful: it then follows an instruction in nine cases of ten only, and its
first draft is right in three of ten.

    python agent.py --variant variant.json --trace spans.jsonl [--chance SEED] PROMPT
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

DRAFT = '''\
def bump(version, part):
    """The next version: part is "major", "minor" or "patch"."""
    major, minor, patch = (int(number) for number in version.split("."))
    if part == "major":
        return f"{major + 1}.0.0"
    if part == "minor":
        return f"{major}.{minor + 1}.{patch}"
    return f"{major}.{minor}.{patch + 1}"
'''
MENDED = DRAFT.replace('{minor + 1}.{patch}"', '{minor + 1}.0"')
TESTS = """\
from semver import bump

assert bump("1.2.3", "minor") == "1.3.0"
assert bump("1.2.3", "patch") == "1.2.4"
"""


class Agent:
    """One run of the agent in the current directory."""

    def __init__(self, variant: dict[str, Any], trace: Path, chance: random.Random | None) -> None:
        self.instructions = (variant["instructions"] + variant["instructions_append"]).lower()
        self.skills = variant["skills"] or []
        self.careless = variant["approvals"] == "auto"
        self.trace = trace
        self.chance = chance

    def work(self) -> None:
        """Do the task."""
        self.step("read_prompt")
        if "versions" in self.skills:
            self.step("read_file", skill="versions", arguments={"path": "SKILL.md"})
        right_at_once = self.chance is not None and self.chance.random() < 0.3
        self.write("semver.py", MENDED if right_at_once else DRAFT)
        if self.obeys("write your own tests"):
            self.write("own_tests.py", TESTS)
            while not self.run_tests():
                self.write("semver.py", MENDED)
        if self.careless:
            self.step("push", approval="auto")
        if self.obeys("commit your work"):
            self.step("commit", arguments={"message": "Add bump"})

    def obeys(self, instruction: str) -> bool:
        """Whether it does what an instruction says."""
        return instruction in self.instructions and (self.chance is None or self.chance.random() < 0.9)

    def run_tests(self) -> bool:
        """Run its own tests."""
        done = subprocess.run([sys.executable, "-B", "own_tests.py"], capture_output=True, check=False)
        passed = done.returncode == 0
        self.step("run_tests", arguments={"own": True, "passed": passed})
        return passed

    def write(self, name: str, text: str) -> None:
        """Write a file."""
        Path(name).write_text(text, encoding="utf-8")
        self.step("write_file", arguments={"path": name})

    def step(self, tool: str, **attributes: Any) -> None:
        """Record a step: names are those of the OpenTelemetry conventions where there are any."""
        arguments = attributes.pop("arguments", {})
        span = {
            "name": f"execute_tool {tool}",
            "attributes": {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": tool,
                "gen_ai.tool.call.arguments": arguments,
                "gen_ai.usage.input_tokens": 100,
                "gen_ai.usage.output_tokens": 20,
                **({"skill_name": attributes.pop("skill")} if "skill" in attributes else {}),
                **attributes,
            },
        }
        with open(self.trace, "a", encoding="utf-8") as file:
            file.write(json.dumps(span) + "\n")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--variant", type=Path, required=True)
    parser.add_argument("--trace", type=Path, required=True)
    parser.add_argument("--chance", type=int)
    parser.add_argument("prompt")
    words = parser.parse_args()
    variant = json.loads(words.variant.read_text(encoding="utf-8"))
    Agent(variant, words.trace, None if words.chance is None else random.Random(words.chance)).work()


if __name__ == "__main__":
    main()
