"""Old names of arguments of `lw.discrete`, and `lw.normal`: they warn, name the new one, and give the same result."""

from typing import Any, cast

import numpy as np
import pytest

import lagrangian_systems as lg
import linkwork as lw

discrete = cast(Any, lw.discrete)  # type checkers know the new names only


def test_old_argument_names_warn_and_give_the_same_result() -> None:
    system = lw.discrete(lg.pendulum, lg.rod, method="rattle")
    new = system.run(lg.PLACE, v0=lg.SPEED, duration=0.2, dt=0.05)
    with pytest.warns(DeprecationWarning, match=r"argument 'rule' of discrete\(\) was renamed 'method'"):
        old_system = discrete(lg.pendulum, lg.rod, rule="rattle")
    assert old_system.method == "rattle"
    with pytest.warns(DeprecationWarning, match="was renamed") as warned:
        old = old_system.run(lg.PLACE, xdot0=lg.SPEED, duration=0.2, h=0.05)
    texts = {str(one.message).split(";")[0] for one in warned}
    assert texts == {f"the argument '{a}' of run() was renamed '{b}'" for a, b in (("xdot0", "v0"), ("h", "dt"))}
    assert {one.filename for one in warned} == {__file__}
    assert np.array_equal(old.x, new.x)
    assert np.array_equal(old.t, new.t)


def test_old_argument_names_work_for_single_steps_of_discrete_systems() -> None:
    system = cast(Any, lw.discrete(lg.pendulum, lg.rod))
    now = system.start(lg.PLACE, v0=lg.SPEED)
    with pytest.warns(DeprecationWarning, match="'xdot0'.*'v0'"):
        assert np.array_equal(system.start(lg.PLACE, xdot0=lg.SPEED).p, now.p)
    for name in ("step", "derivative"):
        method = getattr(system, name)
        with pytest.warns(DeprecationWarning, match=f"'h' of {name}.*'dt'"):
            old = method(now, h=0.05)
        assert all(np.array_equal(a, b) for a, b in zip(old, method(now, dt=0.05), strict=True))


def test_old_attributes_of_discrete_systems_and_runs_warn() -> None:
    system = lw.discrete(lg.pendulum, lg.rod)
    with pytest.warns(DeprecationWarning, match="'rule'.*'method'"):
        assert system.rule == system.method
    run = system.run(lg.PLACE, lg.SPEED, 0.1, 0.05)
    with pytest.warns(DeprecationWarning, match="'h'.*'dt'"):
        assert run.h == run.dt == 0.05


def test_old_and_new_name_of_an_argument_together_are_an_error() -> None:
    with pytest.raises(TypeError, match="both 'rule' and 'method'"):
        discrete(lg.pendulum, rule="rattle", method="rattle")


def test_old_name_normal_of_random_normal_still_works_and_warns() -> None:
    with pytest.warns(DeprecationWarning, match=r"lw\.normal was renamed; use lw\.random_normal") as warned:
        old = lw.normal(7, 3, 4)
    assert warned[0].filename == __file__
    assert np.array_equal(old, lw.random_normal(7, 3, 4))
    assert "normal" not in lw.__all__
    assert "normal" not in dir(lw)
