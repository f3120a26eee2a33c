"""The two experiments of Wendlandt's chapter 4: a biped rises and leans, and a biped is hit by a block."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import linkwork as lw
from linkwork.compiler import Kernel, lifted
from linkwork.control.controlled_plant import Controller
from linkwork.examples import biped, biped_hit, biped_reach
from linkwork.papers.wendlandt_box import Statement, statement_table
from linkwork.papers.wendlandt_integrators import timed
from linkwork.simulation.results.run import Run
from linkwork.spatial.scalar import Array

SERIES = ("q", "v", "tau", "contact.state", "contact.anchor")
HEELS, TOES = (0, 3), (1, 2)  # numbers of the corners of a sole that belong to its heel and to its toe
LANDED = 0.02  # [s] time from which all corners of the soles stick
WATCHED, UPRIGHT = (
    1.5,
    0.02,
)  # simulated time [s], and largest final distance of the trunk from its target [m] that counts as recovered
LOW, FAST = 0.9, 100.0  # the biped has fallen if the trunk is lower [m] or a joint rate larger [rad/s]
# of the throws: speed of the block [m/s], and lateral position y [m]
SPEEDS, PLACES = np.linspace(1.0, 8.0, 40), np.linspace(-0.12, 0.12, 26)
# options of the controller that limits foot forces to friction cones
IN_CONES = {"friction": 0.3, "standing": "contacts"}

ABOUT = """<h2>Balancing biped (chapter 4)</h2><p>The biped has 13 bodies and 18 degrees of freedom, 12 of them
actuated. The controller of chapter 4 runs at 500 Hz; the integration step is {step:g} s. Masses, inertias, joints,
gains, set points and friction are as printed. The paper gives no contact geometry. Here the soles are those of wedges
of water with the mass and moments of the feet, and the trunk is the box of water with the trunk's moments. Contacts
are springs and dampers, where the paper's simulator uses impulses. Therefore the same events occur at different
times, with one exception: the front of the left foot does not lift off in the first experiment. The checks of the
statements below allow for these differences.</p>
"""


class BipedRun(NamedTuple):
    """A run of the biped, its computing time `seconds` [s], and the errors and wrenches that the controller computed.

    `error` (T, 7) is the position error [m] and the error quaternion of the trunk, and `wrench` (T, 6) [N, N m] the
    desired wrench on the trunk, at T samples.
    """

    run: Run
    seconds: float
    error: Array
    wrench: Array


class Map(NamedTuple):
    """Result of many throws of the block: from which throws the biped recovers, for two controllers.

    The throws have all combinations of `speeds` [m/s] and lateral positions `places` [m]. The boolean arrays (speeds,
    places) are True where the biped recovered: `printed` with Wendlandt's controller, `in_cones` with a controller that
    limits foot forces to friction cones. `seconds` [s] is the computing time of all runs.
    """

    speeds: Array
    places: Array
    printed: Array
    in_cones: Array
    seconds: float


class Biped(NamedTuple):
    """Results of chapter 4: both experiments, and the map of throws of the block from which the biped recovers."""

    reach: BipedRun
    hit: BipedRun
    survived: Map


def biped_experiments() -> Biped:
    """Run all experiments of chapter 4, and return their results."""
    return Biped(experiment(biped_reach), experiment(biped_hit), survived())


def experiment(example: Any) -> BipedRun:
    """Return the run of a biped example with its controller for 3 s, with the errors and wrenches of the controller.

    `example` is the module `biped_reach` or `biped_hit`.
    """
    m = example.build()
    controller = example.controller(m)
    run, seconds = timed(
        lambda: lw.simulate(**biped.simulation_arguments(m, controller), record=SERIES, every=2).check()
    )
    return BipedRun(run, seconds, *errors_and_wrenches(controller, run))


def errors_and_wrenches(controller: Controller, run: Run) -> tuple[Array, Array]:
    """Return the errors and wrenches that the controller computes at the T samples of a run.

    The errors (T, 7) are the position error (3) [m] and the error quaternion (4) of the trunk. The wrenches (T, 6)
    [N, N m] are those that the controller requires on the trunk.
    """
    stages: Any = controller.stages  # type: ignore[attr-defined]

    def evaluate(t: Any, q: Array, v: Array) -> tuple[Array, Array]:
        found = stages(t, q, v)
        return found.error, found.wrench

    m = run.mechanism
    kernel = Kernel("stages of balance", lifted(evaluate), [(), (m.nq,), (m.nv,)], [(7,), (6,)], key=None)
    (error, wrench), _ = kernel.over_batch([run.t, run.q, run.v], run.t.shape, 1)
    return np.array(error), np.array(wrench)


def survived(speeds: Array = SPEEDS, places: Array = PLACES) -> Map:
    """Return the throws of the block from which the biped recovers, by `speeds` [m/s] and lateral `places` [m].

    All blocks hit the back at the same height. The biped recovers if the trunk is less than UPRIGHT [m] from its target
    after WATCHED [s]. For each controller, all throws are one batch.
    """
    m = biped_hit.build()
    key, throw = m.keyframes["start"], m.joints["throw"]
    batch = (len(speeds), len(places))
    q0, v0 = np.tile(key.q, (*batch, 1)), np.tile(key.v, (*batch, 1))
    for i, j in np.ndindex(batch):
        q0[i, j, throw.q], v0[i, j, throw.v] = biped_hit.thrown(float(speeds[i]), float(places[j]))

    def recovered(**options: Any) -> tuple[Array, float]:
        arguments = biped.simulation_arguments(m, biped_hit.controller(m, **options), WATCHED)
        run = lw.simulate(**arguments, q0=q0, v0=v0, record=("q",), every=100, stop_when=fallen)
        distance = np.linalg.norm(run.q[..., -1, :3] - np.array(biped_hit.TARGET[:3]), axis=-1)
        return distance < UPRIGHT, run.wall

    (printed, first), (in_cones, second) = recovered(), recovered(**IN_CONES)
    return Map(speeds, places, printed, in_cones, first + second)


def fallen(t: Any, q: Array, v: Array) -> Any:
    """Return the value of an event function that is positive if the biped has fallen.

    It has fallen if the trunk is lower than LOW [m] or a joint rate is larger than FAST [rad/s].
    """
    return np.maximum(LOW - q[2], np.abs(v[6:18]).max() - FAST)


# --- statements of the paper ---


def biped_statements(found: Biped) -> list[Statement]:
    """Return the statements of Wendlandt's section 4.3, each with the result of linkwork's experiments `found`."""
    return [*_reach_statements(found.reach), *_hit_statements(found.hit), *_map_statements(found.survived)]


def _reach_statements(one: BipedRun) -> list[Statement]:
    """Return Wendlandt's statements about the first experiment, with linkwork's results from the run `one`."""
    run = one.run
    controller: Any = biped_reach.controller(run.mechanism)
    first = controller.stages(0.0, run.q[0], run.v[0])
    knees = first.tau[[run.mechanism.joints[f"{side} knee"].v.start for side in biped.SIDES]]
    apart, turned = converged(one)
    landed = run.t >= LANDED
    anchors = run["contact.anchor"][landed]
    slid = float(np.linalg.norm(anchors - anchors[0], axis=-1).max())
    moved = max(foot_travel(run, f"{side} foot") for side in biped.SIDES)
    return [
        Statement(
            "1: computed from the paper's data at 0 s: z = (99.7, 0, 590.3) N, desired force (216, -28, 1359.5) N",
            f"z = ({_as_text(first.workspace.z[:3], 1)}) N, desired force ({_as_text(first.wrench[:3], 1)}) N",
            bool(np.abs(first.wrench[:3] - [216.0, -28.4, 1359.5]).max() < 0.1),
        ),
        Statement(
            "1: the largest joint torque is in the right knee, at 0 s (192 N m)",
            f"right knee, 0 s, but {knees[1]:.1f} N m by the paper's data; 192 N m may include landing impulses",
            bool(np.argmax(knees) == 1 and np.abs(run["tau"]).max() < 1.001 * knees[1]),
        ),
        Statement(
            "1: the desired force in Z converges to about 594 N",
            f"{one.wrench[-1, 2]:.0f} N in trunk axes, {_in_world(one)[2]:.0f} N upward in world axes",
            abs(one.wrench[-1, 2] - 594.0) < 15.0,
        ),
        Statement(
            "1: the biped moves to the desired pose", f"{1e3 * apart:.2g} mm and {turned:.2g} degrees away at 3 s",
            apart < 2e-3 and turned < 0.5,
        ),
        Statement(
            "1: the feet slide, an artefact of impulsive contact",
            f"after landing, contact anchors move by {1e3 * slid:.2g} mm; springs deflect by {1e3 * moved:.2f} mm",
            # limits above zero, because the anchors of contacts at the friction limit move
            slid < 2e-3 and moved < 1e-3,
        ),
    ]  # fmt: skip


def _hit_statements(one: BipedRun) -> list[Statement]:
    """Return Wendlandt's statements about the second experiment, with linkwork's results from the run `one`."""
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
        Statement("2: the block hits the body at about 0.08 s", f"{hit:.3f} s", abs(hit - 0.08) < 0.01),
        Statement(
            "2: the heels lift off at about 0.13 s, and the biped rests on the front of both feet",
            f"left {rises['left']:.3f} s, right {rises['right']:.3f} s; toes {'stay' if on_toes else 'lift off too'}",
            on_toes and all(abs(rise - 0.13) < 0.03 for rise in rises.values()),
        ),
        Statement(
            "2: the right foot is in full contact at about 0.36 s, the left foot at about 0.38 s",
            f"right {returns['right']:.2f} s, left {returns['left']:.2f} s (earlier)",
            all(back < 0.5 for back in returns.values()),
        ),
        Statement(
            "2: the block pushes the body along -X and rotates it about -Y and Z",
            f"in 0.1 s: x {1e3 * change[0]:+.1f} mm, quaternion y {change[5]:+.3f}, z {change[6]:+.3f}",
            bool(change[0] < 0.0 and change[5] < 0.0 < change[6]),
        ),
        Statement(
            "2: the errors converge to a neighbourhood of zero",
            f"{1e3 * apart:.2g} mm and {turned:.2g} degrees at 3 s",
            apart < 2e-3 and turned < 0.5,
        ),
        Statement(
            "2: 2066 s of CPU time for 3 s (R4000, 100 MHz)",
            f"{one.seconds:.2f} s including tracing",
            one.seconds < 2066.0,
        ),
    ]  # fmt: skip


def _map_statements(found: Map) -> list[Statement]:
    """Return statements about the throws of the block, with linkwork's results."""
    place = int(np.argmin(np.abs(found.places - biped_hit.PLACE[1])))
    here, cones = (
        float(found.speeds[recovered[:, place]].max(initial=0.0)) for recovered in (found.printed, found.in_cones)
    )
    return [
        Statement(
            "2: the biped cannot recover if the projectile is too fast",
            f"recovers up to {here:.1f} m/s, with friction cones up to {cones:.1f} m/s; "
            f"two batches of {found.printed.size} runs in {found.seconds:.0f} s",
            bool(4.5 < here < found.speeds[-1] and cones >= here),
        )
    ]


def converged(one: BipedRun) -> tuple[float, float]:
    """Return the final distance [m] and angle [degrees] of the trunk from its target in the run `one`."""
    last = one.error[-1]
    return float(np.linalg.norm(last[:3])), float(np.degrees(2.0 * np.arcsin(np.linalg.norm(last[4:]))))


def foot_travel(run: Run, foot: str) -> float:
    """Return the largest distance [m] of the foot `foot` from its final position, over all samples after landing."""
    path = run.dynamics.pose(run.q[run.t >= LANDED], foot)[:, :3, 3]
    return float(np.linalg.norm(path - path[-1], axis=1).max())


def _in_world(one: BipedRun) -> Array:
    """Return the desired force (3,) [N] on the trunk at the end of the run `one`, in world axes."""
    pose = one.run.dynamics.pose(one.run.q[-1], "trunk")
    return pose[:3, :3] @ one.wrench[-1, :3]


def _as_text(numbers: Array, digits: int) -> str:
    """Return numbers as text with the given number of digits, separated by commas."""
    return ", ".join(f"{x:.{digits}f}" for x in np.round(numbers, digits) + 0.0)


def biped_page(found: list[Statement]) -> str:
    """Return the HTML section on the biped, with a table of the statements `found`."""
    return ABOUT.format(step=biped.STEP) + statement_table(found)
