"""Where collected items come from."""

from __future__ import annotations

import pytest

from pytest_killmatrix.baseline.fingerprints import Place


def place_of(item: pytest.Item) -> Place:
    """File, classes and function of an item, by its place in the collection."""
    path = item.nodeid.partition("::")[0]
    root, real = item.config.rootpath.resolve(), item.path.resolve()
    found = real.relative_to(root).as_posix() if real.is_relative_to(root) else path
    target = found if found != path else None
    if not isinstance(item, pytest.Function):
        return Place(path, target=target)
    classes = tuple(node.name for node in item.listchain()[:-1] if isinstance(node, pytest.Class))
    return Place(path, classes, item.originalname or item.name, target)
