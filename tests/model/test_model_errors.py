"""The Builder rejects an invalid mechanism, at the latest in build(), with an error that names culprit and remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw

NAN, INF = np.nan, np.inf
SPRING = ("stiffness", "damping", "length")
Z = (0, 0, 1)
UNEQUAL = [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]
Act = Callable[[], object]
Case = tuple[Act, str | None, tuple[str, ...]]


def body(*says: str, **numbers: Any) -> Case:
    """Case: a free body with these values is rejected."""
    given = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)} | numbers
    return lambda: hinged(kind=lw.Free(), **given).build(), "body 'link'", says


def started() -> lw.Builder:
    """A Builder with one body and no joint."""
    return lw.Builder("arm").body("link", mass=1.0, com=(0.1, 0, 0), inertia=(1, 1, 1))


def joint(*says: str, kind: Any = None, **numbers: Any) -> Case:
    """Case: a joint of the body with these values is rejected."""
    kind = lw.Revolute(Z) if kind is None else kind
    return lambda: started().joint("hinge", kind, "world", "link", **numbers), "joint 'hinge'", says


def hinged(mass: float = 1.0, kind: Any = None, **rest: Any) -> lw.Builder:
    """A body on a joint, ready to build."""
    return lw.Builder("arm").body("link", mass=mass, **rest).joint("hinge", kind or lw.Revolute(Z), "world", "link")


def tree(culprit: str, *says: str, joints: list[tuple[str, str]]) -> Case:
    """Case: bodies upper and lower with joints first and second, given as (parent, child), are rejected."""

    def act() -> object:
        b = lw.Builder("tree")
        for name in ("upper", "lower"):
            b.body(name, mass=1.0, inertia=(1, 1, 1))
        for name, (parent, child) in zip(("first", "second"), joints, strict=False):
            b.joint(name, lw.Revolute(Z), parent, child)
        return b.build()

    return act, culprit, says


def keyframe(*says: str, positions: Any) -> Case:
    """Case: a keyframe with these positions of a body on a hinge is rejected."""
    return lambda: hinged(inertia=(1, 1, 1)).keyframe("home", positions).build(), "keyframe 'home'", says


def two() -> lw.Builder:
    """Return a Builder with a link with a welded jaw on a hinge, a wheel on a ball joint, and the ground."""
    b = hinged(inertia=(1, 1, 1)).body("jaw", mass=1.0).joint("glue", lw.Weld(), "link", "jaw")
    b.body("ball", mass=1.0, inertia=(1, 1, 1)).joint("swivel", lw.Ball(), "world", "ball")
    b.body("wheel", mass=1.0, inertia=(1, 1, 1)).joint("axle", lw.Revolute(Z), "ball", "wheel")
    return b.surface("ground", lw.Plane()).surface("rim", lw.Sphere(1.0), "wheel")


def more(method: str, *says: str, **arguments: Any) -> Case:
    """Case: a Builder method with the name 'it' and these arguments is rejected by the method or by build()."""
    what = {"close": "loop", "touch": "contact"}.get(method, method)
    return lambda: getattr(two(), method)("it", **arguments).build(), f"{what} 'it'", says


def loop(*says: str, **arguments: Any) -> Case:
    return more("close", *says, **{"kind": lw.Ball(), "a": "link", "b": "wheel"} | arguments)


def drive(*says: str, **arguments: Any) -> Case:
    return more("drive", *says, **{"ratios": {"hinge": 2.0}} | arguments)


def clutch(*says: str, **arguments: Any) -> Case:
    return more("clutch", *says, **{"a": "hinge", "b": "axle"} | arguments)


def brake(*says: str, **arguments: Any) -> Case:
    return more("brake", *says, **{"joint": "hinge"} | arguments)


def surface(*says: str, **arguments: Any) -> Case:
    return more("surface", *says, **{"shape": lw.Plane()} | arguments)


def contact(*says: str, **arguments: Any) -> Case:
    return more("touch", *says, **{"body": "link", "stiffness": 1.0} | arguments)


def spring(*says: str, **arguments: Any) -> Case:
    return more("spring", *says, **{"a": "link", "b": "wheel"} | arguments)


MORE: dict[str, Case] = {
    "spring of an unknown body": spring("body a: there is no body 'lnk'", "Did you mean 'link'?", a="lnk"),
    "spring to an unknown body": spring("body b: there is no body 'x'", b="x"),
    "spring of a body with itself": spring("needs two different bodies", "'link'", b="link"),
    "spring of a body with its part": spring("'link' and 'jaw' are welded into one body", b="jaw"),
    "spring at two numbers": spring("at must be 3 numbers", at=(1, 2)),
    "spring to nan": spring("to must be finite", to=(0, NAN, 0)),
    **{f"spring {key} negative": spring(f"{key} must be >= 0", "-1", **{key: -1.0}) for key in SPRING},
    **{f"spring {key} infinite": spring(f"{key} must be finite", **{key: INF}) for key in SPRING},
    **{f"spring {key} in words": spring(f"{key} must be numbers", **{key: "much"}) for key in SPRING},
    "spring called as a joint": (
        lambda: two().spring("glue", "link", "wheel").build(),
        "spring 'glue'",
        ("this spring has the name of a joint", "'glue.stiffness'"),
    ),
    "loop by a free joint": loop("kind Free imposes no constraint", kind=lw.Free()),
    "loop by a text": loop("kind must be a joint kind", "'ball'", kind="ball"),
    "loop of an unknown body": loop("body a: there is no body 'lnk'", "Did you mean 'link'?", a="lnk"),
    "loop to an unknown body": loop("body b: there is no body 'x'", b="x"),
    "loop of a body with itself": loop("needs two different bodies", "'link'", b="link"),
    "loop of a body with its part": loop("'link' and 'jaw' are welded into one body", b="jaw"),
    "loop at two numbers": loop("at must be 3 numbers", at=(1, 2)),
    "loop to nan": loop("to must be finite", to=(0, NAN, 0)),
    "loop to_rpy": loop("to_rpy must be 3 numbers", to_rpy=1.0),
    "loop rotation": loop("rotation must be a 3x3 rotation", rotation=UNEQUAL),
    "loop to_rotation": loop("to_rotation must be a 3x3 rotation", to_rotation=UNEQUAL),
    "drive of nothing": drive("ratios must name at least one joint", ratios={}),
    "drive of a list": drive("ratios must be given by joint", ratios=[1.0]),
    "drive of an unknown joint": drive("ratios: there is no joint 'hing'", "mean 'hinge'?", ratios={"hing": 1.0}),
    "drive of a weld": drive("'glue' must be omitted, since it cannot move", ratios={"glue": 1.0}),
    "drive ratio zero": drive("'hinge' must not all be 0", ratios={"hinge": 0.0}),
    "drive ratio nan": drive("ratios of joint 'hinge' must be finite", ratios={"hinge": NAN}),
    "drive ratio text": drive("ratios of joint 'hinge' must be numbers", ratios={"hinge": "much"}),
    "drive of a ball by one number": drive("'swivel' must be 3 numbers", "one for each", ratios={"swivel": 1.0}),
    "drive by the length of a ball": drive(
        "bias[1] multiplies the length", "'swivel', a Ball", ratios={"swivel": (1, 0, 0)}, bias=(0, -1, 0)
    ),
    "drive gain": drive("gain must be finite", gain=INF),
    "drive bias": drive("bias must be 3 numbers", bias=1.0),
    "drive limits crossed": drive("control_limits must", "lower <= upper", "(1, -1)", control_limits=(1, -1)),
    "drive limits of nothing": drive("force_limits must", "lower <= upper", force_limits=(INF, INF)),
    "drive limits one": drive("force_limits must be 2 numbers", force_limits=5.0),
    "drive limits nan": drive("force_limits must be finite", force_limits=(NAN, 1.0)),
    "clutch ratio zero": clutch("ratio must not be 0", ratio=0.0),
    "clutch ratio nan": clutch("ratio must be finite", ratio=NAN),
    "clutch capacity zero": clutch("capacity must be > 0", capacity=0.0),
    "clutch capacity negative": clutch("capacity must be > 0", "-1", capacity=-1.0),
    "clutch capacity nan": clutch("capacity must be finite", capacity=NAN),
    "clutch engaged": clutch("engaged must be True or False", "'yes'", engaged="yes"),
    "clutch of an unknown joint": clutch("joint a: there is no joint 'hing'", a="hing"),
    "clutch of a ball": clutch("joint b: 'swivel' is a Ball joint", "one velocity", b="swivel"),
    "clutch of one joint": clutch("needs two different joints", b="hinge"),
    "clutch of joints that mimic": (
        lambda: two().mimic("axle", "hinge").clutch("it", "hinge", "axle").build(),
        "clutch 'it'",
        ("'hinge' and 'axle' already move together",),
    ),
    "clutch of an empty sum": clutch("b must name at least one joint", b={}),
    "clutch of a factor of zero": clutch("a: the factor of 'hinge' must not be 0", a={"hinge": 0.0}),
    "clutch with a factor that is not a number": clutch("a: the factor of 'hinge' must be numbers", a={"hinge": "one"}),
    "clutch of a sum with an unknown joint": clutch("joint b: there is no joint 'axl'", b={"hinge": 1, "axl": 1}),
    "clutch of a sum with a ball": clutch("joint b: 'swivel' is a Ball joint", b={"hinge": 1, "swivel": 1}),
    "clutch of the same sums": clutch(
        "'2 hinge - axle' and '4 hinge - 2 axle' already move together",
        a={"hinge": 2, "axle": -1},
        b={"hinge": 4, "axle": -2},
    ),
    "brake capacity": brake("capacity must be > 0", capacity=0),
    "brake engaged": brake("engaged must be True or False", engaged=1),
    "brake of an unknown joint": brake("its joint: there is no joint 'brk'", joint="brk"),
    "brake of a weld": brake("'glue' is a Weld joint", joint="glue"),
    "surface of a text": surface("shape must be a shape", "'plane'", shape="plane"),
    "surface of a class": surface("shape must be a shape", shape=lw.Plane),
    "surface on an unknown body": surface("there is no body 'grnd'", body="grnd"),
    "surface at": surface("at must be 3 numbers", at=1.0),
    "contact of an unknown body": contact("there is no body 'lnk'", "Did you mean 'link'?", body="lnk"),
    "contact against an unknown surface": contact("against: there is no surface 'grund'", against=("rim", "grund")),
    "contact against numbers": contact("against must be a name or a list of names", against=(1,)),
    "contact against a number": contact("against must be a name or a list of names", against=3),
    "contact against its own body": contact(
        "against: the surface 'rim' is on the body", "of the contact", body="wheel", against="rim"
    ),
    "contact of the world": contact("against: the surface 'ground' is on the body", body="world", against="ground"),
    "contact with nothing": (
        lambda: hinged(inertia=(1, 1, 1)).touch("it", "link", stiffness=1.0).build(),
        "contact 'it'",
        ("no surface on another body",),
    ),
    "contact stiffness zero": contact("stiffness must be > 0", stiffness=0.0),
    "contact stiffness inf": contact("stiffness must be finite", stiffness=INF),
    "contact damping": contact("damping must be >= 0", damping=-1.0),
    "contact radius": contact("radius must be >= 0", radius=-0.1),
    "contact tangential_stiffness": contact("tangential_stiffness must be > 0", tangential_stiffness=0.0),
    "contact tangential_damping": contact("tangential_damping must be >= 0", tangential_damping=-0.1),
    "contact friction negative": contact("static >= dynamic >= 0", friction=(0.5, -0.1)),
    "contact friction growing": contact("static >= dynamic >= 0", friction=(0.5, 0.6)),
    "contact friction three": contact("friction must be 2 numbers", friction=(1, 1, 1)),
    "contact friction nan": contact("friction must be finite", friction=NAN),
    "contact of a joint's name": (
        lambda: hinged(inertia=(1, 1, 1)).surface("ground", lw.Plane()).touch("hinge", "link", stiffness=1.0).build(),
        "contact 'hinge'",
        ("this contact has the name of a joint or spring",),
    ),
    "contact rolling point": contact("give a radius > 0", rolling=0.1),
    "contact spinning": contact("spinning must be >= 0", radius=0.1, spinning=-0.1),
    "contact dissipation": contact("dissipation must be >= 0", tangential_stiffness=1.0, dissipation=-0.1),
    "contact dissipation and damping": contact(
        "must not have damping", damping=1.0, tangential_stiffness=1.0, dissipation=1.0
    ),
    "contact dissipation alone": contact("must have a tangential_stiffness", dissipation=1.0),
    "contact rest_speed": contact("rest_speed must be > 0", rest_speed=0.0),
    "keyframe velocities of an unknown joint": (
        lambda: two().keyframe("it", {}, {"hing": 1.0}).build(),
        "keyframe 'it'",
        ("velocities: there is no joint 'hing'", "Did you mean 'hinge'?"),
    ),
    "keyframe velocities of another size": (
        lambda: two().keyframe("it", {}, {"swivel": (1, 0, 0, 0)}).build(),
        "keyframe 'it'",
        ("the velocity of joint 'swivel' must have 3 numbers",),
    ),
}
NAN_BELOW = [[1, 0, 0], [NAN, 1, 0], [0, 0, 1]]
NUMBERS: dict[str, Case] = {
    "mass nan": body("mass must be finite", "nan", mass=NAN),
    "mass inf": body("mass must be finite", "inf", mass=INF),
    "mass negative": body("mass must be >= 0 kg", "-1.5", mass=-1.5),
    "mass text": body("mass must be numbers", "'heavy'", mass="heavy"),
    "mass list": body("mass must be one number", "[1, 2]", mass=[1, 2]),
    "com two": body("com must be 3 numbers", "(1, 2)", com=(1, 2)),
    "com nan": body("com must be finite", com=(0, NAN, 0)),
    "inertia negative": body("each must be >= 0", "-2 < 0", inertia=(1, 1, -2)),
    "inertia indefinite": body("each must be >= 0", "-1 < 0", inertia=(1, 1, 1, 2, 0, 0)),
    "inertia triangle": body("triangle inequality", "1 + 1.5 = 2.5 < 3", inertia=(1, 3, 1.5)),
    "inertia triangle turned": body("triangle inequality", "1 + 1 = 2 < 5", inertia=(3, 3, 1, 2, 0, 0)),
    "inertia without mass": body("mass is 0 kg", "without mass must have zero inertia", mass=0.0),
    "inertia asymmetric": body("inertia must be symmetric", "0.5", inertia=UNEQUAL),
    "inertia two": body("3 numbers (ixx, iyy, izz)", "6 (", "3x3", "(1, 2)", inertia=(1, 2)),
    "inertia four": body("ixx, iyy, izz, ixy, ixz, iyz", inertia=(1, 2, 3, 4)),
    "inertia text": body("3x3", "'big'", inertia="big"),
    "inertia nan": body("inertia must be finite", inertia=(1, NAN, 1)),
    "inertia inf": body("inertia must be finite", inertia=(1, INF, 1)),
    "inertia 3x3 inf": body("inertia must be finite", inertia=np.full((3, 3), INF)),
    "inertia 3x3 nan": body("inertia must be finite", inertia=np.full((3, 3), NAN)),
    "inertia nan in the lower half": body("inertia must be", inertia=NAN_BELOW),
    "gravity two": (lambda: lw.Builder("arm", gravity=(0, 1)), "mechanism 'arm'", ("gravity must be 3 numbers",)),
    "gravity nan": (lambda: lw.Builder("arm", gravity=(0, 0, NAN)), "mechanism 'arm'", ("gravity must be finite",)),
    "kind text": joint("lw.Revolute(axis=(0, 0, 1))", "'revolute'", kind="revolute"),
    "kind class": joint("kind must be a joint kind", "Revolute", kind=lw.Revolute),
    "at two": joint("at must be 3 numbers", "(1, 2)", at=(1, 2)),
    "at nan": joint("at must be finite", at=(NAN, 0, 0)),
    "rpy four": joint("rpy must be 3 numbers", rpy=(1, 2, 3, 4)),
    "rotation stretched": joint("rotation must be a 3x3 rotation", rotation=2 * np.eye(3)),
    "rotation sheared": joint("rotation must be a 3x3 rotation", rotation=UNEQUAL),
    "rotation mirrored": joint("rotation must be a 3x3 rotation", rotation=np.diag([1, 1, -1])),
    "rotation flat": joint("rotation must be a 3x3 rotation", rotation=np.zeros((3, 3))),
    "rotation nan": joint("rotation must be finite", rotation=np.full((3, 3), NAN)),
    "rotation 2x2": joint("rotation must be 3 x 3 numbers", rotation=np.eye(2)),
    "limits crossed": joint("lower limit must not exceed the upper limit", "(2, 1)", limits=(2, 1)),
    "limits of a ball": joint("not supported for a Ball joint", "quaternion", kind=lw.Ball(), limits=(-1, 1)),
    "limits of a free joint": joint("not supported for a Free joint", "quaternion", kind=lw.Free(), limits=(-1, 1)),
    "limits one": joint("limits must be (lower, upper)", "5", limits=5),
    "limits nan": joint("limits must be finite", limits=(NAN, 1)),
    "limits text": joint("limits must be numbers", limits=("low", "high")),
    "limits per velocity": joint("limits must be 2 numbers", kind=lw.Universal(), limits=((1, 1, 1), (2, 2, 2))),
    "rest of a ball": joint("rest must be 4 numbers", kind=lw.Ball(), rest=(0, 0, 0)),
    "rest nan": joint("rest must be finite", rest=[NAN]),
    **{
        f"{what} {wrong}": joint(f"{what} must be", repr(value), **{what: value})
        for what in ("armature", "damping", "stiffness", "velocity_limit", "effort_limit")
        for wrong, value in {"negative": -0.5, "nan": NAN, "two": [1.0, 2.0], "text": "much"}.items()
    },
    **{f"{what} inf": joint(f"{what} must be finite", **{what: INF}) for what in ("armature", "damping", "stiffness")},
}


def named(act: Callable[[Any], object], *says: str) -> dict[str, Case]:
    return {
        f"{name!r}": (lambda name=name: act(name), None, ("nonempty string", repr(name), *says)) for name in NO_NAMES
    }


def taken(culprit: str, act: Act) -> Case:
    return act, culprit, ("already",)


NO_NAMES: tuple[Any, ...] = ("", "  ", 3, None, ("a",))
NAMES: dict[str, Case] = {
    **{f"mechanism {k}": case for k, case in named(lw.Builder, "mechanism").items()},
    **{f"body {k}": case for k, case in named(lambda name: lw.Builder().body(name), "body").items()},
    **{f"frame {k}": case for k, case in named(lambda name: started().frame(name, "link"), "frame").items()},
    **{
        f"joint {k}": case
        for k, case in named(lambda name: started().joint(name, lw.Ball(), "world", "link"), "joint").items()
    },
    **{f"keyframe {k}": case for k, case in named(lambda name: started().keyframe(name, {}), "keyframe").items()},
    "two keyframes": taken("keyframe 'home'", lambda: started().keyframe("home", {}).keyframe("home", {})),
    **{
        f"two {what}s": (
            lambda method=method, given=given: getattr(getattr(two(), method)("it", **given), method)("it", **given),
            f"{what} 'it'",
            ("already",),
        )
        for method, what, given in (
            ("close", "loop", {"kind": lw.Ball(), "a": "link", "b": "wheel"}),
            ("drive", "drive", {"ratios": {"hinge": 1.0}}),
            ("clutch", "clutch", {"a": "hinge", "b": "axle"}),
            ("brake", "brake", {"joint": "hinge"}),
            ("surface", "surface", {"shape": lw.Plane()}),
            ("touch", "contact", {"body": "link", "stiffness": 1.0}),
            ("spring", "spring", {"a": "link", "b": "wheel"}),
        )
    },
    "two bodies": taken("body 'link'", lambda: started().body("link")),
    "two frames": taken("frame 'tip'", lambda: started().frame("tip", "link").frame("tip", "link")),
    "two joints": taken("joint 'hinge'", lambda: hinged().joint("hinge", lw.Ball(), "world", "link")),
    "frame as a body": taken("frame 'link'", lambda: started().frame("link", "world")),
    "body as a frame": taken("body 'tip'", lambda: started().frame("tip", "link").body("tip")),
    "body as the world": taken("body 'world'", lambda: lw.Builder().body("world", mass=1.0)),
    "frame as the world": taken("frame 'world'", lambda: started().frame("world", "link")),
}
WHOLES: dict[str, Case] = {
    "keyframe of an unknown joint": keyframe("'hing'", "Did you mean 'hinge'?", positions={"hing": 0.0}),
    "keyframe of another size": keyframe("'hinge' must have 1 numbers", "[1.0, 2.0]", positions={"hinge": [1, 2]}),
    "keyframe nan": keyframe("position of joint 'hinge' must be finite", positions={"hinge": NAN}),
    "keyframe in words": keyframe("must be numbers", positions={"hinge": "bent"}),
    "keyframe ragged": keyframe("must be numbers", positions={"hinge": [[1], [1, 2]]}),
    "keyframe without joints": keyframe("by joint", positions=[0.0]),
    "unknown parent": tree(
        "joint 'second'", "parent", "'uper'", "Did you mean 'upper'?", joints=[("world", "upper"), ("uper", "lower")]
    ),
    "unknown child": tree("joint 'first'", "child", "'x'", "Valid: world, upper, lower", joints=[("world", "x")]),
    "unknown body of a frame": (
        lambda: hinged(inertia=(1, 1, 1)).frame("tip", body="lnk").build(),
        "frame 'tip'",
        ("'lnk'", "Did you mean 'link'?", "Valid: world, link"),
    ),
    "world as a child": tree(
        "joint 'second'", "world cannot be a child", joints=[("world", "upper"), ("lower", "world")]
    ),
    "two joints on one body": tree(
        "joint 'second'",
        "'upper' is already the child of joint 'first'",
        joints=[("world", "upper"), ("lower", "upper")],
    ),
    "ring": tree("body 'upper'", "cycle of joints", "the world", joints=[("upper", "lower"), ("lower", "upper")]),
    "body on itself": tree("body 'lower'", "cycle of joints", joints=[("world", "upper"), ("lower", "lower")]),
    "body without a joint": tree(
        "body 'lower'", "not the child of any joint", "lw.Free()", joints=[("world", "upper")]
    ),
    "no mass": (lambda: hinged(0.0).build(), "joint 'hinge'", ("0 kg", "'link'", "no inertia", "armature")),
    "no mass beyond": (
        lambda: (
            hinged(1.0, inertia=(1, 1, 1))
            .body("end")
            .joint("wrist", lw.Revolute(Z), "link", "end")
            .body("tip")
            .joint("slide", lw.Prismatic(Z), "end", "tip")
            .build()
        ),
        "joint 'slide'",
        ("'tip'", "no inertia"),
    ),
    **{
        f"point that spins about itself on {type(kind).__name__}": (
            lambda kind=kind, com=com: hinged(2.0, kind, com=com).build(),
            "joint 'hinge'",
            ("2 kg", "no inertia", "must be > 0"),
        )
        for kind, com in [
            (lw.Revolute(Z), (0, 0, 1)),
            (lw.Cylindrical(Z), (0, 0, 1)),
            (lw.Planar(Z), (0, 0, 1)),
            (lw.Ball(), (1, 2, 3)),
            (lw.Free(), (1, 2, 3)),
        ]
    },
}
WRONG_PITCHES: tuple[Any, ...] = (NAN, INF, "steep", None, [1.0, 2.0])
WRONG_AXES: tuple[Any, ...] = ((0, 0, 0), (NAN, 0, 1), (INF, 0, 0), (1, 0), (1, 0, 0, 0), "z", None, 3.0, [[0, 0, 1]])
KINDS: dict[str, Case] = {
    **{
        f"{kind.__name__} axis {axis}": (
            lambda kind=kind, axis=axis: kind(axis),
            None,
            ("axis must be three finite numbers", "(0, 0, 1)", repr(axis)),
        )
        for kind in (lw.Revolute, lw.Prismatic, lw.Screw, lw.Cylindrical, lw.Planar, lw.Universal)
        for axis in WRONG_AXES
    },
    **{
        f"second axis {axis}": (lambda axis=axis: lw.Universal(Z, axis), None, ("second axis must be", repr(axis)))
        for axis in WRONG_AXES
    },
    **{
        f"parallel {second}": (lambda second=second: lw.Universal(Z, second), None, ("be parallel", "(0.0, 0.0, 1.0)"))
        for second in (Z, (0, 0, -2), (1e-12, 0, 1))
    },
    **{
        f"pitch {pitch!r}": (lambda pitch=pitch: lw.Screw(Z, pitch), None, ("pitch must be a finite", repr(pitch)))
        for pitch in WRONG_PITCHES
    },
}
CASES = {
    f"{group}: {name}": case
    for group, cases in {"numbers": NUMBERS, "names": NAMES, "whole": WHOLES, "more": MORE, "kind": KINDS}.items()
    for name, case in cases.items()
}


@pytest.mark.parametrize("name", CASES)
def test_invalid_models_are_rejected_and_the_culprit_is_named(name: str) -> None:
    act, culprit, says = CASES[name]
    with pytest.raises(lw.ModelError) as caught:
        act()
    message = str(caught.value)
    assert caught.value.element == culprit
    assert culprit is None or message.startswith(f"{culprit}: ")
    for words in says:
        assert words in message


def test_rejected_call_of_a_builder_method_leaves_the_builder_unchanged() -> None:
    b = lw.Builder("arm")
    with pytest.raises(lw.ModelError):
        b.body("link", mass=1.0, com=(0, 0))
    b.body("link", mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(lw.ModelError):
        b.joint("hinge", lw.Revolute(Z), "world", "link", damping=-1.0)
    with pytest.raises(lw.ModelError):
        b.frame("tip", "link", at=(0, 0))
    assert b.joint("hinge", lw.Revolute(Z), "world", "link").frame("tip", "link").build().nv == 1


def three(dtype: Any) -> Any:
    """The number 3 as a NumPy scalar."""
    return np.array([3], dtype)[0]


ACCEPTED: dict[str, Act] = {
    "thin plate": lambda: hinged(1.0, inertia=(1, 1, 2)).build(),
    "thin rod": lambda: hinged(1.0, inertia=(1, 0, 1)).build(),
    "point": lambda: hinged(1.0, com=(1, 0, 0)).build(),
    "rotor without mass": lambda: lw.Builder().body("a").joint("j", lw.Ball(), "world", "a", armature=1).build(),
    "massless link before a massive one": lambda: (
        hinged(0.0).body("end", mass=1.0, com=(1, 0, 0)).joint("slide", lw.Prismatic(Z), "link", "end").build()
    ),
    "integers": lambda: hinged(three(int), com=[1, 2, 3], inertia=np.eye(3, dtype=int)).build(),
    "pitch as a numpy integer": lambda: lw.Screw(Z, three(int)),
    "pitch of single precision": lambda: lw.Screw(Z, three(np.float32)),
    "one-sided limits": lambda: started().joint("j", lw.Revolute(Z), "world", "link", limits=(-INF, 1)),
    "numbers per velocity": lambda: started().joint("j", lw.Ball(), "world", "link", damping=(1, 2, 3)),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_valid_models_are_accepted(name: str) -> None:
    assert ACCEPTED[name]() is not None


# --- asking a mechanism for what it has not ---


def gripper() -> lw.Mechanism:
    b = hinged(inertia=(1, 1, 1)).frame("tool", body="link").body("jaw", mass=1.0)
    return b.joint("glue", lw.Weld(), "link", "jaw").build()


@pytest.mark.parametrize(
    ("collection", "wrong", "says"),
    [
        ("bodies", "lnk", ("no body 'lnk'", "Did you mean 'link'?", "Valid: world, link.")),
        ("bodies", "jaw", ("no body 'jaw'", "It is a frame on 'link'; use m.frames.")),
        ("bodies", "tool", ("no body 'tool'", "It is a frame on 'link'; use m.frames.")),
        ("joints", "hinges", ("no joint 'hinges'", "Did you mean 'hinge'?", "Valid: hinge.")),
        ("frames", "tol", ("no frame 'tol'", "Did you mean 'tool'?", "Valid: world, link, jaw, tool.")),
    ],
)
@pytest.mark.parametrize("parameters", [{}, {"gravity": (0, 0, 0)}], ids=["as built", "with parameters"])
def test_error_for_an_unknown_name_lists_the_valid_names(
    collection: str, wrong: str, says: tuple[str, ...], parameters: Any
) -> None:
    items = getattr(gripper().with_parameters(parameters) if parameters else gripper(), collection)
    assert wrong not in items
    for ask in (items.__getitem__, items.index_of):
        with pytest.raises(KeyError) as caught:
            ask(wrong)
        assert isinstance(caught.value, lw.ModelError)
        assert str(caught.value) == caught.value.reason  # not in quotes, as a KeyError would be
        for words in says:
            assert words in str(caught.value)


@pytest.mark.parametrize("number", [2, 99, -3])
def test_error_for_an_index_out_of_range_gives_the_number_of_items(number: int) -> None:
    with pytest.raises(IndexError, match=f"no body number {number}; there are 2"):
        gripper().bodies[number]
