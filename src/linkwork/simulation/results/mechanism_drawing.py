"""Drawings of mechanisms: joints, loops, springs, centres of mass, frames and visual shapes."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.errors import LinkworkError
from linkwork.evaluation import compile
from linkwork.model import Free, Prismatic
from linkwork.model.batch_broadcasting import as_numbers
from linkwork.model.bodies import Body
from linkwork.model.mechanism import WORLD, Mechanism
from linkwork.simulation.problem_setup import start_of
from linkwork.simulation.results.drawing_shapes import Solid, solids_of
from linkwork.simulation.results.figure_files import checked_path, empty_figure, save_figure
from linkwork.simulation.results.run_data import RunData
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE, BESIDE = 4.2, (1.7, 0.8)  # inches: longer side of the drawing; space for legend and title
NARROW = 0.35  # smallest ratio of the shorter to the longer side
POINT_VIEW = 0.1  # size [m] of the view of a single point
# extent normal to a coordinate plane, relative to the largest extent, below which a mechanism counts as planar
FLAT = 1e-6
AZIMUTH, ELEVATION = np.radians(-62.0), np.radians(18.0)  # oblique view of mechanisms that are not planar [rad]
FAINT = 0.18  # opacity of the first of several positions; the last is opaque
FEW = 6  # largest number of bodies that are drawn thick and named in the legend
COLORS = ("#4477aa", "#ee8844", "#44aa77", "#aa6699", "#bbaa33", "#66aacc", "#886655", "#778899")
LOOP = "firebrick"
BELOW = 6  # matplotlib's marker: a triangle with its tip at the point
Color = tuple[float, ...]  # red, green, blue, from 0 to 1
Place = tuple[int, Array]  # body number and a point (3,) [m] in its frame


class View(NamedTuple):
    """Direction of view of a drawing: world unit vectors (3,) that point `right` and `up`, and `names` for both, empty
    if not a coordinate axis; None for an oblique view.
    """

    right: Array
    up: Array
    names: tuple[str, str] | None

    def of(self, points: Array) -> Array:
        """Return world points (..., 3) [m] projected onto the drawing plane, (..., 2) [m]."""
        return points @ np.column_stack([self.right, self.up])


class Skeleton(NamedTuple):
    """Points and lines that represent a mechanism in a drawing, in body frames, independent of the position."""

    shapes: list[tuple[int, Array]]  # for each body except the world: points (n, 3) [m] in its frame
    pins: list[Place]  # joints, on their outboard bodies
    ground: list[Place]  # joints and loops on the world
    joined: list[tuple[Place, Place]]  # the two ends of each loop closure
    rails: list[tuple[Place, Place]]  # prismatic joints: inboard point and sliding body
    lines: list[tuple[Place, Array]]  # guide lines of point-on-line loops: a point and the direction
    lines_of_force: list[tuple[Place, Place]]  # the two ends of each spring between bodies
    solids: list[Solid]  # visual shapes


def draw(m: Mechanism, q: ArrayLike | None = None, *, path: str | os.PathLike[str] | None = None) -> Figure:
    """Return a matplotlib Figure of a mechanism in one or more positions.

    Lines and polygons connect the joints, the centre of mass and the frames of each body. Boxes, spheres, cylinders and
    capsules are drawn as solids. Circles are joints, red circles are loop closures, triangles mark the world. A planar
    mechanism is seen along the normal of its plane, any other from an oblique direction.

    Parameters
    ----------
    m : Mechanism
        The mechanism.
    q : array, shape (nq,) or (n, nq), unit [rad, m, quaternions], default None
        One or more positions; all but the last are drawn faint. None: keyframe "start", or neutral if there is none.
    path : str, path or None, default None
        File to save the figure to: .png, .svg or .pdf.

    Returns
    -------
    matplotlib.figure.Figure
        The drawing. It does not change the state of pyplot.

    Raises
    ------
    LinkworkError
        If matplotlib is not installed, or the file cannot be written.

    Examples
    --------
    >>> figure = lw.draw(lw.example("double_pendulum"), [1.0, 0.5])
    >>> figure.axes[0].get_xlabel()
    'x [m]'

    """
    file = checked_path(path)
    d = compile(m, target="numpy")
    figure = _drawn(m, d.poses(start_of(m).q if q is None else q), [])
    figure.axes[0].set_title(m.name, fontsize=10, loc="left")
    save_figure(figure, file)
    return figure


def draw_run(run: RunData, at: float | Sequence[float] = (), path: str | os.PathLike[str] | None = None) -> Figure:
    """Return a figure of the mechanism at the samples nearest to the times `at` [s], with the paths of its frames.

    The figure is also written to the file `path`, if given.
    """
    file = checked_path(path)
    if run.batch:
        raise LinkworkError(
            f"run.draw needs a run without a batch; this one has shape {run.batch}: "
            "use lw.draw(run.mechanism, run.q[member, samples])"
        )
    m, d, given = run.mechanism, run.dynamics, run.parameters
    times = as_numbers("at", at).ravel() if np.size(at) else run.t[[0, -1]]
    for time in times:
        if not run.t[0] <= time <= run.t[-1]:
            raise LinkworkError(f"`at` must be between {run.t[0]:g} s and {run.t[-1]:g} s; got {time:g} s")
    samples = [int(np.abs(run.t - time).argmin()) for time in times]
    paths = [d.pose(run.q, frame.name, parameters=given)[:, :3, 3] for frame in m.frames if frame.attachment]
    figure = _drawn(m, d.poses(run.q[samples], parameters=given), paths)
    shown = ", ".join(f"{run.t[sample]:.3g}" for sample in samples)
    figure.axes[0].set_title(f"{m.name} at {shown} s", fontsize=10, loc="left")
    save_figure(figure, file)
    return figure


# --- geometry ---


def skeleton(m: Mechanism) -> Skeleton:
    """Return the points and lines of a mechanism to draw: joints, loops, springs, centres of mass, frames and visual
    shapes.
    """
    points: list[list[Array]] = [[] for _ in m.bodies]
    found = Skeleton([], [], [], [], [], [], [], [])
    for j in m.joints:
        if isinstance(j.kind, Free):
            continue  # a free joint does not connect bodies
        inboard, outboard = (j.i, j.place.p), (j.o, np.zeros(3))
        found.pins.append(outboard)
        if isinstance(j.kind, Prismatic):
            found.rails.append((inboard, outboard))
        for body, point in (inboard, outboard):
            points[body].append(point)
    for loop in m.frame_constraints:
        ends = ((loop.at.body, loop.at.pose.p), (loop.to.body, loop.to.pose.p))
        if loop.guide is not None:
            found.lines.append((ends[0], loop.at.pose.R @ loop.guide))
        found.joined.append(ends if loop.guide is None else (ends[1], ends[1]))
        for body, point in ends:
            points[body].append(point)
    for spring in m.line_forces:
        ends = ((spring.at.body, spring.at.pose.p), (spring.to.body, spring.to.pose.p))
        found.lines_of_force.append(ends)
        for body, point in ends:
            points[body].append(point)
    found.ground.extend((WORLD, point) for point in points[WORLD])
    for frame in m.frames:
        if frame.attachment:
            points[frame.body].append(frame.pose.p)
    for body in list(m.bodies)[1:]:
        found.shapes.append((body.index, np.array([*points[body.index], *_mass_points(body, points[body.index])])))
        found.solids.extend(solids_of(body))
    return found


def _mass_points(body: Body, points: list[Array]) -> list[Array]:
    """Return points (3,) [m] that represent the mass of a body in a drawing: its centre of mass, and perhaps a bar's
    end.

    If the body has a single joint, the second point is the end of a thin bar with the mass and the inertia of the body.
    The bar points from the joint to the centre of mass. `points` (3,) [m] are the joints of the body, in its frame.
    """
    if not body.mass > 0.0:
        return []
    centre = body.inertia.moment / body.mass
    arms = [centre - point for point in points]
    alone = bool(arms) and np.ptp(points, axis=0).max() < FLAT and arms[0] @ arms[0] > FLAT**2
    if not alone:
        return [centre]
    along = arms[0] / np.sqrt(arms[0] @ arms[0])
    square = np.trace(body.inertia.rotational) / 2 - body.mass * (centre @ centre)  # sum of m r^2 about the centre
    about = body.inertia.rotational - body.mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
    # half the length of a thin bar with the inertia m half^2 / 3
    half = np.sqrt(3.0 * max(0.0, square - along @ about @ along) / body.mass)
    return [centre, centre + half * along]


def view_of(points: Array, gravity: Array) -> View:
    """Return the direction of view for drawing world points (n, 3) [m], with `gravity` (3,) [m/s^2] downward.

    If all points are in a plane normal to a coordinate axis, the view is along that axis, else it is oblique.
    """
    axes, size = np.eye(3), max(float(np.ptp(points, axis=0).max()), 1e-9)
    weight = np.linalg.norm(gravity)
    upward = -gravity / weight if weight > 0.0 else axes[2]
    for normal in (2, 1, 0):
        if np.ptp(points[:, normal]) < FLAT * size:
            in_plane = abs(upward[normal]) < FLAT
            up = upward if in_plane else axes[1 if normal == 2 else 2]
            right = np.cross(up, axes[normal])
            right = right * np.sign(right[np.abs(right).argmax()])
            names = tuple("xyz"[np.abs(x).argmax()] if np.abs(x).max() > 1.0 - FLAT else "" for x in (right, up))
            return View(right, up, (names[0], names[1]))
    side = axes[np.abs(upward).argmin()]  # a coordinate axis that is not vertical
    first = np.cross(np.cross(upward, side), upward)
    first = first / np.linalg.norm(first)
    second = np.cross(upward, first)
    towards = np.cos(AZIMUTH) * first + np.sin(AZIMUTH) * second  # horizontal direction to the viewer
    right = np.cross(upward, towards)
    return View(right, np.cos(ELEVATION) * upward - np.sin(ELEVATION) * towards, None)


def _not_collinear(points: Array) -> bool:
    """Return whether points (n, 3) are not all on one line.

    If the result is true, the points of joints, springs and frames suffice to choose the direction of view; else the
    points of the visual shapes are used too.
    """
    sizes = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    return len(sizes) > 1 and bool(sizes[1] > FLAT * sizes[0])


def outline(points: Array) -> Array:
    """Return the corners (k, 2) [m] of the convex hull of points (n, 2) [m], in counterclockwise order: two for a line,
    one for a single point.
    """
    size = max(float(np.ptp(points, axis=0).max()), 1e-12)
    ordered = sorted({(round(float(x) / size, 9), round(float(y) / size, 9)) for x, y in points})
    if len(ordered) < 3:
        return np.array(ordered) * size

    def half(along: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
        """Return one side of the convex hull: the corners at which it turns left (Andrew's monotone chain).

        `along` are the points in order.
        """
        hull: list[tuple[float, float]] = []
        for x, y in along:
            while len(hull) > 1:
                (ax, ay), (bx, by) = hull[-2:]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 1e-7:
                    break
                hull.pop()
            hull.append((x, y))
        return hull[:-1]

    return np.array(half(ordered) + half(ordered[::-1])) * size


# --- drawing ---


def _drawn(m: Mechanism, poses: Array, paths: list[Array]) -> Figure:
    """Return a figure of the mechanism at body poses (..., nbodies, 4, 4), with world curves `paths` (n, 3) [m]."""
    poses = poses.reshape(max(1, math.prod(poses.shape[:-3])), m.nbodies, 4, 4)
    poses = np.concatenate([np.broadcast_to(np.eye(4), (len(poses), 1, 4, 4)), poses], axis=1)  # the world is body 0
    bones = skeleton(m)
    joined, everything = (
        np.concatenate([_world_points(X, one) for X in poses]) for one in (bones._replace(solids=[]), bones)
    )
    # without loops or points, the origin of the world is drawn
    joined, everything = (one if len(one) else np.zeros((1, 3)) for one in (joined, everything))
    view = view_of(joined if _not_collinear(joined) else everything, np.asarray(m.gravity))
    seen = view.of(np.concatenate([everything, *paths]))
    span = np.ptp(seen, axis=0)
    span = np.maximum(span, NARROW * span.max()) if span.max() > 0.0 else np.array([POINT_VIEW, POINT_VIEW])
    width, height = SIZE * span / span.max() + BESIDE
    figure = empty_figure(width, height, "compressed")
    axes = figure.subplots()
    for path in paths:
        axes.plot(*view.of(path).T, color="0.55", linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
    for place, along in bones.lines:
        _line(axes, view, everything, _at(poses[-1], place), poses[-1][place[0], :3, :3] @ along)
    for point in {tuple(np.round(view.of(_at(poses[-1], place)), 9)) for place in bones.ground}:
        axes.plot(*point, marker=BELOW, markersize=9, color="0.65", markeredgewidth=0.0, zorder=2)
    shades = [*np.linspace(FAINT, 2 * FAINT, len(poses) - 1), 1.0]
    for number, (X, shade) in enumerate(zip(poses, shades, strict=True)):
        _position(axes, view, X, bones, shade, 10 * (number + 1), len(m.bodies) - 1 <= FEW)
    named = list(m.bodies)[1:] if len(m.bodies) - 1 <= FEW else []
    _legend(figure, {body.name: _color(bones, k) for k, body in enumerate(named)}, bool(m.frame_constraints))
    _frame(axes, view, (seen.min(axis=0) + seen.max(axis=0)) / 2, span)
    return figure


def _position(axes: Axes, view: View, X: Array, bones: Skeleton, shade: float, order: int, few: bool) -> None:
    """Draw the mechanism in one position, with world poses X (nbodies + 1, 4, 4) of the world and all bodies; distant
    bodies are drawn first.

    `axes` are the axes of the figure, `view` is the projection, `bones` the skeleton of the mechanism, `shade` the
    opacity from 0 to 1, and `order` the drawing order; lines are thicker if the mechanism has `few` bodies.
    """
    width = 5.0 if few else 3.0
    away = np.cross(view.up, view.right)
    for k, (body, points) in sorted(enumerate(bones.shapes), key=lambda shape: _depth(X, bones, *shape[1], away)):
        solids, color = [solid for solid in bones.solids if solid.body == body], _color(bones, k)
        for solid in solids:
            _solid(axes, view, X, solid, solid.color or color, shade, order)
        corners = outline(view.of(_points(X, body, points))) if len(points) else np.zeros((0, 2))
        if len(corners) == 1 and not solids:
            # joints are drawn smaller beside solids, because they resemble spheres
            size = (1.3 if bones.solids else 2.6) * width
            axes.plot(*corners.T, marker="s", markersize=size, color=color, alpha=shade, zorder=order)
        if len(corners) > 2 and not solids:
            axes.fill(*corners.T, color=color, alpha=0.35 * shade, linewidth=0.0, zorder=order)
        if len(corners) > 1:
            closed = np.concatenate([corners, corners[:1]]) if len(corners) > 2 else corners
            axes.plot(
                *closed.T, color=color, alpha=shade, linewidth=1.0 if solids else width, zorder=order,
                solid_capstyle="round", solid_joinstyle="round",
            )  # fmt: skip
    for ends, style in ((bones.rails, ":"), (bones.lines_of_force, (0, (1, 1))), (bones.joined, "-")):
        for a, b in ends:
            pair = view.of(np.array([_at(X, a), _at(X, b)]))
            color = LOOP if ends is bones.joined else "0.4"
            axes.plot(*pair.T, color=color, alpha=shade, linewidth=1.0, linestyle=style, zorder=order + 1)
    size = 5.0 if few else 3.5
    for place in bones.pins:
        _circle(axes, view.of(_at(X, place)), "0.2", size, shade, order + 2)
    for pair in bones.joined:
        for place in pair:
            _circle(axes, view.of(_at(X, place)), LOOP, size + 1.0, shade, order + 3)


def _depth(X: Array, bones: Skeleton, body: int, points: Array, away: Array) -> float:
    """Return minus the mean coordinate [m] of a body along `away` (3,), the direction from the viewer: the most distant
    body has the smallest value and is drawn first.

    X (nbodies + 1, 4, 4) are the body poses, `bones` is the skeleton of the mechanism, and `points` are the points of
    the body in its frame.
    """
    own = [points, *(solid.points for solid in bones.solids if solid.body == body)]
    return -float((_points(X, body, np.concatenate(own)) @ away).mean()) if any(map(len, own)) else 0.0


def _solid(axes: Axes, view: View, X: Array, solid: Solid, color: Color, shade: float, order: int) -> None:
    """Draw the visual shape `solid` of a body: its outline, filled with the colour `color`, and its edges.

    X (nbodies + 1, 4, 4) are the body poses, `axes` are the axes of the figure, `view` is the projection, `shade` the
    opacity from 0 to 1, and `order` the drawing order.
    """
    corners = outline(view.of(_points(X, solid.body, solid.points)))
    look: dict[str, Any] = {"linewidth": 0.8, "zorder": order}
    if len(corners) > 2:
        pale = tuple(0.5 + 0.5 * part for part in color)
        axes.fill(*corners.T, facecolor=pale, edgecolor=color, alpha=0.85 * shade, **look)
    for edge in solid.edges:
        axes.plot(*view.of(_points(X, solid.body, edge)).T, color=color, alpha=0.5 * shade, **look)


def _circle(axes: Axes, at: Array, edge: str, size: float, shade: float, order: int) -> None:
    """Draw a circle, the symbol of a joint or loop, at the point `at` (2,) [m] of the drawing plane. `edge` is its
    colour and `size` its diameter in points; `shade` is the opacity from 0 to 1, `order` the drawing order.
    """
    look = {"markerfacecolor": "white", "markeredgecolor": edge, "markeredgewidth": 0.25 * size, "markersize": size}
    axes.plot(*at, marker="o", linestyle="none", alpha=shade, zorder=order, **look)


def _line(axes: Axes, view: View, everything: Array, at: Array, along: Array) -> None:
    """Draw the guide line of a point-on-line loop, as long as the mechanism.

    `axes` are the axes of the figure, `view` is the projection, `everything` (n, 3) [m] are all points of the
    mechanism, and the line goes through `at` (3,) [m] in the direction `along` (3,).
    """
    reach = (everything - at) @ along
    ends = at + np.outer([reach.min(), reach.max()], along)
    axes.plot(*view.of(ends).T, color=LOOP, linewidth=0.8, linestyle=(0, (6, 3)), alpha=0.6, zorder=1)


def _legend(figure: Figure, colors: Mapping[str, Color], loops: bool) -> None:
    """Add the legend to a figure: the colours of bodies, and the symbol of loops.

    `colors` are the colours by body name; `loops` is true if the mechanism has loops.
    """
    (axes,) = figure.axes
    for name, color in colors.items():
        axes.plot([], [], color=color, linewidth=4.0, label=name)
    if loops:
        look = {"markerfacecolor": "white", "markeredgecolor": LOOP, "markeredgewidth": 1.8}
        axes.plot([], [], marker="o", linestyle="none", label="loop", **look)
    if colors or loops:
        figure.legend(fontsize=8, loc="outside right center", frameon=False)


def _frame(axes: Axes, view: View, middle: Array, span: Array) -> None:
    """Set up the axes of a drawing: with labels in metres for a planar view, hidden for an oblique view.

    `middle` (2,) and `span` (2,) [m] are centre and size of the drawing.
    """
    axes.set_aspect("equal", adjustable="box")
    (left, low), (right, high) = middle - 0.56 * span, middle + 0.56 * span
    axes.set(xlim=(left, right), ylim=(low, high))
    if view.names is None:
        axes.set_axis_off()
        return
    for axis, share in zip(("x", "y"), span / span.max(), strict=True):
        axes.locator_params(axis, nbins=2 + round(5 * float(share)))
    axes.grid(color="0.93", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel(f"{view.names[0]} [m]".strip())
    axes.set_ylabel(f"{view.names[1]} [m]".strip())


def _color(bones: Skeleton, number: int) -> Color:
    """Return the colour of body `number` in a drawing: that of its visual shapes, or the next default colour.

    `bones` is the skeleton of the mechanism.
    """
    body, _ = bones.shapes[number]
    own = [solid.color for solid in bones.solids if solid.body == body and solid.color is not None]
    ours = COLORS[number % len(COLORS)]
    return own[0] if own else tuple(int(ours[k : k + 2], 16) / 255.0 for k in (1, 3, 5))


def _at(X: Array, place: Place) -> Array:
    """Return the world position (3,) [m] of a body-fixed point `place`, given as (body number, point (3,) [m]).

    X (nbodies + 1, 4, 4) are the world poses of the bodies.
    """
    body, point = place
    return X[body, :3, :3] @ point + X[body, :3, 3]


def _points(X: Array, body: int, points: Array) -> Array:
    """Return the world positions (n, 3) [m] of points (n, 3) [m] in the frame of a body, for body poses X (nbodies + 1,
    4, 4).
    """
    return points @ X[body, :3, :3].T + X[body, :3, 3]


def _world_points(X: Array, bones: Skeleton) -> Array:
    """Return the world positions (n, 3) [m] of all points of the skeleton `bones`, for body poses X (nbodies + 1, 4,
    4).
    """
    own = [_points(X, body, points) for body, points in bones.shapes]
    own += [_points(X, solid.body, solid.points) for solid in bones.solids]
    return np.concatenate([*own, np.array([_at(X, place) for place in bones.ground]).reshape(-1, 3)])
