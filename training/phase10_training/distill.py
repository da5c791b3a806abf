"""Expert iteration, the learning half: improves a policy by what labels say (Anthony, Tian and Barber 2017).

For a decision with legal actions a, label Q(a) and policy pi = softmax(logits / T), the loss is

    ( - sum over a of pi(a) Q(a)  +  beta KL(start || pi) ) / ERROR

with the policy at the start, frozen, as a tether: its optimum is the policy improved by exp(Q / beta). In that
start an action has at least exp(-floor) times the probability of the likeliest: a clone is so sure of what its
teacher always does (odds of e^40 to lay a phase down at once) that otherwise nothing could move it. Every legal
action teaches at every decision, so the gradient has far less noise than that of a game's outcome, and what noise
the labels have averages out over like decisions. A hard imitation of the best label would learn that noise.

What is reported is the *gain*: the mean label, on decisions held back from training, of the policy's likeliest
action less that of the heuristic's. The labels' noise does not depend on the policy, so this is unbiased.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np
import numpy.typing as npt
import torch
import tyro

from phase10_agents.neural.agent import policy_of
from phase10_agents.neural.checkpoint import load_checkpoint, save_step
from phase10_agents.neural.networks import PolicyValueNet
from phase10_env.equity import default_equity
from phase10_env.rules.ruleset import get_ruleset
from phase10_training.cli_support import Interrupted, JsonOption
from phase10_training.config import config_to_dict, load_config
from phase10_training.discards import DiscardLesson, discard_labels, teach_discards, with_discard_head
from phase10_training.errors import UsageError, check_range
from phase10_training.files import check_folder, check_own
from phase10_training.grown_lessons import (
    ERROR,
    GrownLesson,
    LayDownLesson,
    PlaceLesson,
    SkipLesson,
    grown,
    question_labels,
    teach_question,
)
from phase10_training.labels import Labels, load_labels, shard_files
from phase10_training.metrics import METRICS_FILE, MetricsLogger
from phase10_training.ppo import make_network
from phase10_training.progress import TrainingProgress
from phase10_training.settings import TrainingSettings

__all__ = ["DistillOptions", "Lesson", "distill", "distill_command", "gain_of_policy"]

HELD_BACK = 0.04
"""Share of the shards that is held back to measure the gain; one at least."""
_ORDER = ("discards", "lay-downs", "skips")
"""Lessons that build on those before them: each fits its logits to the others' as they are."""


@dataclass(frozen=True)
class Lesson:
    """Hold how labels are taught.

    Attributes:
        epochs: passes over the labels.
        temperature: T of the policy while it learns; above 1 unlikely actions are heard, too.
        tether: beta, in win equity: an action twice as likely as at the start must have gained 0.7 beta.
        floor: least log-probability of an action at the start, below the likeliest's.
        minibatch: decisions in one gradient step.
        learning_rate, final_learning_rate: linear between.
        value: weight of the critic's squared error, in rewards.
        question: what it is about.
    """

    epochs: int = 1
    temperature: float = 2.0
    tether: float = 0.0015
    floor: float = 4.0
    minibatch: int = 4096
    learning_rate: float = 2e-4
    final_learning_rate: float = 2e-5
    value: float = 0.25
    question: ClassVar[str] = "all"

    def __post_init__(self) -> None:
        """Refuse what cannot be taught."""
        for name in (
            "epochs",
            "temperature",
            "tether",
            "floor",
            "minibatch",
            "learning_rate",
            "final_learning_rate",
        ):
            if not 0 < getattr(self, name) < math.inf:
                raise UsageError(f"{name} must be above 0 and finite, found {getattr(self, name)}.")
        if self.value < 0:
            raise UsageError(f"value must be at least 0, found {self.value}.")


# ---- gain ---------------------------------------------------------------------------------------------------


def _places(labels: Labels, actions: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.intp]:
    """Return where each action stands in its list of legal actions, int64[n]."""
    found: npt.NDArray[np.intp] = ((labels.legal_actions == actions[:, None]) & labels.legal).argmax(axis=1)
    return found


def _listed(net: PolicyValueNet, labels: Labels) -> npt.NDArray[np.float32]:
    """Return float32[n, L], the network's logits of the legal actions in list order, -inf behind them."""
    parts = []
    for start in range(0, len(labels), 4096):
        rows = slice(start, start + 4096)
        logits, _ = net(torch.from_numpy(labels.observations[rows]))
        parts.append(np.take_along_axis(logits.numpy(), labels.legal_actions[rows].astype(np.int64), 1))
    found: npt.NDArray[np.float32] = np.where(labels.legal, np.concatenate(parts), -np.inf).astype(np.float32)
    return found


def gain_of_policy(net: PolicyValueNet, labels: Labels) -> tuple[float, float, float]:
    """Return (mean gain of the likeliest action over the heuristic's, its standard error, share of agreement)."""
    rows = np.arange(len(labels))
    with torch.inference_mode():
        mine = _listed(net, labels).argmax(axis=1)
    theirs = _places(labels, labels.chosen)
    gains = labels.values[rows, mine] - labels.values[rows, theirs]
    return float(gains.mean()), float(gains.std() / np.sqrt(len(gains))), float((mine == theirs).mean())


# ---- the lesson --------------------------------------------------------------------------------------------


def distill(
    net: PolicyValueNet,
    labels: Labels,
    held_back: Labels,
    lesson: Lesson,
    reward_scale: float = 5.0,
    seed: int = 0,
) -> Iterator[tuple[int, dict[str, float]]]:
    """Teach a network; after each epoch yield (decisions seen, metrics)."""
    optimizer = torch.optim.Adam(net.parameters(), lr=lesson.learning_rate, eps=1e-5)
    with torch.inference_mode():
        start = _listed(net, labels)
    start = np.where(labels.legal, np.maximum(start, start.max(axis=1, keepdims=True) - lesson.floor), start)
    own = labels.values[np.arange(len(labels)), _places(labels, labels.chosen)]
    gains = labels.values - own[:, None]
    returns = (reward_scale * (own - labels.before)).astype(np.float32)
    steps = max(1, len(labels) // lesson.minibatch)
    for epoch in range(lesson.epochs):
        order = np.random.default_rng([seed, epoch]).permutation(len(labels))
        sums = np.zeros(3)
        for step, rows in enumerate(np.array_split(order, steps)):
            share = (epoch * steps + step) / (lesson.epochs * steps)
            rate = lesson.learning_rate + share * (lesson.final_learning_rate - lesson.learning_rate)
            for group in optimizer.param_groups:
                group["lr"] = rate
            longest = int(labels.legal_counts[rows].max())
            logits, values = net(torch.from_numpy(labels.observations[rows]))
            gain, distance = _improvement(
                logits,
                torch.from_numpy(labels.legal_actions[rows, :longest].astype(np.int64)),
                torch.from_numpy(gains[rows, :longest]),
                torch.from_numpy(start[rows, :longest]),
                lesson.temperature,
            )
            error = torch.nn.functional.mse_loss(values, torch.from_numpy(returns[rows]))
            loss = (lesson.tether * distance - gain) / ERROR + lesson.value * error
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
            torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            optimizer.step()
            sums += float(gain.detach()), float(distance.detach()), float(error.detach())
        yield (
            (epoch + 1) * len(labels),
            {
                "distill/expected_gain": sums[0] / steps,
                "distill/kl_from_start": sums[1] / steps,
                "distill/value_loss": sums[2] / steps,
                "train/learning_rate": rate,
            }
            | _gain_metrics(net, held_back),
        )


def _improvement(
    logits: torch.Tensor,
    legal: torch.Tensor,
    gains: torch.Tensor,
    start: torch.Tensor,
    temperature: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mean expected gain of softmax(logits / T), and the mean KL(start || it).

    Args:
        logits: float32[n, A]; legal: int64[n, L]; gains, start: float32[n, L], start -inf behind the legal actions.
    """
    valid = start > -torch.inf
    now = torch.gather(logits, 1, legal).masked_fill(~valid, -1e9)
    log_now = torch.log_softmax(now / temperature, 1)
    log_start = torch.log_softmax(start.masked_fill(~valid, -1e9) / temperature, 1)
    gain = (log_now.exp() * gains * valid).sum(1).mean()
    distance = (log_start.exp() * (log_start - log_now) * valid).sum(1).mean()
    return gain, distance


AnyLesson = Lesson | GrownLesson | DiscardLesson
_QUESTIONS: tuple[type[GrownLesson], ...] = (LayDownLesson, SkipLesson, PlaceLesson)


# ---- command -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DistillOptions:
    """Teach a policy what labels say; the result is a run to play, to evaluate or to start a training from.

    Example: phase10 distill runs/labels --start-from runs/clone --out runs/distilled
    """

    labels: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="DIR...")]
    """Folders made by `phase10 label`."""
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")]
    """Folder of the run."""
    start_from: Annotated[str, tyro.conf.arg(metavar="PATH")] = ""
    """Checkpoint or run whose policy is taught; a fresh network if not given."""
    config: Annotated[str, tyro.conf.arg(metavar="NAME|FILE")] = "two-players"
    """Configuration of the fresh network."""
    lay_downs: Annotated[int, tyro.conf.arg(metavar="UNITS")] = 0
    """Teach only when to lay a phase down, through so many new hidden units a layer; after --discards."""
    skips: Annotated[int, tyro.conf.arg(metavar="UNITS")] = 0
    """Teach only when and on whom to play a Skip, likewise; after --lay-downs."""
    places: Annotated[int, tyro.conf.arg(metavar="UNITS")] = 0
    """Teach only where a hit goes that fits several groups, likewise, by imitation of the heuristic."""
    discards: Annotated[int, tyro.conf.arg(metavar="UNITS")] = 0
    """Teach only what to discard, through a new head of so many units for all cards; before --lay-downs."""
    kept: Annotated[float | None, tyro.conf.arg(metavar="X")] = None
    """For --discards: share of the policy's own preferences that stays, 0.25 if not given; nothing of a former head."""
    imitation: Annotated[float | None, tyro.conf.arg(metavar="X")] = None
    """For --discards: weight of imitating the heuristic's discard beside learning its worth, 0 if not given."""
    epochs: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Passes over the labels; 1 if not given, 4 for --discards, 5 for --lay-downs and --skips, 8 for --places."""
    temperature: Annotated[float, tyro.conf.arg(metavar="X")] = Lesson.temperature
    """Of the policy while it learns."""
    tether: Annotated[float, tyro.conf.arg(metavar="X")] = Lesson.tether
    """Pull towards the policy at the start, in win equity."""
    learning_rate: Annotated[float | None, tyro.conf.arg(metavar="X")] = None
    """Of the first step; 0.0002 if not given, 0.0005 for --discards, 0.001 for single questions."""
    seed: Annotated[int, tyro.conf.arg(metavar="N")] = 0
    """Of the order of the labels."""
    json: JsonOption = field(default_factory=JsonOption)


def distill_command(options: DistillOptions) -> None:
    """Run `phase10 distill`."""
    lesson = _lesson(options)
    check_own("--out", options.out, METRICS_FILE)
    check_folder("--out", options.out)
    manifest, files, held_files = _material(options.labels, imitates=isinstance(lesson, PlaceLesson))
    if any((options.out / "checkpoints").glob("step_*")):  # one that a kill cut off has another name
        raise UsageError(f"{str(options.out)!r} already holds a run; choose another --out.")
    settings, net, decisions, lessons = _pupil(options, manifest, lesson.question)
    start_net = net
    torch.set_num_threads(settings.torch_threads)
    keep: Callable[[Labels], Labels] | None = None
    if isinstance(lesson, GrownLesson):
        keep, net = partial(question_labels, lesson=lesson), grown(net, lesson.units, options.seed)
    elif isinstance(lesson, DiscardLesson):
        keep = discard_labels
        net = with_discard_head(net, settings.environment.layout, lesson.units, lesson.kept, options.seed)
    settings = msgspec.structs.replace(settings, network=net.settings)
    labels, held_back = load_labels(files, keep), load_labels(held_files, keep)
    if not len(labels) or not len(held_back):
        raise UsageError(
            "the labels hold no decision of the kind that this lesson is about; make more labels."
        )
    (options.out / METRICS_FILE).unlink(
        missing_ok=True
    )  # of a lesson that was killed before its first epoch ended
    metrics: dict[str, float] = {}
    with (
        MetricsLogger(options.out) as logger,
        TrainingProgress(lesson.epochs * len(labels), 0, options.out.name) as progress,
    ):
        logger.add_config(config_to_dict(settings))
        progress.message(f"run: {options.out}")
        start, _, agreement = gain_of_policy(start_net, held_back)
        shown = "distill/same_as_heuristic" if isinstance(lesson, PlaceLesson) else "distill/gain"
        logger.log(0, {"distill/gain": start, "distill/same_as_heuristic": agreement})
        try:
            scale = settings.environment.reward_scale
            for seen, metrics in _taught(net, labels, held_back, lesson, scale, options.seed):
                logger.log(seen, metrics)
                progress.update(seen, {shown: metrics[shown]})
                where = _save(options.out, settings, net, decisions, manifest, metrics, lessons)
        except KeyboardInterrupt:
            raise Interrupted(f"the policy of the last whole epoch is in {options.out}.") from None
    result = {
        "run": str(options.out),
        "labels": len(labels),
        "held_back": len(held_back),
        "gain_before": start,
        "same_as_heuristic_before": agreement,
    }
    result |= {name.removeprefix("distill/"): value for name, value in metrics.items()}
    if isinstance(lesson, PlaceLesson):  # its labels may hold no worth
        result = {name: value for name, value in result.items() if "gain" not in name}
    if options.json.json:
        sys.stdout.write(json.dumps(result, indent=1) + "\n")
    elif isinstance(lesson, PlaceLesson):
        sys.stdout.write(
            f"as the heuristic does, of {len(held_back):,} labels held back: {100 * agreement:.1f} % before, "
            f"{100 * metrics['distill/same_as_heuristic']:.1f} % after\npolicy: {where}\n"
        )
    else:
        sys.stdout.write(
            f"gain over the heuristic, in win equity a decision, on {len(held_back):,} labels held back: "
            f"{start:+.5f} before, {metrics['distill/gain']:+.5f} ± {1.96 * metrics['distill/gain_error']:.5f} "
            f"after\npolicy: {where}\n"
        )


def _material(folders: tuple[Path, ...], imitates: bool) -> tuple[dict[str, Any], list[Path], list[Path]]:
    """Return the manifest of the first folder, the shards to learn from, and those held back of each folder."""
    if not folders:
        raise UsageError("expected folders of labels, found none; make some with 'phase10 label'.")
    first: dict[str, Any] = {}
    seeds: dict[int, Path] = {}
    learnt: list[Path] = []
    held: list[Path] = []
    for folder in folders:
        manifest, files = shard_files(folder)
        first = first or manifest
        if manifest.get("samples") == 0 and not imitates:
            raise UsageError(
                f"{str(folder)!r} holds labels without playouts (samples = 0), which teach --places alone; label with "
                "--samples 1 or more."
            )
        for key in ("players", "layout_digest", "ruleset_digest"):
            if manifest[key] != first[key]:
                raise UsageError(
                    f"{str(folder)!r} holds labels with {key} = {manifest[key]!r}, {str(folders[0])!r} with "
                    f"{first[key]!r}; teach labels of one game at a time."
                )
        seed = manifest["seed"]
        if seed in seeds:
            raise UsageError(
                f"{str(seeds[seed])!r} and {str(folder)!r} hold the same rounds (seed {seed}), so that labels held "
                "back would be learned; label with another --seed."
            )
        seeds[seed] = folder
        behind = max(1, round(HELD_BACK * len(files)))
        if len(files) <= behind:
            raise UsageError(
                f"{str(folder)!r} holds {len(files)} shard, expected two at least; make more labels: 'phase10 label' "
                "with the same --out and more --decisions."
            )
        learnt += files[:-behind]
        held += files[-behind:]
    return first, learnt, held


def _lesson(options: DistillOptions) -> AnyLesson:
    """Return the lesson that the options describe."""
    check_range("--seed", options.seed, 0, 2**63 - 1)
    given = {"epochs": options.epochs, "learning_rate": options.learning_rate}
    own: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    asked = [name for name in ("discards", "lay_downs", "skips", "places") if getattr(options, name)]
    if len(asked) > 1:
        first, second = (f"--{name.replace('_', '-')}" for name in asked[:2])
        raise UsageError(
            f"{first} and {second} are two lessons; teach {first}, then {second} from its result."
        )
    for name in ("kept", "imitation"):
        if getattr(options, name) is not None:
            if not options.discards:
                raise UsageError(
                    f"--{name} goes with --discards, found {getattr(options, name)} alone; leave it out."
                )
            own[name] = getattr(options, name)
    if options.discards:
        return DiscardLesson(options.discards, **own)
    for lesson in _QUESTIONS:
        units = getattr(options, lesson.question.replace("-", "_"))
        if units:
            return lesson(units, **own)
    rate = own.get("learning_rate", Lesson.learning_rate)
    return Lesson(
        temperature=options.temperature, tether=options.tether, final_learning_rate=rate / 10, **own
    )


def _taught(
    net: PolicyValueNet,
    labels: Labels,
    held_back: Labels,
    lesson: AnyLesson,
    reward_scale: float,
    seed: int,
) -> Iterator[tuple[int, dict[str, float]]]:
    """Teach the lesson; after each epoch yield (decisions seen, metrics)."""
    if isinstance(lesson, Lesson):
        yield from distill(net, labels, held_back, lesson, reward_scale, seed)
        return
    if isinstance(lesson, GrownLesson):
        taught = teach_question(net, labels, lesson, seed)
    else:
        taught = teach_discards(net, labels, lesson, seed)
    for epoch, metrics in enumerate(taught, start=1):
        yield epoch * len(labels), metrics | _gain_metrics(net, held_back)


def _gain_metrics(net: PolicyValueNet, held_back: Labels) -> dict[str, float]:
    gain, error, agreement = gain_of_policy(net, held_back)
    return {"distill/gain": gain, "distill/gain_error": error, "distill/same_as_heuristic": agreement}


def _pupil(
    options: DistillOptions, manifest: dict[str, Any], lesson: str
) -> tuple[TrainingSettings, PolicyValueNet, int, list[str]]:
    """Return settings, network, decisions so far and lessons, with this one, of the policy that is taught."""
    if options.start_from:
        checkpoint = load_checkpoint(options.start_from)
        settings = msgspec.convert(checkpoint.manifest["config"], TrainingSettings)
        net = policy_of(checkpoint)
        decisions = int(checkpoint.manifest["counters"]["decisions"])
        digest = checkpoint.manifest["layout_digest"]
        before = checkpoint.manifest.get("distilled", {})
        lessons = [*before.get("lessons", [before["lesson"]] if "lesson" in before else []), lesson]
        later = _ORDER[_ORDER.index(lesson) + 1 :] if lesson in _ORDER else ()
        for name in later:
            if name in lessons:
                raise UsageError(
                    f"{options.start_from!r} has learned --{name}, which depends on --{lesson}; teach --{lesson} "
                    f"first, then --{name}."
                )
    else:
        settings = load_config(TrainingSettings, options.config, [], "train")
        net, decisions, lessons = make_network(settings), 0, [lesson]
        digest = settings.environment.layout.digest
    if len(net.privileged_scale):
        raise UsageError("a policy with an oracle critic cannot be distilled; labels hold no hidden state.")
    if settings.environment.num_players != manifest["players"]:
        raise UsageError(
            f"the policy plays with {settings.environment.num_players} players, the labels are for "
            f"{manifest['players']}; "
            + (
                "label with its --players."
                if options.start_from
                else "choose another --config or --start-from."
            )
        )
    if digest != manifest["layout_digest"]:
        raise UsageError(
            f"the policy reads observations of layout {digest}, the labels have {manifest['layout_digest']}; "
            "label for its players and level."
        )
    return settings, net, decisions, lessons


def _save(
    folder: Path,
    settings: TrainingSettings,
    net: PolicyValueNet,
    decisions: int,
    labels: dict[str, Any],
    metrics: dict[str, float],
    lessons: list[str],
) -> Path:
    ruleset = get_ruleset(settings.environment.ruleset)
    manifest = {
        "ruleset_digest": ruleset.digest,
        "layout_digest": labels["layout_digest"],
        "equity_hash": default_equity(ruleset, settings.environment.num_players).hash,
        "config": config_to_dict(settings),
        "precision": net.precision,
        "counters": {"decisions": decisions},
        "distilled": {"lessons": lessons, "labels": labels, "metrics": metrics},
    }
    tensors = {f"policy.{name}": value for name, value in net.state_dict().items()}
    return save_step(folder, decisions, tensors, manifest, 1)
