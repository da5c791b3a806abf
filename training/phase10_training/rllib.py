"""Trains by self-play with Ray RLlib's PPO, on one machine or a cluster, and exports to a checkpoint of this project.

All seats share one policy, a `PolicyValueNet` inside `phase10_env.compat.rllib.MaskedModule`, so that what RLlib has
trained plays as `checkpoint:FOLDER`. A run folder holds `settings.json`, `metrics.jsonl`, `tensorboard/`,
`rllib/` (RLlib's own checkpoint, for `--resume`), `checkpoints/` and `evaluation.json`. Needs the extra `rllib`.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import torch

from phase10_agents.neural.checkpoint import save_step
from phase10_agents.neural.networks import NetworkSettings, PolicyValueNet, network_for
from phase10_env.equity import default_equity
from phase10_env.observation import observation_layout
from phase10_env.rules.ruleset import RuleSet
from phase10_training.cli_support import Interrupted
from phase10_training.config import config_to_dict
from phase10_training.errors import UsageError
from phase10_training.evaluate import EvaluationResult, evaluate
from phase10_training.files import SETTINGS_FILE, check_total, write_text
from phase10_training.foreign_runs import print_run, settings_of
from phase10_training.metrics import METRICS_FILE, MetricsLogger
from phase10_training.progress import TrainingProgress
from phase10_training.rules_option import load_rules

if TYPE_CHECKING:
    from phase10_training.train import TrainOptions

__all__ = [
    "RLlibSettings",
    "export_rllib",
    "policy_network",
    "ppo_config",
    "rllib_quickstart",
    "train_rllib",
]

EVALUATION_FILE = "evaluation.json"
RLLIB_FOLDER = "rllib"


class RLlibSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hold what is played, how PPO learns and how it is evaluated.

    Attributes:
        total_decisions: of all seats.
        seed: of the training.
        num_players, ruleset, actions, episode, start, reward: as of the environments.
        reward_scale: factor on rewards, for the size of the values.
        address: of a running Ray cluster, "auto" = the one of this machine, "" = start Ray on this machine.
        env_runners: processes that play; 0 = play in the main process.
        envs_per_runner: games of each at once.
        decisions: of one rollout, over all runners.
        learning_rate, minibatch, epochs, gamma, gae_lambda, entropy, clip_range: of PPO.
        actor, critic: widths of the hidden layers.
        save_every: rollouts between checkpoints.
        final_deals: of the evaluation at the end.
        against: specs of the yardsticks.

    >>> RLlibSettings().num_players
    2
    """

    total_decisions: int = 500_000
    seed: int = 1
    num_players: int = 2
    ruleset: str | dict[str, Any] = "official"
    actions: Literal["compact", "full"] = "compact"
    episode: Literal["round", "game"] = "round"
    start: Literal["mixed", "first"] = "mixed"
    reward: Literal["equity", "points", "win", "rank"] = "equity"
    reward_scale: float = 5.0
    address: str = ""
    env_runners: int = 1
    envs_per_runner: int = 8
    decisions: int = 16_384
    learning_rate: float = 7e-4
    minibatch: int = 2048
    epochs: int = 3
    gamma: float = 1.0
    gae_lambda: float = 0.95
    entropy: float = 0.01
    clip_range: float = 0.2
    actor: tuple[int, ...] = (256, 256)
    critic: tuple[int, ...] = (256, 256)
    save_every: int = 5
    final_deals: int = 300
    against: tuple[str, ...] = ("random", "greedy")

    @property
    def rules(self) -> RuleSet:
        """The rules that are played."""
        return load_rules(self.ruleset)

    @property
    def network(self) -> NetworkSettings:
        """The shape of the network; products are in float32, whose gradients RLlib's learner computes."""
        return NetworkSettings(actor=self.actor, critic=self.critic, precision="fp32", input_layer="dense")


def policy_network(num_players: int, network: dict[str, Any], seed: int) -> PolicyValueNet:
    """Return the network that RLlib trains.

    Args:
        num_players: 2-6.
        network: fields of `NetworkSettings`.
        seed: of the initial weights.

    >>> policy_network(2, {"actor": (16,), "critic": (16,)}, 1).settings.actor
    (16,)
    """
    settings = msgspec.convert(network, NetworkSettings)
    return network_for(observation_layout(num_players), settings, seed=seed)


def ppo_config(settings: RLlibSettings) -> Any:
    """Return RLlib's configuration of PPO, a `PPOConfig`, for self-play with one shared policy.

    It may be changed further with RLlib's own methods before `build_algo()`.

    Raises:
        UsageError: the packages of the extra `rllib` are missing.
    """
    _check_installed()
    from phase10_env.compat.rllib import self_play_config

    options = {
        "num_players": settings.num_players,
        "ruleset": settings.rules.spec,
        "actions": settings.actions,
        "episode": settings.episode,
        "reward": settings.reward,
        "start": settings.start if settings.episode == "round" else "first",
        "reward_scale": settings.reward_scale,
    }
    arguments = {
        "num_players": settings.num_players,
        "network": msgspec.to_builtins(settings.network),
        "seed": settings.seed,
    }
    return (
        self_play_config(options, policy_network, arguments)
        .env_runners(
            num_env_runners=settings.env_runners,
            num_envs_per_env_runner=settings.envs_per_runner,
            rollout_fragment_length="auto",
        )
        .learners(num_learners=0)
        .training(
            lr=settings.learning_rate,
            train_batch_size_per_learner=settings.decisions,
            minibatch_size=settings.minibatch,
            num_epochs=settings.epochs,
            gamma=settings.gamma,
            lambda_=settings.gae_lambda,
            entropy_coeff=settings.entropy,
            clip_param=settings.clip_range,
            use_kl_loss=False,
            vf_clip_param=float("inf"),
            grad_clip=0.5,
            grad_clip_by="global_norm",
        )
        .debugging(seed=settings.seed, log_level="ERROR")
    )


def _check_installed() -> None:
    try:
        import_module("ray.rllib")
    except ImportError as problem:
        raise UsageError(
            f"this needs RLlib, which cannot be imported ({problem}); "
            "install it with pip install 'phase10-env[rllib]'."
        ) from None


# ---- export ------------------------------------------------------------------------------------------------


def export_rllib(
    algorithm: Any, settings: RLlibSettings, folder: Path, decisions: int, seconds: float
) -> Path:
    """Write the policy of an algorithm as a checkpoint of this project into a run folder; return its folder.

    Args:
        algorithm: RLlib's PPO, built from `ppo_config(settings)`.
        settings: what was trained.
        folder: the run; the checkpoint goes to `checkpoints/`, and `checkpoint:FOLDER` plays it.
        decisions, seconds: spent on it so far, for the manifest.
    """
    from phase10_env.compat.rllib import POLICY

    weights = algorithm.get_weights([POLICY])[POLICY]
    policy = {
        f"policy.{name.removeprefix('net.')}": torch.as_tensor(value)
        for name, value in weights.items()
        if name.startswith("net.")
    }
    environment = {
        name: getattr(settings, name) for name in ("num_players", "actions", "episode", "start", "reward")
    }
    network = msgspec.structs.replace(settings.network, precision="auto", input_layer="auto")
    manifest = {
        "ruleset_digest": settings.rules.digest,
        "layout_digest": observation_layout(settings.num_players).digest,
        "equity_hash": default_equity(settings.rules, settings.num_players).hash,
        "config": {
            "environment": {**environment, "ruleset": settings.rules.spec},
            "network": msgspec.to_builtins(network),
        },
        "counters": {"decisions": decisions, "seconds": seconds},
    }
    return save_step(folder, decisions, policy, manifest)


# ---- training ----------------------------------------------------------------------------------------------

_LEARNED = {
    "policy_loss": "train/policy_gradient_loss",
    "vf_loss": "train/value_loss",
    "vf_explained_var": "train/explained_variance",
    "total_loss": "train/loss",
}
_PLAYED = {"episode_len_mean": "rollout/ep_len_mean", "num_episodes": "rollout/episodes"}


def _metrics_of(result: Mapping[str, Any]) -> dict[str, float]:
    """Return what RLlib measured, under the names of this project's own PPO."""
    from phase10_env.compat.rllib import POLICY

    learned = result.get("learners", {}).get(POLICY, {})
    played = result.get("env_runners", {})
    found = {tag: float(learned[key]) for key, tag in _LEARNED.items() if key in learned}
    found |= {tag: float(played[key]) for key, tag in _PLAYED.items() if key in played}
    if "entropy" in learned:
        found["train/entropy_loss"] = -float(learned["entropy"])
    return found


def _start_ray(address: str) -> bool:
    """Join or start a cluster; return False where there is one already, which stays when training ends."""
    import ray

    if ray.is_initialized():
        return False
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address:
        try:
            ray.init(address=address, **options)
        except (ConnectionError, ValueError) as problem:
            raise UsageError(
                f"no Ray cluster answers at {address!r} ({str(problem).splitlines()[0]}); start one with "
                "'ray start --head', or leave address empty."
            ) from None
    else:
        ray.init(include_dashboard=False, **options)
    return True


def train_rllib(settings: RLlibSettings, folder: Path, resume: bool = False) -> list[EvaluationResult]:
    """Train into a run folder and return the evaluation against each yardstick.

    Args:
        settings: what to do.
        folder: the run folder.
        resume: go on from RLlib's checkpoint in it.

    Raises:
        UsageError: RLlib is missing; a folder that already holds a run, or none to resume; no cluster at
            `address`.
        Interrupted: Ctrl-C; the policy has been saved.
    """
    _check_installed()
    import ray

    saved = folder / RLLIB_FOLDER
    if not resume and (folder / METRICS_FILE).exists():
        raise UsageError(f"{str(folder)!r} already holds a run; go on with --resume or choose another --out.")
    if resume and not saved.is_dir():
        raise UsageError(f"{str(folder)!r} holds no RLlib checkpoint; begin a run without --resume.")
    if resume:
        check_total(folder, settings.total_decisions, int(_counts(saved)["decisions"]))
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / SETTINGS_FILE, json.dumps(config_to_dict(settings), indent=1) + "\n")
    torch.set_num_threads(1)
    started = _start_ray(settings.address)
    try:
        algorithm = ppo_config(settings).build_algo()
        try:
            checkpoint = _learn(algorithm, settings, folder, resume)
        finally:
            algorithm.stop()
    finally:
        if started:
            ray.shutdown()
    results: list[EvaluationResult] = []
    if settings.against:
        results = evaluate(
            f"checkpoint:{checkpoint}",
            settings.against,
            settings.num_players,
            settings.rules,
            settings.final_deals,
            seed=1_000_003 + settings.seed,
            actions=settings.actions,
        )
    found = json.dumps([result.to_dict() for result in results], indent=1)
    write_text(folder / EVALUATION_FILE, found + "\n")
    return results


def _counts(saved: Path) -> dict[str, float]:
    """Return the `decisions` done and the `seconds` spent on them, as RLlib's checkpoint was given them."""
    counts: dict[str, float] = json.loads((saved / _COUNTS_FILE).read_text(encoding="utf-8"))
    return counts


def _learn(algorithm: Any, settings: RLlibSettings, folder: Path, resume: bool) -> Path:
    saved = (folder / RLLIB_FOLDER).resolve()
    done, before, iteration = 0, 0.0, 0
    if resume:
        algorithm.restore_from_path(str(saved))
        counts = _counts(saved)
        done, before = int(counts["decisions"]), float(counts["seconds"])
    begun = time.monotonic()

    def save() -> Path:
        seconds = before + time.monotonic() - begun
        algorithm.save_to_path(str(saved))
        write_text(saved / _COUNTS_FILE, json.dumps({"decisions": done, "seconds": seconds}) + "\n")
        return export_rllib(algorithm, settings, folder, done, seconds)

    with (
        MetricsLogger(folder, done if resume else None) as metrics,
        TrainingProgress(settings.total_decisions, done, "RLlib PPO") as progress,
    ):
        if not resume:
            metrics.add_config(config_to_dict(settings))
        progress.message(f"run: {folder}")
        progress.message(f"watch: tensorboard --logdir {folder}")
        try:
            while done < settings.total_decisions:
                result = algorithm.train()
                played = result.get("env_runners", {}).get("num_env_steps_sampled", 0)
                if not played:
                    raise RuntimeError("RLlib's runners have played nothing; Ray's logs say why.")
                done += int(played)
                iteration += 1
                shown = _metrics_of(result)
                metrics.log(done, shown)
                progress.update(done, shown)
                if iteration % settings.save_every == 0:
                    save()
        except KeyboardInterrupt:
            where = save()
            raise Interrupted(
                f"{done:,} decisions are kept in {where}; go on with "
                f"'phase10 train rllib-quickstart --resume --out {folder}'."
            ) from None
        where = save()
        progress.message(f"checkpoint: {where}")
        return where


_COUNTS_FILE = "phase10_counts.json"


# ---- command -----------------------------------------------------------------------------------------------


def rllib_quickstart(options: TrainOptions, folder: Path) -> None:
    """Run `phase10 train rllib-quickstart` into a folder."""
    settings = settings_of(RLlibSettings, "rllib-quickstart", options, folder)
    results = train_rllib(settings, folder, options.output.resume)
    lines = [f"play it      phase10 evaluate checkpoint:{folder} --against greedy"]
    print_run(folder, results, options.json.json, lines)
