"""The real packages that the benchmark runs on, and how to fetch and run each of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import venv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


@dataclass(frozen=True)
class Package:
    """One source distribution with tests.

    ``files`` are mutated. ``path`` joins ``PYTHONPATH``, so that whatever copy of the project a run stands in is the
    one that it imports. ``truth_args`` switch off what only costs time when a single test is run by plain pytest.
    ``source_paths``, ``also_copy`` and ``mutmut_args`` are for mutmut, ``tests`` is for fermut.
    ``cpu_limit`` is what one run may cost with ``--kill-matrix-static=skip``, ``static_limit`` with static mutants
    (everything included), where a limit was set.
    """

    name: str
    version: str
    files: tuple[str, ...]
    path: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    truth_args: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    source_paths: tuple[str, ...] = ()
    also_copy: tuple[str, ...] = ()
    tests: str = "tests"
    mutmut_args: tuple[str, ...] = ()
    cpu_limit: float | None = None
    static_limit: float | None = None


PACKAGES = {
    package.name: package
    for package in (
        Package(
            "inflection",
            "0.5.1",
            files=("inflection/__init__.py",),
            source_paths=("inflection",),
            tests=".",
            cpu_limit=15,
            static_limit=100,
        ),
        Package(
            "toolz",
            "1.2.0",
            files=("toolz/dicttoolz.py", "toolz/functoolz.py", "toolz/itertoolz.py", "toolz/recipes.py"),
            source_paths=("toolz",),
            also_copy=("tlz", "toolz.egg-info"),
            tests="toolz/tests",
            cpu_limit=45,
            static_limit=140,
        ),
        Package(
            "semver",
            "3.1.2",
            files=("src/semver/version.py",),
            path=("src",),
            truth_args=("--no-cov",),
            requires=("pytest-cov", "packaging"),
            source_paths=("src",),
            also_copy=("docs", ".pytest.ini", "README.rst", "CHANGELOG.rst"),
            mutmut_args=("--ignore=tests/test_pysemver-cli.py",),  # fails in it, unmutated
            cpu_limit=40,
            static_limit=60,
        ),
        Package(
            "cachetools",
            "8.0.2",
            files=("src/cachetools",),
            path=("src",),
            source_paths=("src",),
        ),
        # Not run by default.
        Package(
            "parse",
            "1.22.4",
            files=("parse.py",),
            truth_args=("--no-cov",),
            requires=("pytest-cov",),
            source_paths=("parse.py",),
        ),
        Package(
            "boltons",
            "26.2.0",
            files=("boltons/iterutils.py", "boltons/strutils.py", "boltons/dictutils.py", "boltons/cacheutils.py"),
            source_paths=("boltons",),
            also_copy=("pytest.ini", "tox.ini"),
        ),
    )
}
DEFAULT = ("inflection", "toolz", "semver", "cachetools")


def environment(package: Package, project: Path, hash_seed: str = "0") -> dict[str, str]:
    """What a test run in ``project`` sees: nothing of the caller's pytest or coverage settings."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COV", "HYPOTHESIS", "PYTHON", "TOX"))}
    env.update(PYTHONDONTWRITEBYTECODE="1", PYTHONHASHSEED=hash_seed)
    if package.path:
        env["PYTHONPATH"] = os.pathsep.join(str(project / part) for part in package.path)
    return env


def fetch(package: Package, work: Path) -> Path:
    """The unpacked source distribution, downloaded by pip if it is not there yet."""
    project = work / package.name / f"{package.name}-{package.version}"
    if project.is_dir():
        return project
    downloads = work / "downloads"
    downloads.mkdir(parents=True, exist_ok=True)
    wanted = f"{package.name}=={package.version}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", package.name]
    _check([*command, "--dest", str(downloads), wanted])
    archive = next(downloads.glob(f"{package.name}-{package.version}.tar.gz"))
    target = work / package.name / "unpacking"
    shutil.rmtree(target, ignore_errors=True)
    with tarfile.open(archive) as tar:
        if sys.version_info >= (3, 12):
            tar.extractall(target, filter="data")
        else:
            tar.extractall(target)
    (target / f"{package.name}-{package.version}").rename(project)
    target.rmdir()
    if not _has_pytest_config(project):
        # Else pytest would look for one further up, and find that of the checkout around it.
        (project / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return project


def _has_pytest_config(project: Path) -> bool:
    sections = {"pyproject.toml": "[tool.pytest", "tox.ini": "[pytest]", "setup.cfg": "[tool:pytest]"}
    if any((project / name).exists() for name in ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml")):
        return True
    files = ((project / name, section) for name, section in sections.items())
    return any(path.exists() and section in path.read_text(encoding="utf-8") for path, section in files)


def make_venv(path: Path, install: Sequence[str]) -> Path:
    """A virtual environment with what is named; made once, the installation refreshed each time. Returns its python."""
    python = path / "bin" / "python"
    if not python.exists():
        venv.create(path, with_pip=True)
    _check([str(python), "-m", "pip", "install", "--quiet", *install])
    return python


def own_venv(work: Path, packages: Iterable[Package]) -> Path:
    """The environment of the kill matrix: this checkout, and what the packages' tests need."""
    needs = sorted({need for package in packages for need in package.requires})
    return make_venv(work / "venvs" / "killmatrix", [str(ROOT), *needs])


def copy_project(project: Path, target: Path) -> Path:
    """A fresh copy without caches of any kind."""
    shutil.rmtree(target, ignore_errors=True)
    junk = shutil.ignore_patterns("__pycache__", "*.pyc", ".pytest_cache", ".killmatrix*", ".coverage*~", "mutants")
    return Path(shutil.copytree(project, target, symlinks=True, ignore=junk))


def python_files(package: Package, project: Path) -> list[str]:
    """The files to mutate, directories expanded, relative to the project."""
    found: list[str] = []
    for name in package.files:
        path = project / name
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        found += [str(file.relative_to(project)) for file in files]
    return found


def _check(command: Sequence[str]) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
