"""Why a mutant survived, and what a test that kills it would need, in words."""

from __future__ import annotations

from typing import Final

from pytest_killmatrix.model import Cause, CauseKind, Mutant, Status
from pytest_killmatrix.report.text import count, plain

TITLES: Final = {
    CauseKind.NOT_INFECTED: "no test infects it: the inputs are too weak",
    CauseKind.NOT_NOTICED: "infected, nothing noticed: the oracle is too weak, or the mutant is equivalent",
    CauseKind.MESSAGE: "the change is in a message that nobody checks",
    CauseKind.DEFAULT: "the dropped argument equals the callee's default: equivalent, as long as nobody passes another",
}
BRIEF: Final = {
    CauseKind.NOT_INFECTED: "inputs too weak",
    CauseKind.NOT_NOTICED: "value differs, nothing noticed",
    CauseKind.MESSAGE: "in a message nobody checks",
    CauseKind.DEFAULT: "argument equals the default",
}
SAMPLES: Final = 3
_LONGEST: Final = 60


def why_object(cause: Cause | None) -> dict[str, object] | None:
    """The cause in the JSON report."""
    if cause is None:
        return None
    return {
        "kind": cause.kind.value,
        "tests": cause.tests,
        "infected": cause.infected,
        "differs": cause.differs,
        "samples": [sample._asdict() for sample in cause.samples],
    }


def reason(cause: Cause) -> str:
    """The cause with its numbers, in one sentence."""
    reach = f"{count(cause.tests, 'test')} {'reaches' if cause.tests == 1 else 'reach'} it"
    if cause.kind is CauseKind.NOT_INFECTED:
        return f"{reach}, none has {cause.differs}" if cause.differs else f"{reach}, for none the value differs"
    if cause.kind is CauseKind.NOT_NOTICED:
        when = f" ({cause.differs})" if cause.differs else ""
        return f"the value differs{when} in {cause.infected} of {count(cause.tests, 'test')}, nothing fails"
    if cause.kind is CauseKind.DEFAULT:
        return f"in {count(cause.tests, 'test')} the argument is what the callee takes without it"
    return "it changes what a raise or a warning says, and no test reads that"


def samples(cause: Cause, limit: int | None = SAMPLES) -> list[str]:
    """Some evaluations, a line each."""
    lines = []
    for sample in cause.samples[:limit]:
        operands = f"{sample.operands}: " if sample.operands else ""
        same = sample.value == sample.mutated
        lines.append(operands + (f"{sample.value} either way" if same else f"{sample.value}, not {sample.mutated}"))
    return lines


def need(mutant: Mutant, status: Status, cause: Cause | None, tests: int, reason: str | None = None) -> str | None:
    """What a test that kills it would need; None where it is killed, or no candidate."""
    place = f"{plain(mutant.path)}:{mutant.line}"
    if status is Status.NO_COVERAGE:
        part = "tests run the line, but not this part of it" if reason == "line_reached" else "no test runs it"
        return f"reach: a test that evaluates `{plain(mutant.original)[:_LONGEST]}` at {place}; {part}"
    if status is Status.SILENCED:
        return "reveal: a test that does not skip itself under this change"
    if status is Status.NO_USABLE_TEST:
        return "reveal: one of the tests that reach it, made reliable; all of them are left out (see their reasons)"
    if status in (Status.CRASHED, Status.TIMEOUT):
        return "nothing for the detection score; for the assertion score, a test that asserts what this code gives"
    if status is not Status.SURVIVED:
        return None
    if cause is None:
        return (
            f"{count(tests, 'test')} evaluate it and pass: infect, by inputs for which original and mutant differ, "
            "then reveal, by asserting what depends on the value"
        )
    if cause.kind is CauseKind.NOT_INFECTED:
        inputs = f"inputs for which {cause.differs}" if cause.differs else "inputs for which the two differ"
        return f"infect: {inputs}; then assert what depends on the value"
    if cause.kind is CauseKind.NOT_NOTICED:
        return "reveal: assert what depends on the value; where nothing does, the mutant is equivalent"
    if cause.kind is CauseKind.MESSAGE:
        return "reveal: check the message, such as pytest.raises(..., match=...) or pytest.warns(..., match=...)"
    return "nothing kills it while argument and default are equal: leave the argument out, or declare it equivalent"
