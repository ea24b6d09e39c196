"""Ctrl-C is heard while the solver runs, and the process ends in order afterwards."""

import math
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import sievert as sv
from sievert.inference import frontier, survey_correlation
from sievert.numerics import progress_listener
from sievert.programs import _linear as linear_programs

LONG = """
import os, signal, threading
import numpy as np
import sievert as sv
from sievert.programs import _linear

start = _linear.run_solver


def solve(solver, entries):
    if entries >= _linear.LONG_PROGRAM:
        threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()
    start(solver, entries)


_linear.run_solver = solve
loss = np.random.default_rng(0).random((301, 301))
try:
    sv.optimal_mechanism(sv.metrics.line(301), 1.0, None, loss, method="program")
except KeyboardInterrupt:
    print("interrupted")
"""


class Event:
    """An event of the solver, with those who listen to it."""

    def __init__(self) -> None:
        self.callbacks: list[Callable[[Any], None]] = []

    def subscribe(self, callback: Callable[[Any], None]) -> None:
        self.callbacks.append(callback)

    def unsubscribe(self, callback: Callable[[Any], None]) -> None:
        self.callbacks.remove(callback)


class Endless:
    """A solver that asks at every iteration whether to stop, and is interrupted at its third."""

    def __init__(self) -> None:
        self.cbSimplexInterrupt, self.cbIpmInterrupt = Event(), Event()
        self.iterations, self.stopped = 0, False
        self.data_out = SimpleNamespace(simplex_iteration_count=0)

    def interrupt(self) -> None:
        self.stopped = True

    def getNumRow(self) -> int:
        return 1

    def run(self) -> None:
        while not self.stopped:
            self.iterations += 1
            if self.iterations == 3:
                signal.raise_signal(signal.SIGINT)
            for callback in list(self.cbIpmInterrupt.callbacks):
                callback(self)


@pytest.fixture(autouse=True)
def hears_interrupts() -> Iterator[None]:
    """A shell that starts the suite in the background has it ignore Ctrl-C, and so all that it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupted_solver_stops_and_says_so() -> None:
    solver, before = Endless(), signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        linear_programs.run_solver(solver, linear_programs.LONG_PROGRAM)
    assert solver.iterations == 3 and not solver.cbIpmInterrupt.callbacks
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.slow
def test_a_large_design_is_interrupted() -> None:
    done = subprocess.run([sys.executable, "-c", LONG], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")


def test_a_long_program_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_programs, "LONG_PROGRAM", 0)
    heard: list[tuple[str, int, int]] = []
    with progress_listener(lambda *news: heard.append(news)):
        frontier(survey_correlation(30, 0.5), 0.55, eps=math.log(3), metric=sv.metrics.line(31))
    steps = [(done, total) for what, done, total in heard if what == "steps of the linear program"]
    assert steps and all(0 < done <= total for done, total in steps)
