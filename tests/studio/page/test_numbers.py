"""The numbers in the pictures of every tab are the library's, for the TOML on the page after a key press.

Numbers are read from what the drawing library drew, and where it drew it; the state that a picture says it
shows proves nothing.
"""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sievert as sv
from sievert.files import PolicyScenario, bind_proof
from sievert.numerics import in_percent
from sievert.questions.design import design_of
from sievert.questions.infer import infer
from sievert.release import account, released_proof

# The count that the page opens with, of fewer records: its best mechanism is found at once.
SMALL = ("records = 100", "records = 20")


def near(values: Any) -> Any:
    return pytest.approx(values, rel=1e-6, abs=1e-9)


def guess(studio: Any) -> None:
    audit, scenario = studio.audited(), studio.scenario()
    bars = studio.traces("guess")[0]["x"]
    assert bars[:2] == near([float(audit.record.before), float(audit.record.after)])
    assert bars[3] == near(audit.repeated_guess)
    before, after = studio.traces("guess", 1)
    channel, prior = scenario.channel.finite().rounded(), np.asarray(scenario.prior, dtype=float)
    assert before["y"] == near(prior)
    output = list(map(str, scenario.channel.outputs)).index(after["name"].removeprefix("after output "))
    joint = prior * channel[:, output]
    assert after["y"] == near(joint / joint.sum())


def noise(studio: Any) -> None:
    channel = studio.scenario().channel
    shown = studio.traces("noise")[0]
    truth = int(shown["name"].removeprefix("when the truth is "))
    assert shown["y"] == near(channel.finite().rounded()[channel.inputs.index(truth)])
    cells = studio.traces("noise", 1)[0]["z"]
    assert np.sort(np.ravel(cells)) == near(np.sort(np.ravel(channel.finite().rounded())))


def epsilon(studio: Any) -> None:
    (curve,) = studio.traces("epsilon")
    eps = tomllib.loads(studio.text())["mechanism"]["eps"]
    for level in (curve["x"][3], curve["x"][-1]):
        found = studio.audited((f"eps = {eps}", f"eps = {level!r}"))
        assert curve["y"][curve["x"].index(level)] == near(float(found.record.after))
    assert f"here: {eps:.3g}" in studio.probe("words", "epsilon")


def releases(studio: Any) -> None:
    (curve,) = studio.traces("releases")
    audit = studio.audited()
    guesses = dict(zip(curve["x"], curve["y"], strict=True))
    assert [guesses[1], guesses[audit.observations]] == near(
        [float(audit.record.after), audit.repeated_guess]
    )
    assert f"here: {audit.observations}" in studio.probe("words", "releases")


def glance(studio: Any) -> None:
    audit = studio.audited()
    assert studio.traces("guess")[0]["x"][1] == near(float(audit.record.after))
    channel = studio.scenario().channel
    shown = studio.traces("noise")[0]
    truth = int(shown["name"].removeprefix("when the truth is "))
    assert shown["y"] == near(channel.finite().rounded()[channel.inputs.index(truth)])
    epsilon(studio)


def compare(studio: Any) -> None:
    bars = studio.traces("compare")[0]["x"]
    other = sv.audit(PolicyScenario.from_text(studio.page.input_value("#other"), studio.folder))
    for shown, audit in zip((bars[:3], bars[3:]), (studio.audited(), other), strict=True):
        record = audit.record
        assert shown == near([float(record.before), float(record.after), audit.repeated_guess])


def design(studio: Any) -> None:
    (best,) = [trace for trace in studio.traces("design") if "optimal" in trace["name"]]
    loss = float(design_of(studio.scenario()).found.optimal.loss)
    assert best["y"] == near([loss])
    assert f"{loss:.6g}" in studio.page.inner_text("#panel-design .sentence")


def release(studio: Any) -> None:
    found = sv.release.preview(studio.scenario())
    assert studio.page.inner_text("#panel-release .sentence") == str(found)
    within = studio.traces("release")[0]
    assert within["x"] == near(list(range(-int(found.radius), int(found.radius) + 1)))
    assert f"{found.noise_sd:.4g}" in studio.page.inner_text("#panel-release")


def budget(studio: Any) -> None:
    path = studio.folder / tomllib.loads(studio.text())["release"]["ledger"]
    assert studio.page.inner_text("#panel-budget .sentence") == str(account(path))


def proofs(studio: Any) -> None:
    scenario = studio.scenario()
    proof = bind_proof(released_proof(scenario), scenario, released=True)
    assert proof.verify().statement in studio.page.inner_text("#panel-proofs table")


TABS: dict[str, Callable[[Any], None]] = {
    "glance": glance,
    "guess": guess,
    "noise": noise,
    "epsilon": epsilon,
    "releases": releases,
    "compare": compare,
    "design": design,
    "release": release,
    "budget": budget,
    "proofs": proofs,
}


def pressed(studio: Any, tab: str) -> None:
    """ε moved by a key, and every answer of the tab about the new text."""
    before, text = studio.probe("hashes")[0], studio.text()
    studio.page.focus("#eps-range")
    studio.page.keyboard.press("ArrowRight")
    studio.settle()
    assert studio.text() != text
    shown(studio, tab)
    assert studio.probe("hashes")[0] != before


def shown(studio: Any, tab: str) -> None:
    """The whole tab, long work too, of one state."""
    state = studio.page.get_attribute("#headline", "data-hash")
    studio.page.wait_for_selector(f"#panel-{tab} .card[data-hash='{state}']")
    studio.settle()
    assert set(studio.probe("hashes")) == {state}


def test_every_tab_shows_the_numbers_of_the_library(studio: Any) -> None:
    studio.write(studio.text().replace(*SMALL))
    for tab, agrees in TABS.items():
        studio.tab(tab)
        shown(studio, tab)
        agrees(studio)
        pressed(studio, tab)
        agrees(studio)


@pytest.mark.parametrize(
    ("tab", "part"),
    [
        ("glance", "guess"),
        ("glance", "noise"),
        ("glance", "epsilon"),
        ("guess", "guess"),
        ("noise", "noise"),
        ("epsilon", "epsilon"),
        ("releases", "releases"),
    ],
)
def test_a_picture_that_is_not_drawn_anew_is_noticed(studio: Any, tab: str, part: str) -> None:
    """Even one that says it was: every state on the page is the new one."""
    studio.write(studio.text().replace(*SMALL))
    studio.tab(tab)
    TABS[tab](studio)
    studio.probe("sabotage", part)
    pressed(studio, tab)
    with pytest.raises(AssertionError):
        TABS[tab](studio)


def test_inference_shows_the_numbers_of_the_library(studio: Any) -> None:
    studio.write(Path("examples/custody.toml").read_text(encoding="utf-8"))
    studio.tab("inference")
    shown(studio, "inference")
    found = infer(studio.scenario())
    sentence = studio.page.inner_text("#panel-inference .sentence")
    own = {trace["name"]: trace for trace in studio.traces("inference")}[found.candidates[0].name]
    assert own["x"] == near([found.candidates[0].guess]) and own["y"] == near([found.candidates[0].accuracy])
    assert sentence == str(found) and in_percent(found.candidates[0].guess) in sentence


def test_a_map_shows_the_cells_and_the_belief_of_the_file(studio: Any) -> None:
    studio.write((studio.folder / "city-places.toml").read_text(encoding="utf-8"))
    studio.tab("places")
    shown(studio, "places")
    cells, border = studio.traces("places")
    scenario = studio.scenario()
    region = scenario.region
    assert (len(cells["y"]), len(cells["x"])) == region.shape
    assert sorted(filter(None, np.ravel(cells["z"]))) == near(
        sorted(share for share in np.asarray(scenario.record_prior, dtype=float) if share)
    )
    assert {*border["x"]} == {region.west, region.east} and {*border["y"]} == {region.south, region.north}
    assert f"{len(cells['x']) * len(cells['y']):,} cells" in studio.page.inner_text("#panel-places .sentence")
