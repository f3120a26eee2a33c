"""MuJoCo's compiler as a function from text to compiled model; its errors become ModelErrors at the original line.

Only this file imports MuJoCo, at the first call. MuJoCo 3.17 and 4.0 have different fields in a compiled model:
`ABSENT` has the value of a missing field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from linkwork.errors import ModelError
from linkwork.model.documents.mjcf_includes import MjcfText
from linkwork.model.documents.xml_parser import shown
from linkwork.spatial.scalar import Array

OLDEST = (3, 17)
ABSENT: dict[str, Any] = {  # field of a compiled model that MuJoCo 4.0 has and 3.17 lacks: its value
    "jnt_springyield": 0.0,  # joint springs do not yield
}
NAMES = {  # kind of object: field with the addresses of names
    "body": "name_bodyadr",
    "joint": "name_jntadr",
    "geom": "name_geomadr",
    "site": "name_siteadr",
    "key": "name_keyadr",
    "tendon": "name_tendonadr",
    "equality": "name_eqadr",
    "sensor": "name_sensoradr",
    "camera": "name_camadr",
    "actuator": "name_actuatoradr",
    "pair": "name_pairadr",
    "exclude": "name_excludeadr",
}
ENUMERATIONS = {
    "mjJNT": "mjtJoint",
    "mjGEOM": "mjtGeom",
    "mjEQ": "mjtEq",
    "mjGAIN": "mjtGain",
    "mjBIAS": "mjtBias",
    "mjWRAP": "mjtWrap",
    "mjTRN": "mjtTrn",
    "mjDYN": "mjtDyn",
    "mjOBJ": "mjtObj",
}
MOST_SAID = 500  # largest number of characters of MuJoCo's message in ours
LINE = re.compile(r"\bline (\d+)")
PLACE = re.compile(r"\s*\bElement (name )?'[^']*'.*", re.DOTALL)


@dataclass(frozen=True, eq=False)
class Compiled:
    """A model compiled by MuJoCo: the module `mujoco`, the MjModel `model`, and MuJoCo's warnings `notes`."""

    mujoco: Any
    model: Any
    notes: list[str] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        """Return the field `name` of the MjModel, or the value in `ABSENT` if this MuJoCo version has no such field."""
        found = getattr(self.model, name, ABSENT.get(name))
        if found is None:
            raise AttributeError(name)
        return found

    def names(self, kind: str) -> list[str]:
        """Return the names of all MuJoCo objects of a kind, such as "joint"; unnamed ones get a name as joint3."""
        addresses = getattr(self.model, NAMES[kind])
        written = [self._text(self.model.names, int(start)) for start in addresses]
        taken = set(written)
        return [name or unused(f"{kind}{k}", taken) for k, name in enumerate(written)]

    def mesh_file(self, mesh: int) -> str:
        """Return the file name of mesh number `mesh`; empty if the mesh is not from a file."""
        start = int(self.model.mesh_pathadr[mesh])
        return self._text(self.model.paths, start) if start >= 0 else ""

    def is_a(self, number: Any, name: str) -> Any:
        """Return whether `number`, or each number of an array `number`, equals a MuJoCo constant.

        `name` is the name of the constant, such as "mjJNT_FREE".
        """
        enumeration = getattr(self.mujoco, ENUMERATIONS[name.split("_")[0]])
        return np.asarray(number) == int(getattr(enumeration, name))

    def disabled(self, flag: str) -> bool:
        """Return whether the model's <flag> element disables the feature `flag`, such as "GRAVITY" or "SPRING"."""
        return bool(self.model.opt.disableflags & int(getattr(self.mujoco.mjtDisableBit, f"mjDSBL_{flag}")))

    def enabled(self, flag: str) -> bool:
        """Return whether the model's <flag> element enables the optional feature `flag`, such as "OVERRIDE"."""
        return bool(self.model.opt.enableflags & int(getattr(self.mujoco.mjtEnableBit, f"mjENBL_{flag}")))

    @property
    def gravity(self) -> Array:
        """Gravitational acceleration of the model (3,) [m/s^2]; zero if the model disables gravity."""
        return np.zeros(3) if self.disabled("GRAVITY") else np.array(self.model.opt.gravity)

    @property
    def gear(self) -> Array:
        """The gear vector (6,) of each actuator's first output, as rows (nactuator, 6)."""
        return self.model.actuator_gear[self.model.actuator_outadr]

    def held(self, k: int) -> bool:
        """Return whether the equality constraint k is active at the start of a simulation."""
        return bool(self.model.eq_active0[k]) and not self.disabled("EQUALITY") and not self.disabled("CONSTRAINT")

    def actuators_of(self, j: int) -> Array:
        """Return a boolean array (nactuator,): True for actuators directly on joint j, if this is a hinge or slide.

        The rotor inertia of such an actuator adds to the armature of the joint.
        """
        direct = self.is_a(self.model.actuator_trntype, "mjTRN_JOINT") & (self.model.actuator_trnid[:, 0] == j)
        return direct & (
            self.is_a(self.model.jnt_type[j], "mjJNT_HINGE") | self.is_a(self.model.jnt_type[j], "mjJNT_SLIDE")
        )

    @staticmethod
    def _text(texts: bytes, start: int) -> str:
        return texts[start : texts.index(b"\0", start)].decode(errors="replace")


def unused(name: str, taken: set[str]) -> str:
    """Return a name that is not in `taken`: `name` with underscores appended as necessary. Add it to `taken`."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def compile_mjcf(text: MjcfText) -> Compiled:
    """Compile an MJCF text with MuJoCo and return the compiled model.

    Raise a ModelError with MuJoCo's message at the original file and line.
    """
    try:
        mujoco = import_module("mujoco")
    except ModuleNotFoundError:
        reason = "an MJCF file needs the package mujoco, which is not installed: pip install 'linkwork[mjcf]'"
        raise ModelError(reason, file=text.root.file) from None
    if tuple(int(number) for number in re.findall(r"\d+", mujoco.__version__)[:2]) < OLDEST:
        reason = f"an MJCF file needs MuJoCo {OLDEST[0]}.{OLDEST[1]} or newer; {mujoco.__version__} is installed"
        raise ModelError(f"{reason}: pip install --upgrade 'linkwork[mjcf]'", file=text.root.file)
    with _quiet(mujoco) as notes:
        try:
            model = mujoco.MjModel.from_xml_string(text.text)
        except (ValueError, mujoco.FatalError, MemoryError, RuntimeError) as error:
            raise _complaint(str(error), text) from None
    return Compiled(mujoco, model, notes)


@contextmanager
def _quiet(mujoco: Any) -> Iterator[list[str]]:
    """Context manager: collects MuJoCo's warnings in a list, which it yields.

    Otherwise MuJoCo would print them and write them to a file in the current folder. `mujoco` is the module.
    """
    before, notes = mujoco.get_mju_user_warning(), []
    mujoco.set_mju_user_warning(notes.append)
    try:
        yield notes
    finally:
        mujoco.set_mju_user_warning(before)


def _complaint(message: str, text: MjcfText) -> ModelError:
    """Return a ModelError with MuJoCo's error `message`, at the XML element of `text` to which the message refers."""
    found = LINE.findall(message)
    number = int(found[-1]) if found else 0
    at = text.lines[number - 1] if 1 <= number <= len(text.lines) else text.root
    reason = PLACE.sub("", message).strip().removeprefix("XML Error: ").removeprefix("Error: ").strip()
    return ModelError(f"MuJoCo: {shown(reason, MOST_SAID)}", str(at), at.file, at.line)
