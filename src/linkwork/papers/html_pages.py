"""Self-contained HTML pages: head, style, embedded figures, and writing to a file."""

from __future__ import annotations

import base64
import html
from pathlib import Path

import linkwork as lw
from linkwork.model.documents.atomic_write import reason_of, write_whole

HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }}
.table {{ overflow-x: auto; }}
table {{ border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; white-space: nowrap; }}
th, td {{ padding: .2rem .7rem; text-align: right; vertical-align: top; border-bottom: 1px solid #ddd; }}
th {{ font-weight: 600; }} .paper {{ color: #777; }} .far {{ color: #b00; font-weight: 600; }}
figure {{ display: inline-block; vertical-align: top; margin: 1rem 0; width: 28rem; max-width: 100%; }}
.figures {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1.5rem; }}
.figures figure {{ margin: 0; width: auto; }} .figures .wide {{ grid-column: 1 / -1; }}
figure img {{ width: 100%; }} figcaption {{ font-size: .9rem; text-wrap: balance; }}
.said {{ white-space: normal; }} .said th, .said td {{ text-align: left; }} .lines {{ white-space: nowrap; }}
.said .number {{ text-align: right; }} sup {{ line-height: 0; font-size: .6em; }}
pre {{ font-size: .7rem; line-height: 1.15; overflow-x: auto; color: #aaa; }} pre b {{ color: #222; }}
</style></head><body>
"""
NO_FIGURES = "<p>Figures need matplotlib: pip install 'linkwork[plot]'.</p>"


def figure(svg: bytes, about: str, wide: bool = False) -> str:
    """Return the HTML of an embedded SVG figure with the caption `about`; `wide` figures span the page."""
    image, about = base64.b64encode(svg).decode(), html.escape(about)
    picture = f'<img alt="{about}" src="data:image/svg+xml;base64,{image}">'
    kind = ' class="wide"' if wide else ""
    return f"<figure{kind}>{picture}<figcaption>{about}</figcaption></figure>"


def write_page(file: Path, title: str, body: str) -> None:
    """Write an HTML page with this title and body atomically; raise a LinkworkError if writing fails."""
    text = HEAD.format(title=html.escape(title)) + body + "</body></html>\n"
    try:
        write_whole(file, lambda beside: beside.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise lw.LinkworkError(f"cannot write {file}: {reason_of(error)}") from None
