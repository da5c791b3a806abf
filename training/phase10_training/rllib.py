"""Trains by self-play with Ray RLlib's PPO, on one machine or a cluster, and exports to a checkpoint of this project.

All seats share one policy, a `PolicyValueNet` inside an RLModule of the new API stack, so that what RLlib has
trained plays as `checkpoint:FOLDER`. A run folder holds `settings.json`, `metrics.jsonl`, `tensorboard/`,
`rllib/` (RLlib's own checkpoint, for `--resume`), `checkpoints/` and `evaluation.json`. Needs the extra `rllib`.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import torch

from phase10_agents.neural.checkpoint import save_step
from phase10_agents.neural.networks import NetworkSettings, PolicyValueNet, input_scale
from phase10_env.equity import default_equity
from phase10_env.observation import observation_layout
from phase10_env.rules.ruleset import RuleSet
from phase10_training.cli_support import Interrupted
from phase10_training.config import build_config, config_to_dict, parse_override
from phase10_training.errors import UsageError
from phase10_training.evaluate import EvaluationResult, evaluate
from phase10_training.metrics import METRICS_FILE, MetricsLogger
from phase10_training.progress import TrainingProgress
from phase10_training.rules_option import load_rules

try:
    import ray
    from ray.rllib.algorithms.ppo import PPO, PPOConfig
    from ray.rllib.core.columns import Columns
    from ray.rllib.core.distribution.torch.torch_distribution import TorchCategorical
    from ray.rllib.core.rl_module.apis import InferenceOnlyAPI, ValueFunctionAPI
    from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec
    from ray.rllib.core.rl_module.torch import TorchRLModule

    from phase10_env.compat.rllib import Phase10MultiAgentEnv
except ImportError as problem:
    raise UsageError(
        f"RLlib is needed and cannot be imported ({problem}); install it with pip install 'phase10-env[rllib]'."
    ) from None

if TYPE_CHECKING:
    from phase10_training.train import TrainOptions

__all__ = [
    "MaskedPolicyModule",
    "RLlibSettings",
    "export_rllib",
    "ppo_config",
    "rllib_quickstart",
    "train_rllib",
]

POLICY = "shared"
"""Name of the one policy of all seats."""

SETTINGS_FILE = "settings.json"
EVALUATION_FILE = "evaluation.json"
RLLIB_FOLDER = "rllib"

_LEAST = -1e9
"""Logit of an illegal action: no chance in a softmax, and finite, so that entropies stay numbers."""


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


# ---- the module --------------------------------------------------------------------------------------------


class MaskedPolicyModule(TorchRLModule, InferenceOnlyAPI, ValueFunctionAPI):  # type: ignore[misc]  # untyped
    """An RLModule of the new API stack around a `PolicyValueNet`; illegal actions have no chance.

    Reads `observations` uint8[n, D] and `action_mask` float32[n, 165] from the observation. Its `model_config`
    names `num_players` and `network`, the fields of `NetworkSettings`.
    """

    def setup(self) -> None:
        """Build the network."""
        settings = msgspec.convert(self.model_config["network"], NetworkSettings)
        layout = observation_layout(int(self.model_config["num_players"]))
        seed = int(self.model_config.get("seed", 0))
        self.net = PolicyValueNet(input_scale(layout, settings), settings, seed=seed)
        self.action_dist_cls = TorchCategorical

    def _masked(self, batch: Mapping[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
        seen = batch[Columns.OBS]
        logits, values = self.net(seen["observations"])
        return logits.masked_fill(seen["action_mask"] <= 0, _LEAST), values

    def _forward(self, batch: Mapping[str, Any], **_: Any) -> dict[str, torch.Tensor]:
        return {Columns.ACTION_DIST_INPUTS: self._masked(batch)[0]}

    def _forward_train(self, batch: Mapping[str, Any], **_: Any) -> dict[str, torch.Tensor]:
        logits, values = self._masked(batch)
        return {Columns.ACTION_DIST_INPUTS: logits, Columns.EMBEDDINGS: values}

    def compute_values(
        self, batch: Mapping[str, Any], embeddings: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return values float32[n]; `embeddings` are the values that `forward_train` has computed already."""
        return self._masked(batch)[1] if embeddings is None else embeddings

    def get_non_inference_attributes(self) -> list[str]:
        """Return nothing: runners hold the whole network."""
        return []


class _ScaledRewards(Phase10MultiAgentEnv):
    """The environment with rewards times a factor, given as `reward_scale` beside its arguments."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        options = dict(config)
        self._factor = float(options.pop("reward_scale"))
        super().__init__(options)

    def step(self, action_dict: Mapping[str, Any]) -> Any:
        """Take a step; the rewards are scaled."""
        observations, rewards, *others = super().step(action_dict)
        return observations, {agent: self._factor * each for agent, each in rewards.items()}, *others


def ppo_config(settings: RLlibSettings) -> PPOConfig:
    """Return RLlib's configuration of PPO by self-play with one shared policy.

    It may be changed further with RLlib's own methods before `build_algo()`.
    """
    options = {
        "num_players": settings.num_players,
        "ruleset": settings.rules.spec,
        "actions": settings.actions,
        "episode": settings.episode,
        "reward": settings.reward,
        "start": settings.start if settings.episode == "round" else "first",
    }
    probe = Phase10MultiAgentEnv(options)
    first = probe.possible_agents[0]
    module = RLModuleSpec(
        module_class=MaskedPolicyModule,
        observation_space=probe.observation_spaces[first],
        action_space=probe.action_spaces[first],
        model_config={
            "num_players": settings.num_players,
            "network": msgspec.to_builtins(settings.network),
            "seed": settings.seed,
        },
    )
    return (
        PPOConfig()
        .environment(_ScaledRewards, env_config={**options, "reward_scale": settings.reward_scale})
        .framework("torch")
        .env_runners(
            num_env_runners=settings.env_runners,
            num_envs_per_env_runner=settings.envs_per_runner,
            rollout_fragment_length="auto",
        )
        .multi_agent(policies={POLICY}, policy_mapping_fn=_to_shared_policy)
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={POLICY: module}))
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


def _to_shared_policy(agent: Any, *_: Any, **__: Any) -> str:
    return POLICY


# ---- export ------------------------------------------------------------------------------------------------


def export_rllib(algorithm: PPO, settings: RLlibSettings, folder: Path, decisions: int, seconds: float) -> Path:
    """Write the policy of an algorithm as a checkpoint of this project into a run folder; return its folder.

    Args:
        algorithm: built from `ppo_config(settings)`.
        settings: what was trained.
        folder: the run; the checkpoint goes to `checkpoints/`, and `checkpoint:FOLDER` plays it.
        decisions, seconds: spent on it so far, for the manifest.
    """
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
    learned = result.get("learners", {}).get(POLICY, {})
    played = result.get("env_runners", {})
    found = {tag: float(learned[key]) for key, tag in _LEARNED.items() if key in learned}
    found |= {tag: float(played[key]) for key, tag in _PLAYED.items() if key in played}
    if "entropy" in learned:
        found["train/entropy_loss"] = -float(learned["entropy"])
    return found


def _start_ray(address: str) -> bool:
    """Join or start a cluster; return False where there is one already, which stays when training ends."""
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
        UsageError: a folder that already holds a run, or none to resume; no cluster at `address`.
        Interrupted: Ctrl-C; the policy has been saved.
    """
    saved = folder / RLLIB_FOLDER
    if not resume and (folder / METRICS_FILE).exists():
        raise UsageError(f"{str(folder)!r} already holds a run; go on with --resume or choose another --out.")
    if resume and not saved.is_dir():
        raise UsageError(f"{str(folder)!r} holds no RLlib checkpoint; begin a run without --resume.")
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / SETTINGS_FILE, json.dumps(config_to_dict(settings), indent=1) + "\n")
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
    _write(folder / EVALUATION_FILE, found + "\n")
    return results


def _learn(algorithm: PPO, settings: RLlibSettings, folder: Path, resume: bool) -> Path:
    saved = (folder / RLLIB_FOLDER).resolve()
    done, before, iteration = 0, 0.0, 0
    if resume:
        algorithm.restore_from_path(str(saved))
        counts = json.loads((saved / _COUNTS_FILE).read_text(encoding="utf-8"))
        done, before = int(counts["decisions"]), float(counts["seconds"])
    begun = time.monotonic()

    def save() -> Path:
        seconds = before + time.monotonic() - begun
        algorithm.save_to_path(str(saved))
        _write(saved / _COUNTS_FILE, json.dumps({"decisions": done, "seconds": seconds}) + "\n")
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


def _write(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


# ---- command -----------------------------------------------------------------------------------------------


def _settings_of(options: TrainOptions, folder: Path) -> RLlibSettings:
    """Return the settings: the defaults, or those of the run that is resumed, with the overrides."""
    data: dict[str, Any] = {}
    source = "rllib-quickstart"
    if options.output.resume:
        path = folder / SETTINGS_FILE
        source = str(path)
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as problem:
            raise UsageError(
                f"{source!r} cannot be read ({problem}); begin a run without --resume."
            ) from None
    for text in options.sets.overrides:
        key, value = parse_override(RLlibSettings, text)
        data[key] = value
    if options.seed is not None:
        data["seed"] = options.seed
    return build_config(RLlibSettings, data, source)


def rllib_quickstart(options: TrainOptions, folder: Path) -> None:
    """Run `phase10 train rllib-quickstart` into a folder."""
    settings = _settings_of(options, folder)
    results = train_rllib(settings, folder, options.output.resume)
    if options.json.json:
        found = {"run": str(folder), "evaluation": [result.to_dict() for result in results]}
        sys.stdout.write(json.dumps(found, indent=1) + "\n")
        return
    lines = [
        f"{result.opponent:<16} {100 * result.win_share:5.1f} %   "
        f"95 % interval {100 * result.interval[0]:.1f} - {100 * result.interval[1]:.1f}   "
        f"par {100 * result.par:.1f} %   deals {result.deals}   illegal actions {result.illegal_actions}"
        for result in results
    ]
    lines += [
        f"run          {folder}",
        f"TensorBoard  tensorboard --logdir {folder}",
        f"play it      phase10 evaluate checkpoint:{folder} --against greedy",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
