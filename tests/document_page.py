"""What the page on documents shows of the example machines; `python tests/document_page.py` brings it up to date."""

from __future__ import annotations

import re
from pathlib import Path

import linkwork as lw
from linkwork.model.documents.toml_writer import document_text

PAGE = Path(__file__).parent.parent / "docs" / "document.md"
HEADING = "## The example machines"
SECTION = re.compile(r"^### (\S+)\n\n(.*?)\n\n```toml\n(.*?)```$", re.MULTILINE | re.DOTALL)


def shown() -> dict[str, tuple[str, str]]:
    """What the page says about each machine, and its document there."""
    text = PAGE.read_text(encoding="utf-8")
    return {name: (about, document) for name, about, document in SECTION.findall(text[text.index(HEADING) :])}


def saved() -> dict[str, tuple[str, str]]:
    """The same as it should be."""
    return {found.name: (found.about, document_text(found.build())) for found in lw.examples()}


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    introduction = re.match(rf".*?{HEADING}\n\n.*?\n(?=\n###|\Z)", text, re.DOTALL)
    assert introduction
    sections = [f"\n### {name}\n\n{about}\n\n```toml\n{document}```\n" for name, (about, document) in saved().items()]
    PAGE.write_text(introduction[0] + "".join(sections), encoding="utf-8")
