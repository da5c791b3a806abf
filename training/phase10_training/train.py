"""Runs a training from its configuration to its evaluation: run folder, checkpoints, resume, metrics, result.

A run folder holds `settings.json`, `metrics.jsonl`, `tensorboard/`, `checkpoints/` (full state, the newest few),
`best/` (the best policy so far), `evaluation.json` and `result.png`.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

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

from phase10_env.equity import EquityModel, default_equity
from phase10_env.observation import observation_layout
from phase10_env.rules.ruleset import get_ruleset
from phase10_training.cli_support import DeviceOptions, Interrupted, JsonOption, OutputOptions, SetOptions
from phase10_training.config import build_config, config_to_dict, load_config, parse_override
from phase10_training.errors import UsageError
from phase10_training.evaluate import EvaluationResult, evaluate
from phase10_training.metrics import METRICS_FILE, MetricsLogger
from phase10_training.ppo import Learner
from phase10_training.progress import TrainingProgress
from phase10_training.settings import TrainingSettings
from phase10_training.state_tree import flatten_state, restore_state
from phase10_training.training_report import draw_result, print_result

__all__ = ["TrainOptions", "TrainingRun", "train", "train_command"]

SETTINGS_FILE = "settings.json"
EVALUATION_FILE = "evaluation.json"
RESULT_FILE = "result.png"
BEST_FOLDER = "best"
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
        self.equity = (
            EquityModel.from_file(environment.equity)
            if environment.equity
            else default_equity(self.ruleset, environment.num_players)
        )
        teacher = load_agent(settings.clone.agent) if settings.clone.agent else None
        opponents = [load_agent(spec) for spec in settings.pool.agents] if settings.pool.share > 0 else []
        for spec in settings.evaluation.against:
            load_agent(spec)
        checkpoint = load_checkpoint(folder) if resume else None
        if not resume and (folder / METRICS_FILE).exists():
            raise UsageError(f"{str(folder)!r} already holds a run; go on with --resume or choose another --out.")
        torch.set_num_threads(settings.torch_threads)
        net = policy_of(load_checkpoint(settings.start_from)) if settings.start_from and not resume else None
        self.learner = Learner(settings, net, teacher, opponents, self.equity, self._as_agent, device)
        self.best = -1.0
        self._seconds = 0.0
        if checkpoint is not None:
            self._restore(checkpoint)
        self.folder.mkdir(parents=True, exist_ok=True)
        _write(folder / SETTINGS_FILE, json.dumps(config_to_dict(settings), indent=1) + "\n")
        self.metrics = MetricsLogger(folder, self.learner.decisions if resume else None)
        if not resume:
            self.metrics.add_config(config_to_dict(settings))

    def _as_agent(self, net: PolicyValueNet, name: str = "policy", temperature: float = 0.0) -> PolicyAgent:
        players = self.settings.environment.num_players
        return PolicyAgent(
            net,
            name,
            temperature,
            players,
            observation_layout(players).digest,
            self.settings.environment.actions == "compact",
        )

    # ---- checkpoints ---------------------------------------------------------------------------------------

    def _manifest(self) -> dict[str, Any]:
        environment = self.settings.environment
        return {
            "ruleset_digest": self.ruleset.digest,
            "layout_digest": observation_layout(environment.num_players).digest,
            "equity_hash": self.equity.hash,
            "config": config_to_dict(self.settings),
            "precision": self.learner.net.precision,
            "counters": {
                "decisions": self.learner.decisions,
                "iteration": self.learner.iteration,
                "seconds": self._seconds,
                "best": self.best,
            },
        }

    def save(self) -> Path:
        """Write everything that is needed to go on; a kill at any moment leaves this or the previous one."""
        tensors: dict[str, Any] = {f"policy.{k}": v for k, v in self.learner.net.state_dict().items()}
        optimizer, skeleton = flatten_state(self.learner.optimizer.state_dict(), "optimizer")
        tensors |= optimizer
        for worker in self.learner.workers:
            tensors |= {f"worker{worker.number}.{k}": v for k, v in worker.state().items()}
        for number, snapshot in enumerate(self.learner.snapshots):
            tensors |= {f"snapshot{number}.{k}": v for k, v in snapshot.state_dict().items()}
        manifest = self._manifest() | {
            "optimizer": skeleton,
            "workers": len(self.learner.workers),
            "snapshots": len(self.learner.snapshots),
        }
        return save_step(self.folder, self.learner.decisions, tensors, manifest, self.settings.checkpoint.keep)

    def save_policy(self, folder: Path) -> Path:
        """Write the policy alone, enough to play it."""
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
            for number in range(manifest["snapshots"]):
                learner.add_snapshot(checkpoint.weights(f"snapshot{number}"))
            counters = manifest["counters"]
            learner.decisions, learner.iteration = int(counters["decisions"]), int(counters["iteration"])
            self.best, self._seconds = float(counters["best"]), float(counters["seconds"])
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
            with _stop_on_signal():
                try:
                    while learner.decisions < total:
                        self._one_iteration(progress)
                except KeyboardInterrupt:
                    where = self.save()
                    self.metrics.close()
                    raise Interrupted(
                        f"{learner.decisions:,} decisions are kept in {where}; go on with "
                        f"'phase10 train --resume --out {self.folder}'."
                    ) from None
            where = self.save()
            progress.message(f"checkpoint: {where}")
            progress.message("evaluating ...")
        results = self._evaluate(settings.evaluation.final_deals)
        _write(
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
        results = self._evaluate(self.settings.evaluation.deals)
        mean = sum(result.win_share for result in results) / max(1, len(results))
        if results and self.settings.evaluation.keep_best and mean > self.best:
            self.best = mean
            self.save_policy(self.folder / BEST_FOLDER)
        found = {}
        for result in results:
            found[f"eval/win_share_{result.opponent}"] = result.win_share
            found[f"eval/low_{result.opponent}"] = result.interval[0]
            found[f"eval/high_{result.opponent}"] = result.interval[1]
        return found

    def _evaluate(self, deals: int) -> list[EvaluationResult]:
        """Play whole games from the first phase, the likeliest action each time."""
        if not self.settings.evaluation.against:
            return []
        return evaluate(
            self._as_agent(self.learner.net, self.title),
            self.settings.evaluation.against,
            self.settings.environment.num_players,
            self.ruleset,
            deals,
            seed=1_000_003 + self.settings.seed,
            actions=self.settings.environment.actions,
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


@contextmanager
def _stop_on_signal() -> Iterator[None]:
    """Let SIGTERM end the run as Ctrl-C does, where signals can be set (the main thread)."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    try:
        previous = signal.signal(signal.SIGTERM, stop)
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _write(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


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
    config: tyro.conf.Positional[str] = ""
    """Name or file of the configuration; not needed with --resume."""
    seed: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """The same seed gives the same training."""
    start_from: Annotated[str, tyro.conf.arg(metavar="PATH")] = ""
    """Checkpoint or run whose policy this run begins with."""


def train(options: TrainOptions) -> tuple[TrainingRun, list[EvaluationResult]]:
    """Make or resume the run that the options describe, and train it."""
    overrides = list(options.sets.overrides)
    if options.seed is not None:
        overrides.append(f"seed={options.seed}")
    if options.start_from:
        overrides.append(f'start_from="{options.start_from}"')
    if options.output.resume:
        folder = options.output.out or _newest_run(options.config)
        settings = _saved_settings(folder, overrides)
    else:
        if not options.config:
            raise UsageError("expected a configuration, found none; try 'phase10 train quickstart'.")
        settings = load_config(TrainingSettings, options.config, overrides, "train")
        folder = options.output.out or _fresh_folder(options.config)
    title = Path(options.config).stem or folder.name
    run = TrainingRun(settings, folder, options.output.resume, options.device.device, title)
    return run, run.train()


def _run_name(config: str) -> str:
    return Path(config).stem


def _fresh_folder(config: str) -> Path:
    number = 1
    while True:
        folder = Path("runs") / (_run_name(config) if number == 1 else f"{_run_name(config)}-{number}")
        if not folder.exists():
            return folder
        number += 1


def _newest_run(config: str) -> Path:
    found = sorted(
        (path for path in Path("runs").glob(f"{_run_name(config)}*") if (path / SETTINGS_FILE).is_file()),
        key=lambda path: path.stat().st_mtime,
    )
    if not config or not found:
        raise UsageError("--resume expects the run in --out DIR, found no run to go on with; name its folder.")
    return found[-1]


def _saved_settings(folder: Path, overrides: list[str]) -> TrainingSettings:
    path = folder / SETTINGS_FILE
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{str(folder)!r} holds no run ({SETTINGS_FILE}); begin one without --resume.") from None
    except (OSError, ValueError) as problem:
        raise UsageError(f"{str(path)!r} cannot be read ({problem}); restore it or begin anew.") from None
    for text in overrides:
        key, value = parse_override(TrainingSettings, text)
        if key.split(".")[0] in _FIXED_ON_RESUME:
            raise UsageError(f"{key} cannot change within a run; begin a new one, with --start-from if you like.")
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

        return sb3_quickstart(options)
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
        print_result(run.folder, results, picture)
    return None
