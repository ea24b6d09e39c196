"""What two checkers say of a proof, and whether they differ."""

from __future__ import annotations

import copy
import importlib.util
import itertools
import json
import re
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from sievert.errors import FileError
from sievert.proofs import Proof, Verification, checker_path, proof_from_dict, save_proof

VERIFY = Proof.verify


def load_checker() -> ModuleType:
    """`verify.py` as a module."""
    spec = importlib.util.spec_from_file_location("sievert_alone_verify", checker_path())
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CHECKER = load_checker()


def first_opinion(content: Any) -> Verification:
    """What Sievert says of a file's content."""
    try:
        return VERIFY(proof_from_dict(content))
    except FileError as problem:
        return Verification(False, str(problem))


def second_opinion(content: Any) -> Verification:
    """What `verify.py` says of it."""
    try:
        return Verification(*CHECKER.check(content))
    except CHECKER.NoProof as problem:
        return Verification(False, str(problem))


def disagreement(content: Any) -> str | None:
    """What the two checkers say where they differ, else None.

    Sievert computes with doubles and may refuse what holds by less than their rounding, or overflows them
    (docs/proofs.md); never may it accept what the other refuses.
    """
    first, second = first_opinion(content), second_opinion(content)
    if first.holds == second.holds or (second.holds and ("overflow" in str(first) or _borderline(content))):
        return None
    return f"Sievert: {first}\nverify.py: {second}\n{json.dumps(content)[:2000]}"


def _borderline(content: Any) -> bool:
    """Whether claims that are weaker by a billionth are accepted, with certificates to match."""
    small = Fraction(1, 10**9)
    for signs in ({"lower": -1, "upper": 1}, {"eps": 1}):
        weaker = copy.deepcopy(content)
        for name, sign in signs.items():
            if isinstance(weaker.get(name), str | int | float):
                value = CHECKER.exact(weaker[name]) + sign * small
                weaker[name] = float(value) if isinstance(weaker[name], float) else str(value)
        parts = [part for name in ("upper", "lower") if isinstance(part := weaker.get(name), dict)]
        for part in parts:
            if isinstance(part.get("radius"), float):
                part["radius"] *= 1 + 1e-9
            if "eps" in signs and isinstance(part.get("t"), float):
                part["t"] = 1 - 1e-6  # what is left over is flatter
        if first_opinion(weaker).holds:
            return True
    return False


def said(found: Verification) -> str:
    """The words of a verdict, but for what Python itself says of damaged data."""
    words = re.sub(r"\b(\w+(?:Error|Exception))\b.*", r"\1", str(found), flags=re.DOTALL)
    return words.split(" setting an array element")[0]


def rewritten(content: Any) -> str:
    """A proof as Sievert writes it once it has read it."""
    return save_proof(proof_from_dict(content))


def probes(checker: ModuleType) -> dict[str, Callable[[], str]]:
    """What the parts of `verify.py` make of some numbers and texts, to the last digit."""
    found: dict[str, Callable[[], str]] = {}
    for x in ("1/3", "-7/5", "700", "-100001", "1/1000000000000", "12345/678", "0"):
        for bits in (64, 320):
            found[f"e^({x}) to {bits} bits"] = partial(_digits, checker.exp_ends, x, bits)
    for x in ("1/3", "7/5", "10000000001/10000000000", "1000000000", "1", "1/1024"):
        for bits in (64, 300):
            found[f"ln {x} to {bits} bits"] = partial(_digits, checker.log_ends, x, bits)
    for value in VALUES:
        for read in ("exact", "whole", "double", "position", "flag", "items", "table"):
            name = f"{read} {str(value)[:20]} {type(value).__name__}"
            found[name] = partial(_outcome, getattr(checker, read), value)
    for first, second in itertools.product(NUMBERS, repeat=2):
        found[f"spans of {first} and {second}"] = partial(_spans, checker, Fraction(first), Fraction(second))
    for x in ("-16", "-2", "0", "1/2", "3", "15", "31/2"):
        for name in ("below", "density"):
            found[f"{name} {x}"] = partial(_digits, getattr(checker, name), x)
    for name, up in itertools.product(("exp_low", "exp_high"), (False, True)):
        found[f"{name} {up}"] = partial(_powers, checker, name, up)
    for x in ("2", "0", "1/3"):
        found[f"root of {x}"] = partial(_digits, checker.root_ends, x)
    for trials, hits, share in (
        (10, 7, "1/4"),
        (7, 3, "1/2"),
        (8, 4, "1/2"),
        (5, 5, "1/3"),
        (900, 500, "1/2"),
    ):
        found[f"{hits} of {trials} at {share}"] = partial(_tail, checker, trials, hits, Fraction(share))
    for first, second in itertools.product(
        ("truncated geometric", "randomised response", "exponential"), repeat=2
    ):
        for size, a in itertools.product((2, 3, 5), ("1/3", "3/4")):
            name = f"{first}({a}) and {second} on {size}"
            found[name] = partial(_families, checker, first, second, Fraction(a), size)
    for path in (__file__, str(Path(__file__).parent), f"{__file__}.none"):
        found[f"file {Path(path).name}"] = partial(_told, checker.read, path)
    for text in TEXTS:
        found[f"text {text[:12]} {len(text)}"] = partial(_outcome, checker.parse, text)
    return found


VALUES = (
    0,
    -1,
    3,
    True,
    "3",
    "-3",
    "3.0",
    "x",
    2**63,
    2**63 - 1,
    1.5,
    None,
    [1],
    "9" * 4300,
    "1/3",
    "-.5e-3000",
)
NUMBERS = ("0", "1/3", "2/3", "1e-150", "1e-450", "7e250")
TEXTS = (
    "[" * 51 + "]" * 51,
    "[" * 49 + "]" * 49,
    "[" * 50 + "]" * 50,
    "[1e308]",
    "[1e309]",
    "9" * 4300,
    "9" * 4301,
    '{"a":1,"a":1}',
    "[",
)


def _digits(ends: Any, x: str, *bits: int) -> str:
    return str([hex(value.numerator) for value in ends(Fraction(x), *bits)])


def _powers(checker: ModuleType, name: str, up: bool) -> str:
    """One end of e^x, and of e^x for a length that is known to a relative 2^-48."""
    metric = checker.Space(2, [(0, 1)], [1.0], True)
    ends = [getattr(checker, name)(Fraction(x)) for x in ("1/3", "-1/3", "-200000")]
    ends += [metric.factor(Fraction(rate), 1, up) for rate in ("1/2", "-1/2")]
    return str([hex(value.numerator) for value in ends])


def _tail(checker: ModuleType, trials: int, hits: int, share: Fraction) -> str:
    return f"{float(checker.tail_above(trials, hits, share)):.15g}"


def _families(checker: ModuleType, first: str, second: str, a: Fraction, size: int) -> str:
    """Which parameters of the second refine the first, in steps of 1/40."""
    try:
        return "".join(
            str(int(checker._refined(first, second, a, Fraction(k, 40), size))) for k in range(1, 40)
        )
    except checker.Refused as problem:
        return str(problem)


def _spans(checker: ModuleType, first: Fraction, second: Fraction) -> str:
    """What becomes of two numbers between rationals, to the last bit."""
    a, b = (checker.Span.of((x, x)) if x else checker.NOTHING for x in (first, second))
    made = (a + b, a * b, a.joined(b), a.times(3, 7), a.power(5))
    return f"{[(hex(s.low)[:99], hex(s.high)[:99], s.scale) for s in made]} {a.at_least(b)} {b.at_least(a)}"


def _told(read: Any, path: str) -> str:
    """Why a path is not read."""
    try:
        return repr(read(path))
    except Exception as problem:
        return str(problem)


def _outcome(read: Any, value: Any) -> str:
    try:
        return repr(read(value))[:60]
    except Exception as problem:
        return type(problem).__name__
