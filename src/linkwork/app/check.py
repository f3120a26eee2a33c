"""What `linkwork check` tells of a file: its bodies and joints, and everything that is wrong with it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from linkwork.errors import LinkworkError, ModelWarning, listed
from linkwork.model import Mechanism
from linkwork.model.documents.loading import find_faults, load
from linkwork.model.elements.clutches import Brake, Clutch, side_text
from linkwork.model.elements.drive import Drive
from linkwork.model.elements.ratchets import Ratchet
from linkwork.model.elements.transmissions import Transmission
from linkwork.model.faults import Fault

CLEAN, DOUBTFUL, BROKEN = 0, 1, 2  # exit codes
COLORS = {"error": "bold red", "warning": "yellow"}


def check(
    console: Console, file: Path, floating: bool | None = None, mimic: bool = True, packages: Sequence[Path] = ()
) -> int:
    """Tell of a file on a console; CLEAN, DOUBTFUL if there are warnings, BROKEN if there are errors."""
    faults = find_faults(file, floating=floating, mimic=mimic, packages=packages)
    errors = sum(fault.severity == "error" for fault in faults)
    if not errors:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)  # they are among the faults
            console.print(description(load(file, floating=floating, mimic=mimic, packages=packages)))
    for fault in faults:
        console.print(fault_text(fault), soft_wrap=True)
    console.print(verdict(str(file), errors, len(faults) - errors), soft_wrap=True)
    return BROKEN if errors else DOUBTFUL if faults else CLEAN


def description(m: Mechanism) -> RenderableType:
    """A mechanism's joints with the bodies that they carry, what it has besides, and what it comes to in all."""
    table = Table(box=SIMPLE, pad_edge=False)
    for title in ("joint", "kind", "parent", "child", "mass [kg]", "limits [rad, m]", "mimics"):
        table.add_column(title, justify="right" if title.startswith("mass") else "left", overflow="fold")
    for joint in m.joints:
        body = m.bodies[joint.o]
        welded = [part.name for part in body.parts[1:]]
        child = joint.child + (f" + {', '.join(welded)}" if welded else "")
        low, high = joint.limits
        limits = ", ".join(f"{a:.3g} to {b:.3g}" for a, b in zip(low, high, strict=True) if a > -1e9 or b < 1e9)
        follows = f"{m.mimics[joint.name].of} x {m.mimics[joint.name].multiplier:g}" if joint.name in m.mimics else ""
        table.add_row(joint.name, type(joint.kind).__name__, joint.parent, child, f"{body.mass:.4g}", limits, follows)
    title = f"{m.name}: {m.nbodies} bodies, {len(m.joints)} joints, {m.nv} degrees of freedom, {m.mass:.6g} kg"
    return Group(Text(title, style="bold"), table, *_besides(m))


def _besides(m: Mechanism) -> Iterator[RenderableType]:
    """What a mechanism has besides its tree, if anything."""
    table = Table(box=SIMPLE, pad_edge=False)
    for title in ("besides", "name", "what", "on"):
        table.add_column(title, overflow="fold")
    for loop in m.loops:
        table.add_row("loop", loop.name, type(loop.kind).__name__, f"{loop.a}, {loop.b}")
    for drive in m.drives:
        ratios = ", ".join(f"{joint} x {' '.join(f'{x:g}' for x in numbers)}" for joint, numbers in drive.ratios)
        table.add_row("drive", drive.name, _motor(drive), ratios)
    for clutch in m.clutches:
        sides = f"{side_text(clutch.a)}, {side_text(clutch.b)} x {clutch.ratio:g}"
        table.add_row("clutch", clutch.name, _switched(clutch), sides)
    for brake in m.brakes:
        table.add_row("brake", brake.name, _switched(brake), brake.joint)
    for ratchet in m.ratchets:
        sides = side_text(ratchet.a) + ("" if ratchet.b is None else f", {side_text(ratchet.b)} x {ratchet.ratio:g}")
        table.add_row("ratchet", ratchet.name, _switched(ratchet), f"{sides}, {ratchet.direction:+g}")
    for latch in m.latches:
        state = "engaged" if latch.engaged else "released"
        table.add_row("latch", latch.name, f"{state}, at {latch.at:g} from {latch.side}", latch.joint)
    for one in m.transmissions:
        gears = ", ".join(f"{ratio:g}" for ratio in one.ratios)
        table.add_row("transmission", one.name, f"{gears}; {_gear(one)}", f"{one.driving}, {one.driven}")
    for one in m.differentials:
        state = "engaged" if one.engaged else "released"
        joints = f"{one.driving} x {one.ratio:g}, {one.left}, {one.right}"
        table.add_row("differential", one.name, state, joints)
    for one in m.couplings:
        state = "engaged" if one.engaged else "released"
        rows = ", ".join(f"{joint} x {' '.join(f'{x:g}' for x in numbers)}" for joint, numbers in one.factors)
        table.add_row("coupling", one.name, state, rows)
    for surface in m.surfaces:
        table.add_row("surface", surface.name, type(surface.shape).__name__, surface.body)
    for contact in m.contacts:
        static, dynamic = contact.friction
        what = f"{contact.stiffness:g} N/m, friction {static:g}, {dynamic:g}"
        table.add_row("contact", contact.name, what, f"{contact.body} against {listed(contact.against)}")
    for spring in m.springs:
        what = f"{spring.stiffness:g} N/m, {spring.damping:g} N s/m, rests at {spring.length:g} m"
        table.add_row("spring", spring.name, what, f"{spring.a}, {spring.b}")
    if table.row_count:
        yield table


def _motor(drive: Drive) -> str:
    """The numbers of a motor, as far as they are unusual."""
    told = [f"gain {drive.gain:g}"]
    told += [f"gear {drive.gear:g}"] if drive.gear != 1.0 else []
    told += [f"rotor {drive.rotor_inertia:g}"] if drive.rotor_inertia else []
    told += [f"efficiency {drive.efficiency[0]:g}, {drive.efficiency[1]:g}"] if (drive.efficiency != 1.0).any() else []
    told += [f"{drive.stall_torque:g} at rest to 0 at {drive.no_load_speed:g}"] if drive.has_speed_limit else []
    return ", ".join(told)


def _gear(transmission: Transmission) -> str:
    return f"in gear {transmission.selected:g}" if transmission.engaged else "neutral"


def _switched(item: Clutch | Brake | Ratchet) -> str:
    return f"{'engaged' if item.engaged else 'released'}, up to {item.capacity:g} N m or N"


def fault_text(fault: Fault) -> Text:
    """A fault in one line: severity, place, culprit, reason and remedy."""
    return Text.assemble((f"{fault.severity}: ", COLORS[fault.severity]), str(fault))


def verdict(file: str, errors: int, doubts: int) -> Text:
    """The last line."""
    counts = [f"{n} {what}{'s' * (n > 1)}" for n, what in ((errors, "error"), (doubts, "warning")) if n]
    if errors:
        return Text(f"{file} cannot be used: {', '.join(counts)}", style="bold red")
    return Text(f"{file} can be used{': ' + counts[0] if counts else ', and nothing is wrong with it'}", style="green")


def refusal(error: LinkworkError) -> Text:
    """An error as the command line shows it."""
    return Text.assemble(("error: ", COLORS["error"]), str(error))
