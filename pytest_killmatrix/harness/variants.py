"""A harness as data: the base variant and its mutants. The standard library only: graders get these too."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

AUTO: Final = "auto"
DENY_RISKY: Final = "deny-risky"
APPROVALS: Final = (AUTO, DENY_RISKY)


@dataclass(frozen=True, slots=True)
class Variant:
    """One state of a harness.

    ``skills`` is None where the harness brings its own, of which ``skills_remove`` are switched off. ``instructions``
    and ``instructions_append`` are texts. ``approvals`` is ``auto``, ``deny-risky`` or None for the harness's own.
    ``files`` has other YAML and Markdown files of the harness: path relative to the suite, and text.
    """

    harness: str
    name: str
    skills: tuple[str, ...] | None = None
    skills_remove: tuple[str, ...] = ()
    instructions: str = ""
    instructions_append: str = ""
    approvals: str | None = None
    files: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        """The instructions as an agent gets them: both parts, an empty line between them."""
        return "\n\n".join(part.rstrip("\n") for part in (self.instructions, self.instructions_append) if part) + "\n"

    @property
    def active_skills(self) -> tuple[str, ...] | None:
        """``skills`` less ``skills_remove``; None where the harness brings its own."""
        if self.skills is None:
            return None
        return tuple(skill for skill in self.skills if skill not in self.skills_remove)

    @property
    def fingerprint(self) -> str:
        """12 hexadecimal digits that are the same where, and only where, two variants differ in name at most."""
        content = self.as_dict()
        del content["name"]
        return digest(content)

    def write(self, folder: Path) -> None:
        """Write ``files`` below a directory."""
        for name, text in self.files:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")

    def as_dict(self) -> dict[str, Any]:
        """For JSON and YAML."""
        return {
            "name": self.name,
            "harness": self.harness,
            "skills": None if self.skills is None else list(self.skills),
            "skills_remove": list(self.skills_remove),
            "instructions": self.instructions,
            "instructions_append": self.instructions_append,
            "approvals": self.approvals,
            "files": dict(self.files),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Variant:
        """The converse of ``as_dict``."""
        skills = data["skills"]
        return cls(
            harness=data["harness"],
            name=data["name"],
            skills=None if skills is None else tuple(skills),
            skills_remove=tuple(data["skills_remove"]),
            instructions=data["instructions"],
            instructions_append=data["instructions_append"],
            approvals=data["approvals"],
            files=tuple(data["files"].items()),
        )

    def renamed(self, name: str) -> Variant:
        return replace(self, name=name)


def skill_name(skill: str) -> str:
    """A skill may be named by its folder; its name is the last part."""
    return PurePosixPath(skill).name or skill


def digest(data: Any) -> str:
    """12 hexadecimal digits of any JSON data."""
    text = json.dumps(data, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:12]
