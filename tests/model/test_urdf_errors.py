"""A broken or hostile URDF is rejected at once with file, line, element and reason, and nothing is written."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest

import linkwork as lw
from linkwork.model.documents.loading import find_faults
from model_file_errors import assert_many_faults_rejected, assert_rejected_at

INERTIA = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
INERTIAL = f'<inertial><mass value="1"/>{INERTIA}</inertial>'
LIMIT = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'


def link(name: str = "arm", inside: str = INERTIAL) -> str:
    return f'<link name="{name}">{inside}</link>'


def joint(parent: str = "base", child: str = "arm", inside: str = LIMIT, name: str = "hinge", type_: str = "revolute"):
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{type_}">{ends}{inside}</joint>'


def robot(*elements: str) -> str:
    """A robot with each element on its own line, from line 2 on."""
    return "\n".join(['<robot name="r">', *elements, "</robot>"])


def arm(inside: str) -> str:
    """A robot whose arm link, on line 3, has this content; the rest is valid."""
    return robot(link("base"), link("arm", inside), joint())


def hinge(inside: str, type_: str = "revolute") -> str:
    """A robot whose joint, on line 4, has this content; the rest is valid."""
    return robot(link("base"), link("arm"), joint(inside=inside, type_=type_))


def inertial(mass: str = "1", **moments: str) -> str:
    six = {"ixx": "1", "ixy": "0", "ixz": "0", "iyy": "1", "iyz": "0", "izz": "1"} | moments
    rows = " ".join(f'{key}="{value}"' for key, value in six.items() if value)
    return arm(f'<inertial><mass value="{mass}"/><inertia {rows}/></inertial>')


def mimics(*pairs: tuple[str, str]) -> str:
    """A chain of joints a, b, c of which some mimic others."""
    of = dict(pairs)
    names = ["base", "a", "b", "c"]
    joints = [
        joint(parent, name, LIMIT + (f'<mimic joint="{of[name]}"/>' if name in of else ""), name)
        for parent, name in pairwise(names)
    ]
    return robot(*map(link, names), *joints)


def shape(inside: str) -> str:
    return arm(f"{INERTIAL}<visual><geometry>{inside}</geometry></visual>")


BOMB = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10 if k else "boom"}">' for k in range(12))
NOT_FINITE = "must be one finite number"

# name: the file, the line or None, and what the message must contain
BROKEN: dict[str, tuple[str | bytes, int | None, tuple[str, ...]]] = {
    # --- not XML, or more than a model needs ---
    "empty": ("", None, ("empty",)),
    "only spaces": (" \n\t ", None, ("empty",)),
    "binary": (bytes(range(256)) * 8, 1, ("does not start with '<'",)),
    "binary after a bracket": (b"<\x01\x02\x03" + bytes(range(256)), 1, ("not well-formed",)),
    "prose": ("a robot with two arms", 1, ("does not start with '<'",)),
    "utf-16": (robot(link()).encode("utf-16"), 1, ("UTF-16", "save it as UTF-8")),
    "utf-16 without a mark": (robot(link()).encode("utf-16-le"), 1, ("UTF-16",)),
    "latin letters that are not utf-8": (robot(link("größe")).encode("latin-1"), 2, ("not well-formed",)),
    "unknown encoding": (f'<?xml version="1.0" encoding="klingon"?>{robot(link())}', 1, ("klingon", "UTF-8")),
    "encoding of several bytes": (f'<?xml version="1.0" encoding="shift_jis"?>{robot(link())}', 1, ("UTF-8",)),
    "syntax error after blank lines": ("\n \n<?xml version='1.0'?>\n<robot>\n<", 5, ("not well-formed",)),
    "fault after blank lines": ("\n\n\n<?xml version='1.0'?>\n" + inertial("nan"), 7, (NOT_FINITE,)),
    "document type after blank lines": (f"\n\n<!DOCTYPE r>\n{robot(link())}", 3, ("<!DOCTYPE",)),
    "nul inside": (robot(link()).replace("</robot>", "\0</robot>"), 3, ("not well-formed",)),
    "truncated in a tag": (robot(link())[:-20], 2, ("not well-formed", "is not closed")),
    "truncated between tags": ('<robot name="r">\n<link name="a">', 2, ("no element found", '<link name="a">')),
    "crossed tags": ('<robot name="r">\n<link name="a"></robot></link>', 2, ("mismatched tag",)),
    "two root elements": (robot(link()) + robot(link()), 3, ("junk after document element",)),
    "attribute twice": ('<robot name="r">\n<link name="a" name="b"/></robot>', 2, ("duplicate attribute",)),
    "bare ampersand": ('<robot name="r & d"/>', 1, ("not well-formed",)),
    "unknown entity": (robot(link("&nbsp;")), 2, ("undefined entity",)),
    "control character": (robot(link("&#7;")), 2, ("not well-formed", "invalid character")),
    "entity bomb": (f"<!DOCTYPE r [{BOMB}]>\n{robot(link('&e11;'))}", 1, ("<!DOCTYPE", "not allowed")),
    "external entity": (
        f'<?xml version="1.0"?>\n<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>{robot(link("&x;"))}',
        2,
        ("<!DOCTYPE", "not allowed"),
    ),
    "external parameter entity": (
        f'<!DOCTYPE r [<!ENTITY % x SYSTEM "http://127.0.0.1:9/x.dtd"> %x;]>{robot(link())}',
        1,
        ("<!DOCTYPE",),
    ),
    "document type of a file": (f'<!DOCTYPE robot SYSTEM "robot.dtd">\n{robot(link())}', 1, ("<!DOCTYPE",)),
    "deep nesting": ("<robot>" + "<a>" * 100_000, 1, ("nested deeper than",)),
    "very many elements": ("<robot>" + "<a/>" * 200_001 + "</robot>", 1, ("more than 200,000 elements",)),
    "very large": (b"<robot>" + b" " * (33 << 20), None, ("larger than 32 MiB",)),
    # --- not a robot ---
    "other root element": ("<sdf/>", 1, ("<sdf>", "<robot>")),
    "xhtml": ('<html xmlns="http://www.w3.org/1999/xhtml"/>', 1, ("<html>",)),
    "no links": ('<robot name="r"/>', 1, ("there is no <link>",)),
    "xacro not expanded": (robot('<xacro:include filename="a"/>', link("base")), 2, ("xacro", "run: xacro")),
    # --- names ---
    "link without a name": (robot("<link/>"), 2, ("<link>", "attribute name is missing")),
    "link with an empty name": (robot(link("  ")), 2, ("attribute name is empty",)),
    "link with an endless name": (robot(link("a" * 100_000)), 2, ("at most 200 characters; got 100000",)),
    "two links of one name": (robot(link("base"), link("arm"), link("arm"), joint()), 4, ("already",)),
    "two links called world": (robot(link("world"), link("world")), 3, ('<link name="world">', "already")),
    "two joints of one name": (
        robot(link("base"), link("arm"), link("tip"), joint(), joint("arm", "tip")),
        6,
        ('<joint name="hinge">', "already"),
    ),
    "joint without a name": (hinge("").replace('name="hinge"', ""), 4, ("attribute name is missing",)),
    "joint without a type": (hinge(LIMIT).replace('type="revolute"', ""), 4, ("attribute type is missing",)),
    "joint of unknown type": (
        hinge(LIMIT, "revolut"),
        4,
        ("no joint type 'revolut'", "Did you mean 'revolute'?", "planar"),
    ),
    "joint without a parent": (
        robot(link("base"), link(), '<joint name="hinge" type="fixed"><child link="arm"/></joint>'),
        4,
        ("<parent> is missing",),
    ),
    "joint without a child": (
        robot(link("base"), link(), '<joint name="hinge" type="fixed"><parent link="base"/></joint>'),
        4,
        ("<child> is missing",),
    ),
    "parent without a link": (hinge(LIMIT).replace('parent link="base"', "parent"), 4, ("<parent> of <joint",)),
    # --- the tree ---
    "unknown parent": (robot(link("base"), link(), joint("bas")), 4, ("parent", "'bas'", "Did you mean 'base'?")),
    "unknown child": (robot(link("base"), link(), joint(child="amr")), 4, ("child", "'amr'", "Did you mean 'arm'?")),
    "world that is no link": (robot(link("base"), joint("world", "base")), 3, ("no link 'world'", "add <link")),
    "two roots": (robot(link("base"), link(), joint(), link("orphan")), 5, ('"orphan"', "second root", "'base'")),
    "no joints": (robot(link("base"), link()), 3, ("second root",)),
    "two parents": (
        robot(
            link("base"), link(), link("tip"), joint("base", "tip"), joint(name="y"), joint("arm", "tip", LIMIT, "x")
        ),
        7,
        ("'tip' is already the child of joint 'hinge'",),
    ),
    "ring": (robot(link("a"), link("b"), joint("a", "b"), joint("b", "a", LIMIT, "x")), 2, ("cycle of joints",)),
    "ring beside a tree": (
        robot(link("base"), link("a"), link("b"), joint("a", "b"), joint("b", "a", LIMIT, "x")),
        3,
        ("cycle of joints",),
    ),
    "link on itself": (robot(link("base"), link(), joint("arm", "arm")), 3, ("cycle of joints",)),
    "two parents in one joint": (hinge(f'{LIMIT}<parent link="arm"/>'), 4, ("more than one <parent>",)),
    "two origins": (hinge(f'{LIMIT}<origin/><origin xyz="1 0 0"/>'), 4, ("more than one <origin>",)),
    # --- numbers ---
    "mass nan": (inertial("nan"), 3, ("<mass>", NOT_FINITE, "'nan'")),
    "mass inf": (inertial("inf"), 3, (NOT_FINITE, "'inf'")),
    "mass 1e400": (inertial("1e400"), 3, (NOT_FINITE, "'1e400'")),
    "mass 1e300": (inertial("1e300"), 3, (NOT_FINITE, "'1e300'", "below 1e+50")),
    "mass with a comma": (inertial("1,5"), 3, ("'1,5'", "use a decimal point")),
    "mass with a unit": (inertial("1kg"), 3, (NOT_FINITE, "'1kg'")),
    "mass in words": (inertial("heavy"), 3, (NOT_FINITE, "'heavy'")),
    "mass with an underscore": (inertial("1_0"), 3, (NOT_FINITE, "'1_0'")),
    "mass in arabic digits": (inertial("٣"), 3, (NOT_FINITE,)),
    "mass as an expression": (inertial("${2*pi}"), 3, (NOT_FINITE, "'${2*pi}'")),
    "mass empty": (inertial(""), 3, (NOT_FINITE,)),
    "mass twice": (inertial("1 2"), 3, (NOT_FINITE,)),
    "mass missing": (arm(f"<inertial>{INERTIA}</inertial>"), 3, ("<inertial> of <link", "<mass> is missing")),
    "mass without value": (arm(f"<inertial><mass/>{INERTIA}</inertial>"), 3, ("attribute value is missing",)),
    "inertia missing": (arm('<inertial><mass value="1"/></inertial>'), 3, ("<inertia> is missing",)),
    "moment missing": (inertial(ixy=""), 3, ("<inertia>", "attribute ixy is missing")),
    "moment nan": (inertial(iyy="NaN"), 3, ("iyy", NOT_FINITE)),
    "origin of two numbers": (hinge(f'{LIMIT}<origin xyz="0 1"/>'), 4, ("xyz must be 3 finite numbers", "'0 1'")),
    "origin of four numbers": (hinge(f'{LIMIT}<origin rpy="0 1 2 3"/>'), 4, ("rpy must be 3 finite numbers",)),
    "origin with commas": (hinge(f'{LIMIT}<origin xyz="0,1,2"/>'), 4, ("xyz", "decimal point")),
    "origin with commas and spaces": (
        hinge(f'{LIMIT}<origin xyz="0, 1, 2"/>'),
        4,
        ("separate numbers by spaces, not by commas",),
    ),
    "origin not expanded": (hinge(f'{LIMIT}<origin xyz="$(arg where)"/>'), 4, ("xyz", "run: xacro")),
    "origin nan": (hinge(f'{LIMIT}<origin xyz="0 nan 2"/>'), 4, ("'nan' is not a valid number",)),
    "very many numbers": (hinge(f'{LIMIT}<origin xyz="{"1 " * 100_000}"/>'), 4, ("xyz must be 3 finite numbers",)),
    "a very long number": (inertial("1" * 100_000), 3, (NOT_FINITE,)),
    # --- what cannot be ---
    "mass negative": (inertial("-1"), 3, ('<link name="arm">', "mass must be >= 0 kg; got -1")),
    "inertia negative": (inertial(izz="-1"), 3, ("each must be >= 0", "-1 < 0")),
    "inertia indefinite": (inertial(ixy="3"), 3, ("each must be >= 0", "-2 < 0")),
    "axis zero": (hinge(f'{LIMIT}<axis xyz="0 0 0"/>'), 4, ("<axis> of <joint", "not all zero", "(0, 0, 1)")),
    "axis of two numbers": (hinge(f'{LIMIT}<axis xyz="0 1"/>'), 4, ("xyz must be 3 finite numbers",)),
    "limit negative effort": (hinge(LIMIT.replace('effort="1"', 'effort="-1"')), 4, ("effort_limit must be >= 0",)),
    "limit inf": (hinge(LIMIT.replace('upper="1"', 'upper="inf"')), 4, ("<limit>", NOT_FINITE)),
    "damping negative": (hinge(f'{LIMIT}<dynamics damping="-1"/>'), 4, ("damping must be >= 0",)),
    "friction negative": (hinge(f'{LIMIT}<dynamics friction="-1"/>'), 4, ("friction must be >= 0",)),
    "friction nan": (hinge(f'{LIMIT}<dynamics friction="nan"/>'), 4, ("<dynamics>", NOT_FINITE)),
    # --- mimics ---
    "mimic of itself": (mimics(("b", "b")), 7, ('<joint name="b">', "mimics itself")),
    "mimic of an unknown joint": (mimics(("b", "aa")), 7, ("no joint 'aa'", "Did you mean 'a'?", "mimic=False")),
    "mimics in a ring": (mimics(("a", "b"), ("b", "c"), ("c", "a")), 6, ("in a cycle", "a, b, c")),
    "mimic without a joint": (hinge(f"{LIMIT}<mimic/>"), 4, ("attribute joint is missing",)),
    "mimic with nan": (mimics(("b", 'a" multiplier="nan')), 7, ("multiplier", NOT_FINITE)),
    "mimic of a floating joint": (
        mimics(("b", "a")).replace('"revolute"', '"floating"', 1),
        7,
        ("'a', is a Free joint", "one coordinate"),
    ),
    # --- geometry ---
    "box of two numbers": (shape('<box size="1 2"/>'), 3, ("<box> of <link", "size must be 3 finite numbers")),
    "box without size": (shape("<box/>"), 3, ("attribute size is missing",)),
    "sphere negative": (shape('<sphere radius="-1"/>'), 3, ("radius must be a finite number >= 0",)),
    "cylinder without length": (shape('<cylinder radius="1"/>'), 3, ("attribute length is missing",)),
    "mesh without a file": (shape("<mesh/>"), 3, ("attribute filename is missing",)),
    "mesh with a wrong scale": (shape('<mesh filename="a.stl" scale="2 2"/>'), 3, ("scale must be 3",)),
    "two shapes": (shape('<sphere radius="1"/><sphere radius="1"/>'), 3, ("more than one shape",)),
    "color of three numbers": (
        robot('<material name="m"><color rgba="1 0 0"/></material>', link("base")),
        2,
        ("rgba must be 4 finite numbers",),
    ),
    "color to 255": (
        robot('<material name="m"><color rgba="255 0 0 1"/></material>', link("base")),
        2,
        ("from 0 to 1",),
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_invalid_urdf_is_rejected_with_line_and_reason(name: str, tmp_path: Path) -> None:
    content, line, says = BROKEN[name]
    assert_rejected_at(line, tmp_path / "robot.urdf", content, says)


def test_at_least_45_invalid_urdfs_are_tested() -> None:
    assert len(BROKEN) >= 45


# --- what is no file ---


def assert_rejected(path: Path | str, *says: str) -> None:
    with pytest.raises(lw.ModelError) as caught:
        lw.load(path)
    for words in (str(path), *says):
        assert words in str(caught.value)


def test_unreadable_urdf_files_are_rejected(tmp_path: Path) -> None:
    assert_rejected(tmp_path / "nowhere.urdf", "no such file")
    (tmp_path / "folder.urdf").mkdir()
    assert_rejected(tmp_path / "folder.urdf", "a folder")
    (tmp_path / "loop.urdf").symlink_to(tmp_path / "loop.urdf")
    assert_rejected(tmp_path / "loop.urdf", "cannot be read")
    assert_rejected("a\0b.urdf", "cannot be read")
    assert_rejected(tmp_path / ("a" * 5000 + ".urdf"), "cannot be read")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_named_pipe_in_place_of_a_model_file_is_rejected_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.urdf")
    assert_rejected(tmp_path / "pipe.urdf", "not a file")


def test_urdf_file_without_read_permission_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "secret.urdf"
    path.write_text(robot(link("base")))
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    assert_rejected(path, "permission denied")


def test_unsupported_file_types_list_the_supported_ones(tmp_path: Path) -> None:
    assert_rejected("robot.sdf", "'.sdf'", ".urdf", ".xml")
    assert_rejected("robot", "''", ".urdf")


def test_invalid_load_arguments_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(robot(link("base")))
    with pytest.raises(lw.ModelError, match=r"strings or pathlib.Paths; got 3"):
        lw.load(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(lw.ModelError, match=r"packages=\[3\]"):
        lw.load(path, packages=[3])  # pyright: ignore[reportArgumentType]
    with pytest.raises(lw.ModelError, match="floating must be True, False or None; got 'yes'"):
        lw.load(path, floating="yes")  # pyright: ignore[reportArgumentType]
    with pytest.raises(lw.ModelError, match="gravity must be 3 numbers"):
        lw.load(path, gravity=9.81)


# --- all faults at once ---


def test_every_fault_of_a_urdf_is_reported_once(tmp_path: Path) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(
        robot(
            link("base", '<inertial><mass value="x"/><inertia ixx="y"/></inertial>'),
            link("arm", f'{INERTIAL}<visual><geometry><mesh filename="a.stl"/></geometry></visual>'),
            link("arm"),
            joint(inside=LIMIT.replace("-1", "2") + '<axis xyz="0 0 0"/>'),
            joint("arm", "tip", "", "wrist", "hing"),
            link("tip", f'<inertial><mass value="-2"/>{INERTIA}</inertial>'),
        )
    )
    found = [(fault.line, fault.severity) for fault in find_faults(path)]
    moments = 6  # one is not a number, five are missing
    errors = [2] * (1 + moments) + [4, 5, 6, 7]
    assert sorted(found) == sorted([(1, "warning"), (5, "warning"), *((line, "error") for line in errors)])
    lines = [fault.line or 0 for fault in find_faults(path)]
    assert lines == sorted(lines)
    with pytest.raises(lw.ModelError, match=rf"\(and {len(errors) - 1} more faults\)"):
        lw.load(path)
    assert [str(fault) for fault in find_faults(tmp_path / "nowhere.urdf")] == [
        f"{tmp_path / 'nowhere.urdf'}: the file cannot be read: no such file or directory"
    ]


MANY: dict[str, list[str]] = {
    "orphans": [link(f"l{k}", "") for k in range(5_000)],
    "links without a name": ["<link/>"] * 5_000,
    "links of one name": [link("l", "")] * 5_000,
    "joints of unknown links": [joint(f"x{k}", f"y{k}", "", f"j{k}") for k in range(800)],
    "joints of a misspelled link": [link("ball", ""), *(joint("bal", "ball", "", f"j{k}") for k in range(800))],
    "unknown mimics": [
        link(f"l{k}") + joint("base", f"l{k}", '<mimic joint="x"/>', f"j{k}", "continuous") for k in range(300)
    ],
}


@pytest.mark.parametrize("name", MANY)
def test_many_faults_of_a_urdf_are_reported_in_linear_time(tmp_path: Path, name: str) -> None:
    whole, half = (robot(link("base"), *MANY[name][:count]) for count in (len(MANY[name]), len(MANY[name]) // 2))
    assert_many_faults_rejected(100_000, tmp_path / "robot.urdf", whole, half)


def test_xml_text_in_place_of_a_path_is_rejected():
    message = "load takes the path of a file; got XML text that begins with '<robot"
    with pytest.raises(lw.ModelError, match=message) as caught:
        lw.load('\n<robot name="arm">\n  <link name="base"/>\n</robot>')
    assert "\n" not in str(caught.value)
