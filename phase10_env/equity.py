"""Win equity: the chance of each seat to win the game, judged between two rounds, and its tables.

Two players: `table[i, j]`, the chance of a seat that has i phases done against one that has j (Phase 1-10, so 11
rows), scores ignored but where both have finished. 3-6 players, and rulesets whose phases are not the standard
ten: `W = softmax(strength[d] - lag (leader - d)^2 - limit tanh((score - mean) / (score_scale limit)))` over the
seats: d the phases done, leader the most that any seat has done, mean that of the scores. Points decide only
between seats that finish together, which limits what they can count for. Under `every_round` only the scores
count, the more so the fewer rounds are left. Equities of a game sum to 1. `data/equity/` holds the models fitted
by `phase10 equity`.
"""

from __future__ import annotations

import hashlib
import json
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

__all__ = ["EQUITY", "EquityModel", "default_equity", "equities_of", "win_equities"]

_ROWS = MAX_PHASES + 1

NO_LIMIT = 1e6
"""A `score_limit` that no score comes near."""

EQUITY = np.dtype(
    [
        ("use_table", np.int64),  # 1: two players, standard phases
        ("table", np.float64, (_ROWS, _ROWS)),  # by phases done of the two seats
        ("strength", np.float64, (_ROWS,)),  # by phases done
        ("lag", np.float64),  # unit of strength lost by trailing the leader, by squared phases
        ("score_scale", np.float64),  # points worth one unit of strength, as long as they are few
        ("score_limit", np.float64),  # strength that points count for at most
        ("round_scale", np.float64),  # every_round: points a seat scores in a round, roughly
    ],
    align=True,
)


@dataclass(frozen=True)
class EquityModel:
    """Hold the numbers behind `win_equities` for one ruleset and player count.

    Attributes:
        strength: by phases done, 11 numbers.
        table: for two players, 11 x 11 chances of a seat by phases done of itself and of the other, or None.
        score_scale: points worth one unit of strength, as long as they are few.
        round_scale: for `every_round`: points worth one unit when one round is left.
        lag: strength lost by trailing the leader, for the square of the phases between.
        score_limit: strength that points count for at most, each way.
        source: where the numbers come from; not part of the hash.

    >>> EquityModel(strength=(0.0,) * 11).lag
    0.0
    """

    strength: tuple[float, ...]
    table: tuple[tuple[float, ...], ...] | None = None
    score_scale: float = 250.0
    round_scale: float = 60.0
    lag: float = 0.0
    score_limit: float = NO_LIMIT
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
                raise ValueError(f"table needs {_ROWS} x {_ROWS} chances from 0 to 1, found shape {values.shape}")
            packed["use_table"][0] = 1
            packed["table"][0] = values
        for name in ("score_scale", "round_scale", "score_limit"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, found {getattr(self, name)}")
        numbers = [*self.strength, self.score_scale, self.round_scale, self.lag, self.score_limit]
        if not np.isfinite(numbers).all():
            raise ValueError("the numbers of an equity model must be finite, found one that is not")
        packed["lag"] = self.lag
        packed["score_limit"] = self.score_limit
        packed["score_scale"] = self.score_scale
        packed["round_scale"] = self.round_scale
        packed.flags.writeable = False
        object.__setattr__(self, "record", packed)

    @property
    def hash(self) -> str:
        """Return eight characters that change with any number of the model.

        >>> len(default_equity(RuleSet(), 2).hash)
        8
        """
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()[:8]

    def to_dict(self) -> dict[str, Any]:
        """Return the model as plain data for JSON."""
        numbers: dict[str, Any] = {
            "strength": list(self.strength),
            "table": None if self.table is None else [list(row) for row in self.table],
            "score_scale": self.score_scale,
            "round_scale": self.round_scale,
        }
        # Left out where they say nothing, so that tables written before these numbers existed keep their hash.
        if self.lag:
            numbers["lag"] = self.lag
        if self.score_limit != NO_LIMIT:
            numbers["score_limit"] = self.score_limit
        return numbers

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
                score_scale=float(data["score_scale"]),
                round_scale=float(data["round_scale"]),
                lag=float(data.get("lag", 0.0)),
                score_limit=float(data.get("score_limit", NO_LIMIT)),
                source=str(path),
            )
            if data.get("hash", model.hash) != model.hash:
                raise ValueError(f"its numbers have the hash {model.hash}, not {data['hash']}")
        except KeyError as error:
            raise ValueError(f"{path} is not an equity model (no {error}); fit one with 'phase10 equity'") from None
        except (OSError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"{path} is not an equity model ({error}); fit one with 'phase10 equity'") from None
        return model


# Self-play of a strong heuristic, 1500 rounds a cell; rows: own phases done, columns: the other's (0-9).
_TWO_PLAYERS = (
    (0.507, 0.351, 0.212, 0.114, 0.052, 0.019, 0.002, 0.000, 0.000, 0.000),
    (0.653, 0.507, 0.375, 0.221, 0.119, 0.055, 0.021, 0.001, 0.000, 0.000),
    (0.788, 0.630, 0.509, 0.344, 0.199, 0.096, 0.039, 0.002, 0.000, 0.000),
    (0.890, 0.779, 0.666, 0.508, 0.337, 0.188, 0.075, 0.006, 0.001, 0.000),
    (0.949, 0.885, 0.801, 0.664, 0.500, 0.333, 0.173, 0.017, 0.003, 0.000),
    (0.982, 0.946, 0.910, 0.816, 0.672, 0.500, 0.330, 0.044, 0.008, 0.000),
    (0.998, 0.981, 0.963, 0.929, 0.831, 0.674, 0.502, 0.099, 0.016, 0.001),
    (1.000, 0.999, 0.998, 0.995, 0.984, 0.958, 0.900, 0.496, 0.112, 0.007),
    (1.000, 1.000, 1.000, 0.999, 0.997, 0.993, 0.985, 0.890, 0.497, 0.041),
    (1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 0.999, 0.992, 0.957, 0.506),
)


def _symmetric_table() -> tuple[tuple[float, ...], ...]:
    measured = np.array(_TWO_PLAYERS)
    table = np.full((_ROWS, _ROWS), 0.5)
    table[:MAX_PHASES, :MAX_PHASES] = (measured + 1 - measured.T) / 2
    table[MAX_PHASES, :MAX_PHASES] = 1.0
    table[:MAX_PHASES, MAX_PHASES] = 0.0
    return tuple(tuple(float(x) for x in row) for row in table)


# One number per phases done, fitted to the two-player table by least squares on its log-odds between neighbours.
_STRENGTH = (0.0, 0.58, 1.15, 1.8, 2.5, 3.2, 3.95, 5.6, 7.6, 10.0, 14.0)


def default_equity(ruleset: RuleSet, num_players: int) -> EquityModel:
    """Return the shipped model for a ruleset and a number of players.

    Presets have models fitted to games; other rules with the standard phases use the model of `official`. A
    shorter phase list without one uses the last places of the strengths, so that the final phase keeps its weight.

    >>> default_equity(RuleSet(), 2).table is not None, default_equity(RuleSet(), 4).table is None
    (True, True)
    """
    standard = tuple(ruleset.phases) == STANDARD_PHASES and ruleset.advance == "completed"
    names = [name for name, preset in PRESETS.items() if preset.digest == ruleset.digest]
    for name in [*names, *(["official"] if standard else [])]:
        fitted = _fitted(name, num_players)
        if fitted is not None:
            return fitted
    return _by_hand(ruleset, standard and num_players == 2)


@cache
def _fitted(preset: str, num_players: int) -> EquityModel | None:
    file = resources.files("phase10_env") / "data" / "equity" / f"{preset}-{num_players}.json"
    return EquityModel.from_file(file) if file.is_file() else None


def _by_hand(ruleset: RuleSet, with_table: bool) -> EquityModel:
    phases = len(ruleset.phases)
    strength = np.array(_STRENGTH)
    if phases < MAX_PHASES:
        strength = np.concatenate([strength[MAX_PHASES - phases :], np.full(MAX_PHASES - phases, strength[-1])])
    strength -= strength[0]
    return EquityModel(
        strength=tuple(float(x) for x in strength),
        table=_symmetric_table() if with_table else None,
        source="shipped",
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
def _soft_shares(game, rules, equity, out):  # type: ignore[no-untyped-def]
    best = -1e30
    leader = 0
    mean = 0.0
    for seat in range(game.num_players):
        leader = max(leader, phases_completed(game, rules, seat))
        mean += game.score[seat] / game.num_players
    limit = equity.score_limit
    for seat in range(game.num_players):
        if rules.advance == ADVANCE_EVERY_ROUND:
            left = max(1, rules.num_phases - game.phase[seat])
            out[seat] = -game.score[seat] / (equity.round_scale * left**0.5)
        else:
            done = phases_completed(game, rules, seat)
            trail = equity.lag * (leader - done) ** 2
            behind = limit * np.tanh((game.score[seat] - mean) / (equity.score_scale * limit))
            out[seat] = equity.strength[done] - trail - behind
        best = max(best, out[seat])
    total = 0.0
    for seat in range(game.num_players):
        out[seat] = np.exp(out[seat] - best)
        total += out[seat]
    for seat in range(game.num_players):
        out[seat] /= total


@kernel
def equities_of(games, rules, equity, out):  # type: ignore[no-untyped-def]
    """Write the win equities of every game into out float64[B, P]."""
    for row in range(len(games)):
        win_equities(games[row], rules[0], equity[0], out[row])
