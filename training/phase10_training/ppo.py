"""Self-play PPO (Schulman et al. 2017) with one shared network, in reading order.

1. settings (settings.py)   2. networks (networks.py)   3. rollout (rollout.py)   4. advantages (advantages.py)
5. loss (fused_loss.py)     6. update                   7. the loop, in two stages: imitate, then self-play

The unit is the decision: one action of one seat. Credit follows (game, seat), so every seat of every game is a
stream of its own, and all streams teach the same network.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import torch

from phase10_agents.neural.networks import ACTIONS, PolicyValueNet, network_for
from phase10_env import Agent
from phase10_env.equity import EquityModel
from phase10_env.observation import state_layout
from phase10_training.block_gradient import BlockGradient
from phase10_training.fused_loss import STATISTICS, LossSettings, LossSizes, policy_value_loss
from phase10_training.rollout import EpisodeTally, RolloutWorker
from phase10_training.settings import TrainingSettings

__all__ = ["Learner", "Schedule", "make_network", "schedule_at", "with_other_sight"]

_Statistics = dict[str, float]

_ANCHOR_ROWS = 1024  # decisions that the anchor sees at once


def make_network(settings: TrainingSettings) -> PolicyValueNet:
    """Return a fresh network for the observation of the settings' environment."""
    players = settings.environment.num_players
    privileged = torch.from_numpy(state_layout(players).scale) if settings.rollout.oracle_critic else None
    return network_for(
        settings.environment.layout, settings.network, privileged_scale=privileged, seed=settings.seed
    )


def with_other_sight(net: PolicyValueNet, settings: TrainingSettings) -> PolicyValueNet:
    """Return the same policy with a critic that sees the hidden state where the former did not, or the reverse.

    What the critic sees in addition counts nothing at first: its values are the former ones until it has learned.
    """
    scale = torch.from_numpy(state_layout(settings.environment.num_players).scale)
    other = net.sibling(net.settings, privileged_scale=scale if settings.rollout.oracle_critic else None)
    weights = net.state_dict()
    weights.pop("privileged_weight", None)
    if other.privileged_weight is not None:
        weights["privileged_weight"] = torch.zeros_like(other.privileged_weight)
    other.load_state_dict(weights)
    return other


# ---- schedules ---------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class Schedule:
    """Hold what changes in the course of a run.

    Attributes:
        imitating: True in the first stage.
        learning_rate: of the next update.
        loss: weights of the loss terms in the next update.
    """

    imitating: bool
    learning_rate: float
    loss: LossSettings


def schedule_at(settings: TrainingSettings, decisions: int) -> Schedule:
    """Return the schedule after so many decisions.

    >>> schedule_at(TrainingSettings(total_decisions=100), 50).learning_rate
    0.000385
    """
    clone, optimizer = settings.clone, settings.optimizer
    if decisions < clone.decisions:
        share = decisions / clone.decisions
        rate = clone.learning_rate + share * (clone.final_learning_rate - clone.learning_rate)
        loss = msgspec.structs.replace(settings.loss, policy=0.0, entropy=0.0, anchor=0.0, clone=1.0)
        return Schedule(True, rate, loss)
    done = decisions - clone.decisions
    share = min(1.0, done / max(1, settings.total_decisions - clone.decisions))
    rate = optimizer.learning_rate + share * (optimizer.final_learning_rate - optimizer.learning_rate)
    entropy = settings.loss.entropy + share * (optimizer.final_entropy - settings.loss.entropy)
    loss = msgspec.structs.replace(settings.loss, entropy=entropy, clone=0.0)
    if done < optimizer.critic_warmup:
        loss = msgspec.structs.replace(loss, policy=0.0, entropy=0.0, anchor=0.0)
    return Schedule(False, rate, loss)


# ---- the learner -------------------------------------------------------------------------------------------


class Learner:
    """Own the network, the optimizer and the workers; one call of `iterate` is one rollout and its update.

    Args:
        settings: of the run.
        net: the network to train; fresh if None.
        teacher: the agent of the first stage, if there is one.
        opponents: fixed agents of the pool.
        equity: the equity model behind the rewards.
        as_agent: makes an opponent of a snapshot of the network.
        device: "cpu" or "cuda"; games are always played on the CPU.
    """

    def __init__(
        self,
        settings: TrainingSettings,
        net: PolicyValueNet | None = None,
        teacher: Agent | None = None,
        opponents: Sequence[Agent] = (),
        equity: EquityModel | None = None,
        as_agent: Callable[[PolicyValueNet], Agent] | None = None,
        device: str = "cpu",
    ) -> None:
        self.settings = settings
        self.net = (net or make_network(settings)).to(device)
        self.teacher, self.fixed_opponents = teacher, list(opponents)
        self.snapshots: list[PolicyValueNet] = []
        self.snapshots_at: list[int] = []  # decisions after which each was taken
        self.anchor: PolicyValueNet | None = None
        self._as_agent = as_agent
        self._anchor_logits: list[torch.Tensor] = []  # by worker; empty without an anchor
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3, eps=1e-5, fused=device == "cpu")
        self.decisions = 0
        self.iteration = 0
        count = settings.rollout.workers
        self.workers = [
            RolloutWorker(
                number,
                self.net if number == 0 else self.net.twin(),
                settings.environment,
                settings.rollout,
                settings.advantage,
                settings.seed,
                equity,
                settings.pool.share,
            )
            for number in range(count)
        ]
        self._block_gradients = (
            [BlockGradient(worker.net) for worker in self.workers] if BlockGradient.serves(self.net) else []
        )
        self._threads = ThreadPoolExecutor(count, initializer=_flush_denormals)

    def _in_parallel(self, work: Callable[[RolloutWorker, int], Any]) -> list[Any]:
        """Run `work(worker, number)` for every worker, each in a thread; results in order of the workers."""
        return list(self._threads.map(work, self.workers, range(len(self.workers))))

    # ---- one iteration -------------------------------------------------------------------------------------

    def iterate(self) -> _Statistics:
        """Collect one rollout, learn from it, and return the statistics by TensorBoard tag."""
        schedule = schedule_at(self.settings, self.decisions)
        opponents = self._opponents() if not schedule.imitating else []
        teacher = self.teacher if schedule.imitating else None
        with torch.no_grad():
            folded = self.net.fold()

        def collect(worker: RolloutWorker, _: int) -> EpisodeTally:
            return worker.collect(
                self.iteration, folded, opponents, teacher, self.settings.clone.random_moves
            )

        tallies = self._in_parallel(collect)
        if schedule.loss.anchor:
            self._move_anchor()
        statistics = self._update(schedule)
        for tally in tallies[1:]:
            tallies[0].merge(tally)
        before = self.decisions
        self.decisions += self.settings.rollout.games * self.settings.rollout.steps
        self.iteration += 1
        # A teacher's decisions are not the policy's own: none of them may be taken for one.
        keep = schedule.imitating == schedule_at(self.settings, self.decisions).imitating
        self._in_parallel(lambda worker, _: worker.carry_over(keep))
        self._take_snapshot(before)
        return statistics | _episode_statistics(tallies[0])

    def _opponents(self) -> list[Agent]:
        if self.settings.pool.share == 0:
            return []
        assert self._as_agent is not None or not self.snapshots
        return self.fixed_opponents + [self._as_agent(net) for net in self.snapshots if self._as_agent]

    def _take_snapshot(self, before: int) -> None:
        pool = self.settings.pool
        if pool.snapshots and before // pool.snapshot_every != self.decisions // pool.snapshot_every:
            self.add_snapshot(self.net.state_dict(), self.decisions)

    def add_snapshot(self, weights: dict[str, torch.Tensor], taken_at: int) -> None:
        """Add a copy of weights, taken after so many decisions, to the pool; when it is full the oldest leaves."""
        snapshot = make_network(self.settings)
        snapshot.load_state_dict(weights)
        self.snapshots.append(snapshot)
        self.snapshots_at.append(taken_at)
        # Tables in play keep their numbers: a number then means the snapshot that has taken the place.
        surplus = len(self.snapshots) - self.settings.pool.snapshots
        del self.snapshots[:surplus], self.snapshots_at[:surplus]

    def _move_anchor(self) -> None:
        """Let the anchor follow the policy slowly; it starts as a copy (the moving magnet of MMD)."""
        if self.anchor is None:
            self.anchor = self.net.policy_copy()
            return
        rate = self.settings.optimizer.anchor_rate
        with torch.no_grad():
            for ours, theirs in zip(self.anchor.policy_weights(), self.net.policy_weights(), strict=True):
                ours.lerp_(theirs, rate)

    def set_anchor(self, weights: dict[str, torch.Tensor]) -> None:
        """Go on with the anchor of a checkpoint; one that has a critic, as anchors once had, loses it."""
        whole = weights["input_weight"].shape == self.net.input_weight.shape
        anchor = make_network(self.settings).to(self.net.device) if whole else self.net.policy_copy()
        anchor.load_state_dict(weights)
        self.anchor = anchor.policy_copy() if whole else anchor

    def _ask_anchor(self) -> list[torch.Tensor]:
        """Return for each worker the anchor's logits of its rollout's decisions, float32[R * B, A], on the CPU."""
        assert self.anchor is not None
        anchor = self.anchor
        with torch.inference_mode():
            folded = anchor.fold()

        def ask(worker: RolloutWorker, _: int) -> torch.Tensor:
            found = torch.zeros(worker.counts.size, ACTIONS)
            with torch.inference_mode():
                for rows in np.array_split(worker.chosen, -(-len(worker.chosen) // _ANCHOR_ROWS) or 1):
                    observations, legal, counts = (
                        torch.from_numpy(array.reshape(worker.counts.size, -1)[rows])
                        for array in (worker.observations, worker.legal, worker.counts)
                    )
                    logits, _ = anchor(
                        observations.to(anchor.device), folded=folded, legal=(legal, counts[:, 0])
                    )
                    found[rows] = logits.cpu()
            return found

        return self._in_parallel(ask)

    # ---- the update ----------------------------------------------------------------------------------------

    def _update(self, schedule: Schedule) -> _Statistics:
        """Make the passes over the rollout; stop early when the policy has moved `target_kl`."""
        settings = self.settings.optimizer
        for group in self.optimizer.param_groups:
            group["lr"] = schedule.learning_rate
        advantages = self._normalised_advantages()
        self._anchor_logits = self._ask_anchor() if schedule.loss.anchor else []
        minibatch = self.settings.clone.minibatch if schedule.imitating else settings.minibatch
        per_worker = max(1, minibatch // len(self.workers))
        total = np.zeros(len(STATISTICS))
        steps = 0
        norms = 0.0
        for epoch in range(settings.epochs):
            kls = []
            for parts in self._minibatches(epoch, per_worker):
                statistics, norm = self._gradient_step(parts, advantages, schedule)
                total += statistics
                norms += norm
                steps += 1
                kls.append(statistics[STATISTICS.index("approx_kl")])
            if not schedule.imitating and np.mean(kls) > settings.target_kl:
                break
        names = {name: float(value) for name, value in zip(STATISTICS, total / max(1, steps), strict=True)}
        return _named(names, schedule) | {
            "train/learning_rate": schedule.learning_rate,
            "train/explained_variance": self._explained_variance(),
            "train/gradient_norm": norms / max(1, steps),
            "train/updates": float(steps),
        }

    def _normalised_advantages(self) -> list[npt.NDArray[np.float32]]:
        """Return each worker's advantages [R * B], with mean 0 and deviation 1 over all choices of the rollout."""
        flat = []
        for worker in self.workers:
            assert worker.credit is not None
            choices = worker.chosen[worker.counts.ravel()[worker.chosen] > 1]
            flat.append(worker.credit.advantages.ravel()[choices])
        every = np.concatenate(flat)
        mean, deviation = float(every.mean()), float(every.std()) + 1e-8
        return [
            ((worker.credit.advantages.ravel() - mean) / deviation).astype(np.float32)
            for worker in self.workers
            if worker.credit is not None
        ]

    def _minibatches(self, epoch: int, per_worker: int) -> Iterator[list[npt.NDArray[np.int64]]]:
        """Yield for each gradient step the rows of each worker, in a random order fixed by the seed."""
        orders = []
        for worker in self.workers:
            rng = np.random.default_rng([self.settings.seed, worker.number, self.iteration, 1 + epoch])
            orders.append(rng.permutation(worker.chosen))
        steps = max(1, round(max(len(order) for order in orders) / per_worker))
        split = [np.array_split(order, steps) for order in orders]
        for step in range(steps):
            yield [parts[step] for parts in split]

    def _gradient_step(
        self,
        parts: list[npt.NDArray[np.int64]],
        advantages: list[npt.NDArray[np.float32]],
        schedule: Schedule,
    ) -> tuple[npt.NDArray[np.float64], float]:
        """Add up the workers' gradients of one minibatch and move the weights; return statistics and norm."""
        counts = [worker.counts.ravel()[rows] for worker, rows in zip(self.workers, parts, strict=True)]
        choices = max(1, int(sum((count > 1).sum() for count in counts)))
        sizes = LossSizes(max(1, sum(len(rows) for rows in parts)), choices, choices)

        def gradient(worker: RolloutWorker, number: int) -> npt.NDArray[np.float64]:
            observations, privileged, batch = worker.minibatch(
                parts[number], advantages[number], schedule.imitating, self.settings.clone.smoothing
            )
            if self._anchor_logits:
                magnet = self._anchor_logits[number][torch.from_numpy(parts[number])]
                batch = dataclasses.replace(batch, anchor_logits=magnet)
            device = self.net.device
            if device.type != "cpu":
                observations, batch = observations.to(device), batch.to(device)
                privileged = None if privileged is None else privileged.to(device)
            if self._block_gradients:
                return self._block_gradients[number](observations, privileged, batch, schedule.loss, sizes)
            logits, values = worker.net(observations, privileged)
            loss, statistics = policy_value_loss(logits, values, batch, schedule.loss, sizes)
            worker.net.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
            return statistics.cpu().numpy()

        found = self._in_parallel(gradient)
        for worker in self.workers[1:]:
            for ours, theirs in zip(self.net.parameters(), worker.net.parameters(), strict=True):
                assert ours.grad is not None
                assert theirs.grad is not None
                ours.grad += theirs.grad
        norm = torch.nn.utils.clip_grad_norm_(self.net.parameters(), self.settings.optimizer.max_grad_norm)
        rate = 1.0 if schedule.imitating else self.settings.optimizer.policy_rate
        before = [weight.detach().clone() for weight in self.net.policy_weights()] if rate < 1.0 else []
        self.optimizer.step()
        with torch.no_grad():
            for weight, old in zip(self.net.policy_weights(), before, strict=bool(before)):
                weight.copy_(torch.lerp(old, weight, rate))
        return np.sum(found, axis=0), float(norm)

    def _explained_variance(self) -> float:
        """Return 1 - Var(return - value) / Var(return) over the rollout: 1 = perfect, 0 = no better than a constant."""
        returns, values = [], []
        for worker in self.workers:
            assert worker.credit is not None
            returns.append(worker.credit.returns.ravel()[worker.chosen])
            values.append(worker.values.ravel()[worker.chosen])
        target, value = np.concatenate(returns), np.concatenate(values)
        variance = float(target.var())
        return math.nan if variance == 0 else 1.0 - float((target - value).var()) / variance

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown()


def _flush_denormals() -> None:
    torch.set_flush_denormal(True)


# ---- statistics --------------------------------------------------------------------------------------------


def _named(statistics: _Statistics, schedule: Schedule) -> _Statistics:
    """Give the loss statistics the tags that Stable-Baselines3 uses."""
    named = {
        "train/loss": statistics["loss"],
        "train/value_loss": statistics["value_loss"],
    }
    if schedule.imitating:
        return named | {
            "train/clone_loss": statistics["clone_loss"],
            "train/clone_agreement": statistics["clone_agreement"],
        }
    if schedule.loss.anchor:
        named["train/anchor_kl"] = statistics["anchor_kl"]
    return named | {
        "train/policy_gradient_loss": statistics["policy_loss"],
        "train/entropy_loss": -statistics["entropy"],
        "train/approx_kl": statistics["approx_kl"],
        "train/clip_fraction": statistics["clip_fraction"],
    }


def _episode_statistics(tally: EpisodeTally) -> _Statistics:
    """Return what the finished episodes tell about play."""
    if tally.episodes == 0:
        return {}
    found = {
        "rollout/ep_len_mean": tally.decisions / tally.episodes,
        "rollout/episodes": float(tally.episodes),
        "rollout/truncated": tally.truncated / tally.episodes,
        "phase10/turns_to_go_out": tally.turns / tally.seats,
        "phase10/points_per_round": tally.points / tally.seats,
        "phase10/lay_down_rate": float(tally.laid.sum() / max(1, tally.tried.sum())),
    }
    for phase in np.flatnonzero(tally.tried):
        found[f"phase10/lay_down_rate_{phase + 1:02d}"] = float(tally.laid[phase] / tally.tried[phase])
    return found
