"""One element definition gives its Builder method, document table, parameters, digest and check line."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from document_page_generator import shown_keys
from linkwork.model.bodies import Place
from linkwork.model.documents.element_key_tables import document_keys
from linkwork.model.documents.toml_writer import document_text
from linkwork.model.elements import DOCUMENT_ORDER, KINDS
from linkwork.model.elements.constraint import Constraint
from linkwork.model.elements.element import FLIP, GIVEN, Element
from linkwork.model.elements.key_types import Posed
from linkwork.simulation.events.schedule import verbs
from mechanism_with_all_elements import frame, mechanism_with_all_elements

M = mechanism_with_all_elements().build()
ALL: dict[str, Element] = {one.name: one for items in M.elements.values() for one in items}
METHODS = {
    "loops": "close", "drives": "drive", "clutches": "clutch", "brakes": "brake", "ratchets": "ratchet",
    "latches": "latch", "transmissions": "transmission", "differentials": "differential", "couplings": "couple",
    "surfaces": "surface", "contacts": "touch", "collisions": "collide", "springs": "spring",
    "frictions": "friction",
}  # fmt: skip
each_kind = pytest.mark.parametrize("class_", KINDS, ids=lambda class_: class_.section)
each = pytest.mark.parametrize("name", ALL)
SOFT = ("stiffness", "damping", "tangential_stiffness", "tangential_damping")  # which rigid contacts do not have
REFUSED = {("ball", "damping"), *((f"rigid {k}", key) for k in (1, 2) for key in (*SOFT, "at"))}
PARAMETERS = [(name, key) for name, one in ALL.items() for key in one.parameters if (name, key) not in REFUSED]


def digest(m: lw.Mechanism) -> list[str | bytes]:
    """The digests of all elements."""
    return [part for items in m.elements.values() for one in items for part in one.digest()]


# --- kinds ---


def test_mechanism_of_these_tests_has_every_element_kind() -> None:
    assert {one.section for one in ALL.values()} == set(METHODS) == {class_.section for class_ in KINDS}
    assert set(DOCUMENT_ORDER) == set(KINDS)
    assert list(M.elements)[: len(KINDS)] == [class_.section for class_ in KINDS]


OWN_TABLES = {"loops": {"friction"}}  # arguments that make a further element, with a table of its own in documents


@each_kind
def test_builder_method_has_the_document_keys_as_arguments(class_: type[Element]) -> None:
    method = getattr(lw.Builder, METHODS[class_.section])
    arguments = list(inspect.signature(method).parameters)
    assert arguments[:2] == ["self", "name"]
    # a place has at, rpy and rotation in both
    assert set(arguments[2:]) - OWN_TABLES.get(class_.section, set()) == set(document_keys(class_))
    assert method.__name__ == METHODS[class_.section]
    assert method.__doc__
    assert class_.__doc__
    for name in {part.name for part in fields(class_)} - {"name", *class_.definitions()}:
        assert name not in arguments  # Builder.build finds it


@each_kind
def test_verbs_of_schedules_set_the_modes_of_elements(class_: type[Element]) -> None:
    for verb, (mode, value) in class_.switches.items():
        assert mode in class_.modes()
        assert value in (FLIP, GIVEN, 0.0, 1.0)
        assert verbs()[verb][class_.section] == (mode, value)


def test_document_page_lists_the_keys_of_every_element() -> None:
    """Of built-in elements only: a new process has none that a test has defined."""
    code = "from linkwork.model.documents.element_key_tables import element_tables; print(element_tables(), end='')"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=True)
    assert shown_keys() == printed.stdout, "run: python tests/document_page_generator.py"


@each
def test_every_element_has_a_description_and_a_label(name: str) -> None:
    assert all(ALL[name].describe())
    assert ALL[name].label == f"{ALL[name].what} {name!r}"


# --- the mechanism that has them ---


@each
def test_element_of_one_mechanism_can_be_added_to_another(name: str) -> None:
    b = frame().surface("ground", lw.Plane()).surface("terrain", lw.Plane()) if ALL[name].what == "contact" else frame()
    again = b.add(replace(ALL[name], **({"against": ("ground",)} if ALL[name].what == "contact" else {}))).build()
    one = again.elements[ALL[name].section][name]
    if ALL[name].what != "contact":
        assert list(one.digest()) == list(ALL[name].digest())


def test_sections_of_elements_are_attributes_of_mechanisms_and_of_their_copies() -> None:
    for m in (M, pickle.loads(pickle.dumps(M)), copy.copy(M), copy.deepcopy(M)):
        assert digest(m) == digest(M)
        for section, items in m.elements.items():
            assert getattr(m, section) is items
        assert document_text(m) == document_text(M)
    with pytest.raises(AttributeError, match=r"no attribute 'cluches'; .* clutches, brakes"):
        print(M.cluches)


def test_elements_of_a_section_can_be_replaced() -> None:
    assert M.with_elements("loops", []).nc == 0
    assert len(M.with_elements("brakes", M.brakes[:1]).brakes) == 1
    with pytest.raises(lw.ModelError, match="Did you mean 'brakes'"):
        M.with_elements("brake", [])


def test_mechanism_sorts_constraints_by_their_properties() -> None:
    assert M.constraints == tuple(one for one in ALL.values() if isinstance(one, Constraint))
    assert M.constraints == M.frame_constraints + M.velocity_constraints
    assert {row.name for row in M.velocity_rows} <= {one.name for one in M.velocity_constraints}
    assert M.bounded == (*[M.clutches["sum"], M.brakes["brake"]], *M.ratchets)
    assert M.frame_constraints == tuple(M.loops)
    assert M.self_switching == tuple(M.latches)
    assert [one.engaged for one in M.frame_constraints] == [1.0, 0.0, 1.0]
    assert [one.holonomic for one in M.constraints] == [True] * 3 + [False] * len(M.velocity_constraints)
    bounds = {one.name: one.bounds for one in M.constraints}
    assert bounds["pin"] == ((-np.inf, np.inf),) * 3
    assert bounds["sum"] == ((-10.0, 10.0),)
    assert bounds["one way"] == ((0.0, 4.0),)
    assert bounds["hold"] == ((-np.inf, np.inf),) * 6
    assert bounds["gearbox"] == ((-np.inf, np.inf),)
    assert [M.constraint_of_row(row) for row in (0, M.nc)] == ["loop 'pin'", "clutch 'sum'"]


# --- parameters ---


def other_value(one: Element, key: str) -> Any:
    """Another valid value of a parameter."""
    now = one.parameters[key]
    if key in ("engaged", "closed"):
        return 1.0 - now
    if key == "selected":
        return 3.0
    if key == "restitution":
        return 0.25
    return -now if key == "direction" else now * 0.75 + (0.3 if key in ("at", "to") else 0.0 if now.any() else 0.125)


@pytest.mark.parametrize(("name", "key"), PARAMETERS)
def test_element_with_a_changed_parameter_equals_a_new_build(name: str, key: str) -> None:
    one, value = ALL[name], other_value(ALL[name], key)
    parameter = f"{name}.{key}"
    changed = M.varied({parameter: value})
    assert digest(changed) != digest(M)
    assert np.array_equal(changed.parameters[parameter], value)
    assert digest(changed.varied({parameter: M.parameters[parameter]})) == digest(M)
    held: Any = getattr(one, key, None)
    said = Posed(value, rotation=held.offset.R) if isinstance(held, Place) else value
    new = {key: bool(said) if key in ("engaged", "closed") else said}
    other_one = replace(one, **new) if key in one.definitions() else one.varied(new)  # a number of a friction law
    anew = frame()
    for other in ALL.values():
        anew.add(other_one if other is one else other)
    found = anew.examine()[0]
    assert found is not None
    assert digest(found) == digest(changed)


def test_capacities_and_placements_are_parameters() -> None:
    wanted = {
        "sum.capacity",
        "brake.capacity",
        "one way.capacity",
        "pin.at",
        "pin.to",
        "spring.at",
        "spring.to",
        "ball.at",
    }
    assert wanted <= set(M.parameters)
    assert not {"clutch.capacity", "hold.capacity", "plain.stall_torque"} & set(M.parameters)  # they are infinite


@pytest.mark.parametrize("value", [0.0, -1.0, np.inf, np.nan])
def test_capacity_parameter_must_be_positive_and_finite(value: float) -> None:
    with pytest.raises(lw.LinkworkError, match=r"parameter 'sum\.capacity'"):
        M.with_parameters({"sum.capacity": value})


def test_keys_of_elements_that_are_not_parameters_cannot_vary() -> None:
    b = lw.Builder("ball").surface("floor", lw.Plane()).body("ball", 1.0, inertia=(1, 1, 1))
    m = b.joint("free", lw.Free(), "world", "ball").touch("skin", "ball", radius=0.1).build()
    with pytest.raises(lw.ModelError) as caught:
        lw.simulate(m, duration=0.1, parameters={"skin.radius": 0.2})
    wanted = "no parameter 'skin.radius'. The radius of contact 'skin' cannot vary; build a mechanism for each value."
    assert wanted in str(caught.value)
    assert "Did you mean" not in str(caught.value)
    with pytest.raises(lw.ModelError, match=r"Did you mean 'skin\.stiffness'"):
        lw.simulate(m, duration=0.1, parameters={"skin.stifness": 1.0})


def test_infinite_capacity_cannot_vary() -> None:
    says = "The capacity of clutch 'clutch' is infinite and cannot vary; build it with a finite value"
    with pytest.raises(lw.ModelError, match=says):
        M.with_parameters({"clutch.capacity": 3.0})
    with pytest.raises(lw.ModelError, match=says):
        lw.compile(M, parameters=["clutch.capacity"])
    with pytest.raises(lw.ModelError, match=says):
        lw.simulate(M, duration=0.1, parameters={"clutch.capacity": 3.0})


def test_parameters_with_ambiguous_names_get_the_name_of_their_section(tmp_path: Path) -> None:
    b = frame().close("a", lw.Ball(), "a", "b", at=(0, 0, 1)).close("tie", lw.Ball(), "b", "c", to=(1, 0, 0))
    m = b.spring("tie", "b", "c", at=(2, 0, 0), to=(3, 0, 0), stiffness=1.0).build()
    assert m.parameters["a.at"].tolist() == m.joints["a"].offset.p.tolist()
    assert m.parameters["loops.a.at"].tolist() == [0, 0, 1]
    assert m.parameters["tie.to"].tolist() == [1, 0, 0]
    assert m.parameters["springs.tie.to"].tolist() == [3, 0, 0]
    changed = m.with_parameters({"springs.tie.to": (4, 0, 0), "loops.a.at": (5, 0, 0)})
    assert changed.springs["tie"].to.pose.p.tolist() == [4, 0, 0]
    assert changed.loops["a"].at.pose.p.tolist() == [5, 0, 0]
    assert changed.loops["tie"].to.pose.p.tolist() == [1, 0, 0]
    assert changed.joints["a"].place.p.tolist() == m.joints["a"].place.p.tolist()
    lw.save(changed, tmp_path / "changed.toml")
    assert digest(lw.load(tmp_path / "changed.toml")) == digest(changed)
