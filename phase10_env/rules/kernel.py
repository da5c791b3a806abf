"""The one place that touches Numba: compile options, the source-keyed cache, and compile messages.

A *kernel* is a plain function of records and arrays that Numba compiles. Kernels allocate nothing, raise
nothing and use no strings, so that the same source also compiles for a GPU.

Numba's own on-disk cache does not notice a change in a function imported from another file and would silently
run the old code. The cache therefore lives in a folder named by the hash of every source file that holds
kernels: change one character in any of them and all kernels are compiled afresh.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

__all__ = ["KERNELS", "announce", "cache_folder", "is_cold", "kernel", "kernel_sources"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

_PACKAGE = Path(__file__).resolve().parent.parent

KERNELS: list[Any] = []
"""Every compiled function, in order of definition (tests assert one signature for each)."""

_announced = False


def kernel_sources() -> list[Path]:
    """Return the source files that may hold kernels, in a fixed order.

    >>> any(path.name == "step.py" for path in kernel_sources())
    True
    """
    agents = sys.modules.get("phase10_agents")
    folders = [_PACKAGE / "rules", _PACKAGE]
    beside = _PACKAGE.parent / "agents" / "phase10_agents"
    if agents is not None and agents.__file__ is not None:
        beside = Path(agents.__file__).resolve().parent
    elif not beside.is_dir():
        beside = _PACKAGE.parent / "phase10_agents"
    folders.append(beside)
    return [path for folder in folders if folder.is_dir() for path in sorted(folder.glob("*.py"))]


def _cache_root() -> Path:
    chosen = os.environ.get("PHASE10_CACHE_DIR") or os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "phase10_env"


def _digest() -> str:
    digest = hashlib.sha256(f"{numba.__version__} {sys.version_info[:2]}".encode())
    for path in kernel_sources():
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


_folder: Path | None = None


def cache_folder() -> Path:
    """Return the folder that holds the compiled kernels of exactly this source.

    >>> len(cache_folder().name)
    16
    """
    global _folder  # computed once: the source cannot change under a running process
    if _folder is None:
        _folder = _cache_root() / _digest()
    return _folder


def is_cold() -> bool:
    """Tell whether the kernels of this source have never been compiled on this machine."""
    return not any(cache_folder().rglob("*.nbc")) if cache_folder().is_dir() else True


def announce() -> None:
    """Say once, on stderr, that a first use compiles (about half a minute)."""
    global _announced  # said once a process
    if not _announced and is_cold() and not numba.config.DISABLE_JIT:
        sys.stderr.write("phase10_env: compiling the kernels, once for this version (under a minute) ...\n")
    _announced = True


def kernel(function: _Function) -> _Function:
    """Compile a function with the project's options, cached under `cache_folder()`.

    Returns:
        The Numba dispatcher, or the plain function under `NUMBA_DISABLE_JIT=1`.
    """
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_folder())
    try:
        compiled = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    finally:
        numba.config.CACHE_DIR = previous
    KERNELS.append(compiled)
    return compiled  # type: ignore[no-any-return]  # numba has no types
