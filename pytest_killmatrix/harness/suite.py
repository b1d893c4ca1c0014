"""The suite file: a harness, its base variant, and the tasks whose tests are the graders."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from pytest_killmatrix.analysis.candidates import is_mutant
from pytest_killmatrix.harness.reading import Fields, HarnessError, read_fields, read_json, read_text
from pytest_killmatrix.harness.variants import APPROVALS, Variant, digest, skill_name

TIMEOUT: Final = 600.0
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


@dataclass(frozen=True, slots=True)
class Task:
    """One task: a pytest selection, whose tests judge what the agent did.

    ``tests`` are node ids, files or directories relative to the suite's root; ``keyword`` and ``marks`` are pytest's
    ``-k`` and ``-m``. ``prompt``, ``files`` and ``assertions`` are for the graders. ``fingerprint`` covers all that and
    the text of the selected files.
    """

    name: str
    tests: tuple[str, ...]
    keyword: str | None = None
    marks: str | None = None
    prompt: str | None = None
    files: tuple[str, ...] = ()
    assertions: tuple[str, ...] = ()
    fingerprint: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "tests": list(self.tests),
            "k": self.keyword,
            "m": self.marks,
            "prompt": self.prompt,
            "files": list(self.files),
            "assertions": list(self.assertions),
            "fingerprint": self.fingerprint,
        }


@dataclass(frozen=True, slots=True)
class Suite:
    """``cost_usd`` and ``minutes`` are of one trial, None where nobody said; ``timeout`` is in seconds."""

    root: Path
    harnesses: tuple[str, ...]
    base: Variant
    tasks: tuple[Task, ...]
    trials: int | None
    cost_usd: float | None
    minutes: float | None
    timeout: float


def read_suite(path: Path, harness: str | None = None) -> Suite:
    """Read and check a suite file; ``harness`` chooses, where it names several."""
    fields = read_fields(path, "suite file")
    if "killmatrix_plan" in fields:
        raise HarnessError(f"{path} is a plan, not a suite file; give the suite file that it was made from")
    harnesses = fields.texts("harness")
    root = (path.parent / (fields.text("root") or ".")).resolve()
    if not root.is_dir():
        raise fields.error("root", f"there is no directory {root}")
    chosen = _choose(fields, harnesses, harness)
    base = _base(Fields(fields.needed("base"), f"{fields.where}: base"), chosen, path.parent)
    tasks = tuple(_tasks(fields, root, path.parent))
    suite = Suite(
        root=root,
        harnesses=harnesses,
        base=base,
        tasks=tasks,
        trials=fields.whole("trials"),
        cost_usd=fields.number("cost_usd"),
        minutes=fields.number("minutes"),
        timeout=fields.number("timeout_s", TIMEOUT, above=0) or TIMEOUT,
    )
    fields.done()
    if not tasks:
        raise HarnessError(f"{fields.where}: no task; name at least one under 'tasks', with the tests that judge it")
    names = [task.name.lower() for task in tasks]
    twice = next((task.name for task in tasks if names.count(task.name.lower()) > 1), None)
    if twice is not None:
        raise HarnessError(f"{fields.where}: two tasks are named {twice!r}; give each its own name")
    return suite


def selection_fingerprint(task: Task, root: Path) -> str:
    """Of what is asked and of the files that are asked: changed graders are other graders."""
    content = task.as_dict()
    del content["fingerprint"]
    named = [root / test.split("::", 1)[0] for test in task.tests] + [root / name for name in task.files]
    content["text"] = {os.path.relpath(path, root): _hash(path) for path in _files(named, root) if path.is_file()}
    return digest(content)


def check_name(name: str, where: str) -> str:
    """A name that can also be that of a file."""
    if not _NAME.fullmatch(name):
        raise HarnessError(
            f"{where}: the name {name!r} will not do; use letters, digits, '.', '_' and '-', at most 80, the first a "
            "letter or digit"
        )
    return name


def slug(text: str, longest: int = 48) -> str:
    """A name made of any text; a number stands for one that has no Latin letters or digits."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")
    words = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")
    if len(words) > longest:
        words = words[: longest + 1].rpartition("-")[0] or words[:longest]
    return words or f"part-{digest(text)[:6]}"


def _choose(fields: Fields, harnesses: tuple[str, ...], harness: str | None) -> str:
    if not harnesses:
        raise HarnessError(f"{fields.where}: the key 'harness' is missing; it names the harness under test")
    for name in harnesses:
        check_name(name, f"{fields.where}: harness")
    if harness is None and len(harnesses) > 1:
        raise HarnessError(f"{fields.where} has {len(harnesses)} harnesses; give --harness {' or '.join(harnesses)}")
    if harness is not None and harness not in harnesses:
        raise HarnessError(f"{fields.where} has no harness {harness!r}; give --harness {' or '.join(harnesses)}")
    return harness or harnesses[0]


def _base(fields: Fields, harness: str, folder: Path) -> Variant:
    name = check_name(fields.text("name", "base") or "base", fields.where)
    if is_mutant(name):
        raise fields.error("name", f"{name!r} is the name of a mutant, and a mutant is no base; choose another name")
    skills = fields.texts("skills") if fields.any("skills") is not None else None
    removed = fields.texts("skills_remove")
    if skills is not None:
        names = {skill_name(skill) for skill in skills}
        for skill in removed:
            if skill_name(skill) not in names:
                raise fields.error(
                    "skills_remove", f"{skill!r} is not in the harness; its skills: {', '.join(skills) or 'none'}"
                )
    for key, listed in (("skills", skills or ()), ("skills_remove", removed)):
        twice = next((skill for skill in listed if listed.count(skill) > 1), None)
        if twice is not None:
            raise fields.error(key, f"{twice!r} is listed twice; once will do")
    approvals = fields.text("approvals")
    if approvals is not None and approvals not in APPROVALS:
        raise fields.error("approvals", f"{approvals!r} is unknown; {' or '.join(APPROVALS)} will do")
    found = Variant(
        harness=harness,
        name=name,
        skills=skills,
        skills_remove=removed,
        instructions=_text(fields, "instructions", folder),
        instructions_append=_text(fields, "instructions_append", folder),
        approvals=approvals,
        files=tuple(
            (inside(name, folder, fields, "files"), read_text(folder / name, "file")) for name in fields.texts("files")
        ),
    )
    fields.done()
    return found


def inside(name: str, folder: Path, fields: Fields, key: str) -> str:
    """A path that stays below the folder: it is written again somewhere else."""
    if os.path.isabs(name) or ".." in Path(name).parts:
        raise fields.error(key, f"{name!r} leads out of the suite's directory; give a path below it")
    return Path(name).as_posix()


def _text(fields: Fields, key: str, folder: Path) -> str:
    """Inline text, ``{file: PATH}``, or a list of both."""
    value = fields.any(key)
    if value is None:
        return ""
    parts = []
    for part in value if isinstance(value, list) else [value]:
        if isinstance(part, str):
            parts.append(part)
        else:
            file = Fields(part, f"{fields.where}: {key}")
            parts.append(read_text(folder / str(file.needed("file")), "file of instructions"))
            file.done()
    return "\n".join(part if part.endswith("\n") else part + "\n" for part in parts)


def _tasks(fields: Fields, root: Path, folder: Path) -> Iterator[Task]:
    for entry in fields.mappings("tasks"):
        evals = entry.text("evals")
        tests = entry.texts("tests") or (".",)
        keyword, marks = entry.text("k"), entry.text("m")
        if "tests" not in entry and keyword is None and marks is None:
            raise HarnessError(f"{entry.where}: no grader; name tests, or choose some with 'k' or 'm'")
        for test in tests:
            path = test.split("::", 1)[0]
            if not (root / path).exists():
                raise entry.error("tests", f"there is no {path} in {root}")
        if evals is not None:
            entry.done()
            found = list(_from_evals(folder / evals, tests, keyword, marks, root))
        else:
            name = check_name(str(entry.needed("name")), entry.where)
            found = [
                Task(name, tests, keyword, marks, entry.text("prompt"), entry.texts("files"), entry.texts("assertions"))
            ]
            entry.done()
        for task in found:
            missing = next((name for name in task.files if not (root / name).exists()), None)
            if missing is not None:
                raise entry.error("files", f"there is no {missing} in {root}")
            yield replace(task, fingerprint=selection_fingerprint(task, root))


def _from_evals(
    path: Path, tests: tuple[str, ...], keyword: str | None, marks: str | None, root: Path
) -> Iterator[Task]:
    """Each entry of an ``evals.json`` as a task; keys that we do not know are others' business."""
    data = read_json(path, "evals file")
    where = f"evals file {path}"
    skill = path.parent.parent if path.parent.name == "evals" else path.parent  # what its file names are relative to
    entries = data.get("evals") if isinstance(data, dict) else None
    if not isinstance(entries, list) or not entries:
        raise HarnessError(f"{where}: no evals; a mapping with 'skill_name' and a list 'evals' is needed")
    for number, item in enumerate(entries, 1):
        entry = Fields(item, f"{where}: evals {number}")
        prompt = entry.needed("prompt")
        asserted = entry.any("assertions") or entry.any("expectations") or []
        yield Task(
            name=slug(f"{data.get('skill_name') or 'eval'}-{entry.needed('id')}"),
            tests=tests,
            keyword=keyword,
            marks=marks,
            prompt=str(prompt),
            files=tuple(os.path.relpath(skill / name, root) for name in entry.texts("files")),
            assertions=tuple(
                item if isinstance(item, str) else json.dumps(item)
                for item in (asserted if isinstance(asserted, list) else [asserted])
            ),
        )


def _files(named: list[Path], root: Path) -> Iterator[Path]:
    """The named files, of directories the Python files in them, and the conftests that apply to them."""
    for path in named:
        yield from (folder / "conftest.py" for folder in path.parents if folder == root or root in folder.parents)
        if path.is_dir():
            yield from sorted(file for file in path.rglob("*.py") if not _is_hidden(file.relative_to(path)))
        else:
            yield path


def _is_hidden(path: Path) -> bool:
    return any(part.startswith((".", "__pycache__")) for part in path.parts)


def _hash(path: Path) -> str:
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return "unreadable"
