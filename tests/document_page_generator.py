"""The generated parts of docs/toml_documents.md: key tables and examples.

`python tests/document_page_generator.py` updates them.
"""

from __future__ import annotations

import re
from pathlib import Path

import linkwork as lw
from linkwork.model.documents.element_key_tables import element_tables
from linkwork.model.documents.toml_writer import document_text

PAGE = Path(__file__).parent.parent / "docs" / "toml_documents.md"
KEYS, HEADING = "## Keys of elements", "## Examples"
SECTION = re.compile(r"^### (\S+)\n\n(.*?)\n\n```toml\n(.*?)```$", re.MULTILINE | re.DOTALL)


def shown() -> dict[str, tuple[str, str]]:
    """Return for each example on the page docs/toml_documents.md its name, description and TOML document."""
    text = PAGE.read_text(encoding="utf-8")
    return {name: (about, document) for name, about, document in SECTION.findall(text[text.index(HEADING) :])}


def saved() -> dict[str, tuple[str, str]]:
    """Return for each example the description and TOML document that the page docs/toml_documents.md must show."""
    return {found.name: (found.about, document_text(found.build())) for found in lw.examples()}


def shown_keys() -> str:
    """Return the key tables as the page docs/toml_documents.md shows them."""
    text = PAGE.read_text(encoding="utf-8")
    text = text[text.index(KEYS) : text.index(HEADING)]
    return text[text.index("\n### ") + 1 :].rstrip() + "\n"


def with_keys(text: str) -> str:
    """Return the text of the page with up-to-date key tables."""
    begin, end = text.index(KEYS), text.index(HEADING)
    tables = re.search(r"\n### |\nKEYS", text[begin:end])
    assert tables
    return f"{text[: begin + tables.start()]}\n{element_tables()}\n{text[end:]}"


if __name__ == "__main__":
    text = with_keys(PAGE.read_text(encoding="utf-8"))
    introduction = re.match(rf".*?{HEADING}\n\n.*?\n(?=\n###|\Z)", text, re.DOTALL)
    assert introduction
    sections = [f"\n### {name}\n\n{about}\n\n```toml\n{document}```\n" for name, (about, document) in saved().items()]
    PAGE.write_text(introduction[0] + "".join(sections), encoding="utf-8")
