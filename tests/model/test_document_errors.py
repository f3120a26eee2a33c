"""A broken or hostile document is rejected at once with file, line, key and reason, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import linkwork as lw
from linkwork.model.documents.loading import find_faults
from model_file_errors import assert_many_faults_rejected, assert_rejected_at

TOP = 'linkwork = 1\nname = "r"\n'  # lines 1 and 2
BODY = "[bodies.arm]\nmass = 1.0\ninertia = [1.0, 1.0, 1.0]\n"  # 3 to 5
JOINT = '[joints.hinge]\nkind = "revolute"\nparent = "world"\nchild = "arm"\n'  # 6 to 9
SOUND = TOP + BODY + JOINT


def hinge(*lines: str, kind: str = "revolute") -> str:
    """A document whose joint has extra lines, from line 10 on."""
    return (SOUND + "\n".join(lines)).replace("revolute", kind)


def arm(*lines: str) -> str:
    """A document whose body has these lines, from line 4 on."""
    return TOP + "\n".join(["[bodies.arm]", *lines, ""]) + JOINT


def shape(inside: str) -> str:
    """A document whose body has a shape on line 7."""
    return arm("mass = 1.0", "inertia = [1, 1, 1]", "geometry = [", inside, "]")


def chain(**mimics: str) -> str:
    """Joints a, b, c from line 6 on, four lines each; some mimic others."""
    text = TOP.rstrip("\n")
    for parent, name in (("world", "a"), ("a", "b"), ("b", "c")):
        of = f"mimic = {{ {mimics[name]} }}" if name in mimics else ""
        text += f"\n[bodies.{name}]\nmass = 1.0\ninertia = [1, 1, 1]"
        text += f'\n[joints.{name}]\nkind = "revolute"\nparent = "{parent}"\nchild = "{name}"\n{of}'
    return text


def more(section: str, *lines: str) -> str:
    """Return a document with joints a and b, a ball joint s, a surface, and a further table with these lines.

    The further table is called `it` and is on line 28.
    """
    text = chain().replace('kind = "revolute"\nparent = "b"', 'kind = "ball"\nparent = "b"')
    text = text.replace(".c]", ".s]").replace('child = "c"', 'child = "s"')
    return "\n".join([text.rstrip(), "[surfaces.ground]", 'shape = "plane"', f"[{section}.it]", *lines])


LOOP = ('kind = "ball"', 'a = "a"', 'b = "world"')


def gear(*lines: str, kind: str = "gear") -> str:
    """A document with a gear or a rack, whose lines start at 32."""
    return more("loops", f'kind = "{kind}"', *LOOP[1:], *lines)


SPRING = ('a = "a"', 'b = "world"')
CONTACT = ('body = "a"', "stiffness = 1")

# name: the file, the line or None, the key or None, and what the message must contain
BROKEN: dict[str, tuple[str | bytes, int | None, str | None, tuple[str, ...]]] = {
    # --- not TOML, or more than a document needs ---
    "empty": ("", None, None, ("empty",)),
    "only blanks": (" \n\t\n", None, None, ("empty",)),
    "binary": (bytes(range(128, 256)) * 8, 1, None, ("0x80", "save it as UTF-8")),
    "binary with zeros": (b"\x7fELF\x00\x01" * 50, 1, None, ("not well-formed TOML",)),
    "utf-16": (SOUND.encode("utf-16"), 1, None, ("UTF-16", "save it as UTF-8")),
    "utf-16 without a mark": (SOUND.encode("utf-16-le"), 1, None, ("UTF-16",)),
    "latin letters": (SOUND.replace("r", "ü", 2).encode("latin-1"), 1, None, ("0xfc", "UTF-8")),
    "prose": ("a robot with two arms", 1, None, ("not well-formed TOML",)),
    "xml": ("<robot/>", 1, None, ("not well-formed TOML",)),
    "truncated in a text": (SOUND[:-3], 9, None, ("not well-formed TOML",)),
    "truncated in a list": (SOUND + "at = [0, 0", 10, None, ("cut off?",)),
    "truncated in a header": (SOUND + "[joints.el", 10, None, ("not well-formed TOML",)),
    "key twice": (hinge("damping = 1", "damping = 2"), 11, None, ("is defined twice",)),
    "table twice": (SOUND + JOINT, 10, None, ("is defined twice",)),
    "key and table": (TOP + "bodies = 1\n[bodies.arm]", 4, None, ("not well-formed TOML", "twice")),
    "number with a comma": (arm("mass = 1,5"), 4, None, ("not well-formed TOML",)),
    "number without a digit": (arm("mass = .5"), 4, None, ("not well-formed TOML",)),
    "integer of very many digits": (arm("mass = " + "9" * 5000), None, None, ("not well-formed TOML", "digits")),
    "deep lists": (SOUND + "at = " + "[" * 100_000, None, None, ("nested too deep",)),
    "deep inline tables": (SOUND + "at = " + "{a = " * 50_000, None, None, ("nested too deep",)),
    "deep dotted key": (SOUND + "at" + ".a" * 100_000 + " = 1", 10, None, ("joined by dots",)),
    "deep header": (SOUND + "[a" + ' . "b"' * 50_000 + "]", 10, None, ("joined by dots",)),
    "very large": (SOUND + "#" * (5 << 20), None, None, ("larger than 4 MiB",)),
    "a list of very many numbers": (hinge(f"at = [{'0,' * 100_000}]"), 10, "joints.hinge.at", ("must be 3 numbers",)),
    "a very long text": (hinge().replace('"arm"', f'"{"a" * 1_000_000}"'), 9, "joints.hinge.child", ("1 to 200",)),
    # --- not a document ---
    "no version": ('name = "r"\n[bodies.arm]', None, None, ("not a linkwork document", "linkwork = 1")),
    "another tool's file": ('[project]\nname = "r"', None, None, ("not a linkwork document",)),
    "newer version": (
        SOUND.replace("= 1\n", "= 2\n", 1),
        1,
        "linkwork",
        ("version 2", "newer", "pip install --upgrade"),
    ),
    "version as a text": (SOUND.replace("= 1\n", '= "1"\n', 1), 1, "linkwork", ("must be the version",)),
    "version zero": (SOUND.replace("= 1\n", "= 0\n", 1), 1, "linkwork", ("must be the version",)),
    "version true": (SOUND.replace("= 1\n", "= true\n", 1), 1, "linkwork", ("must be the version",)),
    # --- keys and tables ---
    "unknown table": (SOUND + "[link.arm]\nmass = 1", 10, "link", ("no key 'link'", "linkwork, name")),
    "misspelled table": (SOUND + "[frame.tip]\n", 10, "frame", ("Did you mean 'frames'?",)),
    "unknown key": (hinge("dampng = 1"), 10, "joints.hinge.dampng", ("no key 'dampng'", "Did you mean 'damping'?")),
    "key of another kind": (hinge("pitch = 1"), 10, "joints.hinge.pitch", ("joints of kind screw",)),
    "axis of a ball": (hinge("axis = [0, 0, 1]", kind="ball"), 10, "joints.hinge.axis", ("kind revolute, prismatic",)),
    "unknown key of a body": (arm("Mass = 1"), 4, "bodies.arm.Mass", ("Did you mean 'mass'?",)),
    "an endless key": (arm("a" * 100_000 + " = 1"), 4, f'bodies.arm."{"a" * 60}..."', ("no key",)),
    "bodies in a list": (TOP + "[[bodies]]\nmass = 1", 3, "bodies", ("must be a table", "[bodies]")),
    "body as a number": (TOP + "[bodies]\narm = 1", 4, "bodies.arm", ("must be a table; got 1", "write [bodies.arm]")),
    "world as a text": (SOUND.replace("[b", 'world = "w"\n[b', 1), 3, "world", ("must be a table",)),
    "missing kind": (hinge().replace('kind = "revolute"', ""), 6, "joints.hinge", ("kind is missing", "screw")),
    "missing parent": (hinge().replace('parent = "world"', ""), 6, "joints.hinge", ("parent is missing", "a name")),
    "missing child": (hinge().replace('child = "arm"', ""), 6, "joints.hinge", ("child is missing",)),
    "missing bodies": (TOP + JOINT, 6, "joints.hinge.child", ("no body 'arm'",)),
    "missing joints": (TOP + BODY, 3, "bodies.arm", ("not the child of any joint", "lw.Free()")),
    "unknown kind": (
        hinge(kind="revolut"),
        7,
        "joints.hinge.kind",
        ("no kind 'revolut'", "Did you mean 'revolute'?", "weld"),
    ),
    "kind as a number": (hinge().replace('"revolute"', "3"), 7, "joints.hinge.kind", ("must be one of", "got 3")),
    "kind as a list": (hinge().replace('"revolute"', "[[1]]"), 7, "joints.hinge.kind", ("must be one of",)),
    "a frame without a body": (SOUND + "[frames.tip]\nat = [0, 0, 1]", 10, "frames.tip", ("body is missing",)),
    # --- names ---
    "body called world": (SOUND + "[bodies.world]\nmass = 1", 10, "bodies.world", ("always exists", "[world]")),
    "body and frame of one name": (SOUND + '[frames.arm]\nbody = "arm"', 10, "frames.arm", ("already",)),
    "frame called world": (SOUND + '[frames.world]\nbody = "arm"', 10, "frames.world", ("already",)),
    "body without a name": (SOUND + '[bodies.""]\nmass = 1', 10, 'bodies.""', ("1 to 200 characters",)),
    "body with a blank name": (SOUND + '[bodies." "]\nmass = 1', 10, 'bodies." "', ("1 to 200 characters",)),
    "joint with an endless name": (SOUND.replace("hinge", "h" * 300), 6, f'joints."{"h" * 60}..."', ("1 to 200",)),
    "name of the mechanism a number": (SOUND.replace('"r"', "3"), 2, "name", ("must be a nonempty string",)),
    "name of the mechanism empty": (SOUND.replace('"r"', '""'), 2, "name", ("nonempty",)),
    "a name in quotes with dots": (SOUND + '[frames."a.b"]\nbody = "amr"', 11, 'frames."a.b".body', ("mean 'arm'?",)),
    # --- the tree ---
    "unknown parent": (SOUND.replace('"world"', '"word"'), 8, "joints.hinge.parent", ("Did you mean 'world'?",)),
    "unknown child": (SOUND.replace('"arm"', '"amr"'), 9, "joints.hinge.child", ("Did you mean 'arm'?",)),
    "two parents": (SOUND + JOINT.replace("hinge", "two"), 13, "joints.two.child", ("already the child of joint",)),
    "world as a child": (
        SOUND + JOINT.replace("hinge", "x").replace("arm", "world"),
        10,
        "joints.x",
        ("world cannot",),
    ),
    "ring": (SOUND.replace('"world"', '"arm"'), 3, "bodies.arm", ("cycle of joints",)),
    # --- numbers ---
    "gravity of two numbers": (TOP + "gravity = [0, 1]", 3, "gravity", ("3 numbers [m/s^2]; got [0, 1]",)),
    "gravity nan": (TOP + "gravity = [0, nan, 0]", 3, "gravity", ("3 numbers [m/s^2], finite",)),
    "mass as a text": (arm('mass = "1"'), 4, "bodies.arm.mass", ("must be a number [kg]; got '1'",)),
    "mass true": (arm("mass = true"), 4, "bodies.arm.mass", ("must be a number [kg]; got True",)),
    "mass as a date": (arm("mass = 1979-05-27 07:32:00"), 4, "bodies.arm.mass", ("must be a number",)),
    "mass nan": (arm("mass = nan"), 4, "bodies.arm.mass", ("finite; got nan",)),
    "mass inf": (arm("mass = -inf"), 4, "bodies.arm.mass", ("finite; got -inf",)),
    "mass 1e300": (arm("mass = 1e300"), 4, "bodies.arm.mass", ("magnitudes must be below 1e+50",)),
    "mass in very many hexadecimals": (arm("mass = 0x1" + "0" * 9999), 4, "bodies.arm.mass", ("very large integer",)),
    "mass negative": (arm("mass = -1"), 4, "bodies.arm.mass", ("mass must be >= 0 kg; got -1",)),
    "com of two numbers": (arm("com = [0, 1]"), 4, "bodies.arm.com", ("3 numbers [m]; got [0, 1]",)),
    "inertia of four numbers": (arm("mass = 1", "inertia = [1, 1, 1, 0]"), 5, "bodies.arm.inertia", ("3 numbers", "6")),
    "inertia of seven numbers": (arm(f"inertia = {[1] * 7}"), 4, "bodies.arm.inertia", ("3 or 6 numbers [kg m^2]",)),
    "inertia negative": (arm("mass = 1", "inertia = [1, 1, -1]"), 5, "bodies.arm.inertia", ("each must be >= 0",)),
    "axis zero": (hinge("axis = [0, 0, 0]"), 10, "joints.hinge.axis", ("not all zero", "(0, 0, 1)")),
    "axis of texts": (hinge('axis = ["0", "0", "1"]'), 10, "joints.hinge.axis", ("must be 3 numbers",)),
    "axes that are one": (
        hinge("second = [1, 0, 0]", kind="universal"),
        6,
        "joints.hinge",
        ("must not be parallel",),
    ),
    "at over several lines": (hinge("at = [", "  0, # x", "  inf,", "  0", "]"), 10, "joints.hinge.at", ("finite",)),
    "damping negative": (hinge("damping = -1"), 10, "joints.hinge.damping", ("must be >= 0",)),
    "damping of two numbers": (hinge("damping = [1, 2]"), 10, "joints.hinge.damping", ("must be 1 numbers",)),
    "damping inf": (hinge("damping = inf"), 10, "joints.hinge.damping", ("finite",)),
    "limits crossed": (hinge("limits = [1, -1]"), 6, "joints.hinge", ("must not exceed",)),
    "limits of one number": (hinge("limits = [1]"), 10, "joints.hinge.limits", ("[lower, upper]; got [1]",)),
    "limits nan": (hinge("limits = [nan, 1]"), 10, "joints.hinge.limits", ("[lower, upper], finite",)),
    "limits of a ball": (hinge("limits = [0, 1]", kind="ball"), 10, "joints.hinge.limits", ("quaternion",)),
    "rest of two numbers": (hinge("rest = [0, 1]"), 10, "joints.hinge.rest", ("must be 1 numbers",)),
    "effort_limit negative": (hinge("effort_limit = -inf"), 10, "joints.hinge.effort_limit", ("must be >= 0",)),
    "rotation of eight numbers": (hinge(f"rotation = {[0] * 8}"), 10, "joints.hinge.rotation", ("9 numbers",)),
    "rotation that is none": (hinge(f"rotation = {[1] * 9}"), 10, "joints.hinge.rotation", ("rotation matrix",)),
    "rotation and rpy": (
        hinge("rpy = [0, 0, 1]", "rotation = [1, 0, 0, 0, 1, 0, 0, 0, 1]"),
        11,
        "joints.hinge.rotation",
        ("both rotation and rpy", "remove one"),
    ),
    "radians and degrees": (
        hinge("rpy = [0, 0, 1]", "rpy_deg = [0, 0, 57]"),
        11,
        "joints.hinge.rpy_deg",
        ("both rpy and rpy_deg", "remove one"),
    ),
    "limits in both": (hinge("limits_deg = [0, 1]", "limits = [0, 1]"), 11, "joints.hinge.limits", ("remove one",)),
    "degrees of a slide": (
        hinge("limits_deg = [0, 1]", kind="prismatic"),
        10,
        "joints.hinge.limits_deg",
        ("not all angles", "give limits instead"),
    ),
    "degrees of a quaternion": (hinge("rest_deg = 1", kind="ball"), 10, "joints.hinge.rest_deg", ("not all angles",)),
    # --- mimics ---
    "mimic of itself": (chain(b='of = "b"'), 14, "joints.b", ("mimics itself",)),
    "mimic of an unknown joint": (chain(b='of = "aa"'), 14, "joints.b", ("no joint 'aa'", "Did you mean 'a'?")),
    "mimics in a ring": (chain(a='of = "b"', b='of = "a"'), 10, "joints.a.mimic", ("in a cycle",)),
    "mimic of nothing": (chain(b="multiplier = 2"), 18, "joints.b.mimic", ("of is missing",)),
    "mimic with nan": (chain(b='of = "a", offset = nan'), 18, "joints.b.mimic.offset", ("finite",)),
    "mimic as a text": (hinge('mimic = "a"'), 10, "joints.hinge.mimic", ("must be a table",)),
    # --- loops ---
    "loop by a free joint": (more("loops", 'kind = "free"', *LOOP[1:]), 29, "loops.it.kind", ("no kind 'free'",)),
    "loop by an unknown kind": (more("loops", 'kind = "bal"', *LOOP[1:]), 29, "loops.it.kind", ("mean 'ball'?",)),
    "loop by nothing": (more("loops", *LOOP[1:]), 28, "loops.it", ("kind is missing",)),
    "loop of one body": (more("loops", *LOOP[:2]), 28, "loops.it", ("b is missing", "a name")),
    "loop of an unknown body": (more("loops", *LOOP[:2], 'b = "wrld"'), 31, "loops.it.b", ("mean 'world'?",)),
    "loop of a body with itself": (
        more("loops", *LOOP[:2], 'b = "a"'),
        30,
        "loops.it.a",
        ("needs two different bodies",),
    ),
    "loop with a number of a joint": (more("loops", *LOOP, "damping = 1"), 32, "loops.it.damping", ("no key",)),
    "loop with an axis of a ball": (more("loops", *LOOP, "axis = [0, 0, 1]"), 32, "loops.it.axis", ("kind revolute",)),
    "loop to two numbers": (more("loops", *LOOP, "to = [0, 1]"), 32, "loops.it.to", ("3 numbers [m]",)),
    "loop to a rotation that is none": (
        more("loops", *LOOP, f"to_rotation = {[1] * 9}"),
        32,
        "loops.it.to_rotation",
        ("rotation matrix",),
    ),
    "loop turned twice": (
        more("loops", *LOOP, "to_rpy = [0, 0, 1]", "to_rotation = [1, 0, 0, 0, 1, 0, 0, 0, 1]"),
        33,
        "loops.it.to_rotation",
        ("both to_rotation and to_rpy", "remove one"),
    ),
    "loop in degrees and radians": (
        more("loops", *LOOP, "to_rpy = [0, 0, 1]", "to_rpy_deg = [0, 0, 1]"),
        33,
        "loops.it.to_rpy_deg",
        ("remove one",),
    ),
    "gear without teeth": (gear("teeth = 9"), 28, "loops.it", ("to_teeth is missing", "whole")),
    "gear of no teeth": (gear("teeth = 0", "to_teeth = 9"), 32, "loops.it.teeth", ("nonzero integer",)),
    "gear of half a tooth": (gear("teeth = 8", "to_teeth = 9.5"), 33, "loops.it.to_teeth", ("a whole number",)),
    "gear in a ring of its size": (gear("teeth = 8", "to_teeth = -8"), 32, "loops.it.teeth", ("must outnumber",)),
    "rack of no pinion": (gear("radius = 0", kind="rack"), 32, "loops.it.radius", ("metres > 0",)),
    "rack along z": (gear("radius = 1", "direction = [0, 0, 1]", kind="rack"), 33, "loops.it.direction", ("perpend",)),
    # --- drives, clutches, brakes ---
    "drive of nothing": (more("drives"), 28, "drives.it", ("ratios is missing", "by joint")),
    "drive without joints": (more("drives", "ratios = {}"), 29, "drives.it.ratios", ("at least one joint",)),
    "drive of a number": (more("drives", "ratios = 2"), 29, "drives.it.ratios", ("must be a table",)),
    "drive of a text": (more("drives", 'ratios = { a = "2" }'), 29, "drives.it.ratios.a", ("a number for each",)),
    "drive of an unknown joint": (more("drives", "ratios = { x = 2 }"), 29, "drives.it.ratios", ("no joint 'x'",)),
    "drive by zero": (more("drives", "ratios = { a = 0 }"), 29, "drives.it.ratios", ("must not all be 0",)),
    "drive by nan": (more("drives", "ratios = { a = nan }"), 29, "drives.it.ratios.a", ("finite",)),
    "drive of a ball by one": (more("drives", "ratios.s = 1"), 29, "drives.it.ratios", ("must be 3 numbers",)),
    "drive by the length of a ball": (
        more("drives", "ratios.s = [0, 0, 1]", "bias = [0, 1, 0]"),
        30,
        "drives.it.bias",
        ("the length", "'s', a Ball"),
    ),
    "drive limits crossed": (
        more("drives", "ratios.a = 1", "force_limits = [1, -1]"),
        30,
        "drives.it.force_limits",
        ("with lower <= upper",),
    ),
    "drive gain inf": (more("drives", "ratios.a = 1", "gain = inf"), 30, "drives.it.gain", ("finite",)),
    "misspelled key of a drive": (more("drives", "ratios.a = 1", "gian = 1"), 30, "drives.it.gian", ("mean 'gain'?",)),
    "clutch by zero": (more("clutches", 'a = "a"', 'b = "b"', "ratio = 0"), 31, "clutches.it.ratio", ("not be 0",)),
    "clutch of an unknown joint": (more("clutches", 'a = "a"', 'b = "x"'), 30, "clutches.it.b", ("no joint 'x'",)),
    "clutch of a list": (more("clutches", 'a = "a"', 'b = ["b"]'), 30, "clutches.it.b", ("or a table of numbers",)),
    "clutch by nan": (more("clutches", "a.a = nan", 'b = "b"'), 29, "clutches.it.a", ("finite",)),
    "clutch of nothing": (more("clutches", "a = {}", 'b = "b"'), 29, "clutches.it.a", ("at least one joint",)),
    "clutch of a sum with an unknown joint": (
        more("clutches", 'a = "a"', "b = { b = 1, x = 2 }"),
        30,
        "clutches.it.b",
        ("no joint 'x'",),
    ),
    "clutch of a ball": (more("clutches", 'a = "s"', 'b = "a"'), 29, "clutches.it.a", ("a Ball joint",)),
    "clutch of one joint": (more("clutches", 'a = "a"'), 28, "clutches.it", ("b is missing",)),
    "clutch with itself": (more("clutches", 'a = "a"', 'b = "a"'), 29, "clutches.it.a", ("two different joints",)),
    "clutch engaged by a number": (
        more("clutches", 'a = "a"', 'b = "b"', "engaged = 1"),
        31,
        "clutches.it.engaged",
        ("true or false; got 1",),
    ),
    "brake without capacity": (
        more("brakes", 'joint = "a"', "capacity = 0.0"),
        30,
        "brakes.it.capacity",
        ("must be > 0",),
    ),
    "brake of an unknown joint": (more("brakes", 'joint = "aa"'), 29, "brakes.it.joint", ("mean 'a'?",)),
    "brake of nothing": (more("brakes", "engaged = true"), 28, "brakes.it", ("joint is missing",)),
    # --- surfaces and contacts ---
    "surface without a shape": (more("surfaces", 'body = "a"'), 28, "surfaces.it", ("shape is missing",)),
    "surface of an unknown shape": (more("surfaces", 'shape = "plain"'), 29, "surfaces.it.shape", ("mean 'plane'?",)),
    "surface without a size": (more("surfaces", 'shape = "box"'), 28, "surfaces.it", ("size is missing",)),
    "surface of an unknown body": (
        more("surfaces", 'shape = "plane"', 'body = "x"'),
        30,
        "surfaces.it.body",
        ("no body 'x'",),
    ),
    "surface with a role": (more("surfaces", 'shape = "plane"', 'role = "x"'), 30, "surfaces.it.role", ("no key",)),
    "contact of nothing": (more("contacts", "stiffness = 1"), 28, "contacts.it", ("body is missing",)),
    "contact of stiffness zero": (
        more("contacts", 'body = "a"', "stiffness = 0"),
        30,
        "contacts.it.stiffness",
        ("must be > 0",),
    ),
    "contact of an unknown body": (
        more("contacts", 'body = "x"', "stiffness = 1"),
        29,
        "contacts.it.body",
        ("no body 'x'",),
    ),
    "contact friction negative": (more("contacts", *CONTACT, "friction = -1"), 31, "contacts.it.friction", (">= 0",)),
    "contact friction growing": (
        more("contacts", *CONTACT, "friction = [0.5, 0.6]"),
        31,
        "contacts.it.friction",
        ("static >= dynamic",),
    ),
    "contact friction of three numbers": (
        more("contacts", *CONTACT, "friction = [1, 1, 1]"),
        31,
        "contacts.it.friction",
        ("[static, dynamic]",),
    ),
    "contact against an unknown surface": (
        more("contacts", *CONTACT, 'against = ["grund"]'),
        31,
        "contacts.it.against",
        ("mean 'ground'?",),
    ),
    "contact against a text": (more("contacts", *CONTACT, 'against = "x"'), 31, "contacts.it.against", ("a list",)),
    "contact against its own body": (
        more("contacts", 'body = "world"', "stiffness = 1", 'against = ["ground"]'),
        31,
        "contacts.it.against",
        ("is on the body of the contact",),
    ),
    # --- springs ---
    "spring of one body": (more("springs", 'a = "a"'), 28, "springs.it", ("b is missing", "a name")),
    "spring of a body with itself": (
        more("springs", 'a = "a"', 'b = "a"'),
        29,
        "springs.it.a",
        ("needs two different bodies",),
    ),
    "spring of an unknown body": (more("springs", *SPRING[:1], 'b = "wrld"'), 30, "springs.it.b", ("mean 'world'?",)),
    "spring at two numbers": (more("springs", *SPRING, "at = [0, 1]"), 31, "springs.it.at", ("3 numbers [m]",)),
    "spring turned": (more("springs", *SPRING, "rpy = [0, 0, 1]"), 31, "springs.it.rpy", ("no key 'rpy'",)),
    "spring that pushes": (more("springs", *SPRING, "stiffness = -1"), 31, "springs.it.stiffness", (">= 0",)),
    "spring of no length": (more("springs", *SPRING, "length = nan"), 31, "springs.it.length", ("finite",)),
    "spring called as a joint": (
        more("springs", *SPRING).replace("s.it", "s.b"),
        28,
        "springs.b",
        ("this spring has the name of a joint",),
    ),
    "keyframe as it was": (more("keyframes", "a = 1"), 29, "keyframes.it.a", ("no key 'a'", "positions, velocities")),
    "keyframe of a text": (
        more("keyframes", "[keyframes.it.positions]", 'a = "up"'),
        30,
        "keyframes.it.positions.a",
        ("a number for each coordinate",),
    ),
    "keyframe of an unknown joint": (
        more("keyframes", "velocities.x = 1"),
        29,
        "keyframes.it.velocities",
        ("no joint 'x'",),
    ),
    # --- geometry ---
    "geometry as a text": (
        arm("mass = 1", "inertia = [1, 1, 1]", 'geometry = "box"'),
        6,
        "bodies.arm.geometry",
        ("list",),
    ),
    "geometry of numbers": (shape("1"), 6, "bodies.arm.geometry[0]", ("must be a table; got 1",)),
    "geometry without a shape": (shape("{ size = [1, 1, 1] }"), 7, "bodies.arm.geometry[0]", ("shape is missing",)),
    "unknown shape": (shape('{ shape = "bx" }'), 7, "bodies.arm.geometry[0].shape", ("no shape 'bx'", "mean 'box'?")),
    "box without a size": (shape('{ shape = "box" }'), 7, "bodies.arm.geometry[0]", ("size is missing",)),
    "box of two numbers": (
        shape('{ shape = "box", size = [1, 2] }'),
        7,
        "bodies.arm.geometry[0].size",
        ("must be 3 numbers",),
    ),
    "second shape negative": (
        shape('{ shape = "sphere", radius = 1 },\n\n{ shape = "sphere", radius = -1 },'),
        9,
        "bodies.arm.geometry[1].radius",
        ("finite number >= 0",),
    ),
    "unknown role": (
        shape('{ shape = "sphere", radius = 1, role = "visible" }'),
        7,
        "bodies.arm.geometry[0].role",
        ("one of visual, collision; got 'visible'",),
    ),
    "color to 255": (
        shape('{ shape = "sphere", radius = 1, color = [255, 0, 0, 1] }'),
        7,
        "bodies.arm.geometry[0].color",
        ("from 0 to 1",),
    ),
    "geometry in tables of their own": (
        TOP + BODY + '[[bodies.arm.geometry]]\nshape = "sphere"\nradius = 1\n'
        '[[bodies.arm.geometry]]\nshape = "sphere"\nradios = 1\nradius = 1\n' + JOINT,
        11,
        "bodies.arm.geometry[1].radios",
        ("Did you mean 'radius'?",),
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_invalid_document_is_rejected_with_line_and_reason(name: str, tmp_path: Path) -> None:
    content, line, key, says = BROKEN[name]
    assert assert_rejected_at(line, tmp_path / "robot.toml", content, says).element == key


def test_at_least_100_invalid_documents_are_tested() -> None:
    assert len(BROKEN) >= 100


def test_documents_with_byte_order_marks_or_windows_line_ends_are_loaded(tmp_path: Path) -> None:
    path = tmp_path / "sound.toml"
    for text in (SOUND, "\ufeff" + SOUND, SOUND.replace("\n", "\r\n"), hinge("damping = 0"), chain()):
        path.write_bytes(text.encode())
        assert lw.load(path).name == "r"


def test_unreadable_documents_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "folder.toml").mkdir()
    for path, says in ((tmp_path / "nowhere.toml", "no such file"), (tmp_path / "folder.toml", "a folder")):
        with pytest.raises(lw.ModelError, match=says) as caught:
            lw.load(path)
        assert caught.value.file == str(path)


def test_every_fault_of_a_document_is_reported_once(tmp_path: Path) -> None:
    path = tmp_path / "robot.toml"
    path.write_text(
        hinge("axis = [0, 0]", "damping = nan", 'at = "here"', "colour = 1")
        + '\n[joints.two]\nkind = "bal"\nchild = 7\n[bodies.hand]\nmass = -1\n[bodies.tip]\nmass = "x"\ncom = [1]'
        + '\n[frames.f]\nbody = "nobody"\n[joints.three]\nkind = "ball"\nparent = "arm"\nchild = "tip"\nrest = [0, 1]'
    )
    found = [(fault.line, fault.element) for fault in find_faults(path)]
    assert found == [
        (10, "joints.hinge.axis"),
        (11, "joints.hinge.damping"),
        (12, "joints.hinge.at"),
        (13, "joints.hinge.colour"),
        (14, "joints.two"),
        (15, "joints.two.kind"),
        (16, "joints.two.child"),
        (18, "bodies.hand.mass"),
        (20, "bodies.tip.mass"),
        (21, "bodies.tip.com"),
        (23, "frames.f.body"),
        (28, "joints.three.rest"),
    ]
    with pytest.raises(lw.ModelError, match=r"\(and 11 more faults\)"):
        lw.load(path)


MANY: dict[str, Callable[[int], str]] = {
    "loose bodies": lambda n: "".join(f"[bodies.b{k}]\n" for k in range(n)),
    "unknown keys": lambda n: "[bodies.arm]\n" + "".join(f"k{k} = 1\n" for k in range(4 * n)),
    "joints of unknown bodies": lambda n: "".join(
        f'[joints.j{k}]\nkind = "ball"\nparent = "x{k}"\nchild = "y{k}"\n' for k in range(n)
    ),
    "joints of nothing": lambda n: "".join(f"[joints.j{k}]\n" for k in range(n)),
    "broken shapes": lambda n: "[bodies.arm]\ngeometry = [" + '{ shape = "box", size = [1] },\n' * 4 * n + "]",
}


@pytest.mark.parametrize("name", MANY)
def test_many_faults_of_a_document_are_reported_in_linear_time(tmp_path: Path, name: str) -> None:
    assert_many_faults_rejected(1000, tmp_path / "robot.toml", TOP + MANY[name](1200), TOP + MANY[name](600))
