"""Elementary functions as LLVM IR on vectors of `width` doubles, with the same bits at every width.

LLVM vectorises + - * / and square roots but calls the C library for a sine, lane by lane. The functions here consist of
IEEE operations, fused multiply-adds, integer operations and selections only, without fast-math flags: the result of a
lane does not depend on the width, its neighbours or the optimiser. (The payload of a NaN is not specified.)

Errors in units in the last place, the largest seen on tens of millions of points of each function (against 80-bit
arithmetic, the worst confirmed with mpmath):

    sincos  1.50 (|x| < 1e5)    exp  0.92 (denormal results included)    asin  2.24    atan2  2.01
    tan     3.03 (|x| < 1e5)    log  0.85 (denormal arguments included)  acos  1.18

For |x| above 1e5, sincos and tan call the C library in a rarely taken branch; all other code has no branches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import llvmlite.ir as ir

from linkwork.compiler.graph import bits_of
from linkwork.spatial.random_numbers import LARGEST, WORD, philox

# The polynomials are our own minimax fits: Remez exchange with 200-bit arithmetic on the relative error of the whole
# function. Coefficients were rounded to double one by one from the lowest power, with the others fitted again each time
# (those of EXP all at once). Beside each: the function, its interval and the largest relative error of the rounded fit.

# fmt: off
# sin r = r + r³ S(r²), |r| <= pi/4: 3.7e-18
SIN = (
    -0.1666666666666663, 0.00833333333332184, -0.00019841269829358528, 2.755731353851399e-06, -2.505073438913791e-08,
    1.5895433278990664e-10,
)
# cos r = C(r²), |r| <= pi/4, the first two given: 5.7e-20
COS = (
    1.0, -0.5, 0.041666666666666595, -0.001388888888887334, 2.4801587288999782e-05, -2.7557314216169657e-07,
    2.0875705255563052e-09, -1.135874100533834e-11,
)
# exp r = E(r), |r| <= (ln 2)/2, the first two given: 1.1e-17
EXP = (
    1.0, 1.0, 0.5000000000000011, 0.16666666666666413, 0.041666666666530155, 0.008333333333494468,
    0.001388888894363006, 0.00019841269506560536, 2.4801493098985656e-05, 2.755758639144247e-06,
    2.7630248346806857e-07, 2.5000055752202335e-08,
)
# 2 artanh s = 2 s + s³ L(s²), |s| <= (√2 - 1)/(√2 + 1): 1.2e-18
LOG = (
    0.6666666666666734, 0.3999999999941694, 0.2857142874193166, 0.2222219861638745, 0.1818356223141399,
    0.1531410086848936, 0.14795475033829578,
)
# arcsin t = t + t³ A(t²), 0 <= t <= 1/2: 1.5e-17
ASIN = (
    0.16666666666665408, 0.07500000000337143, 0.044642856828216414, 0.03038195914179019, 0.02237175793051488,
    0.017359706627988105, 0.01388521655572271, 0.012169338738027226, 0.006527413665272419, 0.01952983346090916,
    -0.016226761469069574, 0.03191402131546124,
)
# arctan t = t + t³ B(t²), |t| <= 1/2: 4.0e-18
ATAN = (
    -0.3333333333333298, 0.19999999999903104, -0.14285714276384875, 0.1111111065957386, -0.09090896242764998,
    0.07692073876344763, -0.06663810201722904, 0.058582958483563145, -0.05121991183659999, 0.041864609858727544,
    -0.02743422123284722, 0.010116317616268331,
)
# fmt: on

# Constants as unevaluated sums of doubles: the first is the rounded number, each next one the remainder.
HALF_PI = (math.pi / 2, 6.123233995736766e-17, -1.4973849048591698e-33)
LN_2 = (0.6931471805599453, 2.3190468138462996e-17)

LIMIT = 1e5  # largest argument of the reduction by HALF_PI; the C library computes larger ones
ROUND = 1.5 * 2.0**52  # x + ROUND is rounded to an integer, whose two's complement is in the low bits of the sum


def _operator(real: str, whole: str = "", *relation: str) -> Callable[[Lanes, Lanes | float], Lanes]:
    """Return a Python operator for `Lanes` that calls the method `real` of LLVM's IR builder for doubles.

    For integers it calls the method `whole`, if given. `relation` is the first argument of a comparison, such as "<".
    """

    def operate(self: Lanes, other: Lanes | float) -> Lanes:
        instruction = getattr(self.builder, real if self.is_real or not whole else whole)
        return Lanes(self.builder, instruction(*relation, self.value, self.like(other)))

    return operate


class Lanes:
    """An LLVM IR value with one or several SIMD lanes (doubles, 64-bit words or truth values) and Python operators.

    A plain number as the other operand has the same value in every lane. Comparisons with a NaN are false.
    """

    def __init__(self, builder: ir.IRBuilder, value: Any):
        self.builder, self.value, self.type = builder, value, value.type
        self.width = value.type.count if isinstance(value.type, ir.VectorType) else 1
        self.is_real = _lanes(ir.DoubleType(), self.width) == value.type

    def like(self, number: Lanes | float) -> Any:
        """Return an IR constant of this value's type with `number` in every lane; an IR value is returned unchanged."""
        if isinstance(number, Lanes):
            return number.value
        if self.is_real and worth_a_vector(number, self.width):
            return self.builder.load(constant_vector(self.builder.module, number, self.width))
        return ir.Constant(self.type, number)

    def _new(self, value: Any) -> Lanes:
        return Lanes(self.builder, value)

    __add__ = __radd__ = _operator("fadd", "add")
    __sub__ = _operator("fsub", "sub")
    __mul__ = __rmul__ = _operator("fmul", "mul")
    __truediv__ = _operator("fdiv")
    __and__ = _operator("and_")
    __or__ = _operator("or_")
    __xor__ = _operator("xor")
    __lshift__ = _operator("shl")
    __rshift__ = _operator("lshr")
    __lt__ = _operator("fcmp_ordered", "icmp_signed", "<")
    __gt__ = _operator("fcmp_ordered", "icmp_signed", ">")
    __ge__ = _operator("fcmp_ordered", "icmp_signed", ">=")

    def __rsub__(self, other: float) -> Lanes:
        return self._new(self.like(other)) - self

    def __abs__(self) -> Lanes:
        return self.intrinsic("fabs")

    def intrinsic(self, name: str, *others: Lanes | float) -> Lanes:
        """Return the result of the LLVM intrinsic function `name` for this value and `others` of the same type."""
        arguments = [self.value, *(self.like(other) for other in others)]
        name = f"llvm.{name}.{'f64' if self.width == 1 else f'v{self.width}f64'}"
        callee = _declared(self.builder.module, name, ir.FunctionType(self.type, [self.type] * len(arguments)))
        return self._new(self.builder.call(callee, arguments))

    def sign_of(self, other: Lanes) -> Lanes:
        """Return the absolute value of these lanes with the sign of `other`."""
        return self.intrinsic("copysign", other)

    def flipped(self, word: Lanes) -> Lanes:
        """Return these numbers with changed sign in the lanes where the highest bit of the integer `word` is 1."""
        return (self.bits() ^ (word & -(2**63))).real()

    def bits(self) -> Lanes:
        """Return the bits of these doubles as 64-bit integers."""
        return self._new(self.builder.bitcast(self.value, _lanes(ir.IntType(64), self.width)))

    def real(self) -> Lanes:
        """Return the doubles whose bits are these 64-bit integers."""
        return self._new(self.builder.bitcast(self.value, _lanes(ir.DoubleType(), self.width)))

    def choose(self, yes: Lanes | float, no: Lanes | float) -> Lanes:
        """Return `yes` in the lanes where this truth value is true, else `no`."""
        zero = self._new(ir.Constant(_lanes(ir.DoubleType(), self.width), 0.0))
        return self._new(self.builder.select(self.value, zero.like(yes), zero.like(no)))


def worth_a_vector(number: float, width: int) -> bool:
    """Return whether a constant should be stored in memory as a whole vector of `width` doubles.

    The result is false for zero, which needs no memory, and for AVX-512, which can broadcast a number from memory.
    """
    return 1 < width < 8 and number != 0.0


def constant_vector(module: ir.Module, number: float, width: int) -> Any:
    """Return a constant of the LLVM module: a vector that repeats a number `width` times, usable as a memory operand.

    With AVX2 this took up to 7 % less time than to broadcast the numbers into registers first.
    """
    kind = _lanes(ir.DoubleType(), width)
    name = f"lw.number.{bits_of(number) % 2**64:016x}.{width}"
    found: Any = module.globals.get(name)
    if found is None:
        found = ir.GlobalVariable(module, kind, name)
        found.linkage, found.global_constant, found.unnamed_addr = "private", True, True
        found.align, found.initializer = 8 * width, ir.Constant(kind, [number] * width)
    return found


def _lanes(element: Any, width: int) -> Any:
    return element if width == 1 else ir.VectorType(element, width)


def _declared(module: ir.Module, name: str, kind: ir.FunctionType) -> Any:
    return module.globals.get(name) or ir.Function(module, kind, name)


def fma(a: Lanes, b: Lanes | float, c: Lanes | float) -> Lanes:
    """Return the fused multiply-add a b + c, rounded once."""
    return a.intrinsic("fma", b, c)


def polynomial(x: Lanes, coefficients: Sequence[float]) -> Lanes:
    """Return the value of a polynomial at x, by Horner's rule; `coefficients` begin with the lowest power."""
    *lower, before_last, last = coefficients
    value = fma(x, last, before_last)
    for coefficient in reversed(lower):
        value = fma(value, x, coefficient)
    return value


def turned(quarters: Lanes, angle: Lanes) -> Lanes:
    """Return `angle` plus `quarters` times pi/2, where pi/2 is the sum of two doubles."""
    return fma(quarters, HALF_PI[0], fma(quarters, HALF_PI[1], angle))


def power_of_two(exponent: Lanes) -> Lanes:
    """Return 2^n for the integer n, from -1022 to 1023, in the low bits of `exponent`."""
    return ((exponent + 1023) << 52).real()


def _reduced(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """Return the sine and cosine of r, and the quadrant k, where x = r + k pi/2 and |r| is at most about pi/4.

    The quadrant modulo 4 is in the lowest two bits of the third result, a 64-bit integer. Subtracting k times the first
    part of pi/2 is exact: x and the product are multiples of 2^-52 (2^-53 if x < 1), and the difference is below 1.
    Only the subtractions of the later parts round; their errors are relative to the remainder of x.
    """
    shifted = fma(x, 2.0 / math.pi, ROUND)
    k = shifted - ROUND
    r = fma(k, -HALF_PI[2], fma(k, -HALF_PI[1], fma(k, -HALF_PI[0], x)))
    z = r * r
    sine = (z > 0.0).choose(fma(r * z, polynomial(z, SIN), r), x)  # x itself for z = 0, since -0 + 0 is 0
    return sine, polynomial(z, COS), shifted.bits()


def _sincos(x: Lanes) -> list[Lanes]:
    """Return the sine and cosine of an angle x [rad], with an error of at most 2 ulp."""
    s, c, quadrant = _reduced(x)
    odd = (quadrant << 63) < 0
    sine = odd.choose(c, s).flipped(quadrant << 62)
    cosine = odd.choose(s, c).flipped((quadrant + 1) << 62)
    return _or_from_libm(x, {"sin": sine, "cos": cosine})


def _tan(x: Lanes) -> list[Lanes]:
    """Return the tangent of an angle x [rad], with an error of at most 4 ulp: s/c, and -c/s in odd quadrants."""
    s, c, quadrant = _reduced(x)
    odd = (quadrant << 63) < 0
    return _or_from_libm(x, {"tan": (odd.choose(c, s) / odd.choose(s, c)).flipped(quadrant << 63)})


def _or_from_libm(x: Lanes, near: dict[str, Lanes]) -> list[Lanes]:
    """Return the values `near`, by function name, if |x| < LIMIT; otherwise the values of the C library's functions.

    The C library is also used if x is NaN.
    """
    builder = x.builder
    is_near = abs(x) < LIMIT
    packed = ir.IntType(x.width)
    some_are_far = builder.icmp_signed("!=", builder.bitcast(is_near.value, packed), ir.Constant(packed, -1))
    start = builder.block
    with builder.if_then(some_are_far, likely=False):
        calls = [builder.call(_libm(builder.module, name, x.width), [x.value]) for name in near]
        mixed = [is_near.choose(value, Lanes(builder, call)) for value, call in zip(near.values(), calls, strict=True)]
        rare = builder.block
    results = []
    for usual, other in zip(near.values(), mixed, strict=True):
        phi: Any = builder.phi(x.type)
        phi.add_incoming(usual.value, start)
        phi.add_incoming(other.value, rare)
        results.append(Lanes(builder, phi))
    return results


def _libm(module: ir.Module, name: str, width: int) -> Any:
    """Return an IR function of `module` that calls the C library's function `name` for each of `width` lanes.

    The call is not inlined, so that the usual path is short.
    """
    double, type_ = ir.DoubleType(), _lanes(ir.DoubleType(), width)
    function = _declared(module, f"lw.libm.{name}.{width}", ir.FunctionType(type_, [type_]))
    if function.is_declaration:
        function.linkage = "internal"
        for attribute in ("cold", "noinline", "nounwind"):
            function.attributes.add(attribute)
        builder = ir.IRBuilder(function.append_basic_block())
        result = x = function.args[0]
        scalar = _declared(module, name, ir.FunctionType(double, [double]))
        if width == 1:
            result = builder.call(scalar, [x])
        for lane in [ir.IntType(32)(i) for i in range(width) if width > 1]:
            result = builder.insert_element(result, builder.call(scalar, [builder.extract_element(x, lane)]), lane)
        builder.ret(result)
    return function


def _exp(x: Lanes) -> list[Lanes]:
    """Return exp x = 2^k exp r, with an error of at most 2 ulp.

    k is the integer nearest to x / ln 2, and r = x - k ln 2. The power 2^k is multiplied in two halves, because it may
    exceed the range of doubles.
    """
    x = (x > 710.0).choose(710.0, (x < -746.0).choose(-746.0, x))  # the results beyond are inf and 0
    shifted = fma(x, 1.0 / LN_2[0], ROUND)
    k = shifted - ROUND
    r = fma(k, -LN_2[1], fma(k, -LN_2[0], x))
    half = fma(k, 0.5, ROUND).bits()
    return [polynomial(r, EXP) * power_of_two(half) * power_of_two(shifted.bits() - half)]


def _log(x: Lanes) -> list[Lanes]:
    """Return log x = e ln 2 + log(1 + f) with √½ <= 1 + f < √2, with an error of at most 2 ulp.

    The result is -inf for x = 0 and NaN for x < 0. With s = f/(2 + f): log(1 + f) = 2 artanh s = f - f²/2 + s (f²/2 +
    s² L(s²)), where the leading term f is exact.
    """
    denormal = x < 2.0**-1022
    word = denormal.choose(x * 2.0**54, x).bits() + (bits_of(1.0) - bits_of(math.sqrt(0.5)))
    biased = ((word >> 52) | bits_of(2.0**52)).real()  # the double 2^52 + 1023 + e, with the exponent e of x
    e = biased - denormal.choose(2.0**52 + 1023.0 + 54.0, 2.0**52 + 1023.0)
    f = ((word & (2**52 - 1)) + bits_of(math.sqrt(0.5))).real() - 1.0
    s = f / (2.0 + f)
    z = s * s
    half = 0.5 * f * f
    small = f - (half - fma(e, LN_2[1], s * fma(z, polynomial(z, LOG), half)))
    result = (x > 0.0).choose(fma(e, LN_2[0], small), (x < 0.0).choose(math.nan, -math.inf))
    return [(x < math.inf).choose(result, x)]


def _folded_arcsine(x: Lanes) -> tuple[Lanes, Lanes]:
    """Return whether |x| > 1/2, and an angle: arcsin √((1 - |x|)/2) if |x| > 1/2, else arcsin |x|; NaN if |x| > 1.

    For |x| > 1/2 the angle is (pi/2 - arcsin |x|)/2.
    """
    a = abs(x)
    outer = a > 0.5
    z = outer.choose(0.5 * (1.0 - a), a * a)
    t = outer.choose(z.intrinsic("sqrt"), a)
    return outer, fma(t * z, polynomial(z, ASIN), t)


def _asin(x: Lanes) -> list[Lanes]:
    """Return the arcsine [rad] of x, with an error of at most 4 ulp; NaN if |x| > 1."""
    outer, angle = _folded_arcsine(x)
    return [turned(outer.choose(1.0, 0.0), outer.choose(-2.0, 1.0) * angle).sign_of(x)]


def _acos(x: Lanes) -> list[Lanes]:
    """Return the arccosine [rad] of x, with an error of at most 4 ulp; NaN if |x| > 1.

    The result is pi/2 - arcsin x for |x| <= 1/2. With the angle b of `_folded_arcsine`, it is 2 b for x > 1/2, and pi -
    2 b for x < -1/2.
    """
    outer, angle = _folded_arcsine(x)
    return [turned(outer.choose((x < 0.0).choose(2.0, 0.0), 1.0), outer.choose(2.0, -1.0) * angle.sign_of(x))]


def _atan2(y: Lanes, x: Lanes) -> list[Lanes]:
    """Return the angle [rad] of the point (x, y) in [-pi, pi], with an error of at most 4 ulp.

    Zeros and infinities give the results of the function atan2 of C.

    The angle in the first octant is arctan(low/high); for low >= high/2 it is pi/4 + arctan((low - high)/(low + high)),
    where the numerator is exact. The result is then mirrored into its octant.
    """
    steep = abs(y) > abs(x)
    low, high = steep.choose(abs(x), abs(y)), steep.choose(abs(y), abs(x))
    high = (high > 0.0).choose(high, high + 1.0)  # avoids 0/0; NaN stays NaN
    scale = (high > 2.0**1000).choose(2.0**-4, 1.0)  # avoids overflow of low + high
    low, high = scale * low, scale * high
    diagonal = low + low >= high
    difference = (low >= high).choose(0.0, low - high)  # 0 also for inf - inf
    t = diagonal.choose(difference, low) / diagonal.choose(low + high, high)
    z = t * t
    angle = fma(t * z, polynomial(z, ATAN), t)
    backward = x.bits() < 0  # also true for -0
    quarters = diagonal.choose(0.5, 0.0)
    quarters = steep.choose(1.0 - quarters, quarters)
    quarters = backward.choose(2.0 - quarters, quarters)
    mirrored = (steep ^ backward).choose(-1.0, 1.0)
    return [turned(quarters, mirrored * angle).sign_of(y)]


def _words(x: Lanes) -> tuple[Lanes, Lanes]:
    """Return the integer x, below 2^53, as two 32-bit words, low word first."""
    high = (x * 2.0**-32).intrinsic("floor")
    low = fma(high, -(2.0**32), x)
    return (low + 2.0**52).bits() & WORD, (high + 2.0**52).bits() & WORD


def _uniform(low: Lanes, high: Lanes) -> Lanes:
    """Return a uniform random number in (0, 1) from 64 random bits: a multiple of 2^-53, or 2^-54 in place of zero.

    The bits are the words `low` and `high`, with 32 bits each; the upper 53 bits are used.
    """
    upper, lower = (((word | bits_of(2.0**52)).real() - 2.0**52) for word in (high, low >> 11))
    bits = fma(upper, 2.0**21, lower)
    return (bits > 0.5).choose(bits, 0.5) * 2.0**-53


def _uniforms(seed: Lanes, counter: Lanes, stream: Lanes) -> list[Lanes]:
    """Return the two uniform random numbers of one block of the random generator (see `spatial.random_numbers`).

    `seed`, `counter` and `stream` select the block; `stream` includes the block number. The numbers have the same bits
    as the results of `spatial.random_numbers.pair`. They are NaN if an argument is not an integer from 0 to 2^53 - 1.
    """
    a, b, c, d = philox((*_words(counter), *_words(stream)), _words(seed))
    whole = [(x.intrinsic("floor") >= x) & (x >= 0.0) & (x < LARGEST) for x in (seed, counter, stream)]
    valid = whole[0] & whole[1] & whole[2]
    return [valid.choose(_uniform(low, high), math.nan) for low, high in ((a, b), (c, d))]


ARGUMENTS = {"atan2": 2, "uniforms": 3}  # number of arguments; other functions have one
PAIRS = ("sincos", "uniforms")  # functions with two results
FORMULAS: dict[str, Callable[..., list[Lanes]]] = {
    "sincos": _sincos,
    "tan": _tan,
    "asin": _asin,
    "acos": _acos,
    "atan2": _atan2,
    "exp": _exp,
    "log": _log,
    "uniforms": _uniforms,
}


def math_function(module: ir.Module, name: str, width: int) -> ir.Function:
    """Return the IR function `lw.<name>.<width>` of an elementary function, which is created at the first call.

    It takes and returns `double` or, for a width above 1, `<width x double>`: one argument, or y and x for `atan2`, or
    seed, counter and stream for `uniforms`. `sincos` returns the pair {sine, cosine}, `uniforms` two numbers. The
    function is added to `module`.
    """
    type_ = _lanes(ir.DoubleType(), width)
    returned = ir.LiteralStructType([type_, type_]) if name in PAIRS else type_
    kind = ir.FunctionType(returned, [type_] * ARGUMENTS.get(name, 1))
    function = _declared(module, f"lw.{name}.{width}", kind)
    if function.is_declaration:
        function.linkage = "internal"
        function.attributes.add("nounwind")
        builder = ir.IRBuilder(function.append_basic_block())
        results = FORMULAS[name](*(Lanes(builder, argument) for argument in function.args))
        value: Any = results[0].value
        if len(results) == 2:
            value = ir.Constant(returned, ir.Undefined)
            for i, result in enumerate(results):
                value = builder.insert_value(value, result.value, i)
        builder.ret(value)
    return function
