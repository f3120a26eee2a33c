"""docs/examples.md shows every example with loops: its drawing, its claim, and the measured error."""

import re
from pathlib import Path

import pytest

import linkwork as lw
from linkwork.app import example_gallery
from linkwork.examples import cable_arm

DOCS = Path(__file__).parents[2] / "docs"
SECTION = re.compile(
    r"^## (\S+)\n\n(?:.+\n)+\n!\[(\S+)\]\((\S+)\)\n\nClaim: (.+)\. Measured (\S+), allowed (\S+)\.$", re.MULTILINE
)
SHOWN = {found[0]: found[1:] for found in SECTION.findall((DOCS / "examples.md").read_text(encoding="utf-8"))}
LOOPED = {found.name: found for found in lw.examples() if found.build().loops}
LARGEST = 80_000  # bytes of a figure
ROUND_OFF = 100.0  # times, by which it differs between processors


def test_every_example_with_loops_has_a_section_and_a_drawing() -> None:
    assert list(SHOWN) == list(LOOPED) == list(example_gallery.TIMES)


@pytest.mark.parametrize("name", LOOPED)
def test_gallery_page_shows_a_drawing_and_the_measured_error_of_each_claim(name: str) -> None:
    title, figure, sentence, measured, allowed = SHOWN[name]
    assert title == name
    assert figure == f"figures/{name}.png"
    assert (DOCS / figure).read_bytes().startswith(b"\x89PNG")
    assert (DOCS / figure).stat().st_size < LARGEST
    claim = LOOPED[name].claim()
    assert (sentence, float(allowed)) == (claim.sentence, claim.tolerance)
    assert claim.error < ROUND_OFF * float(measured) < claim.tolerance


@pytest.mark.parametrize("name", example_gallery.WALKS)
def test_examples_page_shows_all_walk_figures(name: str) -> None:
    file = DOCS / "figures" / f"{name}.png"
    assert f"(figures/{file.name})" in (DOCS / "examples.md").read_text(encoding="utf-8")
    assert file.read_bytes().startswith(b"\x89PNG")
    assert file.stat().st_size < LARGEST


def test_gallery_script_draws_the_figures_of_the_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(example_gallery, "TIMES", {"slider_crank": (0.0, 0.01)})
    monkeypatch.setattr(example_gallery, "DRIVEN", {"cable_arm": (cable_arm.run, (0.0, 0.01))})
    monkeypatch.setattr(example_gallery, "WALKS", ())
    assert example_gallery.main(tmp_path / "figures") == 0
    assert {file.name for file in (tmp_path / "figures").iterdir()} == {"slider_crank.png", "cable_arm.png"}


@pytest.mark.parametrize("name", example_gallery.DRIVEN)
def test_page_on_drives_shows_drawings_of_the_driven_examples(name: str) -> None:
    page = (DOCS / "drives.md").read_text(encoding="utf-8")
    assert f"![{name}](figures/{name}.png)" in page
    assert (DOCS / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
