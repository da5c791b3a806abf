"""Settings: what is read, what is refused, and what the sentences say."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phase10_training import config as config_module
from phase10_training.config import (
    ConfigError,
    build_config,
    config_digest,
    config_keys,
    config_to_dict,
    find_config,
    load_config,
    parse_override,
)


class Optimizer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    learning_rate: Annotated[float, msgspec.Meta(gt=0)] = 3e-4
    epochs: Annotated[int, msgspec.Meta(ge=1)] = 4
    schedule: Literal["constant", "linear"] = "linear"
    anneal: bool = True


class Opponent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    agent: str
    share: float = 1.0


class Clone(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    agent: str = "greedy"
    decisions: int = 1000


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str = "run"
    seed: int = 0
    hidden: tuple[int, ...] = (64, 64)
    clip: float | None = None
    optimizer: Optimizer = Optimizer()
    clone: Clone | None = None
    opponents: tuple[Opponent, ...] = ()
    weights: dict[str, float] = {}

    def __post_init__(self) -> None:
        if self.seed == 13:
            raise ValueError("seed 13 is unlucky; take another one")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\nhidden = [8]\n[optimizer]\nepochs = 2\n[[opponents]]\nagent = "greedy"\n')
    return path


def test_a_file_given_by_path_fills_the_struct(file: Path) -> None:
    settings = load_config(Settings, file)
    assert settings == Settings(
        name="mine", hidden=(8,), optimizer=Optimizer(epochs=2), opponents=(Opponent("greedy"),)
    )


def test_overrides_win_over_the_file_and_later_ones_over_earlier(file: Path) -> None:
    settings = load_config(Settings, file, ["optimizer.epochs=7", "optimizer.epochs=9", "clone.decisions=5"])
    assert settings.optimizer.epochs == 9
    assert settings.clone == Clone(decisions=5)
    assert settings.name == "mine"


def test_an_override_reaches_one_item_of_a_list(file: Path) -> None:
    settings = load_config(Settings, file, ["opponents.0.share=0.5", "hidden.0=16"])
    assert settings.opponents == (Opponent("greedy", 0.5),)
    assert settings.hidden == (16,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name=two_players", ("name", "two_players")),
        ("name=12", ("name", "12")),
        ('name="a b"', ("name", "a b")),
        ("name=a b", ("name", "a b")),
        ("name=none", ("name", "none")),
        ("name=", ("name", "")),
        ("clip=none", ("clip", None)),
        ("clip=0.2", ("clip", 0.2)),
        ("optimizer.learning_rate=1e-4", ("optimizer.learning_rate", 1e-4)),
        ("optimizer.learning_rate = 1", ("optimizer.learning_rate", 1)),
        ("optimizer.anneal=false", ("optimizer.anneal", False)),
        ("optimizer.schedule=constant", ("optimizer.schedule", "constant")),
        ("hidden=[256, 256]", ("hidden", [256, 256])),
        ("clone.agent=random:epsilon=0.1", ("clone.agent", "random:epsilon=0.1")),
        ("weights.win=2", ("weights.win", 2)),
        ("opponents.0.agent=aware", ("opponents.0.agent", "aware")),
    ],
)
def test_an_override_is_read_as_the_type_of_its_setting_wants(
    text: str, expected: tuple[str, object]
) -> None:
    assert parse_override(Settings, text) == expected


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (["optimiser.epochs=1"], "unknown key 'optimiser.epochs'.*nearest valid key is 'optimizer.epochs'"),
        (["optimizer.epoch=1"], "unknown key 'optimizer.epoch'.*nearest valid key is 'optimizer.epochs'"),
        (["learning_rate=1"], "nearest valid key is 'optimizer.learning_rate'"),
        (["sead=1"], "nearest valid key is 'seed'"),
        (["seed"], "expects section.key=value, found 'seed'"),
        (["seed=1.5"], r"'seed' in --set seed expects a whole number, found 1.5 \(float\)"),
        (["seed=true"], r"'seed' in --set seed expects a whole number, found True \(bool\)"),
        (["seed=many"], r"expects a whole number, found 'many' \(str\)"),
        (["optimizer.epochs=0"], "'optimizer.epochs' .* expects a whole number >= 1, found 0"),
        (["optimizer.learning_rate=-1"], "expects a number > 0.0, found -1"),
        (["optimizer.schedule=cosine"], "expects one of 'constant', 'linear', found 'cosine'"),
        (["optimizer=3"], r"'optimizer' .* expects a section \(a table of keys\), found 3"),
        (["hidden=[8"], "neither a TOML value nor a bare word; quote it"),
        (["hidden=[8, true]"], r"expects a whole number, found True|expects a list"),
        (
            ["weights.a=x"],
            "a value in the table 'weights' of .*mine.toml' is not valid: Expected float, got str",
        ),
        (
            ["opponents=[{}]"],
            "'opponents.0.agent' is missing in .*; set it there or with --set opponents.0.agent=",
        ),
        (["lr=1"], "nearest valid key is 'optimizer.learning_rate'"),
        (["=1"], "expects section.key=value, found '=1'"),
        (["seed=13"], "seed 13 is unlucky"),
        (["opponents.1.agent=aware"], "--set opponents.1.agent expects an index below 1, found '1'"),
        (
            ["opponents.0.agnet=aware"],
            "unknown key 'opponents.0.agnet'.*nearest valid key is 'opponents.0.agent'",
        ),
    ],
)
def test_a_wrong_override_is_refused_in_one_sentence(file: Path, overrides: list[str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence) as caught:
        load_config(Settings, file, overrides)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("seeed = 1", "unknown key 'seeed' in .*mine.toml.*nearest valid key is 'seed'"),
        ("[optimisation]\nepochs = 1", "unknown key 'optimisation'.*nearest valid key is 'optimizer'"),
        ("[optimizer]\nepoch = 1", "unknown key 'optimizer.epoch'.*'optimizer.epochs'"),
        ('[[opponents]]\nagnet = "x"', r"unknown key 'opponents.0.agnet'.*agent"),
        ("[[opponents]]\nshare = 1", r"the key 'opponents.0.agent' is missing"),
        ("seed = [", "not valid TOML: .*at end of document"),
        (
            "seed = '1'",
            r"'seed' in .*mine.toml' expects a whole number, found '1' \(str\)|expects a whole number",
        ),
        ("extends = 3", "must be a name or a path, found 3"),
        ('extends = "mine.toml"', "extends itself"),
    ],
)
def test_a_wrong_file_is_refused_in_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=sentence):
        load_config(Settings, path)


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b'name = "\xff"')
    with pytest.raises(ConfigError, match="must be UTF-8, but byte 8"):
        load_config(Settings, path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        load_config(Settings, tmp_path / "none.toml")
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(ConfigError, match="is a folder"):
        load_config(Settings, tmp_path / "folder.toml")


def test_names_are_looked_up_in_the_folder_and_a_wrong_one_names_the_nearest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "quickstart.toml").write_text("seed = 4")
    (tmp_path / "train" / "longer.toml").write_text('extends = "quickstart"\nname = "longer"')
    monkeypatch.setattr(config_module, "configs_root", lambda: tmp_path)
    assert load_config(Settings, "quickstart").seed == 4
    assert load_config(Settings, "longer") == Settings(name="longer", seed=4)
    with pytest.raises(ConfigError, match=r"no configuration named 'quikstart'.*nearest is 'quickstart'"):
        find_config("quikstart", "train")


def test_a_file_extends_another_section_by_section(file: Path) -> None:
    child = file.with_name("child.toml")
    child.write_text('extends = "mine.toml"\n[optimizer]\nlearning_rate = 0.5\n')
    settings = load_config(Settings, child)
    assert settings.optimizer == Optimizer(learning_rate=0.5, epochs=2)
    assert settings.name == "mine"


def test_every_setting_has_a_key() -> None:
    assert config_keys(Settings)[:6] == [
        "name", "seed", "hidden", "clip", "optimizer.learning_rate", "optimizer.epochs",
    ]  # fmt: skip
    assert "clone.agent" in config_keys(Settings)


settings_strategy = st.builds(
    Settings,
    name=st.text(),
    seed=st.integers(14, 2**62),
    hidden=st.lists(st.integers(1, 9)).map(tuple),
    clip=st.none() | st.floats(0, 1),
    clone=st.none() | st.builds(Clone, agent=st.text(), decisions=st.integers(0, 9)),
    weights=st.dictionaries(st.text(), st.floats(0, 1)),
)


@given(settings_strategy)
def test_settings_survive_being_made_plain(settings: Settings) -> None:
    assert build_config(Settings, config_to_dict(settings)) == settings


@given(settings_strategy, settings_strategy)
def test_the_digest_tells_different_settings_apart(one: Settings, other: Settings) -> None:
    assert (config_digest(one) == config_digest(other)) == (config_to_dict(one) == config_to_dict(other))


def test_the_digest_does_not_depend_on_the_order_of_keys() -> None:
    one, other = Settings(weights={"a": 1.0, "b": 2.0}), Settings(weights={"b": 2.0, "a": 1.0})
    assert config_digest(one) == config_digest(other)
    assert len(config_digest(one)) == 64


@given(st.text(), st.text())
def test_any_override_text_is_taken_or_refused_with_a_config_error(key: str, value: str) -> None:
    try:
        name, _ = parse_override(Settings, f"{key}={value}")
    except ConfigError:
        return
    assert name.split(".")[0] in {
        "name",
        "seed",
        "hidden",
        "clip",
        "optimizer",
        "clone",
        "opponents",
        "weights",
    }
