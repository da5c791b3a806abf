"""Collects decisions: one worker plays its games, remembers every decision of the learner and credits it.

Shapes: R = P + T rows (P carried over, T new), B games of this worker, P seats, D observation entries, L listed
legal actions. Everything is stored at [row, game]; a row without a decision of the learner has seat NO_SEAT.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from phase10_agents.neural.inference import act
from phase10_agents.neural.networks import FoldedWeights, PolicyValueNet
from phase10_env import Agent, GameBatch
from phase10_env.decision import agent_streams
from phase10_env.equity import EquityModel
from phase10_env.game_batch import MAX_LEGAL
from phase10_env.observation import encode_states, state_layout
from phase10_training.advantages import NO_SEAT, AdvantageSettings, Credit, assign_credit
from phase10_training.fused_loss import LossBatch
from phase10_training.settings import EnvironmentSettings, RolloutSettings

__all__ = ["EpisodeTally", "RolloutWorker", "make_batch"]

_CARRIED = ("observations", "legal", "counts", "actions", "log_probs", "values", "teacher")
"""What an open decision takes along into the next rollout."""


def make_batch(
    environment: EnvironmentSettings,
    games: int,
    seed: int,
    first_game: int = 0,
    equity: EquityModel | None = None,
) -> GameBatch:
    """Return the batch of games that an environment section describes."""
    return GameBatch(
        games,
        environment.num_players,
        environment.ruleset,
        seed,
        actions=environment.actions,
        observation=environment.observation,
        episode=environment.episode,
        start=environment.start,
        reward=environment.reward,
        equity=equity,
        first_game=first_game,
    )


@dataclasses.dataclass(slots=True)
class EpisodeTally:
    """Count what happened in the episodes that ended.

    Attributes:
        episodes, truncated: how many.
        turns: turns of their last rounds.
        points: penalty points of their last rounds, over all seats.
        seats: seats of those rounds.
        tried, laid: int64[phases], by phase: seats that were on it, and that laid it down.
        decisions: taken in them.
    """

    tried: npt.NDArray[np.int64]
    laid: npt.NDArray[np.int64]
    episodes: int = 0
    truncated: int = 0
    turns: int = 0
    points: int = 0
    seats: int = 0
    decisions: int = 0

    def add(self, results: npt.NDArray[np.void], truncated: npt.NDArray[np.bool_], players: int) -> None:
        """Count the results RESULT[k] of k episodes."""
        self.episodes += len(results)
        self.truncated += int(truncated.sum())
        self.turns += int(results["turns"].sum())
        self.points += int(results["points"][:, :players].sum())
        self.seats += players * len(results)
        self.decisions += int(results["decisions"].sum())
        laid = results["laid"][:, :players] > 0
        phase = np.minimum(results["phases"][:, :players] - laid, len(self.tried) - 1)
        self.tried += np.bincount(phase.ravel(), minlength=len(self.tried))
        self.laid += np.bincount(phase[laid], minlength=len(self.tried))

    def merge(self, other: EpisodeTally) -> None:
        """Add another worker's counts."""
        for field in dataclasses.fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))


class RolloutWorker:
    """Play games with the current policy and keep what the update needs.

    Args:
        number: of the worker, 0 ... workers - 1; its games are numbered on from the workers before it.
        net: the policy; its weights are shared, its gradients are this worker's own (`PolicyValueNet.twin`).
        environment, rollout, advantage: sections of the settings.
        seed: of the run.
        equity: the equity model behind the rewards.
        pool_share: share of tables with opponents from the pool.
    """

    def __init__(
        self,
        number: int,
        net: PolicyValueNet,
        environment: EnvironmentSettings,
        rollout: RolloutSettings,
        advantage: AdvantageSettings,
        seed: int,
        equity: EquityModel | None = None,
        pool_share: float = 0.0,
    ) -> None:
        self.number, self.net, self.seed = number, net, seed
        self.environment, self.advantage = environment, advantage
        self.games = rollout.games // rollout.workers
        self.steps = rollout.steps
        self.batch = make_batch(environment, self.games, seed, number * self.games, equity)
        self.players = environment.num_players
        self.pool_share = pool_share
        rows, games, players = self.players + self.steps, self.games, self.players
        self.observations = np.zeros((rows, games, self.batch.layout.size), np.uint8)
        self.legal = np.zeros((rows, games, MAX_LEGAL), np.uint8)
        self.counts = np.ones((rows, games), np.int16)
        self.actions = np.zeros((rows, games), np.uint8)
        self.log_probs = np.zeros((rows, games), np.float32)
        self.values = np.zeros((rows, games), np.float32)
        self.teacher = np.zeros((rows, games), np.uint8)
        self.seats = np.full((rows, games), NO_SEAT, np.int8)
        self.rewards = np.zeros((rows, games, players), np.float32)
        self.ends = np.zeros((rows, games), np.bool_)
        self.privileged: npt.NDArray[np.uint8] | None = None
        if rollout.oracle_critic:
            self.privileged = np.zeros((rows, games, state_layout(players).size), np.uint8)
        self.controllers = np.zeros((games, players), np.int8)  # 0 = the learner, k = opponent k of the pool
        self.chosen = np.zeros(0, np.int64)  # learnable decisions as indices into [R * B]
        self.credit: Credit | None = None
        self._missing = self.batch.layout.fields["missing"].slice

    # ---- playing -------------------------------------------------------------------------------------------

    def collect(
        self,
        iteration: int,
        folded: FoldedWeights,
        opponents: Sequence[Agent] = (),
        teacher: Agent | None = None,
        random_moves: float = 0.0,
    ) -> EpisodeTally:
        """Play one rollout and credit its decisions.

        Args:
            iteration: number of the rollout; with seed and worker it fixes every random draw made here.
            folded: weights ready for products.
            opponents: the pool, in the order of `controllers`.
            teacher: plays instead of the learner and labels each decision.
            random_moves: share of the teacher's moves that are replaced by random ones.
        """
        rng = np.random.default_rng([self.seed, self.number, iteration])
        phases = len(self.batch.ruleset.phases)
        tally = EpisodeTally(np.zeros(phases, np.int64), np.zeros(phases, np.int64))
        for row in range(self.players, self.players + self.steps):
            self._remember(row)
            if teacher is not None:
                actions = self._teach(row, teacher, random_moves, rng)
            else:
                actions = self._decide(row, folded, opponents)
            self.batch.step(actions, check=False)
            np.multiply(self.batch.rewards, self.environment.reward_scale, out=self.rewards[row])
            ended = self.batch.terminations | self.batch.truncations
            self.ends[row] = ended
            if ended.any():
                tally.add(self.batch.results[ended], self.batch.truncations[ended], self.players)
                if self.pool_share > 0:
                    self._draw_controllers(np.flatnonzero(ended), len(opponents), rng)
        self._assign(imitating=teacher is not None)
        return tally

    def _remember(self, row: int) -> None:
        self.observations[row] = self.batch.observations
        self.legal[row] = self.batch.legal_actions
        self.counts[row] = self.batch.legal_counts
        self.seats[row] = self.batch.seats
        if self.privileged is not None:
            encode_states(self.batch.games, self.batch.ruleset.record, self.privileged[row])

    def _decide(
        self, row: int, folded: FoldedWeights, opponents: Sequence[Agent]
    ) -> npt.NDArray[np.integer[Any]]:
        to_act = np.zeros(self.games, np.int8)
        if opponents and self.pool_share > 0:
            to_act = self.controllers[np.arange(self.games), self.batch.seats]
        own = np.flatnonzero(to_act == 0)
        streams = np.zeros(len(own), np.uint64)
        agent_streams(self.batch.games, own, streams)
        choices = act(
            self.net,
            self.observations[row, own],
            self.legal[row, own],
            self.counts[row, own],
            streams,
            np.zeros(len(own), np.uint64),
            privileged=None if self.privileged is None else self.privileged[row, own],
            folded=folded,
        )
        for kept, found in (
            (self.actions, choices.actions),
            (self.log_probs, choices.log_probs),
            (self.values, choices.values),
        ):
            kept[row] = 0
            kept[row, own] = found
        self.teacher[row] = 0
        actions = np.zeros(self.games, np.int64)
        actions[own] = choices.actions
        for number, opponent in enumerate(opponents, start=1):
            rows = np.flatnonzero(to_act == number)
            if len(rows):
                actions[rows] = opponent.act(self.batch.view(rows))
        self.seats[row, to_act > 0] = NO_SEAT
        return actions

    def _teach(
        self, row: int, teacher: Agent, random_moves: float, rng: np.random.Generator
    ) -> npt.NDArray[np.integer[Any]]:
        taught = np.asarray(teacher.act(self.batch.view()), np.int64)
        self.teacher[row] = taught
        self.values[row] = 0.0
        wild = rng.random(self.games) < random_moves
        places = rng.integers(0, self.counts[row])
        self.actions[row] = np.where(wild, self.legal[row][np.arange(self.games), places], taught)
        return np.asarray(self.actions[row], np.int64)

    def _draw_controllers(self, rows: npt.NDArray[np.intp], pool: int, rng: np.random.Generator) -> None:
        """Fill the seats of new tables: the learner everywhere, or one learner among one kind of opponent."""
        self.controllers[rows] = 0
        if pool == 0:
            return
        mixed = rows[rng.random(len(rows)) < self.pool_share]
        self.controllers[mixed] = rng.integers(1, pool + 1, len(mixed))[:, None]
        self.controllers[mixed, rng.integers(0, self.players, len(mixed))] = 0

    # ---- crediting -----------------------------------------------------------------------------------------

    def _assign(self, imitating: bool = False) -> None:
        potentials = None
        if self.environment.shaping:
            missing = self.observations[..., self._missing] @ np.arange(10, dtype=np.uint8)
            potentials = (-self.environment.shaping * missing).astype(np.float32)
        # No values are known while a teacher plays: the critic then learns from what was earned in full.
        advantage = AdvantageSettings(self.advantage.gamma, 1.0) if imitating else self.advantage
        self.credit = assign_credit(
            self.seats, self.values, self.rewards, self.ends, advantage, potentials=potentials
        )
        self.chosen = np.flatnonzero(self.credit.closed.ravel())

    def carry_over(self, keep: bool = True) -> None:
        """Move the decisions that are still open to the first rows, for the next rollout, or drop them all."""
        assert self.credit is not None
        if not keep:
            self.credit.open_rows[:] = -1
        for seat in range(self.players):
            source = self.credit.open_rows[:, seat]
            open_games = np.flatnonzero(source >= 0)
            # A decision carried over before stands in its own seat's row, so no seat overwrites another's.
            for name in self._carried_names():
                array = getattr(self, name)
                array[seat, open_games] = array[source[open_games], open_games]
        self.seats[: self.players] = NO_SEAT
        self.rewards[: self.players] = 0.0
        self.ends[: self.players] = False
        for seat in range(self.players):
            open_games = np.flatnonzero(self.credit.open_rows[:, seat] >= 0)
            self.seats[seat, open_games] = seat
            self.rewards[seat, open_games, seat] = self.credit.pending[open_games, seat]

    def _carried_names(self) -> tuple[str, ...]:
        return _CARRIED if self.privileged is None else (*_CARRIED, "privileged")

    # ---- learning ------------------------------------------------------------------------------------------

    def minibatch(
        self,
        rows: npt.NDArray[np.int64],
        advantages: npt.NDArray[np.float32],
        taught: bool,
        smoothing: float = 0.0,
    ) -> tuple[torch.Tensor, torch.Tensor | None, LossBatch]:
        """Return observations, privileged state and loss inputs of decisions `rows` (indices into [R * B]).

        Args:
            rows: int64[n].
            advantages: float32[R * B], normalised.
            taught: give targets: the teacher's actions, smoothed.
            smoothing: share of a target that goes to all legal actions alike.
        """
        assert self.credit is not None

        def take(array: npt.NDArray[Any]) -> torch.Tensor:
            return torch.from_numpy(array.reshape(-1, *array.shape[2:])[rows])

        counts = take(self.counts)
        longest = int(counts.max())
        legal = take(self.legal[:, :, :longest])
        targets = None
        if taught:
            valid = torch.arange(longest) < counts[:, None]
            hot = ((legal == take(self.teacher)[:, None]) & valid).float()
            targets = (1.0 - smoothing) * hot + smoothing * valid / counts[:, None]
        batch = LossBatch(
            legal_actions=legal,
            legal_counts=counts,
            actions=take(self.actions),
            old_log_probs=take(self.log_probs),
            advantages=torch.from_numpy(advantages[rows]),
            returns=take(self.credit.returns),
            old_values=take(self.values),
            targets=targets,
        )
        privileged = None if self.privileged is None else take(self.privileged)
        return take(self.observations), privileged, batch

    # ---- state ---------------------------------------------------------------------------------------------

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything that the next rollout depends on, between two iterations."""
        kept = {name: getattr(self, name)[: self.players].copy() for name in self._carried_names()}
        # What stands where no decision is open, or behind a list of actions, has no meaning.
        for array in kept.values():
            array[self.seats[: self.players] == NO_SEAT] = 0
        kept["legal"][np.arange(MAX_LEGAL) >= kept["counts"][:, :, None]] = 0
        kept |= {
            "seats": self.seats[: self.players].copy(),
            "rewards": self.rewards[: self.players].copy(),
            "games": self.batch.games.copy(),
            "equities": self.batch.equities.copy(),
            "controllers": self.controllers.copy(),
        }
        return kept

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Go on from a state."""
        for name in (*self._carried_names(), "seats", "rewards"):
            getattr(self, name)[: self.players] = state[name]
        self.batch.games[:] = state["games"]
        self.batch.equities[:] = state["equities"]
        self.controllers[:] = state["controllers"]
        self.batch.refresh()
