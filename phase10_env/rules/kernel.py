"""The one place that touches Numba: compile options, the source-keyed cache, and compile messages.

A *kernel* is a plain function of records and arrays that Numba compiles. Kernels allocate nothing, raise
nothing and use no strings, so that the same source also compiles for a GPU.

Numba's own on-disk cache does not notice a change in a function imported from another file and would silently
run the old code. So each kernel is cached in a folder named by a hash of its own source file and of every
file that one imports, however indirectly: change a character in any of them and it is compiled afresh, while
kernels that do not depend on the file stay as they are.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba import types
from numba.extending import intrinsic

from phase10_env.rules.interpreted import interpreted

__all__ = [
    "KERNELS",
    "announce",
    "cache_root",
    "inlined_kernel",
    "kernel",
    "kernel_sources",
    "source_digest",
    "vector_kernel",
    "wide_registers",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])

_IMPORT = re.compile(
    r"^(?:from (phase10_\w+[\w.]*) import ([^\n(]*)|import (phase10_\w+[\w.]*))", re.MULTILINE
)

KERNELS: list[Any] = []
"""Every compiled function, in order of definition: for Python, then for other kernels."""

_announced = False


@cache
def _source(module: str) -> Path | None:
    """Return the file of a module of this project, without importing it."""
    parts = module.split(".")
    try:
        spec = importlib.util.find_spec(parts[0])
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent.joinpath(*parts[1:]).with_suffix(".py") if len(parts) > 1 else None
    return path if path is not None and path.is_file() else None


@cache
def _imports(module: str) -> tuple[str, ...]:
    path = _source(module)
    if path is None:
        return ()
    found = []
    for package, names, plain in _IMPORT.findall(path.read_text(encoding="utf-8")):
        if package:
            found.append(package)
            found += [
                f"{package}.{name.split(' as ')[0].strip()}" for name in names.split(",") if name.strip()
            ]
        else:
            found.append(plain)
    return tuple(name for name in found if _source(name) is not None)


@cache
def kernel_sources(module: str) -> tuple[Path, ...]:
    """Return the files on which a module's kernels depend, its own included, in a fixed order.

    >>> [path.name for path in kernel_sources("phase10_env.rules.random")]
    ['interpreted.py', 'kernel.py', 'random.py']
    """
    seen = {module}
    waiting = [module]
    while waiting:
        for name in _imports(waiting.pop()):
            if name not in seen:
                seen.add(name)
                waiting.append(name)
    return tuple(path for name in sorted(seen) if (path := _source(name)) is not None)


@cache
def source_digest(module: str) -> str:
    """Return 16 characters that change with any file on which a module's kernels depend.

    >>> len(source_digest("phase10_env.rules.step"))
    16
    """
    digest = hashlib.sha256(f"{numba.__version__} {sys.version_info[:2]}".encode())
    for path in kernel_sources(module):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def cache_root() -> Path:
    """Return the folder of all compiled kernels: PHASE10_CACHE_DIR, NUMBA_CACHE_DIR or the user's cache."""
    chosen = os.environ.get("PHASE10_CACHE_DIR") or os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "phase10_env"


def announce(module: str) -> None:
    """Say once, on stderr, that the first use of a module's kernels compiles them."""
    global _announced  # said once a process
    folder = cache_root() / source_digest(module)
    if not _announced and not numba.config.DISABLE_JIT and not folder.is_dir():
        sys.stderr.write("phase10_env: compiling the kernels, once for this version (under a minute) ...\n")
        _announced = True


def kernel(function: _Function) -> _Function:
    """Compile a function with the project's options, cached by the sources it depends on.

    Returns:
        The Numba dispatcher, or under `NUMBA_DISABLE_JIT=1` the function as plain Python.
    """
    if numba.config.DISABLE_JIT:
        made: Any = interpreted(function)
        KERNELS.append(made)
    else:
        made = _compiled(function)
    return made  # type: ignore[no-any-return]  # a dispatcher is called as its function is


def vector_kernel(function: _Function) -> _Function:
    """Compile a loop over long rows of floats: as `kernel`, and sums may be reordered, or they would not vectorise.

    It begins with `wide_registers()`, and so do such loops that it calls. With `NUMBA_DISABLE_JIT=1` it is plain NumPy.
    """
    if numba.config.DISABLE_JIT:
        return function
    return _compiled(function, fastmath={"contract", "reassoc", "nsz"})  # type: ignore[no-any-return]


def _wide_registers(_context: Any) -> Any:  # pragma: no cover - run by the compiler
    def generate(context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        # llvmlite knows attributes of one word only, and refuses others in its own `add`.
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.void(), generate


def _no_registers() -> None:
    pass


wide_registers: Callable[[], None] = _no_registers if numba.config.DISABLE_JIT else intrinsic(_wide_registers)
"""In a kernel: use registers of 512 bits where the machine has them.

Compilers keep to 256 bits on such machines, for fear of a lower clock; sums of long rows lose a quarter by that.
"""


def inlined_kernel(function: _Function) -> _Function:
    """Make a function a part of every kernel that calls it; Python cannot call it.

    For steps of a loop over rows: each array is passed as seven to ten numbers, and a dozen of arrays through
    memory, several times a decision. Nothing is compiled for the function alone.
    """
    if numba.config.DISABLE_JIT:
        return interpreted(function)  # type: ignore[return-value]
    return numba.njit(inline="always", **_OPTIONS)(function)  # type: ignore[no-any-return]


# _nrt=False: callers keep the arrays alive, and counting references to each view of a row costs an atomic
# operation, some forty a decision. It also makes allocation in a kernel an error.
_OPTIONS = {"nogil": True, "error_model": "numpy", "_nrt": False}


def _compiled(function: _Function, **options: Any) -> Any:  # pragma: no cover - coverage is taken without it
    """Return the dispatcher for calls from Python; kernels that call the function get one beside it.

    Numba compiles every kernel down to machine code, with all that it calls and with the entries from Python
    and C. Inside another kernel these entries are never used, and a function need not be compiled again for
    each width of a number: without both, the first use takes half the time.
    """
    inside = _dispatcher(function, "inside", no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)
    outside = _dispatcher(function, "", **options)
    outside.get_call_template = lambda arguments, named: inside.get_call_template(
        tuple(_widened(argument) for argument in arguments), named
    )
    outside.get_overload = inside.get_overload
    KERNELS.extend((outside, inside))
    return outside


def _dispatcher(function: _Function, folder: str, **options: Any) -> Any:  # pragma: no cover - likewise
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_root() / source_digest(function.__module__) / folder)
    try:
        # forceinline is always said: what is left open, the functions a kernel calls take over from it.
        return numba.njit(cache=True, forceinline=False, **options, **_OPTIONS)(function)
    finally:
        numba.config.CACHE_DIR = previous


def _widened(argument: Any) -> Any:  # pragma: no cover - likewise
    """Return the type in which a kernel receives a number from another one: 64 bits, whatever its width was."""
    kind = types.unliteral(argument)
    if isinstance(kind, types.Integer) and (kind.signed or kind.bitwidth < 64):
        return types.int64
    return kind
