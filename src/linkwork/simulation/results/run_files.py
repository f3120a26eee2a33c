"""Run files, .npz and netCDF: recorded series, final state and mechanism, with floats stored exactly.

Both formats contain the same named arrays, a JSON text that describes them, and the mechanism document. A file contains
only data: reading it executes nothing, and its contents are checked before a run is made of them.
"""

from __future__ import annotations

import json
import os
import platform
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, cast
from zipfile import BadZipFile, ZipFile

import numpy as np

from linkwork.algorithms.rigid_contact import contact_memory_size
from linkwork.algorithms.solid_contact.solid_contact_forces import stored_columns
from linkwork.errors import LinkworkError, ModelError
from linkwork.model.documents.atomic_write import reason_of, write_whole
from linkwork.model.documents.toml_writer import checked_text
from linkwork.model.mechanism import Mechanism
from linkwork.model.model_definition_faults import raise_first
from linkwork.model.solids import POINTS
from linkwork.simulation.joint_friction_rows import friction_count, with_friction_velocities
from linkwork.simulation.methods.method_registry import RIGID
from linkwork.simulation.results.outcomes import KINDS, Event, Outcome
from linkwork.simulation.results.run_data import RunData, Settings
from linkwork.simulation.results.xarray_dataset import batch_axes, to_xarray
from linkwork.simulation.series import label_of
from linkwork.simulation.state import (
    CONTACT_COLUMNS,
    EventLog,
    MemberState,
    SolverState,
    StepState,
    flatten,
    leaf_names,
    unflatten,
)
from linkwork.spatial.scalar import Array

if TYPE_CHECKING:
    import h5py

FORMAT = 1  # version of the format of run files; files of a later version are rejected
MARK = "linkwork run"  # key of the format version in the JSON text
ABOUT, DOCUMENT, TIME = "about", "mechanism", "t"  # names of the JSON text, the mechanism document and the times
CHUNK = 1 << 20  # bytes read at a time for the checksum
UNREADABLE = (
    OSError, ValueError, KeyError, EOFError, MemoryError, RuntimeError, NotImplementedError, OverflowError, SyntaxError,
    BadZipFile, zlib.error, struct.error,
)  # exceptions that readers raise for damaged files  # fmt: skip


class About(TypedDict):
    """The contents of the JSON text of a run file: settings, names of its arrays, and computing time [s]."""

    settings: dict[str, Any]
    series: list[str]
    parameters: list[str]
    arrays: list[str]
    wall: float


class Contents(NamedTuple):
    """The contents of a run file: named arrays, the JSON text that describes them, and the mechanism document."""

    arrays: Mapping[str, Array]
    about: str
    document: str


def save_run(run: RunData, path: str | os.PathLike[str]) -> None:
    """Write a run to `path` (.npz or .nc), so that `read_run` restores it exactly.

    An existing file is replaced in one operation, after the new file is complete.
    """
    path = _path(path)
    write, _ = _form(path)
    try:
        arrays = _arrays(run)
        contents = Contents(arrays, _about(run, arrays), checked_text(run.mechanism, path))
        write_whole(path, lambda beside: write(run, contents, beside))
    except (OSError, ValueError, RuntimeError) as error:  # HDF5 raises RuntimeError
        raise LinkworkError(f"{path}: the run cannot be written: {reason_of(error)}") from None


def read_run(path: str | os.PathLike[str]) -> RunData:
    """Read a run that `save_run` wrote to `path`.

    Raise a LinkworkError if the file is damaged, is not a run file, or is of a newer version.
    """
    path = _path(path)
    _, read = _form(path)
    if not path.is_file():
        raise LinkworkError(f"{path}: the file does not exist")
    try:
        contents = read(path)
    except UNREADABLE as error:
        raise LinkworkError(f"{path}: cannot be read as a run: {reason_of(error) or type(error).__name__}") from None
    try:
        return _restored(path, contents, _described(path, contents.about))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        fault = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise LinkworkError(f"{path}: the run file is damaged: {fault}") from None


def _path(path: str | os.PathLike[str]) -> Path:
    """Return `path` as a Path; raise a LinkworkError if it is not a path."""
    try:
        return Path(path)
    except TypeError:
        raise LinkworkError(f"path must be a str or a pathlib.Path; got {path!r}") from None


def _form(path: Path) -> tuple[Callable[[RunData, Contents, Path], object], Callable[[Path], Contents]]:
    """Return the functions that write and read files of the type of `path`; raise a LinkworkError for other file
    types.
    """
    forms = {".npz": (_write_npz, _read_npz), ".nc": (_write_netcdf, _read_netcdf)}
    if path.suffix.lower() not in forms:
        raise LinkworkError(f"{path}: unsupported file type {path.suffix!r}; expected .npz or .nc (netCDF)")
    return forms[path.suffix.lower()]


# --- conversion between runs, named arrays and the JSON text ---


def _arrays(run: RunData) -> dict[str, Array]:
    """Return all arrays of a run by name; the array of parameter number k is called "parameter_k"."""
    outcomes, events = list(run.outcomes.flat), run.events
    members = [event.member for event in events]
    return {
        TIME: run.t,
        **run.recorded,
        **{
            f"final_{name}": np.asarray(value)
            for name, value in zip(leaf_names(run.final), flatten(run.final), strict=True)
        },
        **{f"parameter_{k}": value for k, value in enumerate(run.parameters.values())},
        "outcome": np.array([outcome.kind for outcome in outcomes], dtype=str).reshape(run.batch),
        "outcome_time": np.array([outcome.time for outcome in outcomes], dtype=float).reshape(run.batch),
        "outcome_evidence": np.array([outcome.diagnosis for outcome in outcomes], dtype=str).reshape(run.batch),
        "event_time": np.array([event.time for event in events], dtype=float),
        "event_member": np.array(members, dtype=np.int64).reshape(len(events), len(run.batch)),
        "event_what": np.array([event.what for event in events], dtype=str),
        "event_numbers": np.array([event[3:] for event in events], dtype=float).reshape(-1, 3),
    }


def _about(run: RunData, arrays: Mapping[str, Array]) -> str:
    """Return the JSON text of a run file, which describes the named `arrays` of the run."""
    import linkwork

    about = {
        MARK: FORMAT,
        "versions": {"linkwork": linkwork.__version__, "numpy": np.__version__, "python": platform.python_version()},
        "settings": asdict(run.settings),
        "series": list(run.recorded),
        "parameters": list(run.parameters),
        "arrays": list(arrays),
        "wall": run.wall,
    }
    return json.dumps(about)


def _described(path: Path, text: str) -> About:
    """Return the parsed JSON text of the run file `path`.

    Raise a LinkworkError if the file is not a run file, or was written by a newer version.
    """
    try:
        about = json.loads(text)
    except ValueError:
        about = None
    if not isinstance(about, dict) or not isinstance(about.get(MARK), int):
        raise LinkworkError(f"{path}: not a run file of linkwork")
    if about[MARK] > FORMAT:
        versions = about.get("versions")
        writer = versions.get("linkwork", "unknown") if isinstance(versions, dict) else "unknown"
        raise LinkworkError(
            f"{path}: written by a newer linkwork ({writer}) in format {about[MARK]}; this version reads up to {FORMAT}"
        )
    return cast("About", about)


def _restored(path: Path, contents: Contents, about: About) -> RunData:
    """Return the run from the contents of the file `path`; raise a ValueError if they contradict each other.

    `about` is the parsed JSON text of the file.
    """
    m, arrays = with_friction_velocities(_mechanism(path, contents.document), about["parameters"]), contents.arrays
    batch = arrays["outcome"].shape
    run = RunData(
        m,
        _settings(about),
        _numbers(arrays, TIME, (None,)),
        {name: arrays[name] for name in about["series"]},
        _final(m, arrays, batch, about["settings"]["method"] == RIGID.name),
        {name: _numbers(arrays, f"parameter_{k}") for k, name in enumerate(about["parameters"])},
        _outcomes(arrays, batch),
        _events(arrays, batch),
        float(about["wall"]),
    )
    for name, values in run.recorded.items():
        shape = label_of(run.facts, name, values.shape[len(batch) + 1 :]).shape
        _numbers(arrays, name, (*batch, len(run.t), *shape))
    for name, values in run.parameters.items():
        core = m.parameters[name].shape
        np.broadcast_to(values, batch + core)
    return run


EMPTY = MemberState(
    0.0, 0.0, StepState(np.zeros(0), np.zeros(0), log=EventLog(), solver=SolverState()), np.zeros(0), np.zeros(0)
)


def _final(m: Mechanism, arrays: Mapping[str, Array], batch: tuple[int, ...], rigid: bool) -> MemberState:
    """Return the final state of a run, in arrays (*batch, ...), from the arrays of a file.

    `rigid` is true if contacts are rigid.
    """
    sizes: dict[str, tuple[int | None, ...]] = {
        "motion.q": (m.nq,),
        "motion.v": (m.nv,),
        "motion.contact_memory": (
            len(m.contact_pairs),
            contact_memory_size(m.contact_pairs) if rigid else CONTACT_COLUMNS,
        ),
        "motion.solid_memory": (POINTS * len(m.solid_pairs), stored_columns(m.collisions)),
        "motion.slip": (len(m.bounded) + friction_count(m),),
        "motion.modes": (None,),
        "motion.armed": (None,),
        "motion.log.lines": (None, None),
        "motion.watched": (None,),
        "motion.ledger": (None,),
        "control": (m.nv,),
        "memory": (None,),
    }  # all other leaves are single numbers
    names = leaf_names(EMPTY)
    return unflatten(EMPTY, [_numbers(arrays, f"final_{name}", (*batch, *sizes.get(name, ()))) for name in names])


def _numbers(arrays: Mapping[str, Array], name: str, shape: tuple[int | None, ...] | None = None) -> Array:
    """Return the array called `name` from `arrays`; raise a ValueError if it is not float64 or its shape is wrong.

    `shape` is the expected shape, where None stands for any length; without it, every shape is valid.
    """
    array = arrays[name]
    if array.dtype != np.float64:
        raise ValueError(f"{name!r} has dtype {array.dtype}; expected float64")
    fits = shape is None or (
        array.ndim == len(shape) and all(b in (None, a) for a, b in zip(array.shape, shape, strict=True))
    )
    if not fits:
        raise ValueError(f"{name!r} has shape {array.shape}; expected {shape}")
    return array


def _mechanism(path: Path, document: str) -> Mechanism:
    """Return the mechanism that a mechanism document from the run file `path` describes; raise a ValueError if it is
    invalid.
    """
    from linkwork.model.documents.toml_reader import read_text  # imported only here, because it loads msgspec

    try:
        reading = read_text(document.encode(), path)
        raise_first(reading.faults)  # warnings, such as missing mesh files, do not affect the motion
    except (ModelError, UnicodeEncodeError) as error:
        raise ValueError(f"the mechanism in it cannot be read: {error}") from None
    assert reading.mechanism
    return reading.mechanism


def _settings(about: About) -> Settings:
    """Return the settings of the run from the parsed JSON text; raise a ValueError if they are invalid."""
    settings = Settings(**about["settings"])
    if not (isinstance(settings.method, str) and isinstance(settings.why, str)):
        raise ValueError("the settings contain no method")
    for name in ("dt", "every", "duration"):
        value = getattr(settings, name)
        if not (isinstance(value, (int, float)) and value > 0):
            raise ValueError(f"the setting {name} is {value!r}; expected a positive number")
    return settings


def _outcomes(arrays: Mapping[str, Array], batch: tuple[int, ...]) -> Array:
    """Return the outcomes (*batch,) of a run from the arrays of a file; raise a ValueError if they are invalid."""
    times = _numbers(arrays, "outcome_time", batch)
    found = np.empty(batch, dtype=object)
    for index in np.ndindex(batch):
        kind = str(arrays["outcome"][index])
        if kind not in KINDS:
            raise ValueError(f"a member has the unknown outcome {kind!r:.40}")
        found[index] = Outcome(kind, float(times[index]), str(arrays["outcome_evidence"][index]))
    return found


def _events(arrays: Mapping[str, Array], batch: tuple[int, ...]) -> tuple[Event, ...]:
    """Return the events of a run from the arrays of a file; raise a ValueError if they are invalid."""
    times = _numbers(arrays, "event_time", (None,))
    members = arrays["event_member"].reshape(len(times), len(batch)).tolist()
    numbers = _numbers(arrays, "event_numbers", (None, 3)).tolist()
    rows = zip(times, members, arrays["event_what"], numbers, strict=True)
    return tuple(Event(float(t), tuple(k), str(what), *each) for t, k, what, each in rows)


# --- .npz ---


def _write_npz(run: RunData, contents: Contents, path: Path) -> None:
    texts: dict[str, Any] = {ABOUT: np.array(contents.about), DOCUMENT: np.array(contents.document)}
    with open(path, "xb") as stream:
        np.savez(stream, **texts, **dict[str, Any](contents.arrays))


def _read_npz(path: Path) -> Contents:
    with ZipFile(path) as archive:
        broken = archive.testzip()  # checked here, because NumPy does not check all checksums
    if broken is not None:
        raise ValueError(f"the entry {broken!r:.60} has a wrong checksum")
    with np.load(path, allow_pickle=False) as archive:
        if ABOUT not in archive.files or DOCUMENT not in archive.files:
            raise ValueError("not written by linkwork")
        about, document = str(archive[ABOUT]), str(archive[DOCUMENT])
        names = [name for name in _described(path, about)["arrays"] if name in archive.files]
        return Contents({name: archive[name] for name in names}, about, document)


# --- netCDF ---


def _write_netcdf(run: RunData, contents: Contents, path: Path) -> None:
    for package in ("xarray", "h5netcdf", "h5py"):
        _needed(package)
    series = to_xarray(run)
    series = series.drop_vars([name for name in series.variables if str(name).startswith("parameter.")])
    rest = {name: values for name, values in contents.arrays.items() if name not in series and name != TIME}
    data = series.assign({name: (_axes(run, name, values), values) for name, values in rest.items()})
    for k, name in enumerate(run.parameters):
        data[f"parameter_{k}"].attrs["long_name"] = f"parameter {name}"
    data.attrs |= {ABOUT: contents.about, DOCUMENT: contents.document}
    # without this, xarray would replace nan, which is a valid value
    encoding = {name: {"_FillValue": None} for name in data.variables}
    # Make the file in memory first, because HDF5 ends the process if the disk becomes full
    made = data.to_netcdf(engine="h5netcdf", encoding=encoding)
    with open(path, "xb") as stream:
        stream.write(made)
        stream.write(_seal(zlib.crc32(made)))


def _axes(run: RunData, name: str, values: Array) -> tuple[str, ...]:
    """Return the names of the axes of an array that is not a series: batch axes if it has one row per member, then
    numbered axes.

    `name` and `values` are the name and the values of the array.
    """
    shared = batch_axes(run) if name.startswith(("final", "outcome")) else ()
    return shared + tuple(f"{name}_{k}" for k in range(values.ndim - len(shared)))


def _read_netcdf(path: Path) -> Contents:
    reader = _needed("h5py")
    _refuse_unsealed(path)
    with reader.File(path, "r") as file:
        about, document = str(file.attrs[ABOUT]), str(file.attrs[DOCUMENT])
        names = _described(path, about)["arrays"]
        return Contents({name: _plain(file["time" if name == TIME else name]) for name in names}, about, document)


def _plain(dataset: h5py.Dataset) -> Array:
    """Return an HDF5 data set as a NumPy array: texts as str, numbers in native byte order."""
    if dataset.dtype.kind == "O":
        return np.array(dataset.asstr()[()], dtype=str).reshape(dataset.shape)
    return np.array(dataset[()], dataset.dtype.newbyteorder("="), order="C")


def _seal(checksum: int) -> bytes:
    """Return the checksum line that is appended to a netCDF file; HDF5 ignores it."""
    return f"\nlinkwork run, crc32 {checksum:08x}\n".encode()


def _refuse_unsealed(path: Path) -> None:
    """Raise a ValueError if the checksum at the end of the netCDF file `path` is wrong or missing.

    The checksum is checked before HDF5 reads the file, because HDF5 may hang on a damaged file.
    """
    size, checksum = path.stat().st_size - len(_seal(0)), 0
    with open(path, "rb") as stream:
        while left := max(0, size - stream.tell()):
            checksum = zlib.crc32(stream.read(min(left, CHUNK)), checksum)
        found = stream.read()
    if found != _seal(checksum):
        raise ValueError("not written by linkwork, or modified after writing")


def _needed(package: str) -> ModuleType:
    """Return an imported package that netCDF files need; raise a LinkworkError if it is not installed."""
    try:
        return import_module(package)
    except ImportError:
        missing = f"netCDF needs {package}, which is not installed"
        raise LinkworkError(f"{missing}; use pip install 'linkwork[data]', or save as .npz") from None
