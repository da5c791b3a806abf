"""Trains MaskablePPO of sb3-contrib against fixed opponents: an independent check of the project's own PPO.

A run folder holds `settings.json`, `metrics.jsonl`, `tensorboard/`, `model.zip` (which plays as `sb3:FOLDER`)
and `evaluation.json`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import KVWriter, Logger

from phase10_agents.sb3_agent import SB3Agent, load_sb3_agent, mark_model
from phase10_env.compat.sb3 import Phase10VecEnv, scaled_policy
from phase10_training.cli_support import Interrupted
from phase10_training.config import config_to_dict
from phase10_training.errors import UsageError
from phase10_training.evaluate import EvaluationResult, evaluate
from phase10_training.files import SETTINGS_FILE, check_total, write_text
from phase10_training.foreign_runs import print_run, settings_of
from phase10_training.metrics import METRICS_FILE, MetricsLogger
from phase10_training.progress import TrainingProgress

if TYPE_CHECKING:
    from phase10_training.train import TrainOptions

__all__ = ["SB3Settings", "new_model", "sb3_quickstart", "train_sb3"]

MODEL_FILE = "model.zip"
EVALUATION_FILE = "evaluation.json"


class SB3Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold what is played, how MaskablePPO learns and how it is evaluated.

    Attributes:
        total_decisions: of the learner.
        seed: of the training.
        num_players, ruleset, actions, episode, start, reward: as of the environments.
        opponents: spec of the agent at the other seats.
        num_envs, steps: games at once, and decisions of each in one rollout.
        learning_rate, batch_size, epochs, gamma, gae_lambda, entropy, clip_range: of MaskablePPO.
        network: widths of the layers of policy and value network.
        save_every: decisions between saves of the model.
        evaluate_every: decisions between evaluations, 0 = only at the end.
        deals, final_deals: of an evaluation during training and at the end.
        against: specs of the yardsticks.
    """

    total_decisions: int = 500_000
    seed: int = 1
    num_players: int = 2
    ruleset: str = "official"
    actions: Literal["compact", "full"] = "compact"
    episode: Literal["round", "game"] = "round"
    start: Literal["mixed", "first"] = "mixed"
    reward: Literal["equity", "points", "win", "rank"] = "equity"
    opponents: str = "greedy"
    num_envs: int = 256
    steps: int = 64
    learning_rate: float = 1e-3
    batch_size: int = 2048
    epochs: int = 3
    gamma: float = 1.0
    gae_lambda: float = 0.95
    entropy: float = 0.01
    clip_range: float = 0.2
    network: tuple[int, ...] = (256, 256)
    save_every: int = 100_000
    evaluate_every: int = 100_000
    deals: int = 100
    final_deals: int = 300
    against: tuple[str, ...] = ("random", "greedy")


class _MetricsWriter(KVWriter):
    """Hands what Stable-Baselines3 logs to the run's metrics, under its own names."""

    def __init__(self, metrics: MetricsLogger) -> None:
        self._metrics = metrics

    def write(self, key_values: dict[str, Any], key_excluded: Mapping[str, Any], step: int = 0) -> None:
        """Write the numbers among the values of one step."""
        numbers = {key: float(value) for key, value in key_values.items() if isinstance(value, int | float)}
        self._metrics.log(step, numbers)

    def close(self) -> None:
        """Do nothing: the metrics belong to the run."""


class _Course(BaseCallback):
    """Saves, evaluates and reports while MaskablePPO learns."""

    def __init__(self, settings: SB3Settings, folder: Path, progress: TrainingProgress) -> None:
        super().__init__()
        self._settings, self._folder, self._progress = settings, folder, progress
        self._before = 0

    def _on_training_start(self) -> None:
        self._before = self.num_timesteps

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        settings, done = self._settings, self.num_timesteps
        shown = {}
        if self.model.ep_info_buffer:
            shown["rollout/ep_rew_mean"] = _mean([info["r"] for info in self.model.ep_info_buffer])
        if (
            settings.evaluate_every
            and self._before // settings.evaluate_every != done // settings.evaluate_every
        ):
            for result in _evaluate(self.model, settings, settings.deals):
                shown[f"eval/win_share_{result.opponent}"] = result.win_share
                for key, value in zip(("low", "high"), result.interval, strict=True):
                    self.logger.record(f"eval/{key}_{result.opponent}", value)
                self.logger.record(f"eval/win_share_{result.opponent}", result.win_share)
        if self._before // settings.save_every != done // settings.save_every:
            _save(self.model, self._folder)
        self._before = done
        self._progress.update(done, shown)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _evaluate(model: Any, settings: SB3Settings, deals: int) -> list[EvaluationResult]:
    """Play whole games from the first phase, the likeliest legal action each time."""
    if not settings.against:
        return []
    return evaluate(
        SB3Agent(model),
        settings.against,
        settings.num_players,
        settings.ruleset,
        deals,
        seed=1_000_003 + settings.seed,
        actions=settings.actions,
    )


def _save(model: Any, folder: Path) -> Path:
    partial = folder / ".model.partial.zip"
    model.save(partial)
    return partial.replace(folder / MODEL_FILE)


def new_model(settings: SB3Settings, envs: Phase10VecEnv, device: str) -> MaskablePPO:
    """Return a fresh MaskablePPO with these settings on these environments."""
    layout = envs.games.batch.layout
    model = MaskablePPO(
        "MlpPolicy",
        envs,
        learning_rate=settings.learning_rate,
        n_steps=settings.steps,
        batch_size=settings.batch_size,
        n_epochs=settings.epochs,
        gamma=settings.gamma,
        gae_lambda=settings.gae_lambda,
        ent_coef=settings.entropy,
        clip_range=settings.clip_range,
        policy_kwargs={"net_arch": list(settings.network), **scaled_policy(layout)},
        seed=settings.seed % 2**32,
        device=device,
    )
    mark_model(model, layout.digest, settings.num_players, settings.actions)
    return model


def train_sb3(
    settings: SB3Settings, folder: Path, resume: bool = False, device: str = "cpu"
) -> list[EvaluationResult]:
    """Train MaskablePPO into a run folder and return its evaluation against each yardstick.

    Args:
        settings: what to do.
        folder: the run folder.
        resume: go on from the model in it.
        device: "cpu" or "cuda".

    Raises:
        UsageError: a folder that already holds a run, or none to resume.
        Interrupted: Ctrl-C; the model has been saved.
    """
    if not resume and (folder / METRICS_FILE).exists():
        raise UsageError(f"{str(folder)!r} already holds a run; go on with --resume or choose another --out.")
    if resume and not (folder / MODEL_FILE).exists():
        raise UsageError(f"{str(folder)!r} holds no {MODEL_FILE}; begin a run without --resume.")
    torch.set_num_threads(1)
    envs = Phase10VecEnv(
        settings.num_envs,
        opponents=settings.opponents,
        num_players=settings.num_players,
        ruleset=settings.ruleset,
        actions=settings.actions,
        episode=settings.episode,
        reward=settings.reward,
        start=settings.start,
    )
    envs.seed(settings.seed)
    model: Any = new_model(settings, envs, device)
    if resume:
        load_sb3_agent(folder)  # one sentence where the file is damaged
        model = MaskablePPO.load(folder / MODEL_FILE, env=envs, device=device)
        check_total(folder, settings.total_decisions, model.num_timesteps)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / SETTINGS_FILE, json.dumps(config_to_dict(settings), indent=1) + "\n")
    metrics = MetricsLogger(folder, model.num_timesteps if resume else None)
    if not resume:
        metrics.add_config(config_to_dict(settings))
    model.set_logger(Logger(str(folder), [_MetricsWriter(metrics)]))
    _learn(model, settings, folder, resume)
    results = _evaluate(model, settings, settings.final_deals)
    found = json.dumps([result.to_dict() for result in results], indent=1)
    write_text(folder / EVALUATION_FILE, found + "\n")
    metrics.close()
    return results


def _learn(model: Any, settings: SB3Settings, folder: Path, resume: bool) -> None:
    total = settings.total_decisions
    with TrainingProgress(total, model.num_timesteps, "MaskablePPO") as progress:
        progress.message(f"run: {folder}")
        progress.message(f"watch: tensorboard --logdir {folder}")
        course = _Course(settings, folder, progress)
        try:
            if model.num_timesteps < total:
                left = total - model.num_timesteps
                model.learn(left, course, log_interval=1, reset_num_timesteps=not resume)
        except KeyboardInterrupt:
            where = _save(model, folder)
            raise Interrupted(
                f"{model.num_timesteps:,} decisions are kept in {where}; go on with "
                f"'phase10 train sb3-quickstart --resume --out {folder}'."
            ) from None
        where = _save(model, folder)
        progress.message(f"model: {where}")
        progress.message("evaluating ...")


def sb3_quickstart(options: TrainOptions, folder: Path) -> None:
    """Run `phase10 train sb3-quickstart` into a folder."""
    settings = settings_of(SB3Settings, "sb3-quickstart", options, folder)
    results = train_sb3(settings, folder, options.output.resume, options.device.device)
    lines = [
        f"model        {folder / MODEL_FILE}",
        f"play it      phase10 evaluate sb3:{folder} --against greedy",
    ]
    print_run(folder, results, options.json.json, lines)
