"""Win equity: the chance of each seat to win the game, judged between two rounds, and its models.

With d the phases a seat has done, leader the most that any seat has done, and left the phases that the leader
still has to do after the present one, W = softmax(u) over the seats:

    u_i = strength[d_i] - lag (leader - d_i)^2 - mean over j of score_weight exp(-score_near |d_i - d_j|) t_ij
    t_ij = tanh((score_i - score_j) / (score_scale + score_left left))

Points decide between seats that finish together, so they count between seats on equal phases, and the more
sharply the sooner the end. A `table` of two players replaces all this by chances that ignore scores. Under
`every_round` only the scores count, the more so the fewer rounds are left. Equities of a game sum to 1.
`data/equity/` holds the models fitted by `phase10 equity`.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from phase10_env.rules.kernel import kernel
from phase10_env.rules.phases import ADVANCE_EVERY_ROUND, MAX_PHASES, STANDARD_PHASES
from phase10_env.rules.ruleset import PRESETS, RuleSet
from phase10_env.rules.scoring import has_finished, phases_completed
from phase10_env.rules.state import TERMINATED, TRUNCATED

__all__ = ["EQUITY", "EquityModel", "default_equity", "equities_of", "shipped_equity", "win_equities"]

_ROWS = MAX_PHASES + 1

EQUITY = np.dtype(
    [
        ("use_table", np.int64),  # 1: two players, the table alone
        ("table", np.float64, (_ROWS, _ROWS)),  # by phases done of the two seats
        ("strength", np.float64, (_ROWS,)),  # by phases done
        ("lag", np.float64),  # strength lost by trailing the leader, by squared phases
        ("score_weight", np.float64),  # strength that points count for at most, between seats on equal phases
        ("score_near", np.float64),  # how quickly that fades with the phases between two seats
        ("score_scale", np.float64),  # points that make a difference, once the leader is on the last phase
        ("score_left", np.float64),  # points more for each further phase of the leader
        ("round_scale", np.float64),  # every_round: points a seat scores in a round, roughly
    ],
    align=True,
)
"""The record type of a model, as kernels read it."""


_ALWAYS = ("score_scale", "round_scale")
_IF_ANY = ("lag", "score_weight", "score_near", "score_left")


@dataclass(frozen=True)
class EquityModel:
    """Hold the numbers behind `win_equities` for one ruleset and player count.

    Attributes:
        strength: by phases done, 11 numbers.
        table: for two players, 11 x 11 chances of a seat by phases done of itself and of the other, or None.
        score_scale, round_scale, lag, score_weight, score_near, score_left: as in EQUITY.
        source: where the numbers come from; not part of the hash.

    >>> EquityModel(strength=(0.0,) * 11).lag
    0.0
    """

    strength: tuple[float, ...]
    table: tuple[tuple[float, ...], ...] | None = None
    score_scale: float = 250.0
    round_scale: float = 60.0
    lag: float = 0.0
    score_weight: float = 0.0
    score_near: float = 0.0
    score_left: float = 0.0
    source: str = ""
    record: npt.NDArray[np.void] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check shapes and pack the record."""
        if len(self.strength) != _ROWS:
            raise ValueError(f"strength needs {_ROWS} numbers, found {len(self.strength)}")
        packed = np.zeros(1, EQUITY)
        packed["strength"][0] = self.strength
        if self.table is not None:
            values = np.asarray(self.table, np.float64)
            if values.shape != (_ROWS, _ROWS) or not ((values >= 0) & (values <= 1)).all():
                raise ValueError(
                    f"table needs {_ROWS} x {_ROWS} chances from 0 to 1, found shape {values.shape}"
                )
            packed["use_table"][0] = 1
            packed["table"][0] = values
        numbers = {name: getattr(self, name) for name in (*_ALWAYS, *_IF_ANY)}
        if not np.isfinite([*self.strength, *numbers.values()]).all():
            raise ValueError("the numbers of an equity model must be finite, found one that is not")
        for name, number in numbers.items():
            if number < 0 or (number == 0 and name in _ALWAYS):
                raise ValueError(
                    f"{name} must be {'above' if name in _ALWAYS else 'at least'} 0, found {number}"
                )
            packed[name] = number
        packed.flags.writeable = False
        object.__setattr__(self, "record", packed)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "record"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        self.__post_init__()  # a copied record would be writable

    @property
    def hash(self) -> str:
        """Return eight characters that change with any number of the model.

        >>> len(default_equity(RuleSet(), 2).hash)
        8
        """
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()[:8]

    def to_dict(self) -> dict[str, Any]:
        """Return the model as plain data for JSON."""
        # Numbers of zero are left out, so that a table written before they existed keeps its hash.
        return {
            "strength": list(self.strength),
            "table": None if self.table is None else [list(row) for row in self.table],
            **{name: getattr(self, name) for name in _ALWAYS},
            **{name: getattr(self, name) for name in _IF_ANY if getattr(self, name)},
        }

    @classmethod
    def from_file(cls, path: str | Path | Traversable) -> EquityModel:
        """Read a model written as JSON; refuse anything else with one sentence.

        Raises:
            ValueError: not there, not a model, or numbers that do not fit the hash beside them.
        """
        try:
            file = Path(path) if isinstance(path, str) else path
            data = json.loads(file.read_text(encoding="utf-8"))
            table = data["table"]
            model = cls(
                strength=tuple(float(x) for x in data["strength"]),
                table=None if table is None else tuple(tuple(float(x) for x in row) for row in table),
                **{name: float(data[name]) for name in _ALWAYS},
                **{name: float(data.get(name, 0.0)) for name in _IF_ANY},
                source=str(path),
            )
            if data.get("hash", model.hash) != model.hash:
                raise ValueError(f"its numbers have the hash {model.hash}, not {data['hash']}")
        except KeyError as error:
            raise ValueError(
                f"{path} is not an equity model (no {error}); fit one with 'phase10 equity'"
            ) from None
        except (OSError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(
                f"{path} is not an equity model ({error}); fit one with 'phase10 equity'"
            ) from None
        return model


# For rules without a fitted model: about what the standard phases are worth in a game of three.
_STRENGTH = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 2.0, 3.0, 5.0, 5.0)


def default_equity(ruleset: RuleSet, num_players: int) -> EquityModel:
    """Return the shipped model for a ruleset and a number of players.

    Presets have models fitted to games; other rules with the standard phases use the model of `official`. A
    shorter phase list without one uses the last places of the strengths, so that the final phase keeps its weight.

    >>> default_equity(RuleSet(), 4).strength[9] > default_equity(RuleSet(), 4).strength[8]
    True
    """
    standard = tuple(ruleset.phases) == STANDARD_PHASES and ruleset.advance == "completed"
    names = [name for name, preset in PRESETS.items() if preset.digest == ruleset.digest]
    for name in [*names, *(["official"] if standard else [])]:
        fitted = _fitted(name, num_players)
        if fitted is not None:
            return fitted
    return _by_hand(ruleset)


@cache
def _fitted(preset: str, num_players: int) -> EquityModel | None:
    file = resources.files("phase10_env") / "data" / "equity" / f"{preset}-{num_players}.json"
    return EquityModel.from_file(file) if file.is_file() else None


def shipped_equity(hash_: str) -> EquityModel | None:
    """Return the shipped model with that hash, former ones included, or None.

    >>> shipped_equity(default_equity(RuleSet(), 2).hash) == default_equity(RuleSet(), 2)
    True
    """
    for file in sorted((resources.files("phase10_env") / "data" / "equity").iterdir(), key=str):
        if file.name.endswith(".json"):
            model = EquityModel.from_file(file)
            if model.hash == hash_:
                return model
    return None


def _by_hand(ruleset: RuleSet) -> EquityModel:
    """Return a model for rules that none was fitted for."""
    phases = len(ruleset.phases)
    strength = np.array(_STRENGTH)
    if phases < MAX_PHASES:
        strength = np.concatenate(
            [strength[MAX_PHASES - phases :], np.full(MAX_PHASES - phases, strength[-1])]
        )
    strength -= strength[0]
    return EquityModel(
        strength=tuple(round(float(x), 4) for x in strength),
        lag=0.05,
        score_weight=0.8,
        score_near=1.0,
        score_scale=12.0,
        score_left=20.0,
        source="by hand",
    )


@kernel
def win_equities(game, rules, equity, out):  # type: ignore[no-untyped-def]
    """Write the win equity of each seat into out float[P] for a game between two rounds, or just ended.

    A finished game pays its winners equal shares; tied seats in a tie-break share evenly; a truncated game is
    worth the same to all.
    """
    players = game.num_players
    for seat in range(players):
        out[seat] = 0.0
    if game.status == TRUNCATED:
        for seat in range(players):
            out[seat] = 1.0 / players
        return
    if game.status == TERMINATED and not game.single_round:
        _share_out(game, 1, out)
        return
    if game.tie_break:
        _share_out(game, 0, out)
        return
    lowest = -1
    ties = 0
    for seat in range(players):
        if has_finished(game, rules, seat):
            if lowest < 0 or game.score[seat] < lowest:
                lowest = game.score[seat]
                ties = 0
            if game.score[seat] == lowest:
                ties += 1
    if ties > 0:
        for seat in range(players):
            if has_finished(game, rules, seat) and game.score[seat] == lowest:
                out[seat] = 1.0 / ties
        return
    if equity.use_table and players == 2:
        out[0] = equity.table[phases_completed(game, rules, 0), phases_completed(game, rules, 1)]
        out[1] = 1.0 - out[0]
        return
    _soft_shares(game, rules, equity, out)


@kernel
def _share_out(game, ranked, out):  # type: ignore[no-untyped-def]
    """Split one point evenly among the winners (`ranked`) or the active seats."""
    count = 0
    for seat in range(game.num_players):
        count += 1 if (game.rank[seat] == 1 if ranked else game.active[seat] != 0) else 0
    for seat in range(game.num_players):
        if game.rank[seat] == 1 if ranked else game.active[seat] != 0:
            out[seat] = 1.0 / count


@kernel
def _strength_of(game, rules, equity, seat):  # type: ignore[no-untyped-def]
    """Return u of the module's equation for one seat."""
    if rules.advance == ADVANCE_EVERY_ROUND:
        left = max(1, rules.num_phases - game.phase[seat])
        return -game.score[seat] / (equity.round_scale * left**0.5)
    done = phases_completed(game, rules, seat)
    leader = 0
    for other in range(game.num_players):
        leader = max(leader, phases_completed(game, rules, other))
    scale = equity.score_scale + equity.score_left * (rules.num_phases - 1 - leader)
    points = 0.0
    for other in range(game.num_players):
        if other != seat:
            between = abs(done - phases_completed(game, rules, other))
            ahead = math.tanh((game.score[seat] - game.score[other]) / scale)
            points += math.exp(-equity.score_near * between) * ahead / (game.num_players - 1)
    return equity.strength[done] - equity.lag * (leader - done) ** 2 - equity.score_weight * points


@kernel
def _soft_shares(game, rules, equity, out):  # type: ignore[no-untyped-def]
    best = -1e30
    for seat in range(game.num_players):
        out[seat] = _strength_of(game, rules, equity, seat)
        best = max(best, out[seat])
    total = 0.0
    for seat in range(game.num_players):
        out[seat] = math.exp(out[seat] - best)
        total += out[seat]
    for seat in range(game.num_players):
        out[seat] /= total


@kernel
def equities_of(games, rules, equity, out):  # type: ignore[no-untyped-def]
    """Write the win equities of every game into out float64[B, P]."""
    for row in range(len(games)):
        win_equities(games[row], rules[0], equity[0], out[row])
