"""Reads settings: TOML files by name or path, with overrides, into frozen typed structs.

A settings type is a `msgspec.Struct(frozen=True, forbid_unknown_fields=True)`; its nested structs are the
sections of the file. The key of a setting is its dotted path: `optimizer.learning_rate`.
"""

import hashlib
import importlib.resources
import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from phase10_env.names import hint, nearest
from phase10_training.errors import UsageError

__all__ = [
    "ConfigError",
    "build_config",
    "config_digest",
    "config_keys",
    "config_names",
    "config_to_dict",
    "configs_root",
    "find_config",
    "load_config",
    "parse_override",
    "read_toml",
]

T = TypeVar("T", bound=msgspec.Struct)

ANY = 0.0
"""An unknown key is always answered with the nearest valid one, near or not."""

_BARE_WORD = re.compile(r"[^\s\"'\[\]{}=#]+")


class ConfigError(UsageError):
    """Report a configuration that cannot be used, in one sentence that names the key."""


# ---------------------------------------------------------------- files


def configs_root() -> Traversable:
    """Return the folder of shipped configurations: that of the checkout, else of the installed package.

    >>> configs_root().joinpath("README.md").is_file()
    True
    """
    checkout = Path(__file__).resolve().parents[2]
    if (checkout / "configs").is_dir() and (checkout / "pyproject.toml").is_file():
        return checkout / "configs"
    return importlib.resources.files("phase10_training") / "configs"


def config_names(folder: str) -> list[str]:
    """Return the sorted names of the shipped configurations in `folder` (`train`, `tournaments`, …)."""
    root = configs_root().joinpath(folder)
    if not root.is_dir():
        return []
    return sorted(
        entry.name.removesuffix(".toml") for entry in root.iterdir() if entry.name.endswith(".toml")
    )


def find_config(name_or_path: str | os.PathLike[str], folder: str) -> Traversable:
    """Return the file meant by a shipped name (without `.toml`) or by a path.

    Args:
        name_or_path: `quickstart`, or anything that ends in `.toml` or has a path separator.
        folder: the folder under configs/ in which names are looked up.

    Raises:
        ConfigError: nothing is there; the sentence names the nearest shipped configuration.
    """
    text = os.fspath(name_or_path)
    looks_like_path = text.endswith(".toml") or "/" in text or os.sep in text
    if looks_like_path:
        path = Path(text).expanduser()
        if path.is_file():
            return path
        what = "is a folder" if path.is_dir() else "does not exist"
        raise ConfigError(
            f"the configuration file {text!r} {what}; give the path of a TOML file{_or_name(folder, text)}."
        )
    if text in config_names(folder):
        return configs_root().joinpath(folder, f"{text}.toml")
    raise ConfigError(
        f"there is no configuration named {text!r} in configs/{folder}; give the path of a TOML file"
        f"{_or_name(folder, text)}."
    )


def _or_name(folder: str, text: str) -> str:
    names = config_names(folder)
    return f" or a shipped name ({hint(Path(text).name.removesuffix('.toml'), names)})" if names else ""


def read_toml(file: Traversable) -> dict[str, Any]:
    """Return the contents of a TOML file.

    Raises:
        ConfigError: the file cannot be read or is not TOML; the sentence gives file, line and column.
    """
    try:
        return tomllib.loads(file.read_bytes().decode("utf-8"))
    except OSError as problem:
        raise ConfigError(f"the configuration {str(file)!r} cannot be read: {problem.strerror}.") from None
    except UnicodeDecodeError as problem:
        raise ConfigError(
            f"the configuration {str(file)!r} must be UTF-8, but byte {problem.start} is not; convert it."
        ) from None
    except tomllib.TOMLDecodeError as problem:
        raise ConfigError(f"the configuration {str(file)!r} is not valid TOML: {problem}.") from None


# ---------------------------------------------------------------- loading


def load_config(
    config_type: type[T],
    name_or_path: str | os.PathLike[str],
    overrides: Iterable[str] = (),
    folder: str = "train",
) -> T:
    """Load a configuration file, apply overrides and check everything against `config_type`.

    A file may begin with `extends = "NAME"` (a shipped name, or a path relative to the file): what it does
    not set itself is taken from there, section by section.

    Args:
        config_type: the frozen struct to build.
        name_or_path: a name under configs/`folder`/ or a path.
        overrides: `section.key=value` texts, later ones winning (see `parse_override`).
        folder: where names are looked up.

    Raises:
        ConfigError: no such file, not TOML, an unknown key, a value of the wrong type or out of range.
    """
    file = find_config(name_or_path, folder)
    data = _read_with_base(file, folder, seen=())
    overridden: set[str] = set()
    for text in overrides:
        key, value = parse_override(config_type, text)
        _assign(data, key, value)
        overridden.add(key)
    return _build(config_type, data, repr(str(file)), frozenset(overridden))


def _read_with_base(file: Traversable, folder: str, seen: tuple[str, ...]) -> dict[str, Any]:
    if str(file) in seen:
        raise ConfigError(f"the configuration {str(file)!r} extends itself; remove one `extends`.")
    data = read_toml(file)
    base = data.pop("extends", None)
    if base is None:
        return data
    if not isinstance(base, str):
        raise ConfigError(f"the key 'extends' in {str(file)!r} must be a name or a path, found {base!r}.")
    if base.endswith(".toml") and isinstance(file, Path) and not Path(base).is_absolute():
        base = str(file.parent / base)
    return _merged(_read_with_base(find_config(base, folder), folder, (*seen, str(file))), data)


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(below)
    for key, value in above.items():
        old = result.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            result[key] = _merged(old, value)
        else:
            result[key] = value
    return result


def build_config(config_type: type[T], data: Mapping[str, Any], source: str = "the configuration") -> T:
    """Check plain data against `config_type` and return the frozen struct.

    Args:
        data: nested dicts, lists and scalars, as TOML or JSON give them.
        source: what error sentences call the data.

    Raises:
        ConfigError: an unknown or missing key, a value of the wrong type or out of range.
    """
    return _build(config_type, data, source, frozenset())


def _build(config_type: type[T], data: Mapping[str, Any], source: str, overridden: frozenset[str]) -> T:
    for key, value in _unknown_keys(inspect.type_info(config_type), data, ""):
        close = _nearest_key(config_type, key, section=isinstance(value, Mapping))
        raise ConfigError(f"unknown key {key!r} in {source}; the nearest valid key is {close!r}.")
    for key, value in _numbers(data, ""):
        if not -(2**63) <= value < 2**63:  # nor is nan
            given = next((one for one in overridden if f"{key}.".startswith(f"{one}.")), None)
            where = f"--set {given}" if given else source
            raise ConfigError(
                f"the key {key!r} in {where} expects a finite number of at most 64 bits, found {value!r}."
            )
    try:
        return msgspec.convert(data, config_type)
    except msgspec.ValidationError as problem:
        raise ConfigError(_explain(config_type, data, source, overridden, str(problem))) from None


def _numbers(data: Any, key: str) -> Iterator[tuple[str, int | float]]:
    """Yield every number of nested data with its dotted key."""
    if isinstance(data, Mapping):
        for name, value in data.items():
            yield from _numbers(value, f"{key}.{name}" if key else str(name))
    elif isinstance(data, (list, tuple)):
        for index, value in enumerate(data):
            yield from _numbers(value, f"{key}.{index}")
    elif isinstance(data, (int, float)):
        yield key, data


def _explain(
    config_type: type[msgspec.Struct],
    data: Mapping[str, Any],
    source: str,
    overridden: frozenset[str],
    problem: str,
) -> str:
    """Turn "Expected `int`, got `str` - at `$.a.b`" into a sentence that names the key and the value."""
    message, _, location = problem.partition(" - at `$")
    location = location.rstrip("`").removeprefix(".")
    message = message.rstrip(".").replace("`", "")
    missing = re.fullmatch(r"Object missing required field (\S+)", message)
    if missing:
        key = ".".join(part for part in (_dotted(location), missing[1]) if part)
        return f"the key {key!r} is missing in {source}; set it there or with --set {key}=VALUE."
    if not location:
        return f"{source} is not valid: {message}."
    if "[...]" in location:
        return f"a value in the table {location.partition('[')[0]!r} of {source} is not valid: {message}."
    location = _dotted(location)
    given = next((key for key in overridden if f"{location}.".startswith(f"{key}.")), None)
    where = f"--set {given}" if given else source
    found = _value_at(data, location)
    expected = _describe_type(_type_at(inspect.type_info(config_type), location.split(".")))
    if message.startswith(("Expected", "Invalid enum value")):
        expected = message.split(", got")[0].removeprefix("Expected ") if expected is None else expected
        limit = re.search(r"(?:[<>]=?|matching regex|of length) .+", message)
        if limit and limit[0] not in expected:
            expected = f"{expected} {limit[0]}"
        return f"the key {location!r} in {where} expects {expected}, found {found}."
    return f"the key {location!r} in {where} is not valid: {message}."


def _dotted(key: str) -> str:
    """Write list positions as `opponents.0`, and the values of a table of keys as their table."""
    return re.sub(r"\[(\d+)\]", r".\1", key.replace("[...]", ""))


def _value_at(data: Any, location: str) -> str:
    value = data
    for part in location.split("."):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, (list, tuple)) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return "another value"
    return f"{value!r} ({type(value).__name__})"


# ---------------------------------------------------------------- keys


def config_keys(config_type: type[msgspec.Struct]) -> list[str]:
    """Return the dotted path of every setting of `config_type`, in the order of its fields."""
    return list(_leaf_keys(inspect.type_info(config_type), ""))


def _struct_of(node: inspect.Type | None) -> inspect.StructType | None:
    """The section a type stands for: a struct, or an optional one."""
    if isinstance(node, inspect.StructType):
        return node
    if isinstance(node, inspect.UnionType):
        structs = [member for member in node.types if isinstance(member, inspect.StructType)]
        return structs[0] if len(structs) == 1 else None
    return None


def _item_of(node: inspect.Type | None) -> inspect.Type | None:
    if isinstance(node, (inspect.ListType, inspect.VarTupleType)):
        return node.item_type
    return None


def _field_types(struct: inspect.StructType) -> dict[str, inspect.Type]:
    return {field.encode_name: field.type for field in struct.fields}


def _leaf_keys(node: inspect.Type, prefix: str) -> Iterator[str]:
    struct = _struct_of(node)
    if struct is None:
        yield prefix
        return
    for name, field in _field_types(struct).items():
        yield from _leaf_keys(field, f"{prefix}.{name}" if prefix else name)


def _unknown_keys(node: inspect.Type, data: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    struct = _struct_of(node)
    if struct is not None and isinstance(data, Mapping):
        fields = _field_types(struct)
        for name, value in data.items():
            key = f"{prefix}.{name}" if prefix else str(name)
            if name not in fields:
                yield key, value
            else:
                yield from _unknown_keys(fields[name], value, key)
    elif isinstance(node, inspect.DictType) and isinstance(data, Mapping):
        for name, value in data.items():
            yield from _unknown_keys(node.value_type, value, f"{prefix}.{name}")
    elif isinstance(data, (list, tuple)):
        item = _item_of(node)
        for index, value in enumerate(data if item is not None else ()):
            assert item is not None
            yield from _unknown_keys(item, value, f"{prefix}.{index}")


def _type_at(node: inspect.Type | None, path: list[str]) -> inspect.Type | None:
    """The type of the setting at `path`, or None where there is none."""
    for part in path:
        struct = _struct_of(node)
        item = _item_of(node)
        if item is not None and part.isdigit():
            node = item
        elif struct is not None:
            node = _field_types(struct).get(part)
        elif isinstance(node, inspect.DictType):
            node = node.value_type
        else:
            return None
    return node


def _nearest_key(config_type: type[msgspec.Struct], key: str, section: bool = False) -> str:
    """The valid key most like `key`: in its own section if that exists, else one of the same last name."""
    root = inspect.type_info(config_type)
    *above, name = key.split(".")
    inside = _struct_of(_type_at(root, above))
    if inside is not None and above:
        close = nearest(name, _field_types(inside), ANY)
        return ".".join([*above, close]) if close else ".".join(above)
    leaves = list(_leaf_keys(root, ""))
    if section:
        leaves = sorted({leaf.rpartition(".")[0] for leaf in leaves} - {""}) or leaves
    same_name = [leaf for leaf in leaves if leaf.rpartition(".")[2] == name]
    return nearest(key, same_name or leaves, ANY) or key


def _describe_type(node: inspect.Type | None) -> str | None:
    """Words for what a setting holds: 'a whole number', "one of 'a', 'b'"; None where only msgspec knows."""
    if isinstance(node, inspect.UnionType):
        words = [_describe_type(member) for member in node.types]
        return " or ".join(word for word in words if word) or None
    if isinstance(node, inspect.LiteralType):
        return "one of " + ", ".join(repr(value) for value in node.values)
    if isinstance(node, inspect.EnumType):
        return "one of " + ", ".join(repr(member.value) for member in node.cls)
    if isinstance(node, inspect.StructType):
        return "a section (a table of keys)"
    words_of: dict[type[Any], str] = {
        inspect.IntType: "a whole number",
        inspect.FloatType: "a number",
        inspect.StrType: "a string",
        inspect.BoolType: "true or false",
        inspect.NoneType: "none",
        inspect.ListType: "a list",
        inspect.VarTupleType: "a list",
        inspect.DictType: "a table of keys",
    }
    return words_of.get(type(node))


# ---------------------------------------------------------------- overrides


def parse_override(config_type: type[msgspec.Struct], text: str) -> tuple[str, Any]:
    """Split `section.key=value` and read the value as the setting's type wants it.

    The value is a TOML value (`3`, `1e-4`, `true`, `[64, 64]`); a bare word is a string. Where the setting
    is a string the text is taken as it stands, and `none` switches off a setting that may be absent.

    Raises:
        ConfigError: no `=`, an unknown key, or a value that is neither TOML nor a bare word.

    >>> class Settings(msgspec.Struct, frozen=True):
    ...     name: str = "a"
    ...     size: int | None = 1
    >>> parse_override(Settings, "name=12"), parse_override(Settings, "size=none")
    (('name', '12'), ('size', None))
    """
    key, equals, raw = text.partition("=")
    key, raw = _dotted(key.strip()), raw.strip()
    if not equals or not key:
        raise ConfigError(f"--set expects section.key=value, found {text!r}.")
    node = _type_at(inspect.type_info(config_type), key.split("."))
    if node is None:
        raise ConfigError(
            f"unknown key {key!r} in --set {text}; "
            f"the nearest valid key is {_nearest_key(config_type, key)!r}."
        )
    members = node.types if isinstance(node, inspect.UnionType) else (node,)
    if raw == "none" and any(isinstance(member, inspect.NoneType) for member in members):
        return key, None
    takes_text = any(
        isinstance(member, (inspect.StrType, inspect.LiteralType, inspect.EnumType)) for member in members
    )
    try:
        value = tomllib.loads(f"value = {raw}\n")["value"]
    except tomllib.TOMLDecodeError:
        if takes_text or _BARE_WORD.fullmatch(raw):
            return key, raw
        raise ConfigError(
            f"the value in --set {text} is neither a TOML value nor a bare word; quote it."
        ) from None
    only_text = all(isinstance(member, (inspect.StrType, inspect.NoneType)) for member in members)
    return key, raw if only_text and not isinstance(value, str) else value


def _assign(data: dict[str, Any], key: str, value: Any) -> None:
    *sections, name = key.split(".")
    place: Any = data
    for section, following in zip(sections, [*sections, name][1:], strict=True):
        if isinstance(place, list):
            place = place[_index(place, section, key)]
            continue
        inner = place.get(section)
        if not isinstance(inner, dict | list) or (isinstance(inner, list) and not following.isdigit()):
            inner = place[section] = {}
        place = inner
    if isinstance(place, list):
        place[_index(place, name, key)] = value
    else:
        place[name] = value


def _index(items: list[Any], part: str, key: str) -> int:
    if part.isdigit() and int(part) < len(items):
        return int(part)
    raise ConfigError(f"--set {key} expects an index below {len(items)}, found {part!r}.")


# ---------------------------------------------------------------- output


def config_to_dict(config: msgspec.Struct) -> dict[str, Any]:
    """Return the settings as plain dicts, lists and scalars; `build_config` takes them back."""
    plain: dict[str, Any] = msgspec.to_builtins(config)
    return plain


def config_digest(config: msgspec.Struct) -> str:
    """Return the SHA-256 (64 hex digits) of the settings, the same whatever the order of the keys."""
    text = json.dumps(config_to_dict(config), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
