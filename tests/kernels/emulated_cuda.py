"""A CuPy without a GPU: arrays in main memory, and kernels compiled by the C++ compiler.

With it `dpmic._kernels.cuda` runs its own source, search.cu, as a GPU would: ``cuda_emulator.hpp``.
"""

import ctypes
import functools
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar
from weakref import WeakValueDictionary

import numpy as np
import pytest

from dpmic._kernels import cuda

HEADER = Path(__file__).with_name("cuda_emulator.hpp")
MEMORY = 227 * 1024  # bytes of shared memory for a block
launched = set()  # the names of kernels and their options

COMPILER = shutil.which(os.environ.get("CXX", "c++"))

needs_compiler = pytest.mark.skipif(
    COMPILER is None or sys.platform != "linux", reason="needs a C++ compiler, on Linux"
)


class Array(np.ndarray):
    """An array that pretends to be far away; kernels may access all that still exist."""

    existing: ClassVar = WeakValueDictionary()

    def __array_finalize__(self, _):
        Array.existing[id(self)] = self

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)

    def get(self):
        return np.array(self)


def existing():
    """Return arrays that do not overlap: what derives from another one is a part of it."""
    return [own for own in Array.existing.values() if not isinstance(own.base, Array)]


class Kernel:
    """A compiled kernel, to be launched as CuPy's are."""

    max_dynamic_shared_size_bytes = 48 * 1024

    def __init__(self, code, options, name):
        self._name, self._run = (name, *options), compiled(code, options, name)

    def __call__(self, grid, block, task, shared_mem=0):
        launched.add(self._name)
        assert shared_mem <= self.max_dynamic_shared_size_bytes
        values = [own.data.ptr if isinstance(own, Array) else int(own or 0) for own in task]
        # Indices: thread, block, size of a block, number of blocks
        sizes = (ctypes.c_int * 8)(0, 0, 0, 0, *(*block, 1)[:2], *grid, 1)
        arrays = [(own.data.ptr, own.data.ptr + own.nbytes, 0) for own in existing()]
        problem = self._run(
            sizes,
            shared_mem,
            (ctypes.c_longlong * len(values))(*values),
            (ctypes.c_longlong * (3 * len(arrays)))(*itertools.chain(*arrays)),
            len(arrays),
        )
        assert problem is None, problem.decode()


@functools.cache
def compiled(code, options, name):
    """Compile a kernel, once for a run of the tests."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / f"{name}.cpp", Path(folder) / f"{name}.so"
        source.write_text(f'#include "{HEADER}"\n{code}\nRUN({name})\n')
        made = source.with_suffix(".o")
        command = (COMPILER, "-O1", "-w", "-fPIC", "-fsanitize=thread", *options)
        subprocess.run((*command, "-c", "-o", made, source), check=True)
        subprocess.run((COMPILER, "-shared", "-o", library, made), check=True)
        run = ctypes.CDLL(str(library)).run
    run.restype = ctypes.c_char_p
    return run


class Stream:
    """Work is done when it is started."""

    def __init__(self, *, non_blocking):
        assert non_blocking

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def synchronize(self):
        pass


def cupy(memory=MEMORY):
    """Return what `dpmic._kernels.cuda` uses of CuPy."""
    attributes = {"MaxSharedMemoryPerBlockOptin": memory}
    runtime = SimpleNamespace(getDeviceCount=lambda: 1, memGetInfo=lambda: (2**32, 2**32))
    return SimpleNamespace(
        asarray=lambda own: np.array(own, order="C").view(Array),
        zeros=lambda *shape: np.zeros(*shape).view(Array),
        empty=lambda *shape: np.full(*shape[:1], -1, *shape[1:]).view(Array),  # not zeros
        RawModule=lambda code, options=(): SimpleNamespace(
            get_function=lambda name: Kernel(code, options, name)
        ),
        cuda=SimpleNamespace(
            Stream=Stream, Device=lambda: SimpleNamespace(attributes=attributes), runtime=runtime
        ),
    )


def emulate(monkeypatch, memory=MEMORY):
    """Give `dpmic._kernels.cuda` this CuPy."""
    library = cupy(memory)
    launched.clear()
    monkeypatch.setattr(cuda, "_cupy", lambda: library)
    monkeypatch.setattr(cuda, "_own", SimpleNamespace())
    monkeypatch.setattr(cuda, "_function", functools.cache(cuda._function.__wrapped__))
    monkeypatch.setattr(cuda, "_shared_memory", lambda: memory)
