"""What the page shows is what the library says of the text on it, in every picture at once."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from sievert.numerics import in_percent

PICTURES = ("guess", "noise", "epsilon")


def agree(studio: Any) -> None:
    """Headline, sliders and every picture show one state: that of the audit of the TOML on the page."""
    audit = studio.audited()
    assert studio.headline() == str(audit)
    hashes = studio.probe("hashes")
    assert len(hashes) > len(PICTURES) and len(set(hashes)) == 1 and hashes[0]
    eps = float(re.findall(r"^eps = (\S+)", studio.text(), re.MULTILINE)[0])
    assert float(studio.page.input_value("#eps-box")) == pytest.approx(eps, rel=1e-5)
    drawn = re.findall(r"here: ([\d.]+)", studio.probe("words", "epsilon"))
    assert [float(number) for number in drawn] == [pytest.approx(eps, rel=1e-2)]
    guess = studio.page.inner_text("#panel-glance .card:has([data-part=guess])")
    assert in_percent(audit.record.after) in guess
    bars = studio.traces("guess")[0]["x"]
    assert bars[:2] == pytest.approx([float(audit.record.before), float(audit.record.after)])


@pytest.fixture
def clipboard(context: Any, studio: Any) -> Callable[[], str]:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    return lambda: str(studio.page.evaluate("() => navigator.clipboard.readText()"))


def test_a_key_press_moves_headline_and_pictures(studio: Any) -> None:
    agree(studio)
    before, text = studio.probe("hashes")[0], studio.text()
    studio.page.focus("#eps-range")
    for _ in range(3):
        studio.page.keyboard.press("ArrowRight")
    studio.settle()
    assert studio.probe("hashes")[0] != before
    changed = [
        pair for pair in zip(text.splitlines(), studio.text().splitlines(), strict=True) if len(set(pair)) > 1
    ]
    assert len(changed) == 1 and changed[0][1].startswith("eps = ")
    agree(studio)


def test_every_arrow_key_is_another_number_of_releases(studio: Any) -> None:
    studio.page.focus("#releases-range")
    seen = []
    for key in ("ArrowRight", "ArrowUp", "ArrowLeft", "Home", "ArrowLeft", "ArrowRight", "End", "ArrowRight"):
        studio.page.keyboard.press(key)
        studio.settle()
        seen.append(int(studio.page.input_value("#releases-box")))
        assert f"observations = {seen[-1]}" in studio.text()
    assert seen == [11, 12, 11, 1, 1, 2, 1000, 1000]


def test_what_screen_readers_are_told(studio: Any) -> None:
    """The headline is a live region of its own, whole; each slider says which end is which."""
    told = studio.page.get_by_role("status").filter(has_text=studio.headline())
    assert told.get_attribute("id") == "headline"
    assert (told.get_attribute("aria-live"), told.get_attribute("aria-atomic")) == ("polite", "true")
    ends = "slider => slider.ariaDescribedByElements.map(end => end.textContent)"
    for name, said in (("ε", ["more privacy", "more accuracy"]), ("Releases", ["one", "many"])):
        assert studio.page.get_by_role("slider", name=re.compile(f"^{name}")).evaluate(ends) == said


def test_forty_changes_in_a_hurry_agree_at_the_end(studio: Any) -> None:
    studio.probe("hurry")
    studio.settle()
    agree(studio)
    assert f"observations = {studio.page.input_value('#releases-box')}" in studio.text()
    assert studio.page.input_value("#releases-box") != "10"


def test_changes_are_undone_and_done_again(studio: Any) -> None:
    first = studio.text()
    studio.page.fill("#eps-box", "1.5")
    studio.page.press("#eps-box", "Enter")
    studio.settle()
    second = studio.text()
    studio.write(second.replace('secrets = "complete"', 'secrets = "line"'))
    third = studio.text()
    assert len({first, second, third}) == 3
    seen = []
    for step in ("undo", "undo", "redo", "redo"):
        studio.page.click(f"#{step}")
        studio.settle()
        seen.append(studio.text())
        agree(studio)
    assert seen == [second, first, second, third]
    assert studio.page.is_disabled("#redo")


def test_what_was_typed_just_now_is_undone_first(studio: Any) -> None:
    studio.afresh()
    first = studio.text()
    studio.page.focus("#text")
    studio.page.keyboard.press("Control+End")
    studio.page.keyboard.insert_text("# one more line")
    studio.page.keyboard.press("Control+z")
    studio.settle()
    assert studio.text() == first
    studio.page.keyboard.press("Control+Shift+z")
    studio.settle()
    assert studio.text() == f"{first}# one more line"


def test_keys_undo_what_is_typed_beside_the_file_there(studio: Any) -> None:
    studio.page.fill("#eps-box", "1.5")
    studio.page.press("#eps-box", "Enter")
    studio.tab("compare")
    text = studio.text()
    studio.page.click("details.other summary")
    other = studio.page.input_value("#other")
    studio.page.focus("#other")
    studio.page.keyboard.type("#")
    studio.page.keyboard.press("Control+z")
    studio.settle()
    assert studio.page.input_value("#other") == other and studio.text() == text


def test_an_opened_file_goes_by_its_name_until_it_is_undone(studio: Any) -> None:
    first = studio.text()
    for name in ("solar-share.toml", "census-count.toml"):
        studio.page.select_option("#open", name)
        studio.page.wait_for_function("name => document.title.startsWith(name)", arg=name)
        studio.settle()
        assert studio.page.inner_text("#name") == name
    studio.page.click("#undo")
    studio.page.wait_for_function("() => document.title.startsWith('solar-share.toml')")
    studio.settle()
    with studio.page.expect_download() as found:
        studio.page.click("#report")
    assert found.value.suggested_filename == "solar-share.html" and studio.text() != first
    studio.page.click("#redo")
    studio.settle()
    assert studio.page.inner_text("#name") == "census-count.toml" and studio.text() == first


def test_what_is_on_this_page_alone_is_not_left_by_mistake(studio: Any, clipboard: Callable[[], str]) -> None:
    asked: list[str] = []

    def answer(dialog: Any) -> None:
        asked.append(dialog.type)
        dialog.accept()

    studio.page.on("dialog", answer)
    studio.afresh()
    assert asked == []
    studio.page.click("#eps-box")
    studio.page.fill("#eps-box", "1.5")
    studio.page.press("#eps-box", "Enter")
    studio.settle()
    studio.page.select_option("#copy", "toml")
    studio.page.wait_for_function("() => document.getElementById('said').textContent.includes('TOML')")
    assert "eps = 1.5" in clipboard()
    studio.afresh()
    assert asked == []
    studio.page.click("#eps-box")
    studio.page.fill("#eps-box", "1.5")
    studio.page.press("#eps-box", "Enter")
    studio.settle()
    studio.afresh()
    assert asked == ["beforeunload"]
    studio.page.remove_listener("dialog", answer)


def test_errors_stand_at_their_key(studio: Any) -> None:
    """The answers go, nothing is computed from a broken file, and the words typed stay."""
    studio.write(studio.text().replace("records = 100", "records = -3"))
    field = studio.page.locator('[data-path=\'["policy","records"]\']')
    assert field.locator("input").get_attribute("aria-invalid") == "true"
    assert "-3" in field.locator(".trouble").inner_text()
    assert "records = -3" in studio.text() and studio.page.is_disabled("#eps-range")
    assert studio.page.locator(".js-plotly-plot").count() == 0
    studio.page.click("#errors button")
    assert studio.probe("chosen") == "records = -3"
    field.locator("input").fill("100")
    field.locator("input").press("Enter")
    studio.settle()
    agree(studio)


def test_the_accepted_limit_is_solved_backwards(studio: Any) -> None:
    """ε taken for 30 % keeps 30 %, and not by much; what any mechanism keeps is less."""
    studio.page.fill("#limit", "0.3")
    studio.page.locator(".solved p", has_text="30.0%").wait_for()
    this, any_mechanism = studio.page.locator(".solved button").all_inner_texts()
    assert float(any_mechanism.split()[-1]) < float(this.split()[-1])
    studio.page.click(".solved button >> nth=0")
    studio.settle()
    assert f"eps = {this.split()[-1]}" in studio.text()
    assert 0.295 < studio.audited().repeated_guess <= 0.3


def test_a_stopped_studio_says_so(studio: Any) -> None:
    """The text is not lost when nobody answers."""
    studio.page.route("**/api/answer", lambda route: route.fulfill(status=403, json={"message": "no"}))
    studio.page.fill("#eps-box", "2")
    studio.page.press("#eps-box", "Enter")
    studio.page.wait_for_selector("#said.bad")
    assert "sievert studio" in studio.page.inner_text("#said")
    assert "eps = 0.5" in studio.text()
    assert [problem for problem in studio.watch.problems if "403" not in problem] == []
    studio.watch.problems.clear()
    studio.page.unroute("**/api/answer")
    studio.write(studio.text().replace("eps = 0.5", "eps = 2"))
    assert studio.page.inner_text("#said") == ""


def test_a_file_that_is_gone_cannot_be_b(studio: Any) -> None:
    studio.tab("compare")
    other = studio.page.input_value("#other")
    studio.page.click("details.other summary")
    studio.page.route("**/api/open", lambda route: route.fulfill(status=404, json={"message": "is gone"}))
    studio.page.select_option("#pick", "open:solar-share.toml")
    studio.page.wait_for_selector("#said.bad")
    assert studio.page.inner_text("#said") == "is gone" and studio.page.input_value("#other") == other
    assert [problem for problem in studio.watch.problems if "404" not in problem] == []
    studio.watch.problems.clear()


def test_copies_say_the_same(studio: Any, clipboard: Callable[[], str]) -> None:
    studio.page.select_option("#copy", "toml")
    studio.page.wait_for_function("() => document.getElementById('said').textContent.includes('TOML')")
    assert clipboard() == studio.text()
    studio.page.select_option("#copy", "command")
    studio.page.wait_for_function("() => document.getElementById('said').textContent.includes('command')")
    assert "sievert audit" in clipboard()
    studio.page.select_option("#copy", "python")
    studio.page.wait_for_function("() => document.getElementById('said').textContent.includes('Python')")
    compile(clipboard(), "studio.py", "exec")
    assert "sievert" in clipboard()


def test_a_broken_text_is_copied_without_the_studio(studio: Any, clipboard: Callable[[], str]) -> None:
    studio.write(studio.text() + "[policy\n")
    studio.page.route("**/api/export", lambda route: route.abort())
    studio.page.select_option("#copy", "toml")
    studio.page.wait_for_function("() => document.getElementById('said').textContent.includes('TOML')")
    assert clipboard() == studio.text() and clipboard().endswith("[policy\n")


def test_the_report_is_downloaded(studio: Any) -> None:
    with studio.page.expect_download() as found:
        studio.page.click("#report")
    page = found.value.path().read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and "How many households are poor?" in page
