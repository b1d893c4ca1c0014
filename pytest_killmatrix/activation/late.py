"""A target that is loaded after the fork gets the mutant's source, whatever name it is loaded under.

Standard library only, and importable by file path: child interpreters of a test load it too.
"""

from __future__ import annotations

import importlib.machinery
import os
import runpy
import types
from collections.abc import Callable
from typing import Any


class StaleSource(Exception):
    """The file changed since the mutant was made."""


def install_mutant(
    path: str,
    start: int,
    end: int,
    text: bytes,
    sha256: str,
    whole: bool,
    mark: Callable[[int, int], None],
    marking: Any,
) -> None:
    """From now on every load of the file at ``path`` (resolved) runs the mutant, which calls ``mark``.

    The loader's ``get_code`` is replaced rather than ``sys.meta_path``, which ``spec_from_file_location`` never asks;
    bytecode caches are bypassed both ways. ``marking`` is the module of that name; None for a mutant without marks.
    A ``whole`` one has its marks where the module begins and ends, not where it differs.
    """
    name = os.path.basename(path)

    def is_target(candidate: Any) -> bool:
        try:
            candidate = os.fspath(candidate)
        except TypeError:
            return False
        return bool(os.path.basename(candidate) == name and os.path.realpath(candidate) == path)

    def mutant_code(filename: str) -> types.CodeType:
        import hashlib

        with open(path, "rb") as file:
            source = file.read()
        if hashlib.sha256(source).hexdigest() != sha256:
            raise StaleSource(f"{path} changed during the run")
        if marking is None:
            return compile_plain(source[:start] + text + source[end:], filename)
        mutated = source[:start] + text + source[end:]
        return compile_marked(None if whole else source, mutated, filename, mark, marking)

    loader: Any = importlib.machinery.SourceFileLoader
    load = loader.get_code

    def get_code(self: Any, fullname: str) -> Any:
        filename = self.get_filename(fullname)
        return mutant_code(filename) if is_target(filename) else load(self, fullname)

    loader.get_code = get_code
    run: Any = runpy
    from_file = run._get_code_from_file

    def get_code_from_file(*args: Any) -> Any:
        found = from_file(*args)
        if not is_target(args[-1]):
            return found
        code = mutant_code(os.fspath(args[-1]))
        return (code, *found[1:]) if isinstance(found, tuple) else code

    run._get_code_from_file = get_code_from_file


def compile_marked(
    original: bytes | None, mutated: bytes, filename: str, mark: Callable[[int, int], None], marking: Any
) -> types.CodeType:
    """A module's mutant with its marks in place: where it differs from ``original``, or around all of it."""
    import ast
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(mutated)
        tree = marking.mark_whole(tree) if original is None else marking.mark(ast.parse(original), tree)
        code: types.CodeType = compile(tree, filename, "exec", dont_inherit=True)
    installed: types.CodeType = marking.install(code, mark)
    return installed


def compile_plain(mutated: bytes, filename: str) -> types.CodeType:
    """A whole module's mutant as it stands."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code: types.CodeType = compile(mutated, filename, "exec", dont_inherit=True)
    return code
