"""A broken or hostile MJCF is rejected at once with file, line, element and reason; no other file is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

import linkwork as lw
from model_file_errors import assert_rejected_at

pytest.importorskip("mujoco", reason="MuJoCo is not installed (the extra 'mjcf')")

BODY = '<body name="b"><joint/><geom size="1"/></body>'
WORLD = f"<worldbody>{BODY}</worldbody>"
BOMB = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10 if k else "boom"}">' for k in range(12))


def model(*elements: str) -> str:
    """A model with each element on its own line, from line 2 on."""
    return "\n".join(["<mujoco>", *elements, "</mujoco>"])


def world(*elements: str) -> str:
    """A model with these elements in its worldbody, from line 3 on."""
    return model("<worldbody>", *elements, "</worldbody>")


def body(inside: str) -> str:
    return world(f'<body name="b">{inside}</body>')


def mesh(file: str, head: str = "<option/>") -> str:
    """A model that names a mesh, on line 3."""
    return model(head, f'<asset><mesh name="m" file="{file}"/></asset>', WORLD)


def actuator(element: str) -> str:
    """A model with an actuator of its joint j, on line 4."""
    return model(WORLD.replace("<joint/>", '<joint name="j"/>'), "<actuator>", element, "</actuator>")


INERTIAL = '<inertial pos="0 0 0" mass="{}" diaginertia="{}"/>'

# name: the file, the line or None, and what the message must contain
BROKEN: dict[str, tuple[str | bytes, int | None, tuple[str, ...]]] = {
    # --- not XML, or more than a model needs ---
    "truncated": (world(BODY)[:-14], 4, ("not well-formed",)),
    "utf-16": (world(BODY).encode("utf-16"), 1, ("UTF-16",)),
    "entity bomb": (f"<!DOCTYPE mujoco [{BOMB}]>\n{world('&e11;')}", 1, ("<!DOCTYPE", "not allowed")),
    "external entity": (
        f'<?xml version="1.0"?>\n<!DOCTYPE m [<!ENTITY x SYSTEM "file:///etc/passwd">]>{world(BODY)}',
        2,
        ("<!DOCTYPE", "not allowed"),
    ),
    "blank anchor": (
        model(
            WORLD.replace("<body>", '<body name="b">'), "<equality>", '<connect body1="b" anchor=" "/>', "</equality>"
        ),
        4,
        ("<connect>", "anchor is blank"),
    ),
    "tendon that pulls too hard": (
        model(
            WORLD.replace("<joint/>", '<joint name="j"/>'),
            '<tendon><fixed name="t"><joint joint="j" coef="1e308"/></fixed></tendon>',
            '<actuator><motor name="m" tendon="t" gear="99"/></actuator>',
        ),
        4,
        ("ratios of joint 'j' must be finite",),
    ),
    "deep nesting": (model("<worldbody>" + "<body>" * 100_000), 2, ("nested deeper than",)),
    "very many copies": (
        world('<replicate count="100000"><replicate count="100000">', BODY, "</replicate></replicate>"),
        3,
        ("<replicate>", "more than 20,000 elements"),
    ),
    "endless cable": (
        world('<composite type="cable" count="1e9 1 1" size="1"/>'),
        3,
        ("<composite>", "more than 20,000 elements"),
    ),
    "huge height field": (
        model('<asset><hfield name="h" nrow="1000000" ncol="1000000" size="1 1 1 1"/></asset>'),
        2,
        ("<hfield", "points"),
    ),
    "endless sphere": (
        model('<asset><mesh name="s" builtin="supersphere" params="1e5 1 1"/></asset>'),
        2,
        ('<mesh name="s">', "200 points"),
    ),
    "very many bodies": (world('<body name="b"/>' * 20_001), 1, ("more than 20,000 elements",)),
    # --- other files ---
    "include of a file outside": (model('<include file="../secret.xml"/>'), 2, ("<include>", "is not opened")),
    "include by an absolute path": (model('<include file="/etc/passwd"/>'), 2, ("'/etc/passwd' is not opened",)),
    "include of a URL": (model('<include file="http://127.0.0.1:9/a.xml"/>'), 2, ("is not opened", "URL")),
    "include that is not there": (model('<include file="parts.xml"/>'), 2, ("'parts.xml' does not exist",)),
    "include of itself": (model('<include file="robot.xml"/>'), 2, ("already part of the model",)),
    "include of nothing": (model("<include/>"), 2, ("attribute file is missing",)),
    "mesh outside": (mesh("../secret.stl"), 3, ('<mesh name="m">', "is not opened", "packages=(...)")),
    "mesh outside by its folder": (mesh("secret.stl", '<compiler meshdir="../"/>'), 3, ("is not opened",)),
    "mesh in an absolute folder": (mesh("passwd", '<compiler assetdir="/etc"/>'), 3, ("'/etc/passwd' is not opened",)),
    "mesh by an absolute path": (mesh("/etc/passwd"), 3, ("is not opened",)),
    "mesh behind a link": (mesh("link.stl"), 3, ("is not opened",)),
    "mesh that is not there": (mesh("part.stl"), 3, ("'part.stl' does not exist",)),
    "mesh that is none": (mesh("robot.xml"), 3, ("MuJoCo", "robot.xml")),
    "model inside": (
        model('<asset><model name="x" file="../secret.xml"/></asset>'),
        2,
        ('<model name="x">', "one file"),
    ),
    "file of something else": (
        world('<geom file="../secret.stl"/>'),
        3,
        ("attribute file is supported for mesh, hfield",),
    ),
    "flexible body": (world('<flexcomp name="f" type="mesh" file="../x.stl"/>'), 3, ("flexible bodies",)),
    # --- what MuJoCo complains about ---
    "unknown element": (world("<boddy/>"), 3, ("<boddy>", "MuJoCo", "unrecognized element")),
    "unknown attribute": (world('<body mass="1"/>'), 3, ("unrecognized attribute: 'mass'",)),
    "words for numbers": (world('<body pos="a b c"/>'), 3, ("bad format in attribute 'pos'",)),
    "two bodies of one name": (world('<body name="x"/>', '<body name="x"/>'), 4, ("repeated name 'x'",)),
    "nothing to move": (world('<body name="x"><joint/></body>'), 3, ('<body name="x">', "mass and inertia")),
    "axis zero": (body('<joint axis="0 0 0"/><geom size="1"/>'), 3, ("<joint>", "axis too small")),
    "limits crossed": (body('<joint limited="true" range="2 1"/><geom size="1"/>'), 3, ("range[0] should be smaller",)),
    "mass nan": (body("<joint/>" + INERTIAL.format("nan", "1 1 1")), 3, ("MuJoCo", "mass")),
    "impossible inertia": (body("<joint/>" + INERTIAL.format("1", "1 1 9")), 3, ("A + B >= C",)),
    "free joint inside": (world("<body><body>", '<freejoint/><geom size="1"/></body></body>'), 3, ("top level",)),
    "key of another model": (model(WORLD, '<keyframe><key qpos="1 2"/></keyframe>'), 1, ("qpos size",)),
    "loop of an unknown body": (model(WORLD, '<equality><connect body1="u" anchor="0 0 0"/></equality>'), 3, ("'u'",)),
    "motor of an unknown joint": (model(WORLD, '<actuator><motor joint="u"/></actuator>'), 3, ("'u'",)),
    "unknown joint": (model(WORLD, '<equality><joint joint1="u"/></equality>'), 3, ("'u'",)),
    # --- what the Builder complains about ---
    "joint at nan": (
        body('<joint name="j" pos="0 0 nan"/><geom size="1"/>'),
        3,
        ('"j">', "pos of joint 'j' must be finite"),
    ),
    "size inf": (body('<joint/><geom name="g" size="inf"/>'), 3, ("must be finite",)),
    "gain without end": (
        actuator('<general name="u" joint="j" gainprm="1e60"/>'),
        4,
        ('<general name="u">', "gainprm of actuator 'u' must be finite"),
    ),
    "no force at all": (
        actuator('<motor name="u" joint="j" forcelimited="true" forcerange="-inf -inf"/>'),
        4,
        ('<motor name="u">', "force"),
    ),
    "weld at nan": (
        model(WORLD, "<equality>", '<weld name="w" body1="b" anchor="0 nan 0"/></equality>'),
        4,
        ('<weld name="w">', "data of equality 'w' must be finite"),
    ),
    "gravity nan": (model('<option gravity="0 0 nan"/>', WORLD), 2, ("<option>", "gravity must be finite")),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model folder next to files outside it."""
    (tmp_path / "secret.stl").write_text("secret")
    (tmp_path / "secret.xml").write_text(world(BODY))
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "link.stl").symlink_to(tmp_path / "secret.stl")
    return tmp_path / "model"


@pytest.mark.parametrize("name", BROKEN)
def test_invalid_mjcf_is_rejected_with_line_and_reason(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    content, line, says = BROKEN[name]
    assert "secret\n" not in str(assert_rejected_at(line, folder / "robot.xml", content, says))


def test_cyclic_includes_are_rejected(folder: Path) -> None:
    (folder / "robot.xml").write_text(model('<include file="a.xml"/>'))
    (folder / "a.xml").write_text(model('<include file="b.xml"/>'))
    (folder / "b.xml").write_text(model("<option/>", '<include file="a.xml"/>'))
    with pytest.raises(lw.ModelError, match="already part of the model") as caught:
        lw.load(folder / "robot.xml")
    assert (caught.value.file, caught.value.line) == (str((folder / "b.xml").resolve()), 3)


def test_included_files_are_checked_like_the_main_file(folder: Path) -> None:
    (folder / "robot.xml").write_text(model('<include file="a.xml"/>'))
    (folder / "a.xml").write_text(f"<!DOCTYPE m>{model()}")
    with pytest.raises(lw.ModelError, match="DOCTYPE") as caught:
        lw.load(folder / "robot.xml")
    assert caught.value.file == str((folder / "a.xml").resolve())


def test_folders_given_as_packages_can_be_read(folder: Path) -> None:
    path = folder / "robot.xml"
    path.write_text(model('<include file="../secret.xml"/>'))
    assert lw.load(path, packages=folder.parent).nv == 1


def test_mjcf_files_in_other_text_encodings_are_read(folder: Path) -> None:
    path = folder / "robot.xml"
    path.write_bytes(
        b'<?xml version="1.0" encoding="latin-1"?>' + world(BODY.replace('"b"', '"größe"')).encode("latin-1")
    )
    assert lw.load(path).bodies.names == ("world", "größe")
