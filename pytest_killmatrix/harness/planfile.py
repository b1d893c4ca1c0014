"""The plan: base, mutants and tasks in one YAML file, written by ``plan`` and read by ``run`` and ``score``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final

import yaml

from pytest_killmatrix.analysis.candidates import is_mutant
from pytest_killmatrix.harness.operators import NOOP
from pytest_killmatrix.harness.reading import Fields, HarnessError, read_fields, write_atomically
from pytest_killmatrix.harness.suite import TIMEOUT, Task, check_name
from pytest_killmatrix.harness.variants import Variant, digest

FORMAT: Final = 1
_HEAD: Final = "# A plan of harness mutants, made by killmatrix harness plan. Run it with killmatrix harness run.\n"
_CONTENT: Final = ("skills", "skills_remove", "instructions", "instructions_append", "approvals", "files")


class Fate(str, Enum):
    """What a plan does with a mutant."""

    RUN = "run"
    EQUIVALENT = "equivalent"
    DUPLICATE = "duplicate"
    LEFT_OUT = "left out"


@dataclass(frozen=True, slots=True)
class PlannedMutant:
    """A mutant of the plan; ``reason`` says why it is not run, or not counted. A noop is run and equivalent."""

    name: str
    operator: str
    component: str
    title: str
    fate: Fate
    reason: str | None = None

    @property
    def is_control(self) -> bool:
        return self.operator == NOOP

    @property
    def runs(self) -> bool:
        return self.fate is Fate.RUN or self.is_control


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that ``run`` and ``score`` have to know; ``variants`` has the base and every mutant that is run."""

    harness: str
    root: Path
    base: str
    variants: tuple[Variant, ...]
    mutants: tuple[PlannedMutant, ...]
    tasks: tuple[Task, ...]
    trials: int
    cost_usd: float | None
    minutes: float | None
    timeout: float
    not_generated: tuple[tuple[str, str], ...] = ()

    def variant(self, name: str) -> Variant:
        return next(variant for variant in self.variants if variant.name == name)

    @property
    def controls(self) -> tuple[PlannedMutant, ...]:
        return tuple(mutant for mutant in self.mutants if mutant.is_control)

    @property
    def run_set(self) -> str:
        """The name of the run set that the trials go to: plans with the same base and tasks share one."""
        content = [self.variant(self.base).fingerprint, [task.fingerprint for task in self.tasks]]
        return f"{self.harness}-{digest(content)[:8]}"

    @property
    def fingerprint(self) -> str:
        return digest([self.harness, [v.as_dict() for v in self.variants], [t.as_dict() for t in self.tasks]])


def write_plan(plan: Plan, path: Path) -> None:
    """Write a plan; only another plan is replaced."""
    text = _HEAD + yaml.dump(
        _as_dict(plan, path), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110, default_flow_style=False
    )
    write_atomically(path, text)


def plan_problem(path: Path) -> str | None:
    """Why a plan cannot be written there."""
    if not path.parent.is_dir():
        return f"cannot write {path}: no directory {path.parent}; create it, or give another --out"
    if path.is_dir():
        return f"cannot write {path}: it is a directory; give a file with --out"
    if path.exists():
        try:
            head = path.read_bytes()[:4096]
        except OSError as error:
            return f"cannot write {path}: {error.strerror}; give another --out"
        if head.strip() and b"killmatrix_plan:" not in head:
            return f"cannot write {path}: there is a file that is no plan, not touched; give another --out"
    return None


def read_plan(path: Path) -> Plan:
    """Read and check a plan."""
    fields = read_fields(path, "plan")
    if "killmatrix_plan" not in fields:
        raise HarnessError(f"{path} is no plan; make one with killmatrix harness plan SUITE --out {path.name}")
    number = fields.whole("killmatrix_plan")
    if number is None or number > FORMAT:
        raise HarnessError(f"the plan {path} is of a newer pytest-killmatrix: upgrade this one, or plan again")
    harness = check_name(str(fields.needed("harness")), fields.where)
    variants = tuple(_variant(entry, harness) for entry in fields.mappings("variants"))
    plan = Plan(
        harness=harness,
        root=(path.parent / str(fields.needed("root"))).resolve(),
        base=str(fields.needed("base")),
        variants=variants,
        mutants=tuple(_mutant(entry) for entry in fields.mappings("mutants")),
        tasks=tuple(_task(entry) for entry in fields.mappings("tasks")),
        trials=fields.whole("trials") or 1,
        cost_usd=fields.number("cost_usd"),
        minutes=fields.number("minutes"),
        timeout=fields.number("timeout_s", TIMEOUT, above=0) or TIMEOUT,
        not_generated=tuple(
            (str(entry.needed("operator")), str(entry.needed("reason"))) for entry in fields.mappings("not_generated")
        ),
    )
    fields.done()
    _check(plan, path)
    return plan


def _check(plan: Plan, path: Path) -> None:
    names = [variant.name for variant in plan.variants]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise HarnessError(f"plan {path}: two variants are named {twice!r}; plan again")
    if plan.base not in names or is_mutant(plan.base):
        raise HarnessError(f"plan {path}: the base {plan.base!r} is none of its variants; plan again")
    if not plan.tasks:
        raise HarnessError(f"plan {path}: no task; plan again")
    if not any(mutant.runs for mutant in plan.mutants):
        raise HarnessError(f"plan {path}: no mutant to run; plan again with other --ops")
    for mutant in plan.mutants:
        if mutant.runs and (mutant.name not in names or not is_mutant(mutant.name)):
            raise HarnessError(f"plan {path}: the mutant {mutant.name!r} is none of its variants; plan again")
    if not plan.root.is_dir():
        raise HarnessError(f"plan {path}: there is no directory {plan.root}; plan again where the suite is")


def _as_dict(plan: Plan, path: Path) -> dict[str, Any]:
    return {
        "killmatrix_plan": FORMAT,
        "harness": plan.harness,
        "root": os.path.relpath(plan.root, path.parent.resolve()),
        "trials": plan.trials,
        **({} if plan.cost_usd is None else {"cost_usd": plan.cost_usd}),
        **({} if plan.minutes is None else {"minutes": plan.minutes}),
        "timeout_s": plan.timeout,
        "base": plan.base,
        "mutants": [
            {
                "name": mutant.name,
                "operator": mutant.operator,
                "component": mutant.component,
                "drops": mutant.title,
                "fate": mutant.fate.value,
                **({} if mutant.reason is None else {"reason": mutant.reason}),
            }
            for mutant in plan.mutants
        ],
        "not_generated": [{"operator": operator, "reason": reason} for operator, reason in plan.not_generated],
        "tasks": [{key: value for key, value in task.as_dict().items() if value} for task in plan.tasks],
        "variants": [_variant_dict(variant) for variant in plan.variants],
    }


def _variant_dict(variant: Variant) -> dict[str, Any]:
    data = variant.as_dict()
    return {"name": data["name"], **{key: data[key] for key in _CONTENT if data[key] or data[key] == []}}


def _variant(entry: Fields, harness: str) -> Variant:
    files = entry.any("files") or {}
    if not isinstance(files, dict):
        raise entry.error("files", "a mapping of paths to texts is needed")
    found = Variant(
        harness=harness,
        name=check_name(str(entry.needed("name")), entry.where),
        skills=entry.texts("skills") if entry.any("skills") is not None else None,
        skills_remove=entry.texts("skills_remove"),
        instructions=entry.text("instructions") or "",
        instructions_append=entry.text("instructions_append") or "",
        approvals=entry.text("approvals"),
        files=tuple((str(name), str(text)) for name, text in files.items()),
    )
    entry.done()
    return found


def _mutant(entry: Fields) -> PlannedMutant:
    fate = str(entry.needed("fate"))
    if fate not in {member.value for member in Fate}:
        raise entry.error("fate", f"{fate!r} is unknown; {', '.join(member.value for member in Fate)} will do")
    found = PlannedMutant(
        name=check_name(str(entry.needed("name")), entry.where),
        operator=str(entry.needed("operator")),
        component=str(entry.needed("component")),
        title=entry.text("drops") or "",
        fate=Fate(fate),
        reason=entry.text("reason"),
    )
    entry.done()
    return found


def _task(entry: Fields) -> Task:
    found = Task(
        name=check_name(str(entry.needed("name")), entry.where),
        tests=entry.texts("tests"),
        keyword=entry.text("k"),
        marks=entry.text("m"),
        prompt=entry.text("prompt"),
        files=entry.texts("files"),
        assertions=entry.texts("assertions"),
        fingerprint=entry.text("fingerprint") or "",
    )
    entry.done()
    return found


def tasks_changed(plan: Plan, current: Iterator[tuple[str, str]]) -> list[str]:
    """Names of the tasks whose graders are not what they were when the plan was made."""
    planned = {task.name: task.fingerprint for task in plan.tasks}
    return [name for name, fingerprint in current if planned[name] != fingerprint]


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as blocks, which people can read."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)
