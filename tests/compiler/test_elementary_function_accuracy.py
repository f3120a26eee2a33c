"""The compiled elementary functions against mpmath, at their special values, and bit for bit at every width."""

import ctypes
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import llvmlite.ir as ir
import numpy as np
import pytest
from numpy.typing import NDArray

from linkwork.compiler.targets.cpu.vector_math import FORMULAS, LIMIT, math_function

mpmath: Any = pytest.importorskip("mpmath")
mp: Any = mpmath.mp

Reals = NDArray[Any]
NAMES = sorted(FORMULAS.keys() - {"uniforms"})  # whose bits are tested where the plain text is
WIDTHS = (1, 2, 4, 8)
ULPS = {"sincos": 2.0, "tan": 4.0, "asin": 4.0, "acos": 4.0, "atan2": 4.0, "exp": 2.0, "log": 2.0}
EXACT = {name: [getattr(mp, part) for part in (("sin", "cos") if name == "sincos" else (name,))] for name in NAMES}
POSITIVE = [0.0, 5e-324, 2.0**-1022, 1e-9, 0.5, 1.0, 2.0, 1e4, math.nextafter(LIMIT, 0.0), LIMIT, 1e300, math.inf]
SPECIAL = np.array([*POSITIVE, *(-x for x in POSITIVE), math.nan])
SPECIAL_Y, SPECIAL_X = (grid.ravel() for grid in np.meshgrid(SPECIAL, SPECIAL))


@cache
def compiled(name: str, width: int, level: int = 3) -> Callable[..., list[Reals]]:
    """Return the compiled function over arrays: a loop that loads `width` numbers at a time.

    It is optimised to the level `level`.
    """
    module = ir.Module()
    function: Any = math_function(module, name, width)
    n_in, n_out = len(function.args), 2 if name == "sincos" else 1
    double, index, pointer = ir.DoubleType(), ir.IntType(64), ir.PointerType()
    loop: Any = ir.Function(module, ir.FunctionType(ir.VoidType(), [pointer] * (n_in + n_out) + [index]), "loop")
    start, body, end = (loop.append_basic_block() for _ in range(3))
    builder: Any = ir.IRBuilder(start)
    builder.branch(body)
    builder.position_at_end(body)
    i = builder.phi(index)
    places = [builder.gep(array, [i], source_etype=double) for array in loop.args[:-1]]
    type_ = function.args[0].type
    result = builder.call(function, [builder.load(place, typ=type_, align=8) for place in places[:n_in]])
    for k, place in enumerate(places[n_in:]):
        builder.store(builder.extract_value(result, k) if n_out == 2 else result, place, align=8)
    following = builder.add(i, index(width))
    i.add_incoming(index(0), start)
    i.add_incoming(following, body)
    builder.cbranch(builder.icmp_signed("<", following, loop.args[-1]), body, end)
    builder.position_at_end(end)
    builder.ret_void()

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    parsed: Any = llvm.parse_assembly(str(module))
    parsed.verify()
    features = llvm.get_host_cpu_features().flatten()
    machine: Any = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=level, jit=True
    )
    passes: Any = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(level))
    passes.getModulePassManager().run(parsed, passes)
    engine: Any = llvm.create_mcjit_compiler(parsed, machine)
    engine.finalize_object()
    signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (n_in + n_out), ctypes.c_int64)
    call = signature(engine.get_function_address("loop"))

    def over_arrays(*arguments: Reals, keep: Any = engine) -> list[Reals]:
        n = len(arguments[0])
        padded = [np.append(x, np.zeros(-n % width)) for x in arguments]
        results = [np.empty_like(padded[0]) for _ in range(n_out)]
        call(*(array.ctypes.data for array in padded + results), len(padded[0]))
        return [r[:n] for r in results]

    return over_arrays


def random_with_sign(rng: np.random.Generator, low: float, high: float, n: int) -> Reals:
    """Log-uniform magnitudes from low to high with random signs."""
    return np.exp(rng.uniform(math.log(low), math.log(high), n)) * rng.choice([-1.0, 1.0], n)


def some_ulps_off(rng: np.random.Generator, x: Reals) -> Reals:
    """Doubles at most three ulps from x."""
    return (x.view(np.int64) + rng.integers(-3, 4, x.shape)).view(np.float64)


@cache
def points(name: str) -> list[Reals]:
    """About twenty thousand points of the function's domain where errors can be large, as a list of arguments."""
    rng = np.random.default_rng(20)
    if name in ("sincos", "tan"):
        quarter_turns = some_ulps_off(rng, np.arange(1, 60_000, 25) * (math.pi / 2))
        eighth_turns = some_ulps_off(rng, np.arange(0.5, 60_000, 25) * (math.pi / 2))
        border = LIMIT + np.arange(-500, 500) * np.spacing(LIMIT)
        tiny, usual, far = ((1e-310, 1e-3, 1000), (1e-3, LIMIT, 6000), (LIMIT, 1.7e308, 1000))
        drawn = [random_with_sign(rng, *span) for span in (tiny, usual, far)]
        return [np.concatenate([rng.uniform(-4.0, 4.0, 7000), quarter_turns, -eighth_turns, border, *drawn])]
    if name in ("asin", "acos"):
        near_one = 1.0 - np.abs(random_with_sign(rng, 1e-16, 0.5, 4000))
        near_half = rng.uniform(0.49, 0.52, 4000)
        inside = rng.uniform(-1.0, 1.0, 8000)
        return [np.concatenate([inside, near_one, -near_one, near_half, random_with_sign(rng, 1e-310, 1.0, 2000)])]
    if name == "exp":
        drawn = random_with_sign(rng, 1e-310, 700.0, 4000)
        ranges = ((-1.0, 1.0, 6000), (-745.0, 709.7, 6000), (-745.2, -708.0, 3000), (709.0, 709.78, 1000))
        return [np.concatenate([drawn, *(rng.uniform(*span) for span in ranges)])]
    if name == "log":
        denormal = rng.integers(1, 2**52, 2000) * 5e-324
        near_one = 1.0 + random_with_sign(rng, 1e-16, 0.5, 6000)
        every = np.abs(random_with_sign(rng, 5e-324, 1.7e308, 6000))
        return [np.concatenate([denormal, near_one, every, rng.uniform(0.5, 2.0, 6000)])]
    y, x = (random_with_sign(rng, 5e-324, 1.7e308, 4000) for _ in range(2))
    r, angle = np.abs(random_with_sign(rng, 1e-300, 1e300, 10_000)), rng.uniform(-math.pi, math.pi, 10_000)
    scale, ratio = random_with_sign(rng, 1e-300, 1e300, 6000), random_with_sign(rng, 0.4, 2.5, 6000)
    denormals = rng.integers(-99, 99, (2, 1000)) * 5e-324
    return [
        np.concatenate([y, r * np.sin(angle), scale * ratio, denormals[0]]),
        np.concatenate([x, r * np.cos(angle), scale, denormals[1]]),
    ]


def specials(name: str) -> list[Reals]:
    return [SPECIAL_Y, SPECIAL_X] if name == "atan2" else [SPECIAL]


def with_specials(name: str) -> list[Reals]:
    """Return test points and special values in random order, so that each kind has neighbours of all kinds."""
    every = [np.append(x, np.tile(special, 20)) for x, special in zip(points(name), specials(name), strict=True)]
    order = np.random.default_rng(5).permutation(len(every[0]))
    return [x[order] for x in every]


def assert_same_bits(a: list[Reals], b: list[Reals]) -> None:
    for one, other in zip(a, b, strict=True):
        differ = (one.view(np.int64) != other.view(np.int64)) & ~(np.isnan(one) & np.isnan(other))
        assert not differ.any(), (one[differ][:5], other[differ][:5])


def ulps_off(got: float, exact: Any) -> float:
    """Distance from an exact number in units in the last place of a double of its size."""
    if exact == 0:
        return 0.0 if got == 0 else math.inf
    return abs(float(mp.ldexp(mp.mpf(got) - exact, -max(mp.mag(exact) - 53, -1074))))


@pytest.mark.parametrize("name", NAMES)
def test_errors_of_elementary_functions_are_at_most_a_few_ulps(name: str) -> None:
    arguments = points(name)
    assert len(arguments[0]) > 19_000
    with mp.workprec(120):
        for results, exact in zip(compiled(name, 4)(*arguments), EXACT[name], strict=True):
            rows = zip(results.tolist(), *(x.tolist() for x in arguments), strict=True)
            worst = max((ulps_off(got, exact(*map(mp.mpf, at))), *at) for got, *at in rows)
            assert worst[0] <= ULPS[name], worst


@pytest.mark.parametrize("name", NAMES)
def test_elementary_functions_give_the_same_bits_at_every_vector_width_and_optimisation_level(name: str) -> None:
    arguments = with_specials(name)
    expected = compiled(name, 1)(*arguments)
    for width in WIDTHS:
        for level in (0, 3):
            assert_same_bits(compiled(name, width, level)(*arguments), expected)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", NAMES)
def test_elementary_functions_give_the_same_bits_in_every_lane_beside_any_neighbours(name: str, width: int) -> None:
    arguments = with_specials(name)
    expected = compiled(name, width)(*arguments)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(arguments[0]))
        assert_same_bits(compiled(name, width)(*(x[order] for x in arguments)), [r[order] for r in expected])


@pytest.mark.parametrize("name", NAMES)
def test_elementary_functions_of_special_values_match_the_c_library(name: str) -> None:
    """NaN where NumPy gives NaN, the same signed zeros and infinities, and close values elsewhere."""
    of_numpy: dict[str, Callable[..., Any]] = {
        "sincos": lambda x: (np.sin(x), np.cos(x)),
        "asin": np.arcsin,
        "acos": np.arccos,
        "atan2": np.arctan2,
    }
    with np.errstate(all="ignore"):
        reference = of_numpy.get(name) or getattr(np, name)
        expected = reference(*specials(name))
    for result, value in zip(
        compiled(name, 4)(*specials(name)), expected if name == "sincos" else [expected], strict=True
    ):
        numbers = ~np.isnan(value)
        np.testing.assert_array_equal(np.isnan(result), np.isnan(value))
        np.testing.assert_array_equal(np.signbit(result[numbers]), np.signbit(value[numbers]))
        np.testing.assert_array_max_ulp(result[numbers], value[numbers], maxulp=4)


def test_elementary_functions_are_exact_at_arguments_with_known_results() -> None:
    def at(name: str, *x: float) -> list[float]:
        return [float(r[0]) for r in compiled(name, 4)(*(np.array([v]) for v in x))]

    assert at("sincos", 0.0) == [0.0, 1.0]
    assert at("exp", 0.0) == [1.0]
    assert at("log", 1.0) == [0.0]
    assert at("acos", 1.0) == [0.0]
    assert at("acos", -1.0) == at("atan2", 0.0, -1.0) == [math.pi]
    assert at("asin", 1.0) == at("acos", 0.0) == at("atan2", 1.0, 0.0) == [math.pi / 2]
    assert at("atan2", math.inf, math.inf) == at("atan2", 3e-324, 3e-324) == at("atan2", 1e308, 1e308) == [math.pi / 4]


@pytest.mark.parametrize("name", ["sincos", "tan", "asin", "atan2"])
def test_elementary_odd_functions_and_the_cosine_are_symmetric_to_the_last_bit(name: str) -> None:
    first, *others = with_specials(name)
    odd, *even = compiled(name, 4)(first, *others)
    assert_same_bits(compiled(name, 4)(-first, *others), [-odd, *even])


def test_atan2_is_scale_invariant_at_the_limits_of_doubles() -> None:
    y, x = random_with_sign(np.random.default_rng(1), 0.1, 1.99, 4000).reshape(2, -1)
    for scale in (2.0**-1000, 2.0**1023):
        assert_same_bits(compiled("atan2", 4)(scale * y, scale * x), compiled("atan2", 4)(y, x))


def test_compiled_exp_overflows_to_infinity_and_underflows_to_zero() -> None:
    (result,) = compiled("exp", 4)(np.array([709.79, 1e4, -745.2, -1e4, -745.0, -720.0]))
    np.testing.assert_array_equal(result, [math.inf, math.inf, 0.0, 0.0, 5e-324, math.exp(-720.0)])


@pytest.mark.parametrize("name", NAMES)
def test_llvm_module_defines_each_elementary_function_once_with_internal_linkage(name: str) -> None:
    module = ir.Module()
    function: Any = math_function(module, name, 4)
    assert math_function(module, name, 4) is function
    assert function.name == f"lw.{name}.4"
    assert function.linkage == "internal"
    assert "nounwind" in function.attributes
