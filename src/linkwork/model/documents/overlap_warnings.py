"""Warnings about solids that are deep inside each other in the neutral position or a keyframe of a loaded model."""

from __future__ import annotations

from collections.abc import Iterator

from linkwork.errors import listed
from linkwork.model.mechanism import Mechanism
from linkwork.model.model_definition_faults import Fault
from linkwork.model.solid_separation import Overlap, overlaps

DEEP = 0.05  # depth of two solids in each other, relative to the width of the thinner one, that causes a warning
MOST_KEYFRAMES = 20  # largest number of keyframes that are checked
FEW = 5  # largest number of pairs in a message


def depth_faults(mechanism: Mechanism) -> Iterator[Fault]:
    """Yield one warning if solids are deep inside each other in one of the first MOST_KEYFRAMES keyframes."""
    pairs = mechanism.solid_pairs
    found: dict[str, tuple[Overlap, str]] = {}
    for keyframe in list(mechanism.keyframes)[:MOST_KEYFRAMES] if pairs else ():
        for one in overlaps(mechanism, pairs, keyframe.q):
            name = one.pair.name
            if one.depth > DEEP * one.size and (name not in found or found[name][0].depth < one.depth):
                found[name] = one, keyframe.name
    if found:
        deepest = sorted(found.items(), key=lambda item: -item[1][0].depth)
        texts = [f"{name} ({one.depth:.2g} m at keyframe {at})" for name, (one, at) in deepest]
        reason = f"solids start deep inside each other: {listed(texts, FEW)}"
        yield Fault(reason, remedy="a simulation that starts there pushes the solids apart", severity="warning")
