"""Every series has one registry entry, whose shapes, entries and units match the recorded runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation.recording import Storage
from linkwork.simulation.series import OWN, Family, Series, derivable, find, label_of, recordable

ALWAYS = ("q", "v", "work", "iterations")
UNITS = {
    "W",
    "rad",
    "m",
    "1",
    "rad/s",
    "m/s",
    "N m",
    "N",
    "J",
    "s",
    "kg m/s",
    "kg m^2/s",
    "N m or N",
    "rad/s or m/s",
    "N s",
    "N m s",
}


def rods(*names: str) -> lw.Builder:
    b = lw.Builder("rods")
    for name in names:
        b.body(name, 1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.02)).frame(f"{name} end", name, at=(0, 0, -1))
        b.joint(f"{name} pin", lw.Revolute((0, 1, 0)), "world", name, limits=(-1.0, 1.0))
    return b


def driven() -> dict[str, Any]:
    m = rods("rod").drive("motor", {"rod pin": 2.0}).build()
    forces = {"controller": lw.feedback.drives(m, [0.3]), "wrenches": np.ones((1, 6))}
    return {"mechanism": m, "q0": [0.3], "v0": [1.0], "dt": 0.01, "method": "rk4", **forces}


def remembering() -> dict[str, Any]:
    m = lw.example("double_pendulum")
    how = {"controller": lambda t, q, v, memory: (-v, memory + 0.1), "memory": np.zeros(3)}
    return {"mechanism": m, "q0": [0.3, 0.2], "dt": 0.01, "method": "midpoint", **how}


def clipped() -> dict[str, Any]:
    b = lw.Builder("rod").body("rod", 1.0, inertia=(1, 1, 1))
    m = b.joint("pin", lw.Revolute(), "world", "rod", effort_limit=2.0).build()
    how = {"controller": lambda t, q, v: 9.0 - v, "clip_effort": True}
    return {"mechanism": m, "q0": [0.3], "dt": 0.01, "method": "rk4", **how}


def touching(contact: str = "compliant") -> dict[str, Any]:
    b = lw.Builder("ball").surface("ground", lw.Plane()).body("ball", 0.5, inertia=(2e-4, 2e-4, 2e-4))
    b.joint("free", lw.Free(), "world", "ball").touch("rim", "ball", radius=0.05, stiffness=2e3, rolling=1e-3)
    m = b.touch("pole", "ball", at=(0, 0, -0.05), stiffness=2e3).build()
    return {"mechanism": m, "q0": [0, 0, 0.0499, 1, 0, 0, 0], "dt": 1e-3, "contact": contact}


def switched() -> dict[str, Any]:
    m = rods("left", "right").clutch("clutch", "left pin", "right pin", engaged=True, capacity=0.5)
    m = m.brake("brake", "right pin").build()
    schedule = [(0.01, "engage", "brake"), (0.01, "lock", "left pin")]
    return {"mechanism": m, "q0": [0.3, 0.0], "schedule": schedule, "dt": 5e-3, "method": "rk4"}


def looped() -> dict[str, Any]:
    m = lw.example("four_bar")
    return {"mechanism": m, "q0": lw.compile(m, target="numpy").assemble(m.neutral()), "dt": 0.01, "method": "rk4"}


def damped() -> dict[str, Any]:
    b = lw.Builder("damped").body("arm", 1.0, com=(0.3, 0, 0), inertia=(0.1, 0.1, 0.1))
    m = b.joint("pin", lw.Revolute((0, 1, 0)), "world", "arm", damping=0.1, friction=0.2).build()
    return {"mechanism": m, "q0": [0.3], "dt": 0.01, "method": "midpoint"}


KINDS = {
    "friction": (damped, ("work.joints", "friction", "friction.power", "friction.heat")),
    "drives, stops and wrenches": (driven, ("tau", "drive.force", "stops", "wrenches")),
    "memory": (remembering, ("tau", "memory")),
    "effort limits": (clipped, ("tau", "tau.commanded")),
    "compliant contacts": (
        touching,
        (
            *(
                f"contact.{part}"
                for part in ("state", "since", "force", "anchor", "slip", "point", "energy", "wrenches")
            ),
            "contact.impulse",
            "work.contacts",
        ),
    ),
    "rigid contacts": (
        lambda: touching("rigid"),
        (
            *(f"contact.{part}" for part in ("state", "since", "force", "torque", "slip", "point", "wrenches")),
            "contact.impulse",
            "work.contacts",
        ),
    ),
    "clutches that slip": (switched, ("stops", "brake.engaged", "left pin.engaged", "slip", "work.clutches")),
    "loops": (looped, ()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_registry_entries_match_recorded_series(kind: str) -> None:
    how, names = KINDS[kind]
    q0 = np.tile(how()["q0"], (2, 1))
    run = lw.simulate(**how() | {"q0": q0}, record=(*ALWAYS, *names), duration=0.02, target="numpy", progress=False)
    assert set(run.recorded) == {*ALWAYS, *names}
    for name in run:
        entry, values = find(run.facts, name), run[name]
        assert entry is not None, name
        label, shape = entry.label(run.facts), () if name == "t" else values.shape[2:]
        assert label.shape == shape, name
        assert label == label_of(run.facts, name), name
        assert label.title
        assert len(label.units) == (shape[-1] if shape else 1), name
        assert set(label.units) <= UNITS, name
        assert all(all(axis.entries) for axis in label.axes), name
        assert (entry.sample is not None) == (name in run.recorded), name
    assert {"energy", "momentum", "reactions"} <= set(run), kind
    assert set(run) == {"t", *run.recorded, *derivable(run.facts, run.recorded)}


@pytest.mark.parametrize("kind", KINDS)
def test_series_recorded_by_default_match_the_registry(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    how, names = KINDS[kind]
    seen: list[Storage] = []
    made = Storage.__init__

    def watched(self: Storage, problem: Any, *more: Any) -> None:
        made(self, problem, *more)
        self.possible = recordable(problem.facts)  # type: ignore[attr-defined]
        seen.append(self)

    monkeypatch.setattr(Storage, "__init__", watched)
    run = lw.simulate(**how(), duration=0.02, target="numpy", progress=False)
    possible: dict[str, Series] = seen[-1].possible  # type: ignore[attr-defined]
    assert set(possible) == {*ALWAYS, *names}
    assert list(run.recorded) == [name for name, entry in possible.items() if entry.by_default]


def test_every_series_of_the_registry_occurs_in_a_test_run() -> None:
    met: set[str] = set()
    for how, names in KINDS.values():
        run = lw.simulate(**how(), record=(*ALWAYS, *names), duration=0.01, target="numpy", progress=False)
        for entry in OWN.values():
            members = tuple(entry.members(run.facts)) if isinstance(entry, Family) else (entry.name,)
            met |= {entry.name} if any(name in run for name in members) else set()
    assert met == set(OWN)


def test_error_for_a_series_that_a_run_lacks_names_the_series() -> None:
    m = lw.example("double_pendulum")
    run = lw.simulate(m, [0.1, 0.2], duration=0.02, dt=0.01, method="rk4", record=("q",), target="numpy")
    with pytest.raises(lw.LinkworkError, match=r"no series 'energy'.*It needs v, which the run did not record"):
        run["energy"]
    pushed = {"controller": lambda t, q, v: -v, "record": ("q", "v"), "target": "numpy"}
    run = lw.simulate(m, [0.1, 0.2], duration=0.02, dt=0.01, method="rk4", **pushed)
    with pytest.raises(lw.LinkworkError, match="It needs tau"):
        run["reactions"]
    with pytest.raises(lw.LinkworkError, match=r"'energy' is not recorded: run\['energy'\] computes it after the run"):
        lw.simulate(m, [0.1, 0.2], duration=0.02, record=("q", "energy"), target="numpy")
