"""What is in the wheel and the source archive, and that the wheel works away from the checkout."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"phase10_env", "phase10_agents", "phase10_training"}


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    out = tmp_path_factory.mktemp("dist")
    command = [
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        "--sdist",
        "--wheel",
        "--outdir",
        str(out),
        str(ROOT),
    ]
    subprocess.run(command, check=True, capture_output=True, text=True)
    [wheel], [source] = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, source


def wheel_names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_exactly_three_packages_arrive_at_top_level(archives: tuple[Path, Path]) -> None:
    top = {name.split("/")[0] for name in wheel_names(archives[0])}
    assert {name for name in top if not name.endswith(".dist-info")} == PACKAGES


def test_each_package_says_that_it_is_typed(archives: tuple[Path, Path]) -> None:
    assert {f"{package}/py.typed" for package in PACKAGES} <= wheel_names(archives[0])


def test_every_configuration_is_shipped_inside_the_training_package(archives: tuple[Path, Path]) -> None:
    expected = {
        f"phase10_training/{path.relative_to(ROOT)}"
        for path in (ROOT / "configs").rglob("*")
        if path.suffix in (".toml", ".md")
    }
    assert expected
    assert expected <= wheel_names(archives[0])


def test_the_source_archive_is_complete(archives: tuple[Path, Path]) -> None:
    with tarfile.open(archives[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for wanted in (
        "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "constraints.txt",
        ".ci/run", "configs/README.md", "tests/packaging/test_wheel.py",
        "phase10_env/py.typed", "agents/phase10_agents/py.typed", "training/phase10_training/py.typed",
    ):  # fmt: skip
        assert wanted in names
    assert not any("__pycache__" in name or name.startswith("runs") for name in names)


def test_the_unpacked_wheel_finds_its_configurations_from_any_directory(
    archives: tuple[Path, Path], tmp_path: Path
) -> None:
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    elsewhere.mkdir()
    with zipfile.ZipFile(archives[0]) as archive:
        archive.extractall(site)
    program = (
        "import phase10_training.config as config; root = config.configs_root();"
        "print(config.__file__, root, root.joinpath('README.md').is_file(), sep='\\n')"
    )
    environment = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, "-c", program]
    result = subprocess.run(
        command, cwd=elsewhere, env=environment, check=True, capture_output=True, text=True
    )
    module, root, found = result.stdout.splitlines()
    assert Path(module).is_relative_to(site)
    assert Path(root).is_relative_to(site)
    assert found == "True"


def test_every_folder_of_modules_is_a_package() -> None:
    for root in (ROOT / "phase10_env", ROOT / "agents/phase10_agents", ROOT / "training/phase10_training"):
        for module in root.rglob("*.py"):
            assert (module.parent / "__init__.py").is_file(), f"{module.parent} lacks an __init__.py"
