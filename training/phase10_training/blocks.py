"""Cuts a tournament into blocks of games that are played and stored as a whole, in any order, anywhere.

A stage is a list of line-ups, each played on the same deals. Table t of a stage is deal t // L and line-up
t % L of its L line-ups, so that all line-ups advance evenly; a block is a run of tables with all rotations.
The games of a block depend on the plan and the number of the block alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from phase10_env.decision import Agent
from phase10_training.guarded import GuardedAgent
from phase10_training.line_ups import LineUp, deal_seeds, rotations
from phase10_training.matches import GameResults, PlaySettings, play_games
from phase10_training.rules_option import load_rules

__all__ = ["STAGE_GAMES", "BlockGames", "BlockPlan", "block_games", "block_settings", "play_block"]

STAGE_GAMES = 1 << 32
"""Numbers of games set apart for each stage."""


@dataclass(frozen=True)
class BlockPlan:
    """Say what one stage of a tournament plays; it holds plain values and can be sent anywhere.

    Arguments:
        stage: its number, from 0.
        line_ups: agent indices by seat.
        deals: deals a line-up; `first_deal` is the number of the first.
        seed: of the deals.
        rules: what `load_rules` takes.
        actions, time_limit: as in PlaySettings.
        block_games: games a block, about.
    """

    stage: int
    line_ups: tuple[LineUp, ...]
    deals: int
    first_deal: int
    seed: int
    rules: str | dict[str, Any]
    actions: Literal["full", "compact"]
    time_limit: float | None
    block_games: int

    @property
    def tables_per_block(self) -> int:
        """Tables a block."""
        return max(1, self.block_games // _most_rotations(self))

    @property
    def blocks(self) -> int:
        """Number of blocks of the stage."""
        return -(-self.deals * len(self.line_ups) // self.tables_per_block)

    @property
    def games(self) -> int:
        """Number of games of the stage."""
        return self.deals * sum(len(rotations(line_up)) for line_up in self.line_ups)


@dataclass(frozen=True)
class BlockGames:
    """Hold the games of a block: `number` int64[G] in the tournament, `deal` and `line_up` int64[G],
    `seeds` uint64[G], `seats` int64[G, P]."""

    number: NDArray[np.int64]
    deal: NDArray[np.int64]
    line_up: NDArray[np.int64]
    seeds: NDArray[np.uint64]
    seats: NDArray[np.int64]


def block_games(plan: BlockPlan, block: int) -> BlockGames:
    """Return the games of a block.

    >>> plan = BlockPlan(0, ((0, 1), (0, 2)), 3, 0, 7, "official", "full", None, 4)
    >>> plan.blocks, block_games(plan, 1).deal.tolist(), block_games(plan, 1).number.tolist()
    (3, [1, 1, 1, 1], [4, 5, 6, 7])
    """
    turned = [rotations(line_up) for line_up in plan.line_ups]
    most = _most_rotations(plan)
    first = block * plan.tables_per_block
    last = min(first + plan.tables_per_block, plan.deals * len(turned))
    number, deal, line_up, seats = [], [], [], []
    for table in range(first, last):
        which = table % len(turned)
        for turn, seating in enumerate(turned[which]):
            number.append(plan.stage * STAGE_GAMES + table * most + turn)
            deal.append(plan.first_deal + table // len(turned))
            line_up.append(which)
            seats.append(seating)
    deals = np.array(deal, dtype=np.int64)
    start = int(deals.min())
    seeds = deal_seeds(plan.seed, start, int(deals.max()) - start + 1)[deals - start]
    return BlockGames(np.array(number), deals, np.array(line_up), seeds, np.array(seats, dtype=np.int64))


def block_settings(plan: BlockPlan) -> PlaySettings:
    """Return how the games of the plan are played."""
    return PlaySettings(
        load_rules(plan.rules), plan.actions, plan.time_limit, keep_actions=True, track_rounds=True
    )


def play_block(
    plan: BlockPlan,
    block: int,
    agents: Sequence[Agent] | Sequence[GuardedAgent],
    progress: Callable[[int], None] | None = None,
) -> GameResults:
    """Play the games of a block and return their results, in the order of `block_games`.

    Cards are counted in the first seating of the first line-up only: all others repeat the same deals.
    """
    games = block_games(plan, block)
    shown = games.number % STAGE_GAMES % (len(plan.line_ups) * _most_rotations(plan)) == 0
    return play_games(agents, games.seeds, games.seats, block_settings(plan), progress, shown)


def _most_rotations(plan: BlockPlan) -> int:
    return max(len(rotations(line_up)) for line_up in plan.line_ups)
