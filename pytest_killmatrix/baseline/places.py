"""Where collected items come from."""

from __future__ import annotations

import pytest

from pytest_killmatrix.baseline.fingerprints import Place


def place_of(item: pytest.Item) -> Place:
    """File, classes and function of an item, by its place in the collection."""
    path = item.nodeid.partition("::")[0]
    if not isinstance(item, pytest.Function):
        return Place(path)
    classes = tuple(node.name for node in item.listchain()[:-1] if isinstance(node, pytest.Class))
    return Place(path, classes, item.originalname or item.name)
