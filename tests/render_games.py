"""Moments of games for the tests of pictures, and hidden cards dealt anew."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from phase10_env import Game, GameBatch, RuleSet
from phase10_env.events import Decision
from phase10_env.positions import set_hand, set_pile
from phase10_env.render import Advice
from phase10_env.rules.cards import KINDS

Record = npt.NDArray[np.void]


def random_choice(legal: npt.NDArray[np.integer], rng: np.random.Generator) -> int:
    """Choose an action at random, but lay down and hit wherever that is legal."""
    table_moves = [int(action) for action in legal if 2 <= action < 111]
    return int(rng.choice(table_moves or legal.tolist()))


def moment(seed: int, decisions: int, players: int, ruleset: str = "official") -> tuple[Record, RuleSet]:
    """Return a game after some random decisions, or its last moment if it ends before."""
    batch = GameBatch(1, players, ruleset, seed, observation=None, auto_reset=False)
    rng = np.random.default_rng(seed)
    for _ in range(decisions):
        if batch.games["status"][0]:
            break
        batch.step([random_choice(batch.legal_actions[0, : batch.legal_counts[0]], rng)])
    return batch.games, batch.ruleset


def deal_hidden_anew(games: Record, viewer: int, seed: int) -> Record:
    """Return the game with the stock and all cards of others that are not known to be theirs shuffled."""
    dealt = games.copy()
    game = dealt[0]
    rng = np.random.default_rng(seed)
    stock = game["stock"][: game["stock_size"]].tolist()
    others = [seat for seat in range(int(game["num_players"])) if seat != viewer]
    unknown = {seat: (game["hands"][seat] - game["known"][seat]).clip(0) for seat in others}
    pool = stock + [kind for seat in others for kind in np.repeat(np.arange(KINDS), unknown[seat]).tolist()]
    rng.shuffle(pool)
    for seat in others:
        kept = game["hands"][seat] - unknown[seat]
        count = int(unknown[seat].sum())
        drawn, pool = pool[:count], pool[count:]
        set_hand(dealt, seat, np.repeat(np.arange(KINDS), kept).tolist() + drawn)
    set_pile(dealt, "stock", pool)
    game["seed"] = rng.integers(2**63)
    return dealt


def played_game(seed: int = 3, players: int = 2, ruleset: str = "short-5", limit: int = 3000) -> Game:
    """Return a game played to its end at random, laying down and hitting wherever that is legal."""
    game = Game(players, ruleset, seed)
    rng = np.random.default_rng(seed)
    while not game.over and len(game.events) < limit:
        game.play(random_choice(np.array(game.legal_indices()), rng))
    return game


def advice_of(game: Game) -> list[Advice]:
    """Make up an agent that likes low actions."""
    advice = []
    twin = Game(game.num_players, game.ruleset, game.seed)
    for event in game.events:
        if isinstance(event, Decision):
            legal = twin.legal_indices()
            advice.append(Advice(legal[0], {action: -action / 10 for action in legal}))
            twin.play(event.action)
    return advice
