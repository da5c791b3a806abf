"""Runs a training from its configuration to its evaluation: run folder, checkpoints, resume, metrics, result.

A run folder holds `settings.json`, `metrics.jsonl`, `tensorboard/`, `checkpoints/` (full state, the newest few),
`best/` (the best policy so far), `evaluation.json` and `result.png`.
"""

from __future__ import annotations

import json
import re
import signal
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import torch
import tyro

from phase10_agents.catalog import load_agent
from phase10_agents.neural.agent import PolicyAgent, policy_of
from phase10_agents.neural.checkpoint import (
    Checkpoint,
    CheckpointError,
    check_compatible,
    load_checkpoint,
    save_checkpoint,
    save_step,
)
from phase10_agents.neural.networks import PolicyValueNet
from phase10_env import Agent
from phase10_env.equity import EquityModel, default_equity, shipped_equity
from phase10_env.rules.ruleset import get_ruleset
from phase10_training.cli_support import DeviceOptions, Interrupted, JsonOption, OutputOptions, SetOptions
from phase10_training.config import build_config, config_to_dict, load_config, parse_override
from phase10_training.errors import UsageError
from phase10_training.evaluate import EvaluationResult, evaluate
from phase10_training.files import SETTINGS_FILE, check_own, check_total, write_text
from phase10_training.league import League
from phase10_training.metrics import METRICS_FILE, MetricsLogger
from phase10_training.ppo import Learner, make_network, with_other_sight
from phase10_training.progress import TrainingProgress
from phase10_training.settings import CloneSettings, TrainingSettings
from phase10_training.state_tree import flatten_state, restore_state
from phase10_training.training_report import draw_result, print_result

__all__ = ["TrainOptions", "TrainingRun", "fresh_folder", "saved_settings", "train", "train_command"]

EVALUATION_FILE = "evaluation.json"
RESULT_FILE = "result.png"
BEST_FOLDER = "best"
INTERIM_SEED, FINAL_SEED = 1_000_003, 2_000_003
"""Added to the run's seed for the deals of evaluations: policies are chosen on others than they are reported on."""
_FIXED_ON_RESUME = ("environment", "network", "rollout", "seed", "clone", "start_from")


class TrainingRun:
    """One run in one folder: make it, `train` it, kill it at any moment, make it again and go on.

    Args:
        settings: what to do.
        folder: the run folder.
        resume: go on from the newest checkpoint in it.
        device: "cpu" or "cuda", where the network learns.
        title: shown with the progress.

    Raises:
        ValueError: a folder that already holds a run, a checkpoint that does not fit, an unknown agent.
    """

    def __init__(
        self,
        settings: TrainingSettings,
        folder: Path,
        resume: bool = False,
        device: str = "cpu",
        title: str = "training",
    ) -> None:
        self.settings, self.folder, self.title = settings, folder, title
        environment = settings.environment
        self.ruleset = get_ruleset(environment.ruleset)
        self.ruleset.check_players(environment.num_players)
        teacher = load_agent(settings.clone.agent) if settings.clone.agent else None
        opponents = [load_agent(spec) for spec in settings.pool.agents] if settings.pool.share > 0 else []
        checkpoint = load_checkpoint(folder) if resume else None
        self.equity = self._equity(checkpoint)
        check_own("--out", folder, METRICS_FILE)
        if not resume and (folder / METRICS_FILE).exists():
            raise UsageError(
                f"{str(folder)!r} already holds a run; go on with --resume or choose another --out."
            )
        net = None
        if settings.start_from and not resume:
            net = _starting_policy(load_checkpoint(settings.start_from), settings)
            settings = self.settings = msgspec.structs.replace(settings, network=net.settings)
        torch.set_num_threads(settings.torch_threads)
        self.learner = Learner(settings, net, teacher, opponents, self.equity, self._as_agent, device)
        self.league = League(settings.evaluation, environment.num_players, self._evaluate)
        self._yardsticks = [load_agent(spec) for spec in settings.evaluation.against]
        self._best: PolicyValueNet | None = None
        self._seconds = 0.0
        if checkpoint is not None:
            self._restore(checkpoint)
            check_total(folder, settings.total_decisions, self.learner.decisions)
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / SETTINGS_FILE, json.dumps(config_to_dict(settings), indent=1) + "\n")
        if checkpoint is None:
            self.save()  # so that a kill during the first decisions can be resumed, too
        self.metrics = MetricsLogger(folder, self.learner.decisions if resume else None)
        if not resume:
            self.metrics.add_config(config_to_dict(settings))

    def _equity(self, checkpoint: Checkpoint | None) -> EquityModel:
        """Return the equity model of the settings; a resumed run keeps the shipped one that it began with."""
        environment = self.settings.environment
        if environment.equity:
            return EquityModel.from_file(environment.equity)
        former = shipped_equity(str(checkpoint.manifest["equity_hash"])) if checkpoint is not None else None
        return former or default_equity(self.ruleset, environment.num_players)

    def _as_agent(self, net: PolicyValueNet, name: str = "policy", temperature: float = 0.0) -> PolicyAgent:
        players = self.settings.environment.num_players
        return PolicyAgent(
            net,
            name,
            temperature,
            players,
            self.settings.environment.observation,
            self.settings.environment.actions == "compact",
        )

    # ---- checkpoints ---------------------------------------------------------------------------------------

    def _manifest(self) -> dict[str, Any]:
        environment = self.settings.environment
        return {
            "ruleset_digest": self.ruleset.digest,
            "layout_digest": environment.layout.digest,
            "equity_hash": self.equity.hash,
            "config": config_to_dict(self.settings),
            "precision": self.learner.net.precision,
            "counters": {
                "decisions": self.learner.decisions,
                "iteration": self.learner.iteration,
                "seconds": self._seconds,
            },
        }

    def save(self) -> Path:
        """Write everything that is needed to go on; a kill at any moment leaves this or the previous one."""
        tensors: dict[str, Any] = {f"policy.{k}": v for k, v in self.learner.net.state_dict().items()}
        optimizer, skeleton = flatten_state(self.learner.optimizer.state_dict(), "optimizer")
        tensors |= optimizer
        for worker in self.learner.workers:
            tensors |= {f"worker{worker.number}.{k}": v for k, v in worker.state().items()}
        if self.learner.anchor is not None:
            tensors |= {f"anchor.{k}": v for k, v in self.learner.anchor.state_dict().items()}
        if self._best is not None:
            tensors |= {f"best.{k}": v for k, v in self._best.state_dict().items()}
        for number, snapshot in enumerate(self.learner.snapshots):
            tensors |= {f"snapshot{number}.{k}": v for k, v in snapshot.state_dict().items()}
        manifest = self._manifest() | {
            "optimizer": skeleton,
            "workers": len(self.learner.workers),
            "snapshots": self.learner.snapshots_at,
            "league": self.league.state(),
        }
        return save_step(
            self.folder, self.learner.decisions, tensors, manifest, self.settings.checkpoint.keep
        )

    def save_policy(self, folder: Path) -> Path:
        """Write the present policy alone, enough to play it."""
        tensors = {f"policy.{k}": v for k, v in self.learner.net.state_dict().items()}
        return save_checkpoint(folder, tensors, self._manifest())

    def _restore(self, checkpoint: Checkpoint) -> None:
        check_compatible(
            checkpoint,
            **{key: self._manifest()[key] for key in ("ruleset_digest", "layout_digest", "equity_hash")},
        )
        manifest, learner = checkpoint.manifest, self.learner
        try:
            if manifest["workers"] != len(learner.workers):
                raise ValueError("another number of workers")
            learner.net.load_state_dict(checkpoint.weights("policy"))
            learner.optimizer.load_state_dict(restore_state(checkpoint.tensors, manifest["optimizer"]))
            for worker in learner.workers:
                worker.restore(checkpoint.group(f"worker{worker.number}"))  # type: ignore[arg-type]  # arrays
            if checkpoint.weights("anchor"):
                learner.set_anchor(checkpoint.weights("anchor"))
            for number, taken_at in enumerate(manifest["snapshots"]):
                learner.add_snapshot(checkpoint.weights(f"snapshot{number}"), int(taken_at))
            counters = manifest["counters"]
            learner.decisions, learner.iteration = int(counters["decisions"]), int(counters["iteration"])
            self._seconds = float(counters["seconds"])
            self.league.restore(manifest["league"])
            if checkpoint.weights("best"):
                self._best = make_network(self.settings)
                self._best.load_state_dict(checkpoint.weights("best"))
        except (KeyError, TypeError, ValueError, RuntimeError) as problem:
            raise CheckpointError(
                f"{str(checkpoint.path)!r} is not a state of this training ({str(problem).splitlines()[0]}); "
                "resume with the settings it was made with."
            ) from None

    # ---- the run -------------------------------------------------------------------------------------------

    def train(self) -> list[EvaluationResult]:
        """Train to the last decision and return the final evaluation.

        Raises:
            Interrupted: Ctrl-C or SIGTERM; a checkpoint has been written.
        """
        settings, learner = self.settings, self.learner
        total = settings.total_decisions
        with TrainingProgress(total, learner.decisions, self.title) as progress:
            progress.message(f"run: {self.folder}")
            progress.message(f"watch: tensorboard --logdir {self.folder}")
            with _StopSwitch(progress) as switch:
                while learner.decisions < total and not switch.pressed:
                    self._one_iteration(progress)
            if switch.pressed:
                where = self.save()
                self.metrics.close()
                learner.close()
                raise Interrupted(
                    f"{learner.decisions:,} decisions are kept in {where}; go on with "
                    f"'phase10 train --resume --out {self.folder}'."
                )
            where = self.save()
            progress.message(f"checkpoint: {where}")
            progress.message("evaluating ...")
        results = []
        if self._yardsticks:
            policy = self._as_agent(learner.net, self.title)
            deals = settings.evaluation.final_deals
            results = self._evaluate(policy, self._yardsticks, 0, deals, FINAL_SEED)
        write_text(
            self.folder / EVALUATION_FILE,
            json.dumps([result.to_dict() for result in results], indent=1) + "\n",
        )
        self.metrics.close()
        learner.close()
        return results

    def _one_iteration(self, progress: TrainingProgress) -> None:
        settings, learner = self.settings, self.learner
        before, started = learner.decisions, time.perf_counter()
        statistics = learner.iterate()
        spent = time.perf_counter() - started
        self._seconds += spent
        statistics |= {
            "time/fps": (learner.decisions - before) / spent,
            "time/time_elapsed": self._seconds,
            "time/total_timesteps": float(learner.decisions),
            "time/iterations": float(learner.iteration),
        }
        every = settings.evaluation.every
        if every and before // every != learner.decisions // every:
            statistics |= self._interim_evaluation()
        self.metrics.log(learner.decisions, statistics)
        progress.update(learner.decisions, _shown(statistics))
        kept = settings.checkpoint.every
        if before // kept != learner.decisions // kept:
            self.save()

    def _interim_evaluation(self) -> dict[str, float]:
        settings, learner = self.settings.evaluation, self.learner
        if not self._yardsticks:
            return {}
        name = f"policy at {learner.decisions:,}"
        best = self._as_agent(self._best, BEST_FOLDER) if self._best is not None else None
        snapshots = {
            f"snapshot at {at:,}": self._as_agent(net)
            for at, net in zip(learner.snapshots_at, learner.snapshots, strict=True)
        }
        trial = self.league.judge(
            self._as_agent(learner.net, self.title), name, best, self._yardsticks, snapshots
        )
        if trial.is_best and settings.keep_best:
            self._best = make_network(self.settings)
            self._best.load_state_dict(learner.net.state_dict())
            self.save_policy(self.folder / BEST_FOLDER)
        return trial.metrics() | self.league.metrics(name, [agent.name for agent in self._yardsticks])

    def _evaluate(
        self,
        agent: Agent,
        against: Sequence[Agent],
        first_deal: int,
        deals: int,
        seed: int = INTERIM_SEED,
    ) -> list[EvaluationResult]:
        """Play whole games from the first phase, the likeliest action each time."""
        return evaluate(
            agent,
            against,
            self.settings.environment.num_players,
            self.ruleset,
            deals,
            seed=seed + self.settings.seed,
            actions=self.settings.environment.actions,
            first_deal=first_deal,
        )


def _shown(statistics: dict[str, float]) -> dict[str, float]:
    names = (
        "train/clone_agreement",
        "rollout/ep_len_mean",
        "phase10/lay_down_rate",
        "train/explained_variance",
        "train/approx_kl",
    )
    return {name: statistics[name] for name in names if name in statistics}


class _StopSwitch:
    """Turn Ctrl-C and SIGTERM into a request to stop after the rollout at hand; a second Ctrl-C stops at once.

    A rollout that is cut short would leave games and weights between two states. Signals can be set in the main
    thread only; elsewhere nothing is changed.
    """

    def __init__(self, progress: TrainingProgress) -> None:
        self.pressed = False
        self._progress = progress
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> _StopSwitch:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._previous[number] = signal.signal(number, self._press)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _press(self, number: int, _: object) -> None:
        if self.pressed and number == signal.SIGINT:
            raise Interrupted("nothing was saved now; --resume goes on from the newest checkpoint.")
        self.pressed = True
        self._progress.message("stopping after this rollout; Ctrl-C again stops at once")


def _starting_policy(checkpoint: Checkpoint, settings: TrainingSettings) -> PolicyValueNet:
    """Return the policy to begin with, if it fits the environment of the run."""
    theirs, ours = checkpoint.manifest["config"]["environment"], settings.environment
    for key in ("num_players", "actions"):
        if theirs.get(key, getattr(ours, key)) != getattr(ours, key):
            raise UsageError(
                f"{str(checkpoint.path)!r} was trained with environment.{key} = {theirs[key]!r}, this run has "
                f"{getattr(ours, key)!r}; start from another one."
            )
    net = policy_of(checkpoint)
    if bool(len(net.privileged_scale)) == settings.rollout.oracle_critic:
        return net
    return with_other_sight(net, settings)


# ---- command -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TrainOptions:
    """Train a policy by self-play, then evaluate it.

    CONFIG is a name under configs/train/ (quickstart, two-players, four-players, ...) or a TOML file. The run
    can be killed at any moment and resumed; watch it with TensorBoard.

    Example: phase10 train quickstart --out runs/first --set optimizer.learning_rate=5e-4
    """

    output: OutputOptions
    device: DeviceOptions
    json: JsonOption
    sets: SetOptions
    config: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="CONFIG")] = ""
    """Name or file of the configuration; not needed with --resume."""
    seed: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """The same seed gives the same training."""
    start_from: Annotated[str, tyro.conf.arg(metavar="PATH")] = ""
    """Checkpoint or run whose policy this run begins with, instead of a clone."""


def train(options: TrainOptions) -> tuple[TrainingRun, list[EvaluationResult]]:
    """Make or resume the run that the options describe, and train it."""
    overrides = list(options.sets.overrides)
    if options.seed is not None:
        overrides.append(f"seed={options.seed}")
    if options.start_from:
        overrides.append(f'start_from="{options.start_from}"')
    if options.output.resume:
        folder = options.output.out or _newest_run(options.config)
        settings = saved_settings(folder, overrides)
    else:
        if not options.config:
            raise UsageError("expected a configuration, found none; try 'phase10 train quickstart'.")
        settings = load_config(TrainingSettings, options.config, overrides, "train")
        if settings.start_from:  # a policy that has learned something is not made to imitate a teacher first
            settings = msgspec.structs.replace(settings, clone=CloneSettings())
        folder = options.output.out or fresh_folder(options.config)
    run = TrainingRun(settings, folder, options.output.resume, options.device.device, folder.name)
    return run, run.train()


def _run_name(config: str) -> str:
    return Path(config).stem


def fresh_folder(config: str) -> Path:
    """Return the first folder under runs/ for a configuration that does not exist yet."""
    number = 1
    while True:
        folder = Path("runs") / (_run_name(config) if number == 1 else f"{_run_name(config)}-{number}")
        if not folder.exists():
            return folder
        number += 1


def _newest_run(config: str) -> Path:
    found = sorted(
        (
            path
            for path in Path("runs").glob(f"{_run_name(config)}*")
            if re.fullmatch(rf"{re.escape(_run_name(config))}(-\d+)?", path.name)
            and (path / SETTINGS_FILE).is_file()
        ),
        key=lambda path: path.stat().st_mtime,
    )
    if not config or not found:
        raise UsageError(
            "--resume expects the run in --out DIR, found no run to go on with; name its folder."
        )
    return found[-1]


def saved_settings(folder: Path, overrides: list[str]) -> TrainingSettings:
    """Return the settings of a run, with those changes that a run can take while it goes on.

    Raises:
        UsageError: no run there, or a change that would make it another run.
    """
    path = folder / SETTINGS_FILE
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(
            f"{str(folder)!r} holds no run ({SETTINGS_FILE}); begin one without --resume."
        ) from None
    except (OSError, ValueError) as problem:
        raise UsageError(f"{str(path)!r} cannot be read ({problem}); restore it or begin anew.") from None
    for text in overrides:
        key, value = parse_override(TrainingSettings, text)
        if key.split(".")[0] in _FIXED_ON_RESUME:
            raise UsageError(
                f"{key} cannot change within a run; begin a new one, with --start-from if you like."
            )
        place = data
        *sections, last = key.split(".")
        for section in sections:
            place = place.setdefault(section, {})
        place[last] = value
    return build_config(TrainingSettings, data, str(path))


def train_command(options: TrainOptions) -> int | None:
    """Run `phase10 train`."""
    if options.config == "sb3-quickstart":
        from phase10_training.sb3 import sb3_quickstart

        sb3_quickstart(options, options.output.out or fresh_folder(options.config))
        return None
    if options.config == "rllib-quickstart":
        from phase10_training.rllib import rllib_quickstart

        rllib_quickstart(options, options.output.out or fresh_folder(options.config))
        return None
    run, results = train(options)
    picture = draw_result(run.folder, results, run.folder / RESULT_FILE, title=run.title)
    if options.json.json:
        found = {
            "run": str(run.folder),
            "decisions": run.learner.decisions,
            "evaluation": [result.to_dict() for result in results],
        }
        sys.stdout.write(json.dumps(found, indent=1) + "\n")
    else:
        print_result(run.folder, results, picture, run.settings.environment.num_players)
    return None
