"""What has to be known of items beyond their ids, which a mutant may change."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import pytest

Identity = tuple[str, ...]


def identities(items: Sequence[pytest.Item]) -> list[Identity]:
    """One identity an item: its file, class chain, function, and which of that function's parameter sets it is."""
    seen: Counter[Identity] = Counter()
    found = []
    for item in items:
        chain = [node.name for node in item.listchain()[:-1] if isinstance(node, pytest.Class)]
        name = getattr(item, "originalname", None) or item.name
        base = (item.nodeid.split("::", 1)[0], type(item).__name__, *chain, name)
        found.append((*base, str(seen[base])))
        seen[base] += 1
    return found


def pair(order: Sequence[Identity], names: Sequence[str], items: Sequence[pytest.Item]) -> dict[Identity, pytest.Item]:
    """Items of another collection by the identities (``order``, node ids ``names``) that they had in the first.

    Parameter sets are told by their place; by their ids where these are the same in another order, as those of a
    ``set`` are under another hash seed.
    """
    ids: defaultdict[Identity, dict[str, Identity]] = defaultdict(dict)
    for identity, name in zip(order, names, strict=True):
        ids[identity[:-1]][name] = identity
    found: defaultdict[Identity, dict[str, tuple[Identity, pytest.Item]]] = defaultdict(dict)
    for identity, item in zip(identities(items), items, strict=True):
        found[identity[:-1]][item.nodeid] = (identity, item)
    paired: dict[Identity, pytest.Item] = {}
    for base, parameters in found.items():
        same = ids[base].keys() == parameters.keys()
        for name, (identity, item) in parameters.items():
            paired[ids[base][name] if same else identity] = item
    return paired


def fixture_definitions(item: pytest.Item) -> dict[str, Any]:
    """The item's fixtures by name, each as the chain of definitions that override one another."""
    info: Any = getattr(item, "_fixtureinfo", None)
    found: dict[str, Any] = getattr(info, "name2fixturedefs", {})
    return found


def shared_tear_down(item: pytest.Item) -> bool:
    """Whether more than the item itself was torn down with it."""
    state: Any = item.session._setupstate
    return any(node not in state.stack for node in item.listchain()[:-1])


def ends_shared(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Whether more than the item itself is going to be torn down with it."""
    if nextitem is not None and nextitem.parent is item.parent:
        return False
    state: Any = item.session._setupstate
    needed = nextitem.listchain() if nextitem is not None else []
    return any(node in state.stack and node not in needed for node in item.listchain()[:-1])


def shared_set_up_failed(item: pytest.Item) -> bool:
    """Whether a fixture or collector that other items share failed while it was set up."""
    for chain in fixture_definitions(item).values():
        for definition in chain:
            cached = definition.cached_result
            if definition.scope != "function" and cached is not None and cached[2] is not None:
                return True
    state: Any = item.session._setupstate
    return any(failed is not None for node, (_, failed) in state.stack.items() if node is not item)
