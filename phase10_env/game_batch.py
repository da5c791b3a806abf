"""GameBatch: many games stepped together, every buffer written in place; the fast path of the package.

Shapes: B games, P players, D observation entries, L = 64 places for legal actions. Each game has its own seed,
drawn from the batch's seed and the game's number, so a batch of B equals B batches of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from phase10_env.cpu_rows import CpuRows
from phase10_env.decision import DecisionView, agent_streams, blank_hidden
from phase10_env.episodes import GIVEN, RESULT, STARTS
from phase10_env.equity import EquityModel, default_equity
from phase10_env.observation import Layout, check_level, observation_layout, write_candidates
from phase10_env.rewards import REWARDS
from phase10_env.row_loops import SETTINGS
from phase10_env.rules import table
from phase10_env.rules.batch import explain_row
from phase10_env.rules.kernel import announce, kernel
from phase10_env.rules.legal import REASONS
from phase10_env.rules.random import random_bits, stream_key
from phase10_env.rules.ruleset import RuleSet, get_ruleset
from phase10_env.rules.state import GAME, MAX_PLAYERS

if TYPE_CHECKING:
    from phase10_env.cuda_rows import CudaRows

__all__ = ["RESULT", "GameBatch", "game_seeds"]

MAX_LEGAL = 64
"""Most actions that can be legal at once: 20 lay-downs, 15 hits, 15 discards and 5 Skips, rounded up."""


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
        threads: that step rows, the calling one included.
        device: "cpu", or "cuda": buffers and games are arrays of a GPU, one of its threads steps each row, from
            the same source (`cuda_rows`). `torch.as_tensor(batch.observations)` reads them without a copy,
            `copy_to_host()` brings one over. `cuda_rows` says what of it is tested; its speed is not known.

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
        device: str = "cpu",
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
        _check_choice("device", device, ("cpu", "cuda"))
        if observation is not None:
            check_level(observation)
        if observation == "candidates" and device == "cuda":
            raise ValueError("observation 'candidates' needs device='cpu'; with 'cuda' use 'full' or 'basic'")
        if device == "cuda" and threads != 1:
            raise ValueError(f"threads are for device='cpu'; with 'cuda' leave them out, found {threads}")
        self.ruleset = get_ruleset(ruleset)
        self.ruleset.check_players(num_players)
        self.num_games = num_games
        self.num_players = num_players
        self.layout: Layout = observation_layout(num_players, observation or "basic", pad_seats)
        self.equity = equity or default_equity(self.ruleset, num_players)
        self.reward = reward
        self.threads = threads
        self.device = device
        self._rows: CpuRows | CudaRows = _rows_of(device, num_games, threads)
        announce(__name__)

        games = np.zeros(num_games, GAME)
        games["num_players"] = num_players
        games["compact"] = actions == "compact"
        games["single_round"] = episode == "round"
        self._seeds_given = seeds is not None
        self._first_game = first_game
        games["seed"] = (
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

        place = self._rows.place
        width = self.layout.size if observation is not None else 1
        self.games: npt.NDArray[np.void] = place(games)
        self.observations: npt.NDArray[np.uint8] = place(np.zeros((num_games, width), np.uint8))
        self.action_masks: npt.NDArray[np.bool_] = place(np.zeros((num_games, table.NUM_ACTIONS), np.bool_))
        self.legal_actions: npt.NDArray[np.uint8] = place(np.zeros((num_games, MAX_LEGAL), np.uint8))
        self.legal_counts: npt.NDArray[np.int16] = place(np.zeros(num_games, np.int16))
        self.seats: npt.NDArray[np.int8] = place(np.zeros(num_games, np.int8))
        self.rewards: npt.NDArray[np.float32] = place(np.zeros((num_games, num_players), np.float32))
        self.terminations: npt.NDArray[np.bool_] = place(np.zeros(num_games, np.bool_))
        self.truncations: npt.NDArray[np.bool_] = place(np.zeros(num_games, np.bool_))
        self.results: npt.NDArray[np.void] = place(np.zeros(num_games, RESULT))
        self.equities: npt.NDArray[np.float64] = place(np.zeros((num_games, num_players), np.float64))
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
        self._rows.reset(self._fixed, self._buffers)
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

    @property
    def _fixed(self) -> tuple[Any, ...]:
        """Return what every loop over rows gets first: the games, and what does not change."""
        records = (self.ruleset.record, self._settings, self.equity.record, self._starts)
        return (self.games, *self._rows.records(records))

    def reset(self, seed: int | None = None) -> None:
        """Deal every game anew: with a seed as from the start, without one as the next episode of each row."""
        seeds = None if seed is None else game_seeds(seed, self._first_game, self.num_games)
        self._rows.reseed(self.games, seeds)
        self._rows.reset(self._fixed, self._buffers)
        self.write_candidates()

    def step(self, actions: npt.ArrayLike, check: bool = True) -> None:
        """Take one action in every game; the buffers then show the next decisions.

        Args:
            actions: int[B], one legal action index for each game (ignored where a game is over).
            check: refuse illegal actions before anything changes. False trusts the caller.

        Raises:
            IllegalActionError: naming the first row with an illegal action; no game has changed.
        """
        chosen = self._rows.actions(actions)
        if chosen.shape != (self.num_games,):
            raise ValueError(f"expected one action for each of {self.num_games} games, found {chosen.shape}")
        if check:
            row = self._rows.first_illegal(self.games, self.action_masks, chosen)
            if row >= 0:
                self._refuse(row, int(chosen[row]))
        self._rows.step(self._fixed, chosen, self._buffers)
        self.write_candidates()

    def _refuse(self, row: int, action: int) -> None:
        from phase10_env.errors import IllegalActionError

        reason = explain_row(self._rows.to_host(self.games), self.ruleset.record, row, action)
        raise IllegalActionError(int(self.seats[row]), action, REASONS[reason][1], row=row)

    def play_random(self, decisions: int) -> int:
        """Take `decisions` uniformly random legal actions in every game; return the episodes that ended.

        Needs `auto_reset`. The choice is made inside the compiled loop, from each game's own stream.
        """
        if not self._settings["auto_reset"][0]:
            raise ValueError("play_random needs auto_reset=True, found auto_reset=False")
        ended = self._rows.play(self._fixed, decisions, self._buffers)
        self.write_candidates()
        return ended

    def copy_games(self, src: Sequence[int] | npt.ArrayLike, dst: Sequence[int] | npt.ArrayLike) -> None:
        """Copy the games on rows `src` onto rows `dst` (int[n] each) and refresh the buffers there."""
        source = np.asarray(src, np.intp)
        target = np.asarray(dst, np.intp)
        if source.shape != target.shape:
            raise ValueError(f"expected as many sources as targets, found {source.shape} and {target.shape}")
        self._rows.copy(self.games, source, target)
        self._rows.copy(self.equities, source, target)
        self.refresh(target)

    def refresh(self, rows: npt.ArrayLike | None = None) -> None:
        """Write the buffers of some rows (default: all) anew, after their game records were changed."""
        chosen = np.arange(self.num_games) if rows is None else np.asarray(rows, np.int64)
        fields = (*self._buffers[:5], self.terminations, self.truncations)
        self._rows.show((*self._fixed[:3], *fields), chosen)
        self.write_candidates(chosen)

    def write_candidates(self, rows: npt.NDArray[np.int64] | None = None) -> None:
        """Write what level "candidates" adds to the observations of some rows (default: all).

        `reset`, `step` and `refresh` do so themselves; other levels add nothing.
        """
        if self.device == "cpu":
            write_candidates(self.games, self.ruleset, self.observations, self.layout, rows)

    def view(self, rows: npt.ArrayLike | None = None, information: bool = True) -> DecisionView:
        """Return what agents get for some rows (default: all), as copies in this machine's memory.

        `information=False` leaves the blanked game records out, for agents that read observations only.
        """
        chosen = np.arange(self.num_games) if rows is None else np.asarray(rows, np.int64)
        host = self._rows.to_host
        games = host(self.games)
        streams = np.zeros(len(chosen), np.uint64)
        agent_streams(games, chosen, streams)
        hidden = np.zeros(len(chosen) if information else 0, GAME)
        if information:
            blank_hidden(games, chosen, hidden)
        return DecisionView(
            observations=host(self.observations)[chosen],
            action_masks=host(self.action_masks)[chosen],
            legal_actions=host(self.legal_actions)[chosen],
            legal_counts=host(self.legal_counts)[chosen],
            seats=host(self.seats)[chosen],
            random=streams,
            information=hidden,
            ruleset=self.ruleset,
            num_players=self.num_players,
            layout=self.layout,
        )


def _rows_of(device: str, num_games: int, threads: int) -> CpuRows | CudaRows:
    """Return what runs the loops over rows on a device."""
    if device == "cpu":
        return CpuRows(num_games, threads)
    if find_spec("numba_cuda") is None:
        raise ValueError(
            "device='cuda' needs numba-cuda, found none; install it with pip install 'phase10-env[cuda]' or use "
            "device='cpu'"
        )
    from phase10_env.cuda_rows import CudaRows

    return CudaRows(num_games)


def _check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, found {value!r}")
