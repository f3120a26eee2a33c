"""Fuzz test of URDF files and TOML documents: loading returns a mechanism or raises a LinkworkError, in a short time.

`python tests/fuzz_urdf_and_toml.py 100000` tries that many of each; a failure prints the file that causes it.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

import linkwork as lw
from linkwork.evaluation.dynamics_kernels import mechanism_digest
from linkwork.model.documents.loading import find_faults

SLOW = 5.0  # seconds of processor time for one small file

INERTIAL = '<inertial><origin xyz="0 0 .1" rpy="0 1 0"/><mass value="1.5"/>' + (
    '<inertia ixx="0.1" ixy="0" ixz="0.01" iyy="0.2" iyz="0" izz="0.15"/></inertial>'
)
BOX = '<visual><geometry><box size="1 1 1"/></geometry><material name="m"/></visual>'
MESH = '<collision><geometry><mesh filename="package://p/b.stl"/></geometry></collision>'
LIMIT = '<limit lower="-1" upper="2" effort="3" velocity="4"/>'


def _joint(name: str, type_: str, parent: str, child: str, rest: str = "") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{type_}">{ends}<origin xyz="0 0 1" rpy="0 0 0.5"/>{rest}</joint>'


def _robot(*elements: str) -> bytes:
    return "\n".join(['<?xml version="1.0"?>', '<robot name="r">', *elements, "</robot>"]).encode()


URDFS = [
    _robot(
        '<material name="m"><color rgba="1 0 0 1"/></material>',
        '<link name="world"/>',
        f'<link name="a">{INERTIAL}{BOX}</link>',
        f'<link name="b">{INERTIAL}{MESH}</link>',
        _joint("j", "fixed", "world", "a"),
        _joint("k", "revolute", "a", "b", f'<axis xyz="0 1 0"/>{LIMIT}<dynamics damping="0.1" friction="0.2"/>'),
    ),
    _robot(
        *(f'<link name="{name}">{INERTIAL}</link>' for name in "abcdef"),
        _joint("j1", "continuous", "a", "b"),
        _joint("j2", "prismatic", "b", "c", LIMIT),
        _joint("j3", "planar", "c", "d", '<axis xyz="0 0 1"/>'),
        _joint("j4", "floating", "a", "e"),
        _joint("j5", "revolute", "e", "f", f'{LIMIT}<mimic joint="j2" multiplier="2" offset="0.1"/>'),
    ),
    '<!-- c -->\r\n<robot name="größe"><link name="ä"/><link name="b"/>{}</robot>'.format(
        _joint("j", "fixed", "ä", "b")
    ).encode(),
]
DOCUMENT = b"""linkwork = 1
name = "r"  # a comment
gravity = [0, 0.0, -9.81]
[world]
geometry = [{ shape = "box", size = [1, 1, 1], rpy_deg = [0, 0, 45] }]
[bodies.a]
mass = 1.5
com = [0.0, 0.0, 0.1]
inertia = [0.1, 0.2, 0.15, 0.0, 0.01, 0.0]
[[bodies.a.geometry]]
shape = "mesh"
source = "package://p/b.stl"
role = "collision"
[joints.j1]
kind = "cylindrical"
axis = [0, 1, 0]
parent = "world"
child = "a"
limits = [[-1, -inf], [inf, 2]]
damping = [0.1, 0.2]
[bodies."b c"]
mass = 2
inertia = [1, 1, 1]
[joints."j 2"]
kind = "revolute"
parent = "a"
child = "b c"
at = [
  0, # x
  1e-3, 0,
]
rotation = [1.0, 0, 0, 0, 1, 0, 0, 0, 1]
limits_deg = [-90, 90]
rest_deg = 10
velocity_limit = 3
mimic = { of = "j3", multiplier = 2.0 }
[bodies.d]
mass = 1
inertia = [1, 1, 1]
[joints.j3]
kind = "screw"
pitch = 0.1
parent = "b c"
child = "d"
[frames.tool]
body = "d"
rpy = [0, 0, 1.5]
"""
HELD = b"""linkwork = 1
[bodies]
a = { mass = 1, inertia = [1, 1, 1] }
b = { mass = 1, inertia = [1, 1, 1] }
c = { mass = 1, inertia = [1, 1, 1] }
[joints]
a = { kind = "revolute", parent = "world", child = "a" }
b = { kind = "prismatic", parent = "a", child = "b" }
c = { kind = "ball", parent = "world", child = "c" }
[loops.pin]
kind = "universal"
second = [0, 1, 0.5]
a = "b"
b = "c"
at = [0, 0.5, 0]
rpy_deg = [0, 0, 30]
to = [0, 0, -1]
to_rotation = [1, 0, 0, 0, 0, -1, 0, 1, 0]
[drives.motor]
ratios = { a = 20, b = -0.5 }
gain = 2
bias = [0, -2, -0.1]
control_limits = [-1, 1]
force_limits = [-inf, 3]
[drives.spin]
ratios.c = [1, 0, 0.5]
[clutches.shaft]
a = "a"
b = "b"
ratio = -2
capacity = 5
engaged = true
[brakes.hold]
joint = "a"
engaged = false
[surfaces.ground]
shape = "plane"
at = [0, 0, -1]
[surfaces.step]
shape = "box"
size = [1, 1, 0.1]
body = "a"
[contacts.toe]
body = "c"
at = [0, 0, -0.5]
radius = 0.1
stiffness = 1e4
damping = 10
tangential_damping = 5
friction = [0.8, 0.6]
against = ["ground", "step"]
[contacts.heel]
body = "b"
stiffness = 1e3
[springs.coil]
a = "b"
b = "c"
at = [0, 0.5, 0]
to = [0, 0, -1]
stiffness = 100
damping = 2
length = 0.25
[springs.damper]
a = "world"
b = "a"
damping = 1
[keyframes.home]
positions = { a = 0.5, c = [0, 1, 0, 0] }
velocities.c = [1, 2, 3]
"""
DOCUMENTS = [
    DOCUMENT,
    HELD,
    b"""linkwork = 1
bodies.a = { mass = 1, inertia = [1, 1, 1] }
joints.'j' = { kind = 'free', parent = 'world', child = 'a' }""",
]
NUMBERS = b"0 1 -1 0.5 2 1e-3 -0.0 1e49 1e-320 3 0.25".split()
WORDS = [
    *NUMBERS,
    *(b"nan inf -inf 1e400 -1e308 true 0x10 1_0 1e 999999999999 1979-05-27 [] {} [1] [1,2] [0,0,0] [[1],[2]]".split()),
    *(b"[1,2,3,4,5,6,7] '' \"\" 'a' 'world' 'ball' 'weld' 'free' \"j3\" 'box' '\"' \"\"\" kind mass".split()),
    *(b"[ ] { } [[ ]] = . , # \\ ' \" \r \x00 \xff [bodies.x] [[joints]] [joints.j1] linkwork".split(b" ")),
    *(b"to against ratios engaged false [loops.pin] [[drives]] [surfaces.ground] 'ground' 'plane'".split()),
    *(b"[springs.coil] [[springs]] length stiffness".split()),
    b"9" * 5000,
    b"[" * 3000,
    b"a." * 3000,
    b'"' + b"x" * 300 + b'"',
]
VALUES = [
    *(b"nan inf -inf 1e400 -1e308 1e-320 0 -1 1e49 -0.0 1,5 0x10 1_0 1e 999999999999 ${x} ../../../etc/passwd".split()),
    *(b"fixed revolute continuous prismatic planar floating mimic world a b c j1 j2 link joint robot".split()),
    *(b"0 0 0|1 0 0|0 0 1e-9|1 2 3|0 1|1 1 1 1|.5|1e-3|-0.1|2|&amp;|&#x41;".split(b"|")),
    b"file:///etc/passwd",
    b"http://127.0.0.1:9/",
    b"\xf0\x9f\xa4\x96",
    b" " * 300,
    b"9" * 400,
]
MARKUP = [
    *(b"<link> </link> <joint> </joint> <robot> </robot> <inertial/> <a> < > / = ' \" & &amp; &#0; &#x41; &x;".split()),
    b"<!DOCTYPE r [<!ENTITY x 'y'>]>",
    b"<![CDATA[",
    b"]]>",
    b"<!--",
    b"-->",
    b"<?xml?>",
    b"\xff\xfe",
    b"\x00",
    b"xmlns:x='y' ",
]


Change = Callable[[bytes, random.Random], bytes]


def mutated(corpus: Sequence[bytes], changes: Sequence[Change], rng: random.Random) -> bytes:
    """Return a file of the corpus after one to three random mutations, most of which keep it well-formed."""
    data = rng.choice(corpus)
    for _ in range(rng.randint(1, 3)):
        data = rng.choices(changes, (5, 3, 2))[0](data, rng)
    return data


def changed_value(data: bytes, rng: random.Random) -> bytes:
    """Return the XML text after one mutation: change a value, swap two values, or rename an attribute."""
    pieces = data.split(b'"')
    values = range(1, len(pieces) - 1, 2)
    if not values:
        return data
    i, j = rng.choice(values), rng.choice(values)
    how = rng.randrange(3)
    if how == 0:
        pieces[i] = rng.choice(VALUES)
    elif how == 1:
        pieces[i], pieces[j] = pieces[j], pieces[i]
    else:
        pieces[i - 1] = pieces[i - 1][:-1] + b"_="
    return b'"'.join(pieces)


def changed_element(data: bytes, rng: random.Random) -> bytes:
    """Return the XML text after one mutation of a line or an element without children.

    The mutation removes, duplicates, moves or renames it.
    """
    pieces = re.split(rb"(<[^<>/!?]*/>)" if rng.random() < 0.7 else rb"(\n[^\n]*)", data)
    elements = range(1, len(pieces), 2)
    if not elements:
        return data
    i, j = rng.choice(elements), rng.choice(elements)
    how = rng.randrange(4)
    if how == 0:
        pieces[i] = b""
    elif how == 1:
        pieces[i] *= 2
    elif how == 2:
        pieces[i], pieces[j] = pieces[j], pieces[i]
    else:
        pieces[i] = re.sub(rb"^<\w+", b"<" + rng.choice([b"axis", b"limit", b"mimic", b"mass", b"child"]), pieces[i])
    return b"".join(pieces)


def changed_word(data: bytes, rng: random.Random) -> bytes:
    """Return the TOML text after one mutation: change a value or key, or swap two."""
    pieces = re.split(rb"""([\w.+-]+|"[^"\n]*"|'[^'\n]*')""", data)
    words = range(1, len(pieces), 2)
    if not words:
        return data
    i, j = rng.choice(words), rng.choice(words)
    if re.fullmatch(rb"[\d.]+", pieces[i]) and rng.random() < 0.7:
        pieces[i] = rng.choice(NUMBERS)
    elif rng.random() < 0.6:
        pieces[i] = rng.choice(WORDS)
    else:
        pieces[i], pieces[j] = pieces[j], pieces[i]
    return b"".join(pieces)


def changed_line(data: bytes, rng: random.Random) -> bytes:
    """Return the TOML text after one mutation: remove, duplicate or move a line, or rename its key."""
    lines = data.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    how = rng.randrange(4)
    if how == 0:
        del lines[i]
    elif how == 1:
        lines.insert(j, lines[i])
    elif how == 2:
        lines[i], lines[j] = lines[j], lines[i]
    else:
        lines[i] = lines[i].replace(b" =", b"_deg =", 1)
    return b"\n".join(lines)


def changed_bytes(data: bytes, rng: random.Random) -> bytes:
    """Return the file after one mutation of its bytes: change, remove, duplicate, truncate, insert, or copy.

    Copied bytes are from another file of the corpus.
    """
    at = rng.randrange(len(data) + 1)
    to = min(len(data), at + int(rng.expovariate(1 / 20)))
    other = rng.choice(URDFS + DOCUMENTS)
    start = rng.randrange(len(other))
    changes = (
        data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :],
        data[:at] + data[to:],
        data[:to] + data[at:to] + data[to:],
        data[:at],
        data[:at] + rng.choice(VALUES + MARKUP + WORDS) + data[at:],
        data[:at] + other[start : start + 60] + data[to:],
    )
    return rng.choice(changes)


FORMATS: dict[str, tuple[Sequence[bytes], Sequence[Change]]] = {
    ".urdf": (URDFS, (changed_value, changed_element, changed_bytes)),
    ".toml": (DOCUMENTS, (changed_word, changed_line, changed_bytes)),
}


def outcome(path: Path, floating: bool | None) -> str:
    """Return the outcome of loading a file as text; raise every exception that is not a LinkworkError."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", lw.ModelWarning)
        errors = [fault for fault in find_faults(path, floating=floating, mimic=False) if fault.severity == "error"]
        if errors:
            with pytest.raises(lw.ModelError, match=re.escape(str(errors[0]))) as caught:
                lw.load(path, floating=floating, mimic=False)
            assert caught.value.file == str(path)
            return "refused"
        m = lw.load(path, floating=floating, mimic=False)
        if path.suffix == ".toml":
            lw.save(m, path)
            assert mechanism_digest(lw.load(path)) == mechanism_digest(m)
        else:
            with suppress(lw.LinkworkError):
                lw.load(path, floating=floating, mimic=False, contacts="ground")
        assert m.integrate(m.neutral(), [0.0] * m.nv).shape == (m.nq,)
        return "loaded"


def fuzz(count: int, suffix: str, seed: int = 0) -> Counter[str]:
    """Load `count` mutated files and count the outcomes; raise AssertionError at the first invalid outcome."""
    rng, found = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="linkwork-fuzz-") as folder:
        path = Path(folder) / f"robot{suffix}"
        for number in range(count):
            data = mutated(*FORMATS[suffix], rng)
            path.write_bytes(data)
            start = time.process_time()
            try:
                found[outcome(path, floating=number % 2 == 0 if suffix == ".urdf" else None)] += 1
            except Exception as error:
                raise AssertionError(f"file {number} of seed {seed} ended in {error!r}: {data!r}") from error
            spent = time.process_time() - start
            assert spent < SLOW, f"file {number} of seed {seed} took {spent:.1f} s: {data!r}"
            assert [child.name for child in path.parent.iterdir()] == [path.name]
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for suffix in FORMATS:
        print(f"{given.count} mutated {suffix}: {dict(fuzz(given.count, suffix, given.seed))}")
