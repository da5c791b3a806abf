"""The settings of a training run: one frozen struct, one section a concern (configs/train/*.toml)."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from phase10_agents.neural.networks import NetworkSettings
from phase10_env.observation import Layout, observation_layout
from phase10_training.advantages import AdvantageSettings
from phase10_training.errors import UsageError
from phase10_training.fused_loss import LossSettings

__all__ = [
    "CheckpointSettings",
    "CloneSettings",
    "EnvironmentSettings",
    "EvaluationSettings",
    "OptimizerSettings",
    "PoolSettings",
    "RolloutSettings",
    "TrainingSettings",
]


class EnvironmentSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold what is played.

    Attributes:
        num_players: 2-6.
        ruleset: preset name or TOML file.
        actions: "compact" learns quicker; "full" offers every lay-down.
        observation: "full", or "candidates": also what each draw and each discard would do.
        episode: "round" (phases and scores drawn by `start`) or "game".
        start: "mixed" or "first", for rounds.
        reward: "equity", "points" (rounds and games), "win", "rank" (games).
        reward_scale: factor on rewards; 5 brings equity changes to about ±2.5.
        shaping: potential of one missing card, in rewards (0 = none); potential-based, so it changes no optimum.
        equity: file of an equity model, "" = the shipped one.
    """

    num_players: int = 2
    ruleset: str = "official"
    actions: Literal["compact", "full"] = "compact"
    observation: Literal["full", "candidates"] = "full"
    episode: Literal["round", "game"] = "round"
    start: Literal["mixed", "first"] = "mixed"
    reward: Literal["equity", "points", "win", "rank"] = "equity"
    reward_scale: float = 5.0
    shaping: float = 0.0
    equity: str = ""

    @property
    def layout(self) -> Layout:
        """The layout of the observations."""
        return observation_layout(self.num_players, self.observation)


class RolloutSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold how decisions are collected.

    Attributes:
        games: played at once, over all workers.
        steps: decisions of each game in one rollout.
        workers: threads; each plays its share of the games and computes its share of every gradient.
        oracle_critic: let the critic (never the policy) see all hands and the stock.
    """

    games: int = 1024
    steps: int = 64
    workers: int = 2
    oracle_critic: bool = False


class OptimizerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold how the weights move.

    Attributes:
        learning_rate, final_learning_rate: at the first and the last decision, linear between.
        final_entropy: the entropy weight at the last decision; it starts at `loss.entropy`.
        epochs: passes over a rollout.
        minibatch: decisions of one gradient step, over all workers.
        max_grad_norm: gradients are scaled down to it.
        target_kl: the passes over a rollout end once the policy has moved this far.
        critic_warmup: decisions during which only the critic learns (after a warm start).
        anchor_rate: share of the way to the policy that the anchor goes each rollout (with `loss.anchor`).
        policy_rate: share of each step that the policy's weights take in self-play, the critic's all of it: a
            critic learns from quick steps, a policy that is good already loses more to their noise than it gains.
    """

    learning_rate: float = 7e-4
    final_learning_rate: float = 7e-5
    final_entropy: float = 0.003
    epochs: int = 2
    minibatch: int = 4096
    max_grad_norm: float = 0.5
    target_kl: float = 0.02
    critic_warmup: int = 0
    anchor_rate: float = 0.02
    policy_rate: float = 1.0


class CloneSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold the warm start: imitate an agent before self-play.

    Attributes:
        agent: spec of the teacher, "" = no warm start.
        decisions: to imitate.
        learning_rate, final_learning_rate: linear between.
        random_moves: share of random moves while the teacher plays, for coverage.
        minibatch: decisions in one gradient step; smaller than for PPO, whose gradients are noisier.
        smoothing: share of a target that goes to all legal actions alike (Szegedy et al. 2016). Without it a clone
            grows so sure of what its teacher always does that no later learning tries anything else.
    """

    agent: str = ""
    decisions: int = 0
    learning_rate: float = 1e-3
    final_learning_rate: float = 1e-4
    random_moves: float = 0.1
    minibatch: int = 2048
    smoothing: float = 0.02


class PoolSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold the opponents beside the current policy.

    Attributes:
        share: of the tables at which one seat learns against others from the pool.
        agents: specs of fixed opponents.
        snapshots: most recent snapshots of the policy that are kept as opponents.
        snapshot_every: decisions between snapshots.
    """

    share: float = 0.0
    agents: tuple[str, ...] = ()
    snapshots: int = 0
    snapshot_every: int = 2_000_000


class EvaluationSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold the paired evaluations.

    Attributes:
        against: specs of the yardsticks.
        deals: of each evaluation during training.
        every: decisions between them, 0 = only at the end.
        final_deals: of the evaluation at the end, which are other deals than those before.
        keep_best: keep as `best` the policy that a sequential test found stronger than the best before it.
        test_elo: how much stronger, in Elo: the test tells this from 0 with 5 % errors either way.
        test_deals: most deals of such a test, played only where the evaluation's own (`deals`) do not decide it;
            undecided means that the former best stays.
    """

    against: tuple[str, ...] = ("random", "greedy")
    deals: int = 256
    every: int = 0
    final_deals: int = 512
    keep_best: bool = True
    test_elo: float = 5.0
    test_deals: int = 0


class CheckpointSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold how often the full training state is written: every so many decisions, the newest `keep` stay."""

    every: int = 1_000_000
    keep: int = 3


class TrainingSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold everything about a run.

    >>> TrainingSettings().rollout.games
    1024
    """

    seed: int = 1
    total_decisions: int = 10_000_000
    torch_threads: int = 1
    start_from: str = ""  # checkpoint or run whose policy this run begins with
    environment: EnvironmentSettings = EnvironmentSettings()
    network: NetworkSettings = NetworkSettings()
    rollout: RolloutSettings = RolloutSettings()
    advantage: AdvantageSettings = AdvantageSettings()
    loss: LossSettings = LossSettings(entropy=0.015)
    optimizer: OptimizerSettings = OptimizerSettings()
    clone: CloneSettings = CloneSettings()
    pool: PoolSettings = PoolSettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    checkpoint: CheckpointSettings = CheckpointSettings()

    def __post_init__(self) -> None:
        """Refuse settings that cannot work together, naming the key."""
        rollout, optimizer = self.rollout, self.optimizer
        problems = [
            (self.total_decisions < 1, "total_decisions must be at least 1", self.total_decisions),
            (rollout.workers < 1, "rollout.workers must be at least 1", rollout.workers),
            (
                rollout.games < rollout.workers or rollout.games % rollout.workers,
                "rollout.games must be a multiple of rollout.workers",
                rollout.games,
            ),
            (rollout.steps < 2, "rollout.steps must be at least 2", rollout.steps),
            (optimizer.epochs < 1, "optimizer.epochs must be at least 1", optimizer.epochs),
            (
                not optimizer.learning_rate > 0 or not optimizer.final_learning_rate >= 0,
                "optimizer.learning_rate must be above 0, and final_learning_rate not below",
                (optimizer.learning_rate, optimizer.final_learning_rate),
            ),
            (
                not optimizer.max_grad_norm > 0,
                "optimizer.max_grad_norm must be above 0",
                optimizer.max_grad_norm,
            ),
            (not optimizer.target_kl > 0, "optimizer.target_kl must be above 0", optimizer.target_kl),
            (optimizer.minibatch < 2, "optimizer.minibatch must be at least 2", optimizer.minibatch),
            (
                not 0 < optimizer.anchor_rate <= 1,
                "optimizer.anchor_rate must be above 0, at most 1",
                optimizer.anchor_rate,
            ),
            (
                not 0 < optimizer.policy_rate <= 1,
                "optimizer.policy_rate must be above 0, at most 1",
                optimizer.policy_rate,
            ),
            (self.checkpoint.every < 1, "checkpoint.every must be at least 1", self.checkpoint.every),
            (self.checkpoint.keep < 1, "checkpoint.keep must be at least 1", self.checkpoint.keep),
            (self.evaluation.deals < 2, "evaluation.deals must be at least 2", self.evaluation.deals),
            (
                self.evaluation.final_deals < 2,
                "evaluation.final_deals must be at least 2",
                self.evaluation.final_deals,
            ),
            (
                not self.evaluation.test_elo > 0,
                "evaluation.test_elo must be above 0",
                self.evaluation.test_elo,
            ),
            (self.pool.snapshots < 0, "pool.snapshots must be at least 0", self.pool.snapshots),
            (
                self.pool.snapshot_every < 1,
                "pool.snapshot_every must be at least 1",
                self.pool.snapshot_every,
            ),
            (
                not 0 <= self.clone.random_moves <= 1,
                "clone.random_moves must be from 0 to 1",
                self.clone.random_moves,
            ),
            (
                not 0 <= self.clone.smoothing < 1,
                "clone.smoothing must be from 0 to 1, and below 1",
                self.clone.smoothing,
            ),
            (
                not 2 <= self.environment.num_players <= 6,
                "environment.num_players must be from 2 to 6",
                self.environment.num_players,
            ),
            (self.torch_threads < 1, "torch_threads must be at least 1", self.torch_threads),
            (not 0 <= self.seed < 2**63, "seed must be from 0 to 2^63 - 1", self.seed),
            (not 0 <= self.pool.share <= 1, "pool.share must be from 0 to 1", self.pool.share),
            (
                self.pool.share > 0 and not self.pool.agents and self.pool.snapshots < 1,
                "pool.share needs pool.agents or pool.snapshots",
                self.pool.share,
            ),
            (
                bool(self.clone.agent) != (self.clone.decisions > 0),
                "clone.agent and clone.decisions go together",
                self.clone.decisions,
            ),
            (
                self.environment.episode == "round" and self.environment.reward in ("win", "rank"),
                "environment.reward must be 'equity' or 'points' for rounds",
                self.environment.reward,
            ),
        ]
        problems += self._numbers_out_of_range()
        for wrong, sentence, found in problems:
            if wrong:
                raise UsageError(f"{sentence}, found {found!r}; change it in the config or with --set.")

    def _numbers_out_of_range(self) -> list[tuple[bool, str, object]]:
        """Return the problem, or not, of each number that is a weight, a share or a count."""
        loss, advantage, clone = self.loss, self.advantage, self.clone
        numbers: dict[str, float] = {
            **{
                f"loss.{name}": getattr(loss, name)
                for name in ("policy", "value", "entropy", "anchor", "clone")
            },
            "optimizer.final_entropy": self.optimizer.final_entropy,
            "optimizer.critic_warmup": self.optimizer.critic_warmup,
            "clone.decisions": clone.decisions,
            "clone.final_learning_rate": clone.final_learning_rate,
            "environment.shaping": self.environment.shaping,
            "evaluation.every": self.evaluation.every,
            "evaluation.test_deals": self.evaluation.test_deals,
        }
        positive: dict[str, float] = {
            "loss.clip": loss.clip,
            "loss.value_clip": 1.0 if loss.value_clip is None else loss.value_clip,
            "clone.learning_rate": clone.learning_rate,
            "clone.minibatch": clone.minibatch,
            "environment.reward_scale": self.environment.reward_scale,
        }
        shares: dict[str, float] = {
            "advantage.gamma": advantage.gamma,
            "advantage.gae_lambda": advantage.gae_lambda,
        }
        return [
            *(
                (not 0 <= value < math.inf, f"{name} must be at least 0", value)
                for name, value in numbers.items()
            ),
            *(
                (not 0 < value < math.inf, f"{name} must be above 0", value)
                for name, value in positive.items()
            ),
            *((not 0 <= value <= 1, f"{name} must be from 0 to 1", value) for name, value in shares.items()),
        ]
