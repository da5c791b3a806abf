"""What an agent is given: a batch of decisions, each with everything its seat may know and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from phase10_env.observation import Layout
from phase10_env.rules.cards import KINDS, NO_CARD
from phase10_env.rules.kernel import kernel
from phase10_env.rules.random import AGENT, random_bits, stream_key
from phase10_env.rules.ruleset import RuleSet
from phase10_env.rules.state import BUILD, MAX_PLAYERS

__all__ = ["Agent", "DecisionView", "blank_hidden"]


@dataclass(frozen=True, slots=True)
class DecisionView:
    """A batch of n decisions. All arrays have one row a decision and are the agent's own to change.

    Attributes:
        observations: uint8[n, D], from the acting seat's point of view (`layout`).
        action_masks: bool[n, 165], True = legal.
        legal_actions: uint8[n, L], the legal actions ascending; `legal_counts` int16[n] of them count.
        seats: int8[n], the seat to act.
        random: uint64[n], a random stream per row; equal games give equal streams, whatever the row.
        information: GAME[n], the game record with everything hidden from the acting seat blanked out.
        ruleset: the rules of all rows.
        num_players: 2-6.
        layout: the named slices of `observations`.
    """

    observations: npt.NDArray[np.uint8]
    action_masks: npt.NDArray[np.bool_]
    legal_actions: npt.NDArray[np.uint8]
    legal_counts: npt.NDArray[np.int16]
    seats: npt.NDArray[np.int8]
    random: npt.NDArray[np.uint64]
    information: npt.NDArray[np.void]
    ruleset: RuleSet
    num_players: int
    layout: Layout

    def __len__(self) -> int:
        """Return the number of decisions."""
        return len(self.seats)

    def rows(self, chosen: npt.NDArray[np.intp] | slice) -> DecisionView:
        """Return the view of some rows only.

        >>> from phase10_env import GameBatch
        >>> len(GameBatch(num_games=4).view().rows(slice(0, 2)))
        2
        """
        return DecisionView(
            self.observations[chosen],
            self.action_masks[chosen],
            self.legal_actions[chosen],
            self.legal_counts[chosen],
            self.seats[chosen],
            self.random[chosen],
            self.information[chosen],
            self.ruleset,
            self.num_players,
            self.layout,
        )


@runtime_checkable
class Agent(Protocol):
    """A decision maker: a name, and one action index for each row of a view."""

    name: str

    def act(self, view: DecisionView) -> npt.NDArray[np.integer]:
        """Return int[n], a legal action index for each row."""
        ...


@kernel
def blank_row(game, seat):  # type: ignore[no-untyped-def]
    """Blank out what a seat may not know: other hands, the order of the stock, the seed."""
    game.seed = 0
    for place in range(len(game.stock)):
        game.stock[place] = NO_CARD
    for other in range(MAX_PLAYERS):
        if other != seat:
            for kind in range(KINDS):
                game.hands[other, kind] = 0
            game.held[other] = 0
            game.numbers[other] = 0
            game.colours[other] = 0
    if game.stage != BUILD or game.to_act != seat:
        game.build_phase = 0
        game.free_numbers = 0
        for kind in range(KINDS):
            game.free[kind] = 0
        for group in range(2):
            game.placed_sizes[group] = 0
            game.declared[group] = 0
    if game.to_act != seat:
        game.onto_card = NO_CARD
    for group in range(2):
        for place in range(game.placed_sizes[group], game.placed.shape[1]):
            game.placed[group, place] = 0
    for meld in range(len(game.meld_size)):
        for place in range(game.meld_size[meld], game.meld_cards.shape[1]):
            game.meld_cards[meld, place] = 0
    for place in range(game.discard_size, len(game.discard)):
        game.discard[place] = 0


@kernel
def blank_hidden(games, rows, out):  # type: ignore[no-untyped-def]
    """Copy games[rows] into out GAME[n], each with what its seat to act may not know blanked out."""
    for index in range(len(rows)):
        out[index] = games[rows[index]]
        blank_row(out[index], out[index].to_act)


@kernel
def agent_streams(games, rows, out):  # type: ignore[no-untyped-def]
    """Write each row's random stream uint64 for its next decision; it tells nothing about the deal."""
    for index in range(len(rows)):
        game = games[rows[index]]
        key = stream_key(game.seed, game.episode, game.round, AGENT)
        out[index] = random_bits(key, game.decisions)
