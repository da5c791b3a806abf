"""The API pages: pdoc builds them without a warning, and every public name says what it is."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pdoc.doc
import pytest

PACKAGES = ("phase10_env", "phase10_agents", "phase10_training")
NEEDS = {
    "phase10_env.compat.openspiel": "pyspiel",
    "phase10_env.compat.rllib": "ray",
}
"""Modules that cannot be imported without the library of an extra."""

RE_EXPORTING = (
    "phase10_env",
    "phase10_env.actions",
    "phase10_env.game_batch",
    "phase10_env.phase10_v0",
    "phase10_env.vector",
)
"""Modules with constants from elsewhere, where they are explained."""


def left_out() -> list[str]:
    return [name for name, library in NEEDS.items() if importlib.util.find_spec(library) is None]


def modules() -> list[str]:
    found = []
    for package in PACKAGES:
        found.append(package)
        path = importlib.import_module(package).__path__
        found += [module.name for module in pkgutil.walk_packages(path, f"{package}.")]
    return [name for name in found if name not in left_out()]


def undocumented(module: ModuleType, constants: bool) -> list[str]:
    """Return what a module makes public and does not explain."""
    submodules = {found.name for found in pkgutil.iter_modules(getattr(module, "__path__", ()))}
    names = [name for name in getattr(module, "__all__", ()) if name not in submodules]
    for name in names:
        getattr(module, name)  # what is imported on first use only is then there
    page = pdoc.doc.Module(module)
    found = [] if page.docstring else [module.__name__]
    for name in names:
        member = page.get(name)
        assert member is not None, f"{module.__name__}.__all__ names {name!r}, which is not there"
        ours = member.taken_from[0] == module.__name__ or not isinstance(member, pdoc.doc.Variable)
        if not member.docstring and ours and (constants or not isinstance(member, pdoc.doc.Variable)):
            found.append(f"{module.__name__}.{name}")
        if isinstance(member, pdoc.doc.Class):
            found += [
                f"{module.__name__}.{name}.{own.name}"
                for own in member.own_members
                if isinstance(own, pdoc.doc.Function) and not own.name.startswith("_") and not own.docstring
            ]
    return found


@pytest.mark.parametrize("name", modules())
def test_every_public_name_is_explained(name: str) -> None:
    # the constants of the rules stand in tables that their module's page and comments explain
    constants = name.startswith("phase10_env") and not name.startswith("phase10_env.rules")
    missing = undocumented(importlib.import_module(name), constants)
    if name in RE_EXPORTING:
        missing = [each for each in missing if not each.split(".")[-1].isupper()]
    assert missing == []


def test_pdoc_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pdoc", *PACKAGES, *(f"!{name}" for name in left_out())]
    result = subprocess.run(
        [*command, "--output-directory", str(tmp_path)], cwd=tmp_path, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert "warn" not in result.stderr.lower(), result.stderr
    pages = {path.relative_to(tmp_path).with_suffix("").as_posix() for path in tmp_path.rglob("*.html")}
    # a package with `__all__` shows its names, not its modules; the others show every module
    assert {
        "phase10_env/game_batch",
        "phase10_env/rules/step",
        "phase10_agents/search",
        "phase10_training/ppo",
    } <= pages
    assert len(pages) > 100
    assert "perft" in (tmp_path / "phase10_env.html").read_text(encoding="utf-8")
