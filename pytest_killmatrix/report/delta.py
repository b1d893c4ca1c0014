"""The delta for people: lines for a terminal, and a block of Markdown for a pull request.

Both take the delta as the JSON report has it (``analysis.delta.as_json``) and the mutants by key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from pytest_killmatrix.analysis.delta import ASSERTION, GAINED, NEW, NOTHING_LEFT
from pytest_killmatrix.model import Mutant
from pytest_killmatrix.report.listing import Line, Style
from pytest_killmatrix.report.text import cells, count, fit, flow, number, one_line_diff, pad, percent, plain

LABEL: Final = 21
MUTANTS: Final = 12
TESTS: Final = 12
WHO: Final = 28
_SCOPES: Final = {
    "all": "all mutants",
    "changed": "mutants in lines that changed since then",
    "covered": "mutants that added or changed tests reach",
}


def headline(delta: Mapping[str, Any]) -> str:
    """The delta in one line."""
    return (
        f"{delta['verdict']}: {count(delta['gained_by_assertion'], 'mutant')} gained by assertion, of a headroom of "
        f"{number(delta['headroom'])}; {number(len(delta['lost']))} lost"
    )


def scores(delta: Mapping[str, Any]) -> str:
    """Both suites over the one set that they share."""
    parts = []
    for name, words in (("score_old", "old"), ("score_new", "new"), ("score_ref", "old tests on old source")):
        score = delta.get(name)
        if score is not None:
            fraction = f"{number(score['numerator'])} of {number(score['denominator'])}"
            parts.append(f"{words} {percent(score['numerator'], score['denominator'])} ({fraction})")
    return ", ".join(parts)


def render(delta: Mapping[str, Any], mutants: Mapping[str, Mutant], style: Style, quiet: bool) -> Iterator[Line]:
    """The screen: what was gained first, what it came out of, what was lost, who did it."""
    yield from _headline(delta, style)
    if quiet:
        return
    yield from _context(delta, style)
    yield from _who(delta, style)
    yield from _mutants("gained", delta["gained"], mutants, style, {"green": True})
    yield from _mutants("lost", delta["lost"], mutants, style, {"red": True})
    yield from _keys("downgraded: still detected, no longer by an assertion", delta["downgraded"], mutants, style)
    yield from _unconfirmed(delta, mutants, style)
    yield from _keys("undecided: an outcome is missing that could decide", delta["undecided"], mutants, style)
    yield from _excluded(delta, style)


def _headline(delta: Mapping[str, Any], style: Style) -> Iterator[Line]:
    gained, headroom = delta["gained_by_assertion"], delta["headroom"]
    markup = {"bold": True, "green": True} if gained else {"bold": True}
    words = f"of {number(headroom)} that the old suite does not detect"
    if not headroom:
        words = "there was nothing to gain: the old suite detects every mutant in scope"
    yield from _words("gained by assertion", number(gained), words, style, markup)
    if delta["lost"]:
        text = f"{'lost':{LABEL}}{number(len(delta['lost'])):>6}   the old suite detected them, the new one does not"
        yield style.fit(text), {"red": True, "bold": True}
    if headroom and not gained:
        what = "mutants were left to gain, and no assertion of a new test notices one"
        yield from _words("", "", f"gained nothing: {what}", style, {"yellow": True})


def _words(label: str, amount: str, words: str, style: Style, markup: dict[str, bool]) -> Iterator[Line]:
    for line in flow(words.split(" "), style.width, first=f"{label:{LABEL}}{amount:>6}   ", separator=" "):
        yield line, markup


def _context(delta: Mapping[str, Any], style: Style) -> Iterator[Line]:
    other = Counter((gain["by"], gain["origin"]) for gain in delta["gained"])
    by_crash = sum(times for (by, origin), times in other.items() if by == "crash" and origin == "new")
    by_timeout = sum(times for (by, origin), times in other.items() if by == "timeout" and origin == "new")
    restored = sum(times for (_, origin), times in other.items() if origin == "restored")
    mixed = sum(times for (_, origin), times in other.items() if origin == "mixed")
    rows = [
        ("gained otherwise", by_crash + by_timeout, [f"crash {by_crash}", f"timeout {by_timeout}"]),
        ("restored", restored, ["by tests in place of old ones that judge nothing now"]),
        ("mixed", mixed, ["by such tests and by others"]),
        ("lost", len(delta["lost"]), []),
        ("upgraded", len(delta["upgraded"]), ["only crashed or timed out before, asserted now"]),
        ("downgraded", len(delta["downgraded"]), ["asserted before, only crash or time out now"]),
        ("unconfirmed", len(delta["unconfirmed"]), ["running again said otherwise"]),
        ("undecided", len(delta["undecided"]), []),
    ]
    before = [f"{kind} {number(times)}" for kind, times in delta.get("kept_by", {}).items() if times]
    yield _row("detected before", delta["kept"] + len(delta["lost"]), before, style), {}
    yield _row("still undetected", delta["still_alive"], [], style), {}
    for name, amount, words in rows:
        if amount and name != "lost":
            yield _row(name, amount, words, style), {}
    scope = f"{_SCOPES[delta['scope']]}"
    yield style.fit(f"{'scope':{LABEL}}{delta['scope']:>6}   {scope}"), {}
    old, new = delta["score_old"], delta["score_new"]
    if old["denominator"]:
        scores = [
            f"old {percent(old['numerator'], old['denominator'])}",
            f"new {percent(new['numerator'], new['denominator'])}",
            f"of one set of {number(old['denominator'])}",
        ]
        yield style.fit(f"{'asserted':{LABEL}}{'':6}   {style.separator.join(scores)}"), {}
    if (ref := delta.get("score_ref")) is not None:
        share = f"{percent(ref['numerator'], ref['denominator'])}  {ref['numerator']} of {ref['denominator']}"
        yield style.fit(f"{'at the baseline':{LABEL}}{'':6}   {share}, its tests on its own source"), {}
    if not delta.get("confirmed", True):
        yield style.fit(f"{'confirmed':{LABEL}}{'no':>6}   of stored runs nothing is run again"), {"yellow": True}
    tests = delta["tests"]
    parts = [f"{name} {number(len(tests[name]))}" for name in ("added", "changed", "renamed", "removed") if tests[name]]
    parts.append(f"unchanged {number(tests['unchanged'])}")
    for line in flow(parts, style.width, first=f"{'tests':{LABEL}}{'':6}   ", separator=style.separator):
        yield line, {}


def _row(name: str, amount: int, words: list[str], style: Style) -> str:
    return style.fit(f"{name:{LABEL}}{number(amount):>6}   {style.separator.join(words)}".rstrip())


def _who(delta: Mapping[str, Any], style: Style) -> Iterator[Line]:
    if not delta["by_test"]:
        return
    yield "", {}
    yield style.fit("added and changed tests"), {"bold": True}
    renamed = _renamed(delta)
    shares = sorted(delta["by_test"], key=lambda share: (-share["gained"], share["nodeid"]))
    for share in shares[: style.limit(TESTS)]:
        yield _named(share["nodeid"], _share(share, renamed), style), {} if share["gained"] else {"yellow": True}
    yield from _more(len(shares), TESTS, style)


def _share(share: Mapping[str, Any], renamed: Collection[str]) -> str:
    if share["verdict"] == GAINED:
        only = f", {number(share['unique'])} of them alone" if share["unique"] else ", none of them alone"
        return f"gained {number(share['gained'])}{only}"
    if share["nodeid"] in renamed:
        return "renamed: the old suite has it too"
    return "nothing left to gain" if share["verdict"] == NOTHING_LEFT else "noticed nothing"


def _renamed(delta: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(pair["new"] for pair in delta["tests"]["renamed"])


def _named(name: str, words: str, style: Style) -> str:
    room = style.width - cells(words) - 4
    shown = plain(name, ascii=style.ascii)
    if cells(shown) > room:
        shown = style.dots + shown[-(room - len(style.dots)) :]
    return f"  {pad(shown, room)}  {words}"


def _more(total: int, most: int, style: Style) -> Iterator[Line]:
    if style.limit(most) is not None and total > most:
        yield f"  {style.dots} {number(total - most)} more, -v shows all", {}


def _mutants(
    name: str, entries: list[dict[str, Any]], mutants: Mapping[str, Mutant], style: Style, markup: dict[str, bool]
) -> Iterator[Line]:
    if not entries:
        return
    yield "", {}
    yield f"{name} ({number(len(entries))})", {"bold": True, **markup}
    shown = sorted(entries, key=lambda entry: _order(entry["mutant"], mutants))[: style.limit(MUTANTS)]
    yield from _places([(entry["mutant"], _by(entry, style)) for entry in shown], mutants, style)
    yield from _more(len(entries), MUTANTS, style)


def _by(entry: Mapping[str, Any], style: Style) -> str:
    """Who noticed it, and how where that was not by an assertion of its own making."""
    killers = entry.get("killed_by") or entry.get("was_killed_by") or []
    name = plain(killers[0].rpartition("::")[2], ascii=style.ascii) if killers else ""
    words = [entry["by"]] if entry["by"] != ASSERTION else []
    words += [entry["origin"]] if entry.get("origin") not in (None, NEW) else []
    more = f" +{len(killers) - 1}" if len(killers) > 1 else ""
    return fit(f"{', '.join(words)}: {name}" if words else name, WHO - len(more), style.dots) + more


def _order(key: str, mutants: Mapping[str, Mutant]) -> tuple[str, int, int, str]:
    mutant = mutants.get(key)
    return (mutant.path, mutant.line, mutant.column, key) if mutant is not None else ("", 0, 0, key)


def _places(entries: list[tuple[str, str]], mutants: Mapping[str, Mutant], style: Style) -> Iterator[Line]:
    """Mutants by file, each in a line: where, what changes, and a few words."""
    path = ""
    for key, words in entries:
        mutant = mutants.get(key)
        if mutant is None:
            yield style.fit(f"  {plain(key, ascii=style.ascii)}"), {}
            continue
        if mutant.path != path:
            path = mutant.path
            yield style.fit(f"  {plain(path, ascii=style.ascii)}"), {}
        start = f"{mutant.line:6}: "
        room = style.width - len(start) - (cells(words) + 2 if words else 0)
        change = one_line_diff(mutant.original, mutant.replacement, room, ascii=style.ascii)
        yield style.fit(f"{start}{pad(change, room)}  {words}".rstrip()), {}


def _keys(title: str, keys: list[str], mutants: Mapping[str, Mutant], style: Style) -> Iterator[Line]:
    if not keys:
        return
    yield "", {}
    yield style.fit(f"{title} ({number(len(keys))})"), {"bold": True, "yellow": True}
    shown = sorted(keys, key=lambda key: _order(key, mutants))[: style.limit(MUTANTS)]
    yield from _places([(key, "") for key in shown], mutants, style)
    yield from _more(len(keys), MUTANTS, style)


def _unconfirmed(delta: Mapping[str, Any], mutants: Mapping[str, Mutant], style: Style) -> Iterator[Line]:
    if not delta["unconfirmed"]:
        return
    yield "", {}
    yield f"unconfirmed ({number(len(delta['unconfirmed']))})", {"bold": True, "yellow": True}
    for entry in delta["unconfirmed"][: style.limit(MUTANTS)]:
        yield from _places([(entry["mutant"], "")], mutants, style)
        yield style.fit(f"      {plain(entry['why'], ascii=style.ascii)}"), {}
    yield from _more(len(delta["unconfirmed"]), MUTANTS, style)


def _excluded(delta: Mapping[str, Any], style: Style) -> Iterator[Line]:
    excluded = delta["tests"]["excluded"]
    if not excluded:
        return
    yield "", {}
    yield f"old tests that judge nothing on today's source ({number(len(excluded))})", {"bold": True, "yellow": True}
    for entry in excluded[: style.limit(TESTS)]:
        words = entry["reason"]
        if entry["headroom_reached"]:
            words += f", reaches {count(entry['headroom_reached'], 'mutant')} of the headroom"
        yield _named(entry["nodeid"], words, style), {}
    yield from _more(len(excluded), TESTS, style)


# -- Markdown ------------------------------------------------------------------------------------------------------


def markdown(delta: Mapping[str, Any], mutants: Mapping[str, Mutant]) -> str:
    """A block for a pull request: the same facts in the same order."""
    gained, headroom = delta["gained_by_assertion"], delta["headroom"]
    lines = [f"### Mutants: what the tests gained since `{_code(delta['baseline'])}`", ""]
    if not headroom:
        lines.append("**Nothing to gain**: the old suite detects every mutant in scope.")
    elif gained:
        lines.append(
            f"**{count(gained, 'mutant')} gained by assertion**, of {number(headroom)} that the old suite misses."
        )
    else:
        lines.append(
            f"**Gained nothing**: no assertion of a new test notices one of the {number(headroom)} left to gain."
        )
    if delta["lost"]:
        lines += [
            "",
            f"**{count(len(delta['lost']), 'mutant')} lost**: the old suite detected them, the new one does not.",
        ]
    others = Counter(gain["by"] for gain in delta["gained"] if gain["by"] != "assertion" and gain["origin"] == "new")
    restored = sum(gain["origin"] != "new" for gain in delta["gained"])
    rows = [
        ("detected before", delta["kept"] + len(delta["lost"])),
        ("still undetected", delta["still_alive"]),
        *((f"gained by {by}", times) for by, times in others.items()),
        ("restored (in place of old tests that fail now)", restored),
        ("upgraded to an assertion", len(delta["upgraded"])),
        ("downgraded from an assertion", len(delta["downgraded"])),
        ("unconfirmed", len(delta["unconfirmed"])),
        ("undecided", len(delta["undecided"])),
    ]
    old, new = delta["score_old"], delta["score_new"]
    lines += ["", "| | mutants |", "|---|---:|", *(f"| {name} | {number(amount)} |" for name, amount in rows if amount)]
    if old["denominator"]:
        lines.append(
            f"| asserted, over one set of {number(old['denominator'])} | "
            f"{percent(old['numerator'], old['denominator'])} → {percent(new['numerator'], new['denominator'])} |"
        )
    lines += ["", f"Scope: {_SCOPES[delta['scope']]}."]
    if delta["by_test"]:
        lines += ["", "| added or changed test | |", "|---|---|"]
        shares = sorted(delta["by_test"], key=lambda share: (-share["gained"], share["nodeid"]))
        lines += [f"| `{_code(share['nodeid'])}` | {_share(share, _renamed(delta))} |" for share in shares[:TESTS]]
        if len(shares) > TESTS:
            lines.append(f"| {number(len(shares) - TESTS)} more | |")
    for name in ("lost", "gained"):
        if delta[name]:
            lines += ["", f"<details><summary>{name} ({number(len(delta[name]))})</summary>", ""]
            lines += [_item(entry, mutants) for entry in delta[name][: 4 * MUTANTS]]
            lines += ["", "</details>"]
    return "\n".join(lines) + "\n"


def _item(entry: Mapping[str, Any], mutants: Mapping[str, Mutant]) -> str:
    mutant = mutants.get(entry["mutant"])
    killers = entry.get("killed_by") or entry.get("was_killed_by") or []
    who = (
        f", by `{_code(killers[0])}`" + (f" and {len(killers) - 1} more" if len(killers) > 1 else "") if killers else ""
    )
    if mutant is None:
        return f"* `{_code(entry['mutant'])}` ({entry['by']}{who})"
    change = one_line_diff(mutant.original, mutant.replacement, 90)
    return f"* {_code(mutant.path)}:{mutant.line} `{_code(change)}` ({entry['by']}{who})"


def _code(text: str) -> str:
    """Text that cannot end the code span or the table cell that it stands in."""
    return plain(text).replace("`", "ˋ").replace("|", "\\|")
