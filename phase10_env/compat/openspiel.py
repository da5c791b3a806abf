"""Phase 10 for OpenSpiel: the game `python_phase10`, every card that is dealt or drawn an explicit chance event.

OpenSpiel's solvers and searches then run on the rules of this package. Whole trees (exploitability, CFR) need
drastically small rules: a handful of cards, hands of one to three, few turns. Needs open_spiel.

>>> import pyspiel
>>> game = pyspiel.load_game("python_phase10(players=3,ruleset=short-5)")
>>> state = game.new_initial_state()
>>> while state.is_chance_node():
...     state.apply_action(state.chance_outcomes()[0][0])
>>> state.current_player(), [state.action_to_string(action) for action in state.legal_actions()]
(1, ['draw', 'take'])

| parameter | default | meaning |
|---|---|---|
| `players` | `2` | 2-6 |
| `ruleset` | `official` | name of a preset or path of a TOML file |
| `actions` | `compact` | `compact` or `full` |
| `episode` | `game` | `game` or `round` |
| `reward` | `win` | `win`, `rank`, `points`, `equity`; rounds need one of the last two |

Chance events: the first dealer, unless the rules name one; the hands, seat after seat, the cards of a hand in
ascending order, so that each hand is dealt in one way only; the first face-up card; every draw. A chance action
is a seat, or a kind of card 0-49. The actions of seats are the table of `phase10_env.actions`.

The information state is a string: everything its seat has been told since the game began. The observation tensor
is the observation of the other environments, float32[D].
"""

from __future__ import annotations

from collections.abc import Mapping
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt
import pyspiel

from phase10_env.actions import DISCARD, DRAW, TAKE, action_text
from phase10_env.game_batch import GameBatch
from phase10_env.observation import describe, observe
from phase10_env.positions import set_deal, set_pile
from phase10_env.rules.cards import KIND_TEXTS, KINDS
from phase10_env.rules.ruleset import get_ruleset
from phase10_env.rules.state import GAME, MAX_HAND, MAX_PLAYERS, RUNNING
from phase10_env.rules.table import NUM_ACTIONS

__all__ = ["Phase10Game", "Phase10State", "hand_chances"]

_DECISIONS_OF_A_TURN = 2 * (MAX_HAND + 1) + 20
"""At least as many as a turn can take: a draw, a lay-down spelled card by card, hits with their places."""

_LARGEST = 2**31 - 1

_TYPE = pyspiel.GameType(
    short_name="python_phase10",
    long_name="Phase 10",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=MAX_PLAYERS,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=False,
    provides_observation_string=True,
    provides_observation_tensor=True,
    parameter_specification={
        "players": 2,
        "ruleset": "official",
        "actions": "compact",
        "episode": "game",
        "reward": "win",
    },
)


def hand_chances(left: npt.ArrayLike, hand: tuple[int, ...], size: int) -> list[tuple[int, float]]:
    """Return the chances of the next card of a hand that is dealt in ascending order.

    With c the cards left of the last kind k in hand, m of them in hand, N those of the kinds above k and r the
    cards still to come, the hand that is being dealt has M cards of kind k with weight C(c, M) C(N, r + m - M).

    Args:
        left: int[50], the cards by kind before this hand.
        hand: kinds dealt so far, ascending.
        size: of the whole hand.

    Returns:
        (kind, chance) for each kind that can follow.

    >>> left = [2, 2] + [0] * 48  # R1 R1 R2 R2
    >>> hand_chances(left, (), 2)
    [(0, 0.8333333333333334), (1, 0.16666666666666666)]
    >>> hand_chances(left, (0,), 2)
    [(0, 0.2), (1, 0.8)]
    """
    counts = np.asarray(left).tolist()
    above = [sum(counts[kind + 1 :]) for kind in range(KINDS)]
    to_come = size - len(hand)
    weights: dict[int, int] = {}
    last, of_it, stays = -1, 0, 1
    if hand:
        last = hand[-1]
        of_it = hand.count(last)
        stays = comb(counts[last], of_it)
        more = range(of_it + 1, min(counts[last], of_it + to_come) + 1)
        weights[last] = sum(comb(counts[last], m) * comb(above[last], to_come + of_it - m) for m in more)
    for kind in range(last + 1, KINDS):
        weights[kind] = stays * (comb(above[kind] + counts[kind], to_come) - comb(above[kind], to_come))
    total = sum(weights.values())
    return [(kind, weight / total) for kind, weight in weights.items() if weight]


class Phase10Game(pyspiel.Game):  # type: ignore[misc]  # pyspiel is untyped here
    """The game as OpenSpiel knows it; `pyspiel.load_game("python_phase10")` makes it.

    Args:
        params: parameters by name (the table above).

    Raises:
        ValueError: rules, players, modes or rewards that do not exist or do not go together.
    """

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        given = {**_TYPE.parameter_specification, **(params or {})}
        self.table = _Table(given)
        batch = self.table.batch
        rules, players = batch.ruleset, batch.num_players
        rounds = 1 if given["episode"] == "round" else rules.max_rounds
        most = 1.0
        if batch.reward == "points":
            most = 0.25 * (rules.hand_size + 1) * rounds
        info = pyspiel.GameInfo(
            num_distinct_actions=NUM_ACTIONS,
            max_chance_outcomes=KINDS,
            num_players=players,
            min_utility=-most,
            max_utility=most,
            utility_sum=0.0,
            max_game_length=min(_LARGEST, rounds * players * rules.max_turns * _DECISIONS_OF_A_TURN),
        )
        super().__init__(_TYPE, info, params or {})

    def new_initial_state(self) -> Phase10State:
        """Return the state before the deal."""
        return Phase10State(self)

    def max_chance_nodes_in_history(self) -> int:
        """Return a bound on the chance events of a game."""
        rules, players = self.table.batch.ruleset, self.table.batch.num_players
        rounds = 1 if self.table.batch.games["single_round"][0] else rules.max_rounds
        deal = players * rules.hand_size + 1
        return min(_LARGEST, 1 + rounds * (deal + players * rules.max_turns))

    def make_py_observer(
        self, iig_obs_type: Any = None, params: Mapping[str, Any] | None = None
    ) -> _PlayerObserver:
        """Return the observer of a seat's own information.

        Raises:
            ValueError: parameters, or another kind of information.
        """
        return _PlayerObserver(
            self.table, iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False), params
        )


class _Table:
    """What all states of a game share: a batch of one game, on which each state takes its steps in turn."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        rules = get_ruleset(str(params["ruleset"]))
        self.batch = GameBatch(
            num_games=1,
            num_players=int(params["players"]),
            ruleset=rules,
            actions=str(params["actions"]),
            episode=str(params["episode"]),
            reward=str(params["reward"]),
            observation=None,
            auto_reset=False,
        )
        self.ruleset = rules
        self._bytes = self.batch.games.view(np.uint8)
        self.opening = self.saved()
        self.opening_equities = tuple(self.batch.equities[0].tolist())

    def __deepcopy__(self, memo: dict[int, Any]) -> _Table:
        return self

    def show(self, saved: bytes) -> np.void:
        """Put a game on the table and return its record, to read or to change."""
        self._bytes[:] = np.frombuffer(saved, np.uint8)  # whole: numpy copies records field by field
        game: np.void = self.batch.games[0]
        return game

    def saved(self) -> bytes:
        """Return the game on the table as bytes, which states share without copying."""
        return self.batch.games.tobytes()

    def legal(self) -> tuple[int, ...]:
        """Return the legal actions of the game on the table."""
        return tuple(self.batch.legal_actions[0, : self.batch.legal_counts[0]].tolist())


DEALER, DEAL, DRAWING, PLAYING, ENDED = "dealer", "deal", "draw", "play", "over"


class Phase10State(pyspiel.State):  # type: ignore[misc]  # likewise
    """A moment of one game; `Phase10Game.new_initial_state` makes the first."""

    def __init__(self, game: Phase10Game) -> None:
        super().__init__(game)
        self._table = game.table
        self._saved = game.table.opening  # GAME[1] as bytes
        self._equities = game.table.opening_equities
        self._seat = 0
        self._moment = DEALER if game.table.ruleset.dealer is None else DEAL
        self._dealt: tuple[int, ...] = ()  # the cards of the round being dealt, hand after hand
        self._legal: tuple[int, ...] = ()
        self._told = ("",) * game.table.batch.num_players
        self._returns = (0.0,) * game.table.batch.num_players

    # ---- whose turn it is

    def current_player(self) -> int:
        """Return the seat to act, or OpenSpiel's id for chance or the end."""
        if self._moment == ENDED:
            return int(pyspiel.PlayerId.TERMINAL)
        if self._moment == PLAYING:
            return self._seat
        return int(pyspiel.PlayerId.CHANCE)

    def is_terminal(self) -> bool:
        """Tell whether the game is over."""
        return self._moment == ENDED

    def returns(self) -> list[float]:
        """Return what the game has paid each seat; nothing before it is over."""
        return list(self._returns) if self._moment == ENDED else [0.0] * len(self._returns)

    def _legal_actions(self, player: int) -> list[int]:
        return list(self._legal) if self._moment == PLAYING and player == self.current_player() else []

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return (action, chance) of each outcome of the chance event that is due."""
        if self._moment == DEALER:
            players = len(self._told)
            return [(seat, 1 / players) for seat in range(players)]
        if self._moment == DRAWING:
            game = self._table.show(self._saved)
            return _shares(np.bincount(game["stock"][: game["stock_size"]], minlength=KINDS))
        size = self._table.ruleset.hand_size
        whole, begun = divmod(len(self._dealt), size)
        left = np.array(self._table.ruleset.deck) - np.bincount(
            np.array(self._dealt[: whole * size], np.int64), minlength=KINDS
        )
        if whole == len(self._receivers()):
            return _shares(left)
        return hand_chances(left, self._dealt[len(self._dealt) - begun :], size)

    def _receivers(self) -> list[int]:
        """Return the seats that take part in the round (R33)."""
        return np.flatnonzero(self._table.show(self._saved)["active"]).tolist()

    # ---- events

    def _apply_action(self, action: int) -> None:
        if self._moment == PLAYING:
            self._act(action)
        elif self._moment == DRAWING:
            self._draw(action)
        elif self._moment == DEALER:
            self._table.show(self._saved)["dealer"] = action
            self._saved = self._table.saved()
            self._moment = DEAL
        else:
            self._dealt = (*self._dealt, action)
            if len(self._dealt) > self._table.ruleset.hand_size * len(self._receivers()):
                self._begin_round()

    def _begin_round(self) -> None:
        """Put the cards that chance has dealt on the table (R5-R7)."""
        ruleset, size = self._table.ruleset, self._table.ruleset.hand_size
        left = np.array(ruleset.deck) - np.bincount(np.array(self._dealt, np.int64), minlength=KINDS)
        hands: list[str | None] = [None] * len(self._told)
        for place, seat in enumerate(self._receivers()):
            hands[seat] = _texts(self._dealt[place * size : (place + 1) * size])
        top, stock = KIND_TEXTS[self._dealt[-1]], _texts(np.repeat(np.arange(KINDS), left).tolist())
        self._table.show(self._saved)
        batch = self._table.batch
        dealer = int(batch.games["dealer"][0])
        batch.games[:] = set_deal(batch.games, ruleset, hands, top, stock)
        batch.refresh()
        self._keep()
        self._dealt = ()
        self._moment = PLAYING
        self._told = tuple(
            f"{told}\ndealer {dealer}, hand {hand or 'none'}, top {top};"
            for told, hand in zip(self._told, hands, strict=True)
        )

    def _keep(self) -> None:
        """Keep the game on the table, and whose turn it is there."""
        self._saved = self._table.saved()
        self._seat = int(self._table.batch.games["to_act"][0])
        self._legal = self._table.legal()

    def _act(self, action: int) -> None:
        if action not in self._legal:
            raise ValueError(f"seat {self._seat} may not {action_text(action)} now")
        game = self._table.show(self._saved)
        if action != DRAW:
            self._step(action)
            return
        if game["stock_size"] == 0:  # the pile turns over before chance draws from it (R13)
            pile = game["discard"][: game["discard_size"]][::-1].tolist()
            set_pile(self._table.batch.games, "stock", pile[1:])
            set_pile(self._table.batch.games, "discard", pile[:1])
            game["reshuffles"] += 1
            self._saved = self._table.saved()
        self._tell_all(f" {self._seat} draw")
        self._moment = DRAWING

    def _draw(self, kind: int) -> None:
        """Let the seat to act draw a card of that kind: the order of the stock is nobody's knowledge."""
        game = self._table.show(self._saved)
        top = int(game["stock_size"]) - 1
        place = int(np.flatnonzero(game["stock"][: top + 1] == kind)[0])
        game["stock"][[place, top]] = game["stock"][[top, place]]
        self._tell(self._seat, f" {KIND_TEXTS[kind]}")
        self._moment = PLAYING
        self._step(DRAW)

    def _step(self, action: int) -> None:
        """Take an action in the game on the table by the rules; tell everybody what they see of it."""
        batch, seat = self._table.batch, self._seat
        sizes = batch.games["meld_size"][0].copy()
        batch.equities[0] = self._equities
        batch.step([action], check=False)
        self._equities = tuple(batch.equities[0].tolist())
        self._returns = tuple(
            had + paid for had, paid in zip(self._returns, batch.rewards[0].tolist(), strict=True)
        )
        self._keep()
        after = batch.games[0]
        if action != DRAW:
            self._tell_step(seat, action, sizes)
        if after["status"] != RUNNING:
            self._moment = ENDED
        elif after["round_over"]:
            self._moment = DEAL  # the next round that the rules have dealt gives way to one by chance

    def _tell_step(self, seat: int, action: int, sizes: npt.NDArray[np.int8]) -> None:
        after = self._table.batch.games[0]
        own = f" {seat} {action_text(action)}"
        if action == TAKE or action >= DISCARD:
            self._tell_all(own)
        else:
            seen = _seen_of(sizes, after, seat)
            self._told = tuple(
                told + (own if viewer == seat else seen) for viewer, told in enumerate(self._told)
            )
        if after["round_over"]:
            players = len(self._told)
            scores = " ".join(map(str, after["score"][:players].tolist()))
            phases = " ".join(map(str, after["phase"][:players].tolist()))
            self._tell_all(f" round over, scores {scores}, phases {phases};")

    def _tell(self, seat: int, text: str) -> None:
        self._told = (*self._told[:seat], self._told[seat] + text, *self._told[seat + 1 :])

    def _tell_all(self, text: str) -> None:
        self._told = tuple(told + text for told in self._told)

    # ---- text

    def _action_to_string(self, player: int, action: int) -> str:
        if player != pyspiel.PlayerId.CHANCE:
            return action_text(action)
        return f"dealer {action}" if self._moment == DEALER else f"{self._moment} {KIND_TEXTS[action]}"

    def knowledge(self, seat: int) -> str:
        """Return everything that a seat has been told: its information state."""
        return f"seat {seat}{self._told[seat]}"

    @property
    def record(self) -> npt.NDArray[np.void]:
        """The game record, GAME[1], a copy; it means nothing while a round is being dealt."""
        return np.frombuffer(bytearray(self._saved), GAME)

    def __str__(self) -> str:
        if self._moment == DEALER:
            return "before the deal"
        if self._moment == DEAL:
            return f"dealt {_texts(self._dealt)}"
        told = "\n".join(self.knowledge(seat) for seat in range(len(self._told)))
        return f"{told}\n{self._moment}"


class _PlayerObserver:
    """What a seat knows: as a string with perfect recall, else the observation as text and as a tensor."""

    def __init__(self, table: _Table, kind: Any, params: Mapping[str, Any] | None) -> None:
        if params:
            raise ValueError(f"observers take no parameters here, found {dict(params)}")
        if kind.private_info != pyspiel.PrivateInfoType.SINGLE_PLAYER or not kind.public_info:
            raise ValueError("an observer sees what one seat knows: its own cards and what is public")
        self._recall = bool(kind.perfect_recall)
        self._table = table
        self.tensor: npt.NDArray[np.float32] | None = None
        self.dict: dict[str, npt.NDArray[np.float32]] = {}
        if not self._recall:
            self.tensor = np.zeros(table.batch.layout.size, np.float32)
            self.dict = {"observation": self.tensor}

    def set_from(self, state: Phase10State, player: int) -> None:
        """Write a seat's observation into the tensor; zeros while a round is being dealt."""
        if self.tensor is not None:
            self.tensor[:] = self._vector(state, player)

    def string_from(self, state: Phase10State, player: int) -> str:
        """Return a seat's information state, or its observation as text."""
        if self._recall:
            return state.knowledge(player)
        return describe(self._vector(state, player), self._table.batch.layout)

    def _vector(self, state: Phase10State, player: int) -> npt.NDArray[np.uint8]:
        if state._moment in (DEALER, DEAL):
            return np.zeros(self._table.batch.layout.size, np.uint8)
        return observe(state.record, self._table.ruleset, player, "basic")


def _shares(counts: npt.NDArray[np.int64]) -> list[tuple[int, float]]:
    total = int(counts.sum())
    return [(int(kind), int(counts[kind]) / total) for kind in np.flatnonzero(counts)]


def _texts(kinds: tuple[int, ...] | list[int]) -> str:
    return " ".join(KIND_TEXTS[kind] for kind in kinds)


def _seen_of(sizes: npt.NDArray[np.int8], after: np.void, seat: int) -> str:
    """Return what the others see of a lay-down or a hit: nothing before it is on the table.

    `sizes` are those of the melds before it.
    """
    if after["round_over"] and after["status"] == RUNNING:  # dealt anew: the melds are gone
        return f" {seat} out"
    grown = []
    for meld in np.flatnonzero(after["meld_size"] != sizes):
        cards = _texts(after["meld_cards"][meld, : after["meld_size"][meld]].tolist())
        grown.append(f" {seat} meld {meld // 2}.{meld % 2 + 1} {cards}")
    return ",".join(grown)


pyspiel.register_game(_TYPE, Phase10Game)
