"""Finds the rules that `--rules` names: a preset, a file, or a name under configs/rules."""

from collections.abc import Mapping
from typing import Any

from phase10_env.rules.ruleset import PRESETS, RuleSet, RuleSetError, get_ruleset
from phase10_training.config import config_names, configs_root, read_toml

__all__ = ["load_rules"]


def load_rules(rules: str | RuleSet | Mapping[str, Any]) -> RuleSet:
    """Return the rules meant by a preset, the path of a TOML file, a name under configs/rules, or fields.

    Raises:
        RuleSetError: nothing of that name, or rules that cannot be played.

    >>> load_rules("small-deck").name
    'small-deck'
    """
    if isinstance(rules, str) and rules not in PRESETS and rules in config_names("rules"):
        fields = read_toml(configs_root().joinpath("rules", f"{rules}.toml"))
        try:
            return RuleSet.from_dict({"name": rules, **fields})
        except RuleSetError as error:
            raise RuleSetError(*(f"configs/rules/{rules}.toml: {each}" for each in error.problems)) from None
    return get_ruleset(rules if isinstance(rules, str | RuleSet) else dict(rules))
