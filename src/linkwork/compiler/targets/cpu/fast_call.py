"""Fast calls on one state from Python, in less than a microsecond, through a machine-code entry function.

The entry function takes the kernel's arguments as contiguous float64 arrays of one state, through Python's buffer
protocol. It allocates the result, runs the kernel and checks that every number is finite. In all other cases (batches,
lists, keywords, wrong shapes, a non-finite result) it calls an ordinary Python function, which computes the result or
raises an error.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from linkwork.compiler.kernel_cache import digest, stored
from linkwork.compiler.targets.cpu.code_loader import Loaded, identity, object_code, processor, python_api
from linkwork.compiler.targets.target_interface import OneStateCall
from linkwork.spatial.scalar import Array

# Constants of Python's C API
METH_FASTCALL_KEYWORDS = 0x0080 | 0x0002
READ, WRITE = 0x3C, 0x3D  # PyBUF_FORMAT | PyBUF_C_CONTIGUOUS, and writable
VIEW_BYTES = 80  # size of a Py_buffer (64 bit)
API = (
    "PyTuple_GetItem",
    "PyLong_AsVoidPtr",
    "PyObject_GetBuffer",
    "PyBuffer_Release",
    "PyErr_Clear",
    "PyObject_CallObject",
    "PyObject_Vectorcall",
    "Py_DecRef",
)

MAX_ARRAYS = 8  # largest number of array arguments; no method of `Dynamics` has as many

# Offsets in Py_buffer (64 bit): buf 0, len 16, ndim 36, format 40, shape 48.
# `self` is a tuple that owns everything pointed to. Its first item is the address of a record of words: the number of
# arrays, `run`, workspace, np.empty, its arguments, the general function, the iteration counts, then for each array its
# bytes, number of axes and first axis.
TEXT = f"""
declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyLong_AsVoidPtr(ptr)
declare i32 @PyObject_GetBuffer(ptr, ptr, i32)
declare void @PyBuffer_Release(ptr)
declare void @PyErr_Clear()
declare ptr @PyObject_CallObject(ptr, ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare void @Py_DecRef(ptr)

define internal i1 @fits(ptr %view, ptr %wanted) {{
  %len.p = getelementptr i8, ptr %view, i64 16
  %len = load i64, ptr %len.p
  %ndim.p = getelementptr i8, ptr %view, i64 36
  %ndim.i = load i32, ptr %ndim.p
  %ndim = sext i32 %ndim.i to i64
  %format.p = getelementptr i8, ptr %view, i64 40
  %format = load ptr, ptr %format.p
  %letters = load i16, ptr %format, align 1
  %bytes.w = load i64, ptr %wanted
  %ndim.w.p = getelementptr i64, ptr %wanted, i64 1
  %ndim.w = load i64, ptr %ndim.w.p
  %first.w.p = getelementptr i64, ptr %wanted, i64 2
  %first.w = load i64, ptr %first.w.p
  %a = icmp eq i64 %len, %bytes.w
  %b = icmp eq i64 %ndim, %ndim.w
  %c = icmp eq i16 %letters, 100
  %ab = and i1 %a, %b
  %abc = and i1 %ab, %c
  br i1 %abc, label %shape, label %no
shape:
  %shape.p = getelementptr i8, ptr %view, i64 48
  %dims = load ptr, ptr %shape.p
  %first = load i64, ptr %dims
  %d = icmp eq i64 %first, %first.w
  ret i1 %d
no:
  ret i1 false
}}

define internal void @release_all(ptr %views, i64 %count) {{
start:
  br label %next
next:
  %left = phi i64 [ %count, %start ], [ %k, %one ]
  %none = icmp eq i64 %left, 0
  br i1 %none, label %done, label %one
one:
  %k = sub i64 %left, 1
  %offset = mul i64 %k, {VIEW_BYTES}
  %view = getelementptr i8, ptr %views, i64 %offset
  call void @PyBuffer_Release(ptr %view)
  br label %next
done:
  ret void
}}

define ptr @entry(ptr %self, ptr %args, i64 %nargs, ptr %keywords) {{
start:
  %views = alloca [{VIEW_BYTES * (MAX_ARRAYS + 1)} x i8], align 16
  %pointers = alloca [{MAX_ARRAYS} x ptr], align 16
  %strides = alloca [{MAX_ARRAYS} x i64], align 16
  %results = alloca ptr
  %address = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %info = call ptr @PyLong_AsVoidPtr(ptr %address)
  %count = load i64, ptr %info
  %general.p = getelementptr i64, ptr %info, i64 5
  %general = load ptr, ptr %general.p
  %same = icmp eq i64 %nargs, %count
  %plain = icmp eq ptr %keywords, null
  %ok = and i1 %same, %plain
  br i1 %ok, label %next, label %general.call

next:
  %k = phi i64 [ 0, %start ], [ %k1, %fit ]
  %all = icmp eq i64 %k, %count
  br i1 %all, label %result, label %one
one:
  %arg.p = getelementptr ptr, ptr %args, i64 %k
  %arg = load ptr, ptr %arg.p
  %offset = mul i64 %k, {VIEW_BYTES}
  %view = getelementptr i8, ptr %views, i64 %offset
  %failed = call i32 @PyObject_GetBuffer(ptr %arg, ptr %view, i32 {READ})
  %bad = icmp ne i32 %failed, 0
  br i1 %bad, label %clear, label %got
got:
  %k1 = add i64 %k, 1
  %three = mul i64 %k, 3
  %at = add i64 %three, 7
  %wanted = getelementptr i64, ptr %info, i64 %at
  %good = call i1 @fits(ptr %view, ptr %wanted)
  br i1 %good, label %fit, label %release
fit:
  %data = load ptr, ptr %view
  %pointer.p = getelementptr ptr, ptr %pointers, i64 %k
  store ptr %data, ptr %pointer.p
  %stride.p = getelementptr i64, ptr %strides, i64 %k
  store i64 0, ptr %stride.p
  br label %next

clear:
  call void @PyErr_Clear()
  br label %release
release:
  %acquired = phi i64 [ %k, %clear ], [ %k1, %got ], [ %count, %broken ]
  call void @release_all(ptr %views, i64 %acquired)
  br label %general.call
general.call:
  %found = call ptr @PyObject_Vectorcall(ptr %general, ptr %args, i64 %nargs, ptr %keywords)
  ret ptr %found

result:
  %empty.p = getelementptr i64, ptr %info, i64 3
  %empty = load ptr, ptr %empty.p
  %empty.args.p = getelementptr i64, ptr %info, i64 4
  %empty.args = load ptr, ptr %empty.args.p
  %out = call ptr @PyObject_CallObject(ptr %empty, ptr %empty.args)
  %no.out = icmp eq ptr %out, null
  br i1 %no.out, label %clear.out, label %made
clear.out:
  call void @PyErr_Clear()
  br label %broken
made:
  %out.view = getelementptr i8, ptr %views, i64 {VIEW_BYTES * MAX_ARRAYS}
  %no.view = call i32 @PyObject_GetBuffer(ptr %out, ptr %out.view, i32 {WRITE})
  %unseen = icmp ne i32 %no.view, 0
  br i1 %unseen, label %drop.clear, label %run
drop.clear:
  call void @PyErr_Clear()
  br label %drop
run:
  %out.data = load ptr, ptr %out.view
  %code.p = getelementptr i64, ptr %info, i64 1
  %code = load ptr, ptr %code.p
  %workspace.p = getelementptr i64, ptr %info, i64 2
  %workspace = load ptr, ptr %workspace.p
  %counts.p = getelementptr i64, ptr %info, i64 6
  %counts = load ptr, ptr %counts.p
  store ptr %out.data, ptr %results
  %sum = call double %code(i64 0, i64 1, i64 0, ptr %workspace, ptr %pointers, ptr %strides, ptr %counts, ptr %results)
  call void @PyBuffer_Release(ptr %out.view)
  %finite = fcmp oeq double %sum, 0.0
  br i1 %finite, label %finish, label %drop
drop:
  call void @Py_DecRef(ptr %out)
  br label %broken
broken:
  br label %release

finish:
  call void @release_all(ptr %views, i64 %count)
  ret ptr %out
}}
"""


class _MethodDefinition(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("method", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Owner(tuple[Any, ...]):
    """Tuple that keeps alive all objects whose addresses a fast function uses; it is the function's `__self__`.

    Pickling the tuple stores, instead of its items, the object (such as a `Dynamics`) whose method the fast function
    replaces. Unpickling the fast function therefore gives the ordinary method of that object.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _same, (self[4].__self__,)


def _same(item: Any) -> Any:
    """Return `item` unchanged; used to unpickle `_Owner` as the object whose method a fast function replaces."""
    return item


@cache
def _entry() -> tuple[Loaded, int]:
    """Return the loaded machine-code entry function that all kernels share, and its address.

    The code is cached on disk.
    """
    code = stored(digest("entry", TEXT, identity(processor())), lambda: object_code(TEXT))
    loaded = Loaded(code, "entry", python_api(*API))
    return loaded, loaded.address


def fast_call(call: OneStateCall, run: int, workspace: Array, owner: object) -> Callable[..., Any]:
    """Return a built-in function that runs machine code on one state, and calls `call.general` for other arguments.

    `run` is the address of the code, valid as long as `owner` exists. `workspace` is the temporary memory of the code;
    all calls can share it, because they hold the GIL.
    """
    empty_arguments = (call.result,)
    counts = np.array(call.counts, dtype=np.int64)
    record = [len(call.shapes), run, workspace.ctypes.data, id(np.empty), id(empty_arguments), id(call.general)]
    record.append(counts.ctypes.data)
    for shape in call.shapes:
        record += [8 * math.prod(shape), len(shape), shape[0]]
    words = np.array(record, dtype=np.int64)
    definition = _MethodDefinition(call.name.encode(), _entry()[1], METH_FASTCALL_KEYWORDS, call.doc.encode())
    create = ctypes.pythonapi.PyCFunction_NewEx
    create.restype, create.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    owned = _Owner((words.ctypes.data, owner, workspace, empty_arguments, call.general, words, definition, counts))
    return create(ctypes.addressof(definition), owned, None)
