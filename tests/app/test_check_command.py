"""Command line: printed output, exit codes, and no tracebacks."""

import subprocess
import sys
from pathlib import Path

import pytest

from command_line_helper import command

INERTIA = '<inertia ixx="1" iyy="1" izz="{2}" ixy="0" ixz="0" iyz="0"/>'
LINK = f'<link name="{{0}}"><inertial><mass value="{{1}}"/>{INERTIA}</inertial></link>'
JOINT = '<joint name="elbow" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="{0}"/>{1}</joint>'
LIMIT = '<limit lower="-1" upper="2" effort="1" velocity="1"/>'


def robot(mass: str = "1", izz: str = "1", axis: str = "0 0 1", limit: str = LIMIT) -> str:
    links = LINK.format("base", "1", "1") + "\n" + LINK.format("arm", mass, izz)
    return f'<robot name="two">\n{links}\n{JOINT.format(axis, limit)}\n</robot>'


def checked(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, *more: str) -> tuple[int, str]:
    path = tmp_path / "two.urdf"
    path.write_text(text)
    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")}
    answer = command(capsys, "check", str(path), *more)
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")} == before  # nothing is written
    return answer


def test_check_command_lists_the_content_of_a_valid_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, output = checked(tmp_path, capsys, robot())
    assert code == 0
    for word in ("two: 1 bodies", "elbow", "Revolute", "arm", "-1 to 2", "is usable: no errors, no warnings"):
        assert word in output
    code, output = checked(tmp_path, capsys, robot(), "--floating")
    assert code == 0
    assert "7 degrees of freedom" in output


def test_check_command_lists_the_collisions_of_links(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ball = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    mass = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    links = "".join(f'<link name="{name}">{mass}{ball}</link>' for name in "abc")
    joints = "".join(
        f'<joint name="{i}{j}" type="continuous"><parent link="{i}"/><child link="{j}"/><origin xyz="0 0 1"/></joint>'
        for i, j in ("ab", "bc")
    )
    code, output = checked(tmp_path, capsys, f'<robot name="r">{links}{joints}</robot>', "--contacts", "file")
    assert code == 0
    for text in ("collision", "contacts", "all solids", "1 pair of solids can touch"):
        assert text in output
    assert "without contacts" not in output


def test_check_command_counts_collision_shapes_without_contacts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ball = '<collision><geometry><sphere radius="1"/></geometry></collision></link>'
    code, output = checked(tmp_path, capsys, robot().replace("</link>", ball))
    assert code == 0
    assert "1 collision shape of a moving body without contacts" in output
    code, output = checked(tmp_path, capsys, robot().replace("</link>", ball), "--contacts", "ground")
    assert code == 0
    assert "without contacts" not in output
    assert "arm against ground" in output


def test_check_command_lists_all_elements_of_a_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "two.toml"
    bodies = "".join(
        f'[bodies.{name}]\nmass = 1\ninertia = [1, 1, 1]\n[joints.{name}]\nkind = "revolute"\nparent = "world"\n'
        f'child = "{name}"\n'
        for name in ("arm", "leg")
    )
    path.write_text(
        "linkwork = 1\n"
        + bodies
        + '[loops.pin]\nkind = "ball"\na = "arm"\nb = "leg"\n[drives.motor]\nratios.arm = 7\n'
        + '[clutches.shaft]\na = "arm"\nb = "leg"\n[brakes.hold]\njoint = "leg"\nengaged = true\ncapacity = 9\n'
        + '[surfaces.ground]\nshape = "plane"\n[contacts.toe]\nbody = "leg"\nstiffness = 500\n'
        + '[springs.coil]\na = "arm"\nb = "leg"\nstiffness = 50\nlength = 0.1\n'
    )
    code, output = command(capsys, "check", str(path))
    assert code == 0
    lines = [" ".join(line.split()) for line in output.splitlines()]
    for line in (
        "loop pin Ball arm, leg",
        "drive motor gain 1 arm x 7",
        "clutch shaft released, up to inf N m or N arm, leg x 1",
        "brake hold engaged, up to 9 N m or N leg",
        "surface ground Plane world",
        "contact toe 500 N/m, friction 0, 0 leg against ground",
        "spring coil 50 N/m, 0 N s/m, free length 0.1 m arm, leg",
    ):
        assert line in lines


def test_check_command_lists_the_warnings_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, output = checked(tmp_path, capsys, robot(izz="9", limit=""))
    assert code == 1
    assert "triangle inequality" in output
    assert "two.urdf:3" in output
    assert output.count("warning: ") == 2
    assert "is usable: 2 warnings" in output


def test_check_command_lists_every_error_of_an_invalid_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, output = checked(tmp_path, capsys, robot(mass="-1", axis="0 0 0"))
    assert code == 2
    assert "two.urdf:3" in output
    assert "two.urdf:4" in output
    assert output.count("error: ") == 2
    assert "is not usable: 2 errors" in output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("check", "no such file.urdf"), "no such file"),
        (("check", "."), "is not usable"),
        (("chek", "x"), 'Did you mean "check"'),
        (("check",), "file"),
        (("check", "x.urdf", "--flaoting"), "--flo"),
    ],
)
def test_invalid_commands_fail_with_a_message(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str
) -> None:
    code, output = command(capsys, *words)
    assert code != 0
    assert says in output.lower() or says in output


def test_examples_command_lists_the_examples(capsys: pytest.CaptureFixture[str]) -> None:
    code, output = command(capsys, "examples")
    assert code == 0
    assert "double_pendulum" in output


def test_command_line_help_does_not_load_the_compiler() -> None:
    script = "import sys; from linkwork.app.cli import main\ntry: main(['--help'])\nfinally: print(sorted(sys.modules))"
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "Usage: linkwork" in output
    assert "llvmlite" not in output
