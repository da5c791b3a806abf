"""GameBatch: many games stepped together, every buffer written in place; the fast path of the package.

Shapes: B games, P players, D observation entries, L = 64 places for legal actions. Each game has its own seed,
drawn from the batch's seed and the game's number, so a batch of B equals B batches of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from phase10_env.decision import DecisionView, agent_streams, blank_hidden
from phase10_env.equity import EquityModel, default_equity, win_equities
from phase10_env.observation import Layout, check_level, encode, observation_layout, write_candidates
from phase10_env.rewards import REWARDS, write_rewards
from phase10_env.rules import table
from phase10_env.rules.batch import explain_row
from phase10_env.rules.deal import next_active
from phase10_env.rules.kernel import announce, inlined_kernel, kernel
from phase10_env.rules.legal import REASONS, legal_actions
from phase10_env.rules.phases import ADVANCE_EVERY_ROUND, ADVANCE_PICK
from phase10_env.rules.random import AGENT, random_below, random_bits, stream_key
from phase10_env.rules.ruleset import RuleSet, get_ruleset
from phase10_env.rules.scoring import has_finished, phases_completed
from phase10_env.rules.state import GAME, MAX_PLAYERS, RUNNING, TERMINATED, TRUNCATED
from phase10_env.rules.step import apply, begin_episode, begin_round, start_game

__all__ = ["RESULT", "GameBatch", "game_seeds"]

MAX_LEGAL = 64
"""Most actions that can be legal at once: 20 lay-downs, 15 hits, 15 discards and 5 Skips, rounded up."""

START = 4  # purpose of the random stream that draws the start of a round episode

FROM_THE_FIRST, MIXED, GIVEN = 0, 1, 2
STARTS = ("first", "mixed", "given")

RESULT = np.dtype(
    [
        ("episode", np.int64),  # number of the episode on its row
        ("status", np.int8),  # TERMINATED or TRUNCATED
        ("rounds", np.int16),  # rounds begun
        ("decisions", np.int32),
        ("rank", np.int8, (MAX_PLAYERS,)),  # 1 = winner; 0 where nobody was ranked
        ("score", np.int32, (MAX_PLAYERS,)),
        ("phases", np.int8, (MAX_PLAYERS,)),  # phases completed
        ("turns", np.int32),  # turns of the last round, lost ones included
        ("laid", np.int8, (MAX_PLAYERS,)),  # who laid down in it
        ("points", np.int32, (MAX_PLAYERS,)),  # penalty points of it
    ],
    align=True,
)
"""What is kept of an episode that ended, for whoever evaluates."""

SETTINGS = np.dtype(
    [
        ("reward", np.int64),
        ("auto_reset", np.int64),
        ("single_round", np.int64),
        ("start", np.int64),
        ("observed", np.int64),  # 0: no observations are written
        ("full", np.int64),
        ("seats", np.int64),  # seat blocks of the observation
    ]
)


def game_seeds(seed: int, first: int, count: int) -> npt.NDArray[np.uint64]:
    """Return the seeds of the games first ... first + count - 1 of a batch seed, uint64[count].

    >>> int(game_seeds(7, 3, 1)[0]) == int(game_seeds(7, 0, 4)[3])
    True
    """
    out = np.zeros(count, np.uint64)
    _write_seeds(np.uint64(seed % (1 << 64)), first, out)
    return out


@kernel
def _write_seeds(seed, first, out):  # type: ignore[no-untyped-def]
    for place in range(len(out)):
        out[place] = random_bits(stream_key(seed, 0, 0, 0), first + place)


# ---- episodes ----------------------------------------------------------------------------------------------


@kernel
def _continues(game, rules):  # type: ignore[no-untyped-def]
    """Tell whether the round just played leads to a further round of the same game."""
    if game.status != TERMINATED or game.round >= rules.max_rounds:
        return False
    finished = 0
    for seat in range(game.num_players):
        finished += has_finished(game, rules, seat)
    return finished == 0


@kernel
def _draw_start(game, rules):  # type: ignore[no-untyped-def]
    """Draw phases, scores and dealer of a round: 70 % near each other, 20 % anywhere, 10 % going on."""
    key = stream_key(game.seed, game.episode, 0, START)
    share = random_below(key, 0, 100)
    if share < 10 and game.single_round and _continues(game, rules):
        game.dealer = next_active(game, game.dealer)
        game.round += 1
        return
    last = rules.num_phases - 1
    base = random_below(key, 1, rules.num_phases)
    for seat in range(game.num_players):
        phase = random_below(key, 10 + seat, rules.num_phases)
        if share < 80:
            phase = min(max(base + random_below(key, 20 + seat, 5) - 2, 0), last)
        if rules.advance == ADVANCE_EVERY_ROUND:
            phase = base
        game.phase[seat] = phase
        game.done[seat] = 0
        if rules.advance == ADVANCE_PICK:
            game.phase[seat] = 0
            for count in range(phase):
                which = random_below(key, 100 + 16 * seat + count, rules.num_phases - count)
                for candidate in range(rules.num_phases):
                    if (game.done[seat] >> candidate) & 1 == 0:
                        if which == 0:
                            game.done[seat] |= 1 << candidate
                            break
                        which -= 1
        game.score[seat] = 5 * random_below(key, 30 + seat, 1 + 8 * (phase + base))
        game.active[seat] = 1
    game.dealer = random_below(key, 2, game.num_players)
    game.round = 1


@kernel
def _begin(game, rules, settings, starts, row):  # type: ignore[no-untyped-def]
    """Begin the next episode of a row."""
    if not settings.single_round:
        start_game(game, rules)
        return
    if settings.start == MIXED:
        _draw_start(game, rules)
    else:
        for seat in range(MAX_PLAYERS):
            game.active[seat] = seat < game.num_players
            game.phase[seat] = 0
            game.done[seat] = 0
            game.score[seat] = 0
        game.dealer = rules.dealer
        if rules.dealer < 0:
            game.dealer = random_below(stream_key(game.seed, game.episode, 0, START), 0, game.num_players)
        game.round = 1
        if settings.start == GIVEN:
            for seat in range(game.num_players):
                game.phase[seat] = starts[row, seat]
                game.score[seat] = starts[row, MAX_PLAYERS + seat]
                game.done[seat] = starts[row, 2 * MAX_PLAYERS + seat]
            if starts[row, 3 * MAX_PLAYERS] >= 0:
                game.dealer = starts[row, 3 * MAX_PLAYERS]
    game.single_round = 1
    begin_episode(game)
    begin_round(game, rules)


@kernel
def _write_result(game, rules, result):  # type: ignore[no-untyped-def]
    result.episode = game.episode
    result.status = game.status
    result.rounds = game.round
    result.decisions = game.decisions
    result.turns = game.turn
    for seat in range(game.num_players):
        result.rank[seat] = game.rank[seat]
        result.score[seat] = game.score[seat]
        result.laid[seat] = game.round_laid[seat]
        result.points[seat] = game.round_points[seat]
        result.phases[seat] = phases_completed(game, rules, seat)
        if rules.advance == ADVANCE_EVERY_ROUND:
            result.phases[seat] = game.phase[seat]


@inlined_kernel
def _show(game, rules, settings, observations, masks, legal, counts, seats, row):  # type: ignore[no-untyped-def]
    """Write what the seat to act needs: legal actions, mask, seat and observation of one row."""
    count = 0
    if game.status == RUNNING:
        count = legal_actions(game, rules, legal[row])
    counts[row] = count
    for place in range(count):
        masks[row, legal[row, place]] = True
    seats[row] = game.to_act
    if settings.observed:
        encode(game, rules, game.to_act, observations, row, settings.seats, settings.full)


@kernel
def _close(game, rules, settings, equity, starts, rewards, equities, results, row):  # type: ignore[no-untyped-def]
    """Pay the rewards of a round that ended; keep the result of an episode that ended and begin the next."""
    write_rewards(game, rules, settings.reward, equity, equities[row], rewards[row])
    if game.status == RUNNING:
        return
    _write_result(game, rules, results[row])
    if settings.auto_reset:
        game.episode += 1
        _begin(game, rules, settings, starts, row)
        win_equities(game, rules, equity, equities[row])


# The arrays are passed one by one: Numba counts references for arrays in tuples, which halves the speed.


@inlined_kernel
def _step_row(  # type: ignore[no-untyped-def]
    game, rules, settings, equity, starts, action, observations, masks, legal, counts, seats, rewards,
    terminations, truncations, equities, results, row,
):  # fmt: skip
    """Take one action on one row and write its buffers."""
    for seat in range(rewards.shape[1]):
        rewards[row, seat] = 0.0
    for place in range(counts[row]):
        masks[row, legal[row, place]] = False
    apply(game, rules, action, legal[row])
    terminations[row] = game.status == TERMINATED
    truncations[row] = game.status == TRUNCATED
    if game.round_over or game.status != RUNNING:
        _close(game, rules, settings, equity, starts, rewards, equities, results, row)
    _show(game, rules, settings, observations, masks, legal, counts, seats, row)


@kernel
def _step_rows(  # type: ignore[no-untyped-def]
    games, rules, settings, equity, starts, actions, observations, masks, legal, counts, seats, rewards,
    terminations, truncations, equities, results, first, last,
):  # fmt: skip
    """Step the rows first ... last - 1; rows whose game is over stay as they are."""
    for row in range(first, last):
        if games[row].status == RUNNING:
            _step_row(
                games[row], rules[0], settings[0], equity[0], starts, actions[row], observations, masks, legal,
                counts, seats, rewards, terminations, truncations, equities, results, row,
            )  # fmt: skip
        else:
            for seat in range(rewards.shape[1]):
                rewards[row, seat] = 0.0


@kernel
def _play_rows(  # type: ignore[no-untyped-def]
    games, rules, settings, equity, starts, decisions, observations, masks, legal, counts, seats, rewards,
    terminations, truncations, equities, results, first, last,
):  # fmt: skip
    """Step rows with uniformly random legal actions chosen here, `decisions` times each; return episodes ended.

    A game takes up to 32 decisions before the next game has its turn, while its record is in the cache.
    """
    ended = 0
    for begun in range(0, decisions, 32):
        for row in range(first, last):
            for _ in range(min(32, decisions - begun)):
                game = games[row]
                key = stream_key(game.seed, game.episode, game.round, AGENT)
                choice = random_below(key, game.decisions, counts[row])
                action = np.int64(legal[row, choice])  # as `step` passes it: compiled once
                _step_row(
                    game, rules[0], settings[0], equity[0], starts, action, observations, masks,
                    legal, counts, seats, rewards, terminations, truncations, equities, results, row,
                )  # fmt: skip
                ended += terminations[row] or truncations[row]
    return ended


@kernel
def _reset_rows(  # type: ignore[no-untyped-def]
    games, rules, settings, equity, starts, observations, masks, legal, counts, seats, rewards,
    terminations, truncations, equities, results, first, last,
):  # fmt: skip
    """Begin an episode on the rows first ... last - 1."""
    for row in range(first, last):
        for place in range(counts[row]):
            masks[row, legal[row, place]] = False
        _begin(games[row], rules[0], settings[0], starts, row)
        win_equities(games[row], rules[0], equity[0], equities[row])
        for seat in range(rewards.shape[1]):
            rewards[row, seat] = 0.0
        terminations[row] = False
        truncations[row] = False
        _show(games[row], rules[0], settings[0], observations, masks, legal, counts, seats, row)


@kernel
def _show_rows(  # type: ignore[no-untyped-def]
    games, rules, settings, observations, masks, legal, counts, seats, terminations, truncations, rows
):
    """Write the buffers of some rows anew from their game records."""
    for index in range(len(rows)):
        row = rows[index]
        for action in range(masks.shape[1]):
            masks[row, action] = False
        terminations[row] = games[row].status == TERMINATED
        truncations[row] = games[row].status == TRUNCATED
        _show(games[row], rules[0], settings[0], observations, masks, legal, counts, seats, row)


@kernel
def _first_illegal(games, masks, actions):  # type: ignore[no-untyped-def]
    """Return the first running row whose action is not legal, or -1."""
    for row in range(len(games)):
        if games[row].status == RUNNING:
            action = actions[row]
            if action < 0 or action >= masks.shape[1] or not masks[row, action]:
                return row
    return -1


class GameBatch:
    """N games of Phase 10, stepped together.

    Buffers (the same arrays for the life of the batch, `torch.from_numpy`-ready):

    - `observations` uint8[B, D]: what the seat to act may know (`layout` names its slices)
    - `action_masks` bool[B, 165]: True = legal
    - `legal_actions` uint8[B, 64], `legal_counts` int16[B]: the same as a list, ascending
    - `seats` int8[B]: the seat to act
    - `rewards` float32[B, P]: of the last step, one for each seat
    - `terminations`, `truncations` bool[B]: of the last step
    - `results` RESULT[B]: the last episode that ended on each row
    - `games` GAME[B]: the state; cloning a game is an assignment

    Args:
        num_games: B.
        num_players: 2-6.
        ruleset: preset name, TOML file or RuleSet.
        seed: of the batch; game i has a seed of its own, derived from it and i.
        actions: "full" or "compact".
        observation: "full", "basic", "candidates" or None (none is written).
        pad_seats: lay observations out for six seats.
        episode: "game", or "round" (one round).
        reward: "win", "rank", "points" or "equity"; default "win" for games, "equity" for rounds.
        start: for rounds: "first", "mixed" (phases and scores drawn anew), or a dict of arrays `phases` int[B, P]
            (from 1), `scores`, `dealers` [B], `done` (bit sets, for advance="pick").
        equity: the equity model of reward "equity"; default: the shipped one.
        auto_reset: deal finished games anew within the same step.
        first_game: number of the first game (batches can be cut into pieces).
        seeds: uint64[B], seeds of the games, instead of `seed` and `first_game`.
        threads: worker threads; each owns blocks of rows. 1 = in the calling thread.

    >>> batch = GameBatch(num_games=2, num_players=3, seed=1)
    >>> batch.step(batch.legal_actions[:, 0])
    >>> batch.action_masks.shape
    (2, 165)
    """

    def __init__(
        self,
        num_games: int = 1024,
        num_players: int = 2,
        ruleset: str | RuleSet | dict[str, Any] = "official",
        seed: int = 0,
        *,
        actions: str = "full",
        observation: str | None = "full",
        pad_seats: bool = False,
        episode: str = "game",
        reward: str | None = None,
        start: str | dict[str, npt.ArrayLike] = "first",
        equity: EquityModel | None = None,
        auto_reset: bool = True,
        first_game: int = 0,
        seeds: npt.ArrayLike | None = None,
        threads: int = 1,
    ) -> None:
        if num_games < 1:
            raise ValueError(f"num_games must be at least 1, found {num_games}")
        _check_choice("actions", actions, ("full", "compact"))
        _check_choice("episode", episode, ("game", "round"))
        if reward is None:
            reward = "win" if episode == "game" else "equity"
        _check_choice("reward", reward, REWARDS)
        if episode == "round" and reward in ("win", "rank"):
            raise ValueError(f"reward {reward!r} needs whole games; use episode='game', or reward='equity'")
        if observation is not None:
            check_level(observation)
        self.ruleset = get_ruleset(ruleset)
        self.ruleset.check_players(num_players)
        self.num_games = num_games
        self.num_players = num_players
        self.layout: Layout = observation_layout(num_players, observation or "basic", pad_seats)
        self.equity = equity or default_equity(self.ruleset, num_players)
        self.reward = reward
        self.threads = threads
        announce(__name__)

        self.games = np.zeros(num_games, GAME)
        self.games["num_players"] = num_players
        self.games["compact"] = actions == "compact"
        self.games["single_round"] = episode == "round"
        self._seeds_given = seeds is not None
        self._first_game = first_game
        self.games["seed"] = (
            game_seeds(seed, first_game, num_games) if seeds is None else np.asarray(seeds, np.uint64)
        )
        self._settings = np.zeros(1, SETTINGS)
        self._settings["reward"] = REWARDS.index(reward)
        self._settings["auto_reset"] = auto_reset
        self._settings["single_round"] = episode == "round"
        self._settings["observed"] = observation is not None
        self._settings["full"] = observation != "basic"
        self._settings["seats"] = MAX_PLAYERS if pad_seats else num_players
        self._starts = self._start_array(start)

        width = self.layout.size if observation is not None else 1
        self.observations = np.zeros((num_games, width), np.uint8)
        self.action_masks = np.zeros((num_games, table.NUM_ACTIONS), np.bool_)
        self.legal_actions = np.zeros((num_games, MAX_LEGAL), np.uint8)
        self.legal_counts = np.zeros(num_games, np.int16)
        self.seats = np.zeros(num_games, np.int8)
        self.rewards = np.zeros((num_games, num_players), np.float32)
        self.terminations = np.zeros(num_games, np.bool_)
        self.truncations = np.zeros(num_games, np.bool_)
        self.results = np.zeros(num_games, RESULT)
        self.equities = np.zeros((num_games, num_players), np.float64)
        self._buffers = (
            self.observations,
            self.action_masks,
            self.legal_actions,
            self.legal_counts,
            self.seats,
            self.rewards,
            self.terminations,
            self.truncations,
            self.equities,
            self.results,
        )
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self._over_rows(_reset_rows)
        self.write_candidates()

    def _start_array(self, start: str | dict[str, npt.ArrayLike]) -> npt.NDArray[np.int32]:
        if isinstance(start, str):
            _check_choice("start", start, STARTS[:2])
            self._settings["start"] = STARTS.index(start)
            return np.zeros((1, 3 * MAX_PLAYERS + 1), np.int32)
        unknown = sorted(set(start) - {"phases", "scores", "dealers", "done"})
        if unknown:
            raise ValueError(f"start knows phases, scores, dealers and done, found {unknown[0]!r}")
        self._settings["start"] = GIVEN
        out = np.zeros((self.num_games, 3 * MAX_PLAYERS + 1), np.int32)
        players = self.num_players
        phases = np.asarray(start.get("phases", 1))
        if (phases < 1).any() or (phases > len(self.ruleset.phases)).any():
            raise ValueError(
                f"start phases count from 1 to {len(self.ruleset.phases)}, found {phases.tolist()}"
            )
        out[:, :players] = phases - 1
        out[:, MAX_PLAYERS : MAX_PLAYERS + players] = np.asarray(start.get("scores", 0))
        out[:, 2 * MAX_PLAYERS : 2 * MAX_PLAYERS + players] = np.asarray(start.get("done", 0))
        out[:, 3 * MAX_PLAYERS] = np.asarray(start.get("dealers", -1))
        return out

    def _over_rows(self, kernel_function: Any, *arguments: Any) -> int:
        """Run a kernel over all rows, in blocks shared out among the threads; return the sum of its results."""
        fixed = (
            self.games,
            self.ruleset.record,
            self._settings,
            self.equity.record,
            self._starts,
            *arguments,
        )
        if self._pool is None:
            return kernel_function(*fixed, *self._buffers, 0, self.num_games) or 0
        block = max(1, -(-self.num_games // (4 * self.threads)))
        jobs = [
            self._pool.submit(
                lambda rows: kernel_function(*fixed, *self._buffers, rows.start, rows.stop),
                range(first, min(first + block, self.num_games)),
            )
            for first in range(0, self.num_games, block)
        ]
        return sum(job.result() or 0 for job in jobs)

    def reset(self, seed: int | None = None) -> None:
        """Deal every game anew: with a seed as from the start, without one as the next episode of each row."""
        if seed is not None:
            self.games["seed"] = game_seeds(seed, self._first_game, self.num_games)
            self.games["episode"] = 0
        else:
            self.games["episode"] += 1
        self._over_rows(_reset_rows)
        self.write_candidates()

    def step(self, actions: npt.ArrayLike, check: bool = True) -> None:
        """Take one action in every game; the buffers then show the next decisions.

        Args:
            actions: int[B], one legal action index for each game (ignored where a game is over).
            check: refuse illegal actions before anything changes. False trusts the caller.

        Raises:
            IllegalActionError: naming the first row with an illegal action; no game has changed.
        """
        chosen = np.ascontiguousarray(actions, dtype=np.int64)
        if chosen.shape != (self.num_games,):
            raise ValueError(f"expected one action for each of {self.num_games} games, found {chosen.shape}")
        if check:
            row = _first_illegal(self.games, self.action_masks, chosen)
            if row >= 0:
                self._refuse(row, int(chosen[row]))
        self._over_rows(_step_rows, chosen)
        self.write_candidates()

    def _refuse(self, row: int, action: int) -> None:
        from phase10_env.errors import IllegalActionError

        reason = explain_row(self.games, self.ruleset.record, row, action)
        raise IllegalActionError(int(self.seats[row]), action, REASONS[reason][1], row=row)

    def play_random(self, decisions: int) -> int:
        """Take `decisions` uniformly random legal actions in every game; return the episodes that ended.

        Needs `auto_reset`. The choice is made inside the compiled loop, from each game's own stream.
        """
        if not self._settings["auto_reset"][0]:
            raise ValueError("play_random needs auto_reset=True, found auto_reset=False")
        ended = self._over_rows(_play_rows, decisions)
        self.write_candidates()
        return ended

    def copy_games(self, src: Sequence[int] | npt.ArrayLike, dst: Sequence[int] | npt.ArrayLike) -> None:
        """Copy the games on rows `src` onto rows `dst` (int[n] each) and refresh the buffers there."""
        source = np.asarray(src, np.intp)
        target = np.asarray(dst, np.intp)
        if source.shape != target.shape:
            raise ValueError(f"expected as many sources as targets, found {source.shape} and {target.shape}")
        self.games[target] = self.games[source]
        self.equities[target] = self.equities[source]
        self.refresh(target)

    def refresh(self, rows: npt.ArrayLike | None = None) -> None:
        """Write the buffers of some rows (default: all) anew, after their game records were changed."""
        chosen = np.arange(self.num_games) if rows is None else np.asarray(rows, np.int64)
        _show_rows(
            self.games,
            self.ruleset.record,
            self._settings,
            *self._buffers[:5],
            self.terminations,
            self.truncations,
            chosen,
        )
        self.write_candidates(chosen)

    def write_candidates(self, rows: npt.NDArray[np.int64] | None = None) -> None:
        """Write what level "candidates" adds to the observations of some rows (default: all).

        `reset`, `step` and `refresh` do so themselves; other levels add nothing.
        """
        write_candidates(self.games, self.ruleset, self.observations, self.layout, rows)

    def view(self, rows: npt.ArrayLike | None = None, information: bool = True) -> DecisionView:
        """Return what agents get for some rows (default: all), as copies.

        `information=False` leaves the blanked game records out, for agents that read observations only.
        """
        chosen = np.arange(self.num_games) if rows is None else np.asarray(rows, np.int64)
        streams = np.zeros(len(chosen), np.uint64)
        agent_streams(self.games, chosen, streams)
        hidden = np.zeros(len(chosen) if information else 0, GAME)
        if information:
            blank_hidden(self.games, chosen, hidden)
        return DecisionView(
            observations=self.observations[chosen],
            action_masks=self.action_masks[chosen],
            legal_actions=self.legal_actions[chosen],
            legal_counts=self.legal_counts[chosen],
            seats=self.seats[chosen],
            random=streams,
            information=hidden,
            ruleset=self.ruleset,
            num_players=self.num_players,
            layout=self.layout,
        )


def _check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, found {value!r}")
