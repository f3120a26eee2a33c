"""The two experiments of Wendlandt's chapter 4: a biped that rises and leans, and one that is hit by a block."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import linkwork as lw
from linkwork.compiler import Kernel, lifted
from linkwork.control.plant import Controller
from linkwork.examples import biped, biped_hit, biped_reach
from linkwork.papers.wendlandt import timed
from linkwork.papers.wendlandt_box import Statement, said_table
from linkwork.simulation.results.run import Run
from linkwork.spatial.scalar import Array

SERIES = ("q", "v", "tau", "contact.state", "contact.anchor")
HEELS, TOES = (0, 3), (1, 2)  # of the corners of a sole
LANDED = 0.02  # [s] after which all corners stick
WATCHED, UPRIGHT = 1.5, 0.02  # [s] after the throw, and the trunk's distance from its target [m] with which it survived
LOW, FAST = 0.9, 100.0  # height of the trunk [m] and rates of joints [rad/s] from which it does not come back
SPEEDS, PLACES = np.linspace(1.0, 8.0, 40), np.linspace(-0.12, 0.12, 26)  # [m/s], y of the block [m]
IN_CONES = {"friction": 0.3, "standing": "contacts"}  # the law that keeps to what the ground can give

ABOUT = """<h2>A biped that balances (chapter 4)</h2><p>13 bodies, 18 freedoms, of which 12 have motors. The law of
chapter 4 is called 500 times a second; the motion goes on in steps of {step:g} s. Masses, inertias, joints, gains,
set points and friction are as printed. The paper gives no shapes: soles are those of wedges of water that have the
feet's masses and moments, the trunk is the box of water that has its own, and contacts are springs and dampers, where
the paper's simulator has impulses. So the same things happen, and instants differ. One does not happen: the front of
the left foot does not rise in the first experiment.</p>
"""


class Told(NamedTuple):
    """A run, how long it took [s], and what its law found: errors (T, 7), the wrench on the trunk (T, 6) [N, N m]."""

    run: Run
    seconds: float
    error: Array
    wrench: Array


class Map(NamedTuple):
    """Which throws were survived (speeds, places) by the paper's law and by one within cones, in all so many runs."""

    speeds: Array
    places: Array
    printed: Array
    in_cones: Array
    seconds: float


class Biped(NamedTuple):
    """Both experiments, and the map of speeds."""

    reach: Told
    hit: Told
    survived: Map


def biped_experiments() -> Biped:
    """All of chapter 4."""
    return Biped(experiment(biped_reach), experiment(biped_hit), survived())


def experiment(example: Any) -> Told:
    """An example with its law, 3 s."""
    m = example.build()
    law = example.law(m)
    run, seconds = timed(lambda: lw.simulate(**biped.led(m, law), record=SERIES, every=2).check())
    return Told(run, seconds, *found_by(law, run))


def found_by(law: Controller, run: Run) -> tuple[Array, Array]:
    """Errors (T, 7) and wrenches (T, 6) that a law finds along a run."""
    stages: Any = law.stages  # type: ignore[attr-defined]

    def looked(t: Any, q: Array, v: Array) -> tuple[Array, Array]:
        found = stages(t, q, v)
        return found.error, found.wrench

    m = run.mechanism
    kernel = Kernel("stages of balance", lifted(looked), [(), (m.nq,), (m.nv,)], [(7,), (6,)], key=None)
    (error, wrench), _ = kernel.over_batch([run.t, run.q, run.v], run.t.shape, 1)
    return np.array(error), np.array(wrench)


def survived(speeds: Array = SPEEDS, places: Array = PLACES) -> Map:
    """Throws at all speeds [m/s] and places [m], in one call for each law; all meet the back at the same height."""
    m = biped_hit.build()
    key, throw = m.keyframes["start"], m.joints["throw"]
    batch = (len(speeds), len(places))
    q0, v0 = np.tile(key.q, (*batch, 1)), np.tile(key.v, (*batch, 1))
    for i, j in np.ndindex(batch):
        q0[i, j, throw.q], v0[i, j, throw.v] = biped_hit.thrown(float(speeds[i]), float(places[j]))

    def stood(**options: Any) -> tuple[Array, float]:
        led = biped.led(m, biped_hit.law(m, **options), WATCHED)
        run = lw.simulate(**led, q0=q0, v0=v0, record=("q",), every=100, stop_when=fallen)
        away = np.linalg.norm(run.q[..., -1, :3] - np.array(biped_hit.TARGET[:3]), axis=-1)
        return away < UPRIGHT, run.wall

    (printed, first), (in_cones, second) = stood(), stood(**IN_CONES)
    return Map(speeds, places, printed, in_cones, first + second)


def fallen(t: Any, q: Array, v: Array) -> Any:
    """Whether the biped is lost: its trunk is low, or joints of a foot without hold spin."""
    return np.maximum(LOW - q[2], np.abs(v[6:18]).max() - FAST)


# --- what the paper says ---


def biped_statements(found: Biped) -> list[Statement]:
    """Section 4.3, sentence by sentence."""
    return [*_of_reach(found.reach), *_of_hit(found.hit), *_of_map(found.survived)]


def _of_reach(one: Told) -> list[Statement]:
    run = one.run
    law: Any = biped_reach.law(run.mechanism)
    first = law.stages(0.0, run.q[0], run.v[0])
    knees = first.tau[[run.mechanism.joints[f"{side} knee"].v.start for side in biped.SIDES]]
    apart, turned = converged(one)
    landed = run.t >= LANDED
    anchors = run["contact.anchor"][landed]
    slid = float(np.linalg.norm(anchors - anchors[0], axis=-1).max())
    moved = max(foot_travel(run, f"{side} foot") for side in biped.SIDES)
    return [
        Statement(
            "1: worked out from its numbers, z is (99.7, 0, 590.3) N at the start, and the force (216, -28, 1359.5) N",
            f"({_listed(first.workspace.z[:3], 1)}) N, ({_listed(first.wrench[:3], 1)}) N",
            bool(np.abs(first.wrench[:3] - [216.0, -28.4, 1359.5]).max() < 0.1),
        ),
        Statement(
            "1: the largest joint torque is in the right knee, at 0 s (192 N m)",
            f"so it is, but {knees[1]:.1f} N m, as its numbers give; 192 N m may be of the landing, by impulses",
            bool(np.argmax(knees) == 1 and np.abs(run["tau"]).max() < 1.001 * knees[1]),
        ),
        Statement(
            "1: the desired force in Z converges to about 594 N",
            f"{one.wrench[-1, 2]:.0f} N in the trunk's axes, {_in_world(one)[2]:.0f} N upwards",
            abs(one.wrench[-1, 2] - 594.0) < 15.0,
        ),
        Statement(
            "1: it moves to the desired pose", f"{1e3 * apart:.2g} mm and {turned:.2g} degrees from it at 3 s",
            apart < 2e-3 and turned < 0.5,
        ),
        Statement(
            "1: the feet slide, an artefact of the impulsive contact",
            f"anchors move by {1e3 * slid:.2g} mm after the landing, feet by {1e3 * moved:.2f} mm with their springs",
            slid < 1e-3 and moved < 1e-3,
        ),
    ]  # fmt: skip


def _of_hit(one: Told) -> list[Statement]:
    run, t = one.run, one.run.t
    m, states = run.mechanism, np.asarray(run["contact.state"] > 1.0)
    names = [pair.name for pair in m.contact_pairs]
    hit = float(t[np.argmax(states[:, names.index("block on back")])])
    rises, returns, on_toes = {}, {}, True
    for k, side in enumerate(biped.SIDES):
        heel, toe = (np.any(states[:, [4 * k + c for c in ends]], axis=1) for ends in (HEELS, TOES))
        after = np.flatnonzero(~heel & (t > hit))
        rises[side], returns[side] = float(t[after[0]]), float(t[after[-1]] + run.t[1])
        on_toes = on_toes and bool(toe[t > LANDED].all())
    apart, turned = converged(one)
    struck, later = (int(np.argmin(np.abs(t - at))) for at in (hit - 0.005, hit + 0.1))
    change = one.error[later] - one.error[struck]
    return [
        Statement("2: the block meets the body at about 0.08 s", f"{hit:.3f} s", abs(hit - 0.08) < 0.01),
        Statement(
            "2: heels rise at about 0.13 s, and it rests on the front of both feet",
            f"left {rises['left']:.3f} s, right {rises['right']:.3f} s; toes {'stay' if on_toes else 'rise too'}",
            on_toes and all(abs(rise - 0.13) < 0.03 for rise in rises.values()),
        ),
        Statement(
            "2: the right foot is back at about 0.36 s, the left at about 0.38 s",
            f"right {returns['right']:.2f} s, left {returns['left']:.2f} s: sooner",
            all(back < 0.5 for back in returns.values()),
        ),
        Statement(
            "2: the body is pushed to -X and turned about -Y and Z",
            f"by {1e3 * change[0]:.1f} mm; quaternion y {change[5]:+.3f}, z {change[6]:+.3f} in 0.1 s",
            bool(change[0] < 0.0 and change[5] < 0.0 < change[6]),
        ),
        Statement(
            "2: the errors converge to a neighbourhood of zero",
            f"{1e3 * apart:.2g} mm and {turned:.2g} degrees at 3 s",
            apart < 2e-3 and turned < 0.5,
        ),
        Statement("2: 3 s take 2066 s (R4000, 100 MHz)", f"{one.seconds:.2f} s, with tracing", one.seconds < 2066.0),
    ]  # fmt: skip


def _of_map(found: Map) -> list[Statement]:
    place = int(np.argmin(np.abs(found.places - biped_hit.PLACE[1])))
    here, cones = (float(found.speeds[stood[:, place]].max(initial=0.0)) for stood in (found.printed, found.in_cones))
    return [
        Statement(
            "2: it cannot recover if the velocity of the projectile is too large",
            f"it survives up to {here:.1f} m/s there, and within cones of friction up to {cones:.1f} m/s; "
            f"{found.printed.size} runs in one call each, both in {found.seconds:.0f} s",
            bool(4.5 < here < found.speeds[-1] and cones >= here),
        )
    ]


def converged(one: Told) -> tuple[float, float]:
    """How far the trunk is from its target at the end [m], and by which angle [degrees]."""
    last = one.error[-1]
    return float(np.linalg.norm(last[:3])), float(np.degrees(2.0 * np.arcsin(np.linalg.norm(last[4:]))))


def foot_travel(run: Run, foot: str) -> float:
    """The largest distance [m] of a foot from where it is at the end, once it has landed."""
    path = run.dynamics.pose(run.q[run.t >= LANDED], foot)[:, :3, 3]
    return float(np.linalg.norm(path - path[-1], axis=1).max())


def _in_world(one: Told) -> Array:
    """The force (3,) [N] on the trunk at the end, in the world's axes."""
    pose = one.run.dynamics.pose(one.run.q[-1], "trunk")
    return pose[:3, :3] @ one.wrench[-1, :3]


def _listed(numbers: Array, digits: int) -> str:
    return ", ".join(f"{x:.{digits}f}" for x in np.round(numbers, digits) + 0.0)


def biped_page(found: list[Statement]) -> str:
    """What the page says of the biped."""
    return ABOUT.format(step=biped.STEP) + said_table(found)
