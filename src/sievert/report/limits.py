"""The limits of a policy as a page: bounds against ε, and the graph of what must not be told apart."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from sievert.files import PolicyScenario
from sievert.limits import Bound, WorstLeakage
from sievert.numerics import amount, at_most_percent, in_bits, in_percent, in_share
from sievert.questions.limits import LimitCurves, LimitsAnswer, limit_curves
from sievert.report._page import Page, PageTable, Picture, page_html
from sievert.report.plots._curves import leakage_curve
from sievert.report.plots._policies import policy_graph
from sievert.spaces import Metric

__all__ = ["content", "lines", "page"]

LARGEST_GRAPH = 60


def page(limits: LimitsAnswer, scenario: PolicyScenario, command: str = "") -> str:
    """The whole page, working offline."""
    return page_html(content(limits, scenario, limit_curves(scenario, limits), command))


def content(
    limits: LimitsAnswer, scenario: PolicyScenario, curves: LimitCurves | None, command: str = ""
) -> Page:
    """What the page says."""
    source = Path(scenario.source).name
    worst = limits.database
    bounds = {
        "diameter (Edwards et al., Thm 3)": worst.diameter,
        "radius": worst.radius,
        "packing": worst.packing,
        "proved upper bound": worst.upper,
        "attained by a mechanism": worst.lower,
    }
    rows = [(name, bound.bits, _factor(bound)) for name, bound in bounds.items()]
    return Page(
        title=limits.title,
        made_by=f"Limits of {source} at ε = {limits.eps:g}",
        headline=str(limits),
        sections=list(lines(limits)),
        tables=[PageTable("Bounds on the whole database", ("bound", "bits", "factor"), rows)],
        pictures=_pictures(limits, scenario, curves),
        command=command or f"sievert limits {source} --report page.html",
        proofs=[]
        if limits.uncertified is not None
        else [
            f"`sievert limits {source} --proof proof.json` saves the certificate: a mechanism that "
            "attains the lower bound and a dual solution that proves the upper one. `sievert verify "
            "proof.json` checks both in ball arithmetic, without a solver."
        ],
        text=scenario.to_toml(),
    )


def _factor(bound: Bound) -> float | str:
    """How many times as likely a guess becomes; as a power of two where no float holds it."""
    return f"2^{bound.bits:.6g}" if math.isinf(bound.factor) and math.isfinite(bound.bits) else bound.factor


def _pictures(limits: LimitsAnswer, scenario: PolicyScenario, curves: LimitCurves | None) -> list[Picture]:
    """Bounds against ε where that is quick, and the graph where it is small."""
    pictures = [] if curves is None else [_curve(limits, curves)]
    policy = scenario.policy
    databases = policy.constrained or policy.records == 1
    if isinstance(policy.secrets, Metric):
        return pictures
    graph = policy.adjacency() if databases else policy.secrets
    if graph.size <= LARGEST_GRAPH:
        what = "databases" if databases and policy.records > 1 else "values of one record"
        caption = f"Two {what} are joined when nobody may tell them apart; colours are components."
        pictures.append(Picture("What must not be told apart", caption, policy_graph(graph)))
    return pictures


def _curve(limits: LimitsAnswer, curves: LimitCurves) -> Picture:
    figure = leakage_curve(curves.eps, curves.bits, here=limits.eps)
    caption = "What any mechanism of this policy could leak about the whole database as ε varies."
    return Picture("Leakage against ε", caption, figure)


def lines(limits: LimitsAnswer) -> Iterator[tuple[str, list[str]]]:
    """Headings and the sentences below them."""
    yield "What is protected", [limits.policy]
    yield "The whole database", [*_worst_lines(limits.database), *_used(limits)]
    yield "One record, all others known", _individual_lines(limits)
    if limits.verified:
        yield "Certificate", [limits.verified[0].upper() + limits.verified[1:] + "."]
    elif limits.uncertified is not None:
        yield "Certificate", [f"None: {limits.uncertified}."]


def _worst_lines(worst: WorstLeakage) -> list[str]:
    lines = [
        f"Diameter bound (Edwards et al., Thm 3): {in_bits(worst.diameter.bits, 6)}.",
        f"Radius bound: {in_bits(worst.radius.bits, 6)}.",
        f"Packing bound: {in_bits(worst.packing.bits, 6)}.",
    ]
    if worst.exact is not None:
        lines.append(f"Exact maximum: {in_bits(worst.exact.bits, 6)} ({worst.method}).")
    else:
        lines.append(
            f"Exact maximum: between {amount(worst.lower.bits, 6)} and {in_bits(worst.upper.bits, 6)}; "
            f"{worst.reason}."
        )
    return lines


def _used(limits: LimitsAnswer) -> list[str]:
    """What the file's own mechanism leaks of that."""
    used, allowed = limits.used_bits, limits.database.upper.bits
    if used is None or allowed <= 0:
        return []
    most = "" if limits.used_exact else "at most "
    return [
        f"Your mechanism leaks {most}{in_bits(used)}: {in_share(used / allowed)} of what the policy allows."
    ]


def _individual_lines(limits: LimitsAnswer) -> list[str]:
    worst = limits.individual
    if limits.values == 1:
        return [
            "Nothing is left to leak: what everybody knows determines a record once all others are known."
        ]
    low = 1 / limits.values
    after = min(1.0, low * worst.upper.factor)
    reached = "" if worst.exact is None else ", and some mechanism reaches that"
    lines = [
        f"At most {in_bits(worst.upper.bits, 6)}: a guess among {limits.values} equally likely values rises "
        f"from {in_percent(low)} to at most {at_most_percent(after)}{reached}."
    ]
    used = limits.used_record_bits
    if used is not None and worst.upper.bits > 0:
        lines.append(f"Your mechanism: {in_bits(used)}, {in_share(used / worst.upper.bits)} of that.")
    return lines
