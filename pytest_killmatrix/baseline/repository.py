"""What git knows of the project at a ref; only ever read, and neither working tree nor index is touched."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

MERGE_BASE: Final = "merge-base:"
_NOT_PASSED_ON: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")


class RefError(Exception):
    """There is no such state of the project; the message is one line and says what to do."""


@dataclass(frozen=True, slots=True)
class Repository:
    """The repository that the project at ``root`` is in: its top directory, and the project's place below that."""

    root: Path
    top: Path
    prefix: str

    @classmethod
    def of(cls, root: Path) -> Repository:
        """RefError where ``root`` is in no repository, or there is no git."""
        try:
            done = _git(root, ["rev-parse", "--show-toplevel", "--show-prefix"])
        except OSError as error:
            raise RefError("git cannot be run: install it, or leave --mutation-baseline out") from error
        if done.returncode and b"not a git repository" not in done.stderr:
            said = os.fsdecode(done.stderr).strip().split("\n", 1)[0] or f"exit status {done.returncode}"
            raise RefError(f"git cannot look into {root}: {said}")
        if done.returncode:
            raise RefError(
                f"{root} is in no git repository, so there is nothing to compare with; leave --mutation-baseline out"
            )
        top, _, prefix = os.fsdecode(done.stdout).rstrip("\n").partition("\n")
        return cls(root, Path(top), prefix.strip())

    def commit(self, ref: str) -> str:
        """The commit that ``ref`` names; ``merge-base:REF`` is where the current branch left REF."""
        if ref.startswith(MERGE_BASE):
            other = self.commit(ref[len(MERGE_BASE) :])
            done = _git(self.root, ["merge-base", "HEAD", other])
            if done.returncode:
                raise RefError(f"{ref}: the current branch has no commit in common with it{self._remedy()}")
            return os.fsdecode(done.stdout).strip()
        if not ref or ref.startswith("-"):
            raise RefError(f"{ref!r} is no git ref; give a branch, a tag, a commit or merge-base:BRANCH")
        done = _git(self.root, ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}"])
        if done.returncode:
            raise RefError(f"{ref} is no commit that this repository has{self._remedy(ref)}")
        return os.fsdecode(done.stdout).strip().splitlines()[-1]

    def _remedy(self, ref: str = "") -> str:
        shallow = os.fsdecode(_git(self.root, ["rev-parse", "--is-shallow-repository"]).stdout).strip() == "true"
        if shallow:
            return "; this clone is shallow: git fetch --unshallow gets the rest" + (
                f", git fetch origin {ref} that one" if ref and "~" not in ref and "^" not in ref else ""
            )
        return "; git fetch gets what the remote has, git branch -a lists what there is"

    def check_out(self, commit: str, folder: Path) -> None:
        """Write every file of the commit below ``folder`` as a checkout would: line ends, filters, links, modes.

        By way of an index of its own in ``folder``; the project's is neither read nor written.
        """
        index = folder / ".index"
        environ = {"GIT_INDEX_FILE": str(index)}
        steps = (["read-tree", commit], ["checkout-index", "--all", f"--prefix={folder}/tree/"])
        for words in steps:
            done = _git(self.top, words, environ)
            if done.returncode:
                last = os.fsdecode(done.stderr).strip().rsplit("\n", 1)[-1]
                raise RefError(f"git cannot check out {commit[:12]}: {last}{self._remedy()}")
        index.unlink(missing_ok=True)

    def text(self, commit: str, path: str) -> bytes | None:
        """A file's bytes at a commit, as a checkout would write them; None where it did not exist."""
        done = _git(self.top, ["cat-file", "--filters", f"{commit}:{self.prefix}{path}"])
        return None if done.returncode else done.stdout


def _git(
    folder: Path, words: Sequence[str], environ: Mapping[str, str] = MappingProxyType({})
) -> subprocess.CompletedProcess[bytes]:
    # what git's own hooks set would make it look at another repository
    plain = {name: value for name, value in os.environ.items() if name not in _NOT_PASSED_ON}
    environ = {**plain, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", **environ}
    return subprocess.run(["git", *words], cwd=folder, env=environ, capture_output=True, check=False, timeout=600)
