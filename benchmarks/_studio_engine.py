"""What the studio asks while a slider moves, of every example: a guess, the ε curve, and [accept] backwards.

Each answer is at another ε or for another limit than the last one, of a file that was asked about before:
the median processor seconds of five.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.harness import Row
from sievert.files import PolicyScenario, load
from sievert.questions import guess_by_eps, max_epsilon, max_level
from sievert.questions.explain import weakest_claim_for_file

EXAMPLES = Path(__file__).parent.parent / "examples"
RELEASES, TIMES = 10, 5
LETTERS = {"nats": 1.0}


def rows() -> list[Row]:
    """A row for each example and question; what a file has no answer to is left out."""
    found = []
    for path in sorted([*EXAMPLES.glob("*.toml"), *EXAMPLES.glob("*/*.toml")]):
        if path.parent.name != "budgets":
            found += _of(path)
    return found


def _of(path: Path) -> list[Row]:
    scenario = load(path)
    if not isinstance(scenario, PolicyScenario):
        accept = None if scenario.document.accept is None else scenario.document.accept.model_dump()
        limits = {key: value for key, value in (accept or LETTERS).items() if value is not None}
        solved = _median(lambda step: max_level(scenario, {k: v * step for k, v in limits.items()}))
        return [Row(f"backwards, {path.stem}", 1, solved)]
    eps = scenario.analysis.epsilon.nats
    limit = 0.5 if scenario.accept is None or scenario.accept.guess is None else scenario.accept.guess

    def at(step: float) -> PolicyScenario:
        return scenario.at_eps(eps * step)

    asked: dict[str, Callable[[float], object]] = {
        "a guess after ten releases": lambda step: at(step).analysis.vulnerability(releases=RELEASES),
        "the ε curve": lambda step: guess_by_eps(at(step)),
        "backwards, this mechanism": lambda step: max_epsilon(scenario, limit * step),
        "backwards, any mechanism": lambda step: weakest_claim_for_file(scenario, limit * step, "eps"),
    }
    return [
        Row(f"{name}, {path.stem}", len(scenario.policy.values), _median(ask)) for name, ask in asked.items()
    ]


def _median(ask: Callable[[float], object]) -> float:
    """Of some answers, after a first one that is not counted."""
    waits = []
    for place in range(TIMES + 1):
        start = time.process_time()
        ask(1 - 1e-3 * (place + 1))
        waits.append(time.process_time() - start)
    return median(waits[1:])


if __name__ == "__main__":
    for row in rows():
        print(f"{1e3 * row.ours_seconds:9.1f} ms  {row.name}")
