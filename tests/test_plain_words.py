"""Text and names use the terms of the field: the private words of earlier versions do not come back.

`BANNED` has a pattern for each entry of the glossary, with the term to use instead. `ALLOWED` lists the phrases in
which such a word has its ordinary or technical meaning, and `ALLOWED_IN` the files, each with the reason.
"""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "benchmarks/*.md", "src/**/*.py", "tests/**/*.py", "benchmarks/*.py")
    for path in ROOT.glob(pattern)
    if path.name != Path(__file__).name and path.name != "CHANGELOG.md"  # which names what was renamed
)

BANNED = {
    "report, document": r"\btold\b|\btells?\b|\btelling\b",
    "require, problem": r"\basked of\b|\basks? (of|for)\b|\brequests?\b",
    "iterations": r"\brounds\b",
    "controller, force law": r"\blaws?\b",
    "trajectory, path, distance": r"\bways?\b",
    "conserved, stored, cached": r"\bkept\b",
    "event": r"\bwhat happens\b|\bhappenings?\b",
    "event location, substeps": r"\bparting\b|\bsteps? in parts\b",
    "impulse, velocity jump": r"\bjump(s|ed|ing)?\b",
    "constraints, clutches and brakes": r"\bholders?\b|\bties\b|\bslippers?\b",
    "event functions": r"\bmargins\b",
    "state (of a run, of a step)": r"\b(carry|moving)\s*[:=.(\[]|\bclass (Carry|Moving)\b",
    "state derivative": r"\bfields?\b",
    "failure diagnosis": r"\bevidence\b",
    "problem (of a run)": r"\bpreparations?\b|\basked\b",
    "fixed-step runner, interactive simulator, compiled program": r"\bmarching\b",
    "chunk sharing": r"\balike\b",
    "packages": r"\brooms?\b",
    "deviation from unit norm": r"\boff one\b",
    "position error, velocity error of loop closure": r"\bloops? (is|are|stays?|was|were)? ?open(s|ed)? (by|at)\b",
    "all checks passed": r"\btrusted\b|\bas it must be\b",
    "invalid input": r"\bwho err\b|\berrs\b",
    "derivatives": r"\bslopes of laws\b",
}

ALLOWED = {  # phrase: reason
    r"\b(second|third|restitution|control|conservation|force|friction|contact|power)[ -]laws?": "established terms",
    r"\blaws? of (cosines|sines|restitution|friction)|(Newton's|Coulomb's) laws?": "established terms",
    r"`law`|\.law\b|\blaw ?[=:]|\blaw: FrictionLaw": "the attribute of a joint's friction",
    r"\bforce_laws?\b|\bForceLaw\b|\bContactLaw\b": "force laws of contact, friction and springs",
    r"\b(one|two|three|four|half|either|same|any|no|this|that|only|another|other|both|which)[- ]?ways?\b": "English",
    r"\bways? (of|to|in)\b|\bby way of\b": "English: a manner of doing something",
    r"\bvelocity jumps?|#velocity-jumps|velocity-jumps": "the term of the glossary",
    r"\bheight fields?": "a shape of ground",
    r"dataclass fields?|\bfields?\(|_fields\b|tag_field|import .*\bfields?\b": "fields of dataclasses",
    r"\baxes\.margins|\bmargins?:": "margins of figures and pages",
    r"\bstream\.tell\(\)|\bfile\.tell\(\)": "position in a file",
    r"\boutcome_evidence\b|\bdef evidence\b|Outcome\.evidence": "the deprecated name, and a key of stored runs",
    r"\brequest: pytest\.FixtureRequest|\brequest\.(param|node|getfixturevalue)\b": "pytest",
}

ALLOWED_IN = {  # start of a path: words and reason
    "src/linkwork/model/": (r"\bfields?\b", "fields of dataclasses, of documents and of MuJoCo's models"),
    "src/linkwork/simulation/": (r"\bfields?\b", "fields of records"),
    "docs/contributing.md": (r"\bfields?\b", "fields of dataclasses"),
    "src/linkwork/model/friction/": (r"\blaws?\b|\bfields?\b", "friction laws; fields of dataclasses"),
    "src/linkwork/model/elements/joint_friction.py": (r"\blaws?\b|\bfields?\b", "friction laws; fields of dataclasses"),
    "src/linkwork/algorithms/joint_friction/": (r"\blaws?\b", "friction laws"),
    "tests/evaluation/test_dynamics_with_friction.py": (r"\blaws?\b", "friction laws"),
    "docs/friction.md": (r"\blaws?\b", "friction laws"),
    "tests/random_friction_laws.py": (r"\blaws?\b", "friction laws"),
    "tests/model/test_friction_laws.py": (r"\blaws?\b|\bfields?\b", "friction laws; fields of documents"),
    "tests/algorithms/test_joint_friction_solver.py": (r"\blaws?\b", "friction laws"),
    "tests/model/": (r"\bfields?\b", "fields of documents"),
    "tests/": (r"\bfields?\b", "fields of records and dataclasses"),
    "src/linkwork/spatial/random_numbers.py": (r"\brounds\b", "rounds of the Philox generator"),
}


def remaining(path: Path) -> list[tuple[int, str]]:
    """Return the numbered lines of a file with all allowed phrases removed."""
    name = path.relative_to(ROOT).as_posix()
    here = [words for start, (words, _) in ALLOWED_IN.items() if name.startswith(start)]
    allowed = re.compile("|".join([*ALLOWED, *here]), re.IGNORECASE)
    lines = path.read_text(encoding="utf-8").splitlines()
    return [(number, allowed.sub("", line)) for number, line in enumerate(lines, 1)]


@cache
def all_lines() -> list[tuple[Path, int, str]]:
    """Return the files and numbered lines with all allowed phrases removed."""
    return [(path, number, line) for path in FILES for number, line in remaining(path)]


@pytest.mark.parametrize("instead", BANNED)
def test_no_private_word_is_used(instead: str) -> None:
    banned = re.compile(BANNED[instead], re.IGNORECASE)
    found = [f"{path.relative_to(ROOT)}:{number}: {line}" for path, number, line in all_lines() if banned.search(line)]
    assert not found, f"write {instead!r} instead:\n" + "\n".join(found[:40])


def test_search_for_private_words_finds_them() -> None:
    samples = ["it is told", "asks for more", "the control rounds", "a law of control", "the way it went", "it is kept"]
    patterns = re.compile("|".join(BANNED.values()), re.IGNORECASE)
    allowed = re.compile("|".join(ALLOWED), re.IGNORECASE)
    assert all(patterns.search(allowed.sub("", sample)) for sample in samples)
