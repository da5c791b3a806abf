"""Plays whole games and notes the standings before every round, for the fit of equity models.

Shapes: S standings (one a round), P seats. Standings of one game share its outcome and its `game` number, so
held-out games are split by game, never by standing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from phase10_agents.catalog import load_agent
from phase10_agents.policies import POLICY_WEIGHTS, play_out, policy_number
from phase10_agents.scratch import new_scratch
from phase10_env.decision import Agent
from phase10_env.game_batch import GameBatch
from phase10_env.rules.kernel import kernel
from phase10_env.rules.phases import ADVANCE_EVERY_ROUND, ADVANCE_PICK
from phase10_env.rules.ruleset import RuleSet
from phase10_env.rules.state import GAME, RUNNING, TERMINATED

__all__ = ["Standings", "collect_standings"]

BLOCK_GAMES = 512
"""Games played side by side."""


@dataclasses.dataclass(frozen=True, slots=True)
class Standings:
    """Hold standings before rounds and what came of them.

    Attributes:
        done: int16[S, P], phases completed; under `every_round` the rounds played.
        scores: int32[S, P].
        shares: float64[S, P], the seat's share of the win at the end of the game.
        next_done: int16[S, P], `done` after the round.
        game: int64[S], number of the game.
    """

    done: npt.NDArray[np.int16]
    scores: npt.NDArray[np.int32]
    shares: npt.NDArray[np.float64]
    next_done: npt.NDArray[np.int16]
    game: npt.NDArray[np.int64]

    def rows(self, chosen: npt.NDArray[np.bool_]) -> Standings:
        """Return the standings where `chosen` bool[S] is True."""
        return Standings(*(getattr(self, field.name)[chosen] for field in dataclasses.fields(self)))

    @staticmethod
    def concatenate(parts: list[Standings]) -> Standings:
        """Return all standings of the parts."""
        fields = dataclasses.fields(Standings)
        return Standings(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields))


@kernel
def _play_rounds(games: Any, rules: Any, policies: Any, weights: Any, scratch: Any) -> None:
    """Play every running game on to the end of its round, each seat by its policy."""
    for row in range(len(games)):
        if games[row].status == RUNNING:
            play_out(games[row], rules[0], policies, weights, scratch[0])


def collect_standings(
    agent: str | Agent,
    players: int,
    ruleset: RuleSet,
    games: int,
    seed: int = 0,
    mixed: float = 0.5,
    progress: Callable[[int], None] | None = None,
) -> Standings:
    """Let an agent play whole games against itself and note the standings before each round.

    Args:
        agent: the agent, or its spec.
        players: P.
        ruleset: what is played.
        games: games to play.
        seed: of the deals.
        mixed: share of games that begin in the middle, phases and scores drawn as in training, so that uneven
            standings are seen as well.
        progress: called with the number of games finished so far.

    >>> found = collect_standings("greedy", 3, RuleSet(), games=4, seed=1)
    >>> found.shares.sum(axis=1).round(6).min()
    np.float64(1.0)
    """
    player = load_agent(agent) if isinstance(agent, str) else agent
    policy = policy_number(agent) if isinstance(agent, str) else -1
    parts: list[Standings] = []
    for first in range(0, games, BLOCK_GAMES):
        count = min(BLOCK_GAMES, games - first)
        batch = GameBatch(
            count,
            players,
            ruleset,
            seed,
            actions="compact",
            observation=None if policy >= 0 else "full",
            auto_reset=False,
            first_game=first,
        )
        _begin_in_the_middle(batch, mixed, np.random.default_rng([seed, first]))
        parts.append(_play_block(batch, player, policy, first))
        if progress is not None:
            progress(first + count)
    return Standings.concatenate(parts)


def _begin_in_the_middle(batch: GameBatch, share: float, rng: np.random.Generator) -> None:
    """Give a share of the games other standings than those of the first round."""
    rules = batch.ruleset.record[0]
    last = int(rules["num_phases"]) - 1
    games, players = batch.num_games, batch.num_players
    base = rng.integers(0, last + 1, games)
    near = np.clip(base[:, None] + rng.integers(-2, 3, (games, players)), 0, last)
    done = np.where(rng.random(games)[:, None] < 0.75, near, rng.integers(0, last + 1, (games, players)))
    if rules["advance"] == ADVANCE_EVERY_ROUND:
        done = np.repeat(base[:, None], players, axis=1)
    scores = 5 * rng.integers(0, 1 + 8 * (done + base[:, None]))
    chosen = np.flatnonzero(rng.random(games) < share)
    batch.games["score"][chosen, :players] = scores[chosen]
    if rules["advance"] == ADVANCE_PICK:
        ranks = rng.random((games, players, last + 1)).argsort(axis=2).argsort(axis=2)
        sets = ((ranks < done[:, :, None]) << np.arange(last + 1)).sum(axis=2)
        batch.games["done"][chosen, :players] = sets[chosen]
    else:
        batch.games["phase"][chosen, :players] = done[chosen]
    batch.refresh()


def _done(games: npt.NDArray[np.void], ruleset: RuleSet, players: int) -> npt.NDArray[np.int16]:
    if ruleset.record[0]["advance"] == ADVANCE_PICK:
        return np.asarray(np.bitwise_count(games["done"][:, :players]), np.int16)
    return np.array(games["phase"][:, :players], np.int16)


def _play_block(batch: GameBatch, agent: Agent, policy: int, first: int) -> Standings:
    games, players = batch.games, batch.num_players
    policies = np.full(6, policy, np.int64)
    scratch = new_scratch()
    kept: list[
        tuple[npt.NDArray[np.intp], npt.NDArray[np.int16], npt.NDArray[np.int32], npt.NDArray[np.int16]]
    ] = []
    while True:
        rows = np.flatnonzero(games["status"] == RUNNING)
        if len(rows) == 0:
            break
        # Standings of a tie-break round are settled by rule; the models are not asked for them.
        rated = rows[games["tie_break"][rows] == 0]
        before, scores = _done(games, batch.ruleset, players)[rated], games["score"][rated, :players].copy()
        if policy >= 0:
            _play_rounds(games, batch.ruleset.record, policies, POLICY_WEIGHTS, scratch)
        else:
            _play_rounds_with_agent(batch, agent)
        after = _done(games, batch.ruleset, players)[rated]
        kept.append((rated, before, scores, after))
    wins = (games["rank"][:, :players] == 1) & (games["status"] == TERMINATED)[:, None]
    shares = np.where(
        wins.any(axis=1)[:, None], wins / np.maximum(1, wins.sum(axis=1))[:, None], 1.0 / players
    )
    rows = np.concatenate([part[0] for part in kept])
    return Standings(
        done=np.concatenate([part[1] for part in kept]),
        scores=np.concatenate([part[2] for part in kept]),
        shares=shares[rows],
        next_done=np.concatenate([part[3] for part in kept]),
        game=rows.astype(np.int64) + first,
    )


def _play_rounds_with_agent(batch: GameBatch, agent: Agent) -> None:
    """Play every running game on to the end of its round, asking the agent for all of them at once."""
    held = np.zeros(batch.num_games, GAME)
    ended = batch.games["status"] != RUNNING
    held[ended] = batch.games[ended]
    waiting = ended.copy()
    while not waiting.all():
        rows = np.flatnonzero(~waiting)
        actions = np.zeros(batch.num_games, np.int64)
        actions[rows] = agent.act(batch.view(rows))
        batch.step(actions, check=False)
        over = ~waiting & ((batch.games["round_over"] != 0) | (batch.games["status"] != RUNNING))
        held[over] = batch.games[over]
        waiting |= over
        batch.games["status"][waiting] = TERMINATED  # a finished row is left alone by the batch
    batch.games[:] = held
    batch.refresh()
