"""Makes teaching material: decisions with the worth of every legal action, found by playouts, in files by the shard.

A shard holds n decisions of D observation entries and L places for legal actions, drawn from rounds that a
compiled heuristic plays against itself. It depends on its seed and number alone, so a killed run goes on with the
shards that are missing, and two machines can share the work.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt
import tyro

from phase10_agents.labels import label_rows
from phase10_agents.policies import POLICIES, POLICY_WEIGHTS, choose_rows, policy_number
from phase10_agents.scratch import new_scratch
from phase10_env.actions import BUILD, DISCARD, LAY, ONTO, SKIP
from phase10_env.game_batch import MAX_LEGAL, GameBatch, game_seeds
from phase10_env.observation import observation_layout
from phase10_env.rules.ruleset import get_ruleset
from phase10_env.rules.state import GAME, MAX_PLAYERS
from phase10_training.cli_support import GameOptions, JsonOption
from phase10_training.errors import UsageError
from phase10_training.files import check_own, write_text
from phase10_training.progress import TrainingProgress
from phase10_training.rules_option import load_rules

__all__ = ["LabelOptions", "LabelSettings", "Labels", "label_command", "load_labels", "make_shard"]

MANIFEST_FILE = "labels.json"
SHARD_GAMES = 256
WARM_UP = 64
"""Decisions a game plays before the first is labelled, so that not every shard begins with first turns."""
ODD_MOVES = 0.02
"""Share of decisions in which a random action is taken, for coverage."""


@dataclass(frozen=True)
class LabelSettings:
    """Hold what is labelled, and how.

    Attributes:
        players, rules: the table.
        agent: compiled heuristic that plays the rounds and the playouts.
        samples: orders of the stock that each legal action meets; 0: no playouts and no worth, for lessons that
            imitate, some sixteen times as fast as with four.
        share: of the decisions with a choice that are labelled.
        lay_share: the same for decisions in which the seat may lay down its phase: they are few, and whether to
            hold the phase back is worth more than any other question.
        skip_share: the same for the other decisions in which it may play a Skip; None: as `share`.
        place_share: the same for decisions where a hit goes; None: as `share`.
        explore: share of the labelled decisions in which the best label is played instead.
        shard: decisions in one file.
        seed: of all shards.
        level: of the observations.
    """

    players: int = 2
    rules: str = "official"
    agent: str = "aware"
    samples: int = 4
    share: float = 0.3
    lay_share: float = 1.0
    skip_share: float | None = None
    place_share: float | None = None
    explore: float = 0.15
    shard: int = 8192
    seed: int = 1
    level: str = "candidates"

    def __post_init__(self) -> None:
        """Refuse what cannot be made, in one sentence."""
        if policy_number(self.agent) < 0:
            raise UsageError(
                f"agent must be a compiled heuristic ({', '.join(POLICIES)}), found {self.agent!r}."
            )
        for name, least in (("samples", 0), ("shard", 16)):
            if getattr(self, name) < least:
                raise UsageError(f"{name} must be at least {least}, found {getattr(self, name)}.")
        for name in ("skip_share", "place_share"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, self.share)  # the way to fill in a frozen class
        shares = ("share", "lay_share", "skip_share", "place_share")
        for name in (*shares, "explore"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"{name} must be from 0 to 1, found {getattr(self, name)}.")
        if not any(getattr(self, name) for name in shares):
            raise UsageError("some share must be above 0, found 0 for all kinds of decisions.")


@dataclass(frozen=True)
class Labels:
    """Hold labelled decisions.

    Attributes:
        observations: uint8[n, D].
        legal_actions: uint8[n, L]; legal_counts: int16[n].
        values: float32[n, L], mean worth of each legal action: the seat's win equity after the round.
        chosen: uint8[n], the action of the heuristic.
        before: float32[n], the seat's win equity before the round.
    """

    observations: npt.NDArray[np.uint8]
    legal_actions: npt.NDArray[np.uint8]
    legal_counts: npt.NDArray[np.int16]
    values: npt.NDArray[np.float32]
    chosen: npt.NDArray[np.uint8]
    before: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.chosen)

    def rows(self, index: npt.NDArray[np.integer[Any]]) -> Labels:
        """Return the decisions int64[m] chosen by `index`."""
        return Labels(*(getattr(self, name)[index] for name in _NAMES))

    @property
    def legal(self) -> npt.NDArray[np.bool_]:
        """bool[n, L], the places that hold a legal action."""
        return np.arange(self.legal_actions.shape[1]) < self.legal_counts[:, None]

    def places(self, actions: slice) -> npt.NDArray[np.bool_]:
        """Return bool[n, L], the places that hold one of some legal actions, such as slice(LAY, BUILD)."""
        listed = self.legal_actions
        found: npt.NDArray[np.bool_] = (listed >= actions.start) & (listed < actions.stop) & self.legal
        return found


def _rounds(settings: LabelSettings, number: int) -> GameBatch:
    """Return the games of a shard, past their first turns."""
    ruleset = load_rules(settings.rules)
    batch = GameBatch(
        SHARD_GAMES,
        settings.players,
        ruleset,
        seeds=game_seeds(settings.seed, number * SHARD_GAMES, SHARD_GAMES),
        actions="compact",
        observation=settings.level,
        episode="round",
        start="mixed",
    )
    batch.play_random(WARM_UP)
    return batch


def make_shard(settings: LabelSettings, number: int) -> Labels:
    """Make shard `number`; the same arguments give the same shard.

    >>> labels = make_shard(LabelSettings(shard=16, samples=1), 0)
    >>> labels.values.shape, bool((labels.legal_counts > 1).all())
    ((16, 64), True)
    """
    batch = _rounds(settings, number)
    rng = np.random.default_rng([settings.seed, number])
    policy, same = policy_number(settings.agent), np.zeros(SHARD_GAMES, np.uint64)
    everyone, scratch = np.arange(SHARD_GAMES), new_scratch()
    chosen = np.zeros(SHARD_GAMES, np.int64)
    parts: list[Labels] = []
    made = 0
    while made < settings.shard:
        choose_rows(batch.games, batch.ruleset.record, policy, same, POLICY_WEIGHTS, scratch, chosen)
        assert settings.skip_share is not None
        share = np.where(batch.action_masks[:, SKIP:].any(axis=1), settings.skip_share, settings.share)
        share[batch.action_masks[:, LAY:BUILD].any(axis=1)] = settings.lay_share
        share[batch.action_masks[:, ONTO:DISCARD].any(axis=1)] = settings.place_share
        eligible = np.flatnonzero((batch.legal_counts > 1) & (rng.random(SHARD_GAMES) < share))
        rows = eligible[: settings.shard - made]
        keys = rng.integers(0, 2**64, len(rows), np.uint64)
        if len(rows):
            part = _label(batch, rows, keys, settings)
            parts.append(part)
            made += len(part)
            played = rng.random(len(rows)) < (settings.explore if settings.samples else 0.0)
            best = np.where(part.legal, part.values, -np.inf).argmax(axis=1)
            actions = part.legal_actions[np.arange(len(rows)), best]
            chosen[rows[played]] = actions[played]
        odd = rng.random(SHARD_GAMES) < ODD_MOVES
        places = rng.integers(0, batch.legal_counts)
        chosen[odd] = batch.legal_actions[everyone, places][odd]
        batch.step(chosen, check=False)
    return _joined(parts)


def _label(
    batch: GameBatch,
    rows: npt.NDArray[np.int64],
    keys: npt.NDArray[np.uint64],
    settings: LabelSettings,
) -> Labels:
    """Label some rows."""
    count = len(rows)
    seats = batch.seats[rows].astype(np.int64)
    found = Labels(
        batch.observations[rows],
        np.zeros((count, MAX_LEGAL), np.uint8),
        np.zeros(count, np.int16),
        np.zeros((count, MAX_LEGAL), np.float32),
        np.zeros(count, np.uint8),
        batch.equities[rows, seats].astype(np.float32),
    )
    label_rows(
        batch.games,
        batch.ruleset.record,
        batch.equity.record,
        rows,
        keys,
        settings.samples,
        np.full(MAX_PLAYERS, policy_number(settings.agent), np.int64),
        POLICY_WEIGHTS,
        new_scratch(),
        np.zeros(2, GAME),
        found.legal_actions,
        found.legal_counts,
        found.values,
        found.chosen,
    )
    return found


def _joined(parts: list[Labels]) -> Labels:
    return Labels(*(np.concatenate([getattr(part, name) for part in parts]) for name in _NAMES))


_NAMES = ("observations", "legal_actions", "legal_counts", "values", "chosen", "before")


# ---- files -------------------------------------------------------------------------------------------------


def _path(folder: Path, number: int) -> Path:
    return folder / f"shard_{number:05}.npz"


def _write_shard(folder: Path, number: int, labels: Labels) -> None:
    partial = folder / f".shard_{number:05}.{os.getpid()}.partial"
    with partial.open("wb") as file:
        np.savez_compressed(file, **{name: getattr(labels, name) for name in _NAMES})
    partial.replace(_path(folder, number))


def _manifest(settings: LabelSettings) -> dict[str, Any]:
    layout = observation_layout(settings.players, settings.level)
    return asdict(settings) | {
        "layout_digest": layout.digest,
        "ruleset_digest": get_ruleset(load_rules(settings.rules)).digest,
    }


def make_labels(
    settings: LabelSettings,
    folder: Path,
    shards: int,
    workers: int = 1,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Make the shards 0 ... shards - 1 that a folder lacks.

    Raises:
        UsageError: the folder holds labels that were made otherwise.
    """
    manifest = _manifest(settings)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / MANIFEST_FILE
    if path.exists():
        found = json.loads(path.read_text("utf-8"))
        share = found.get("share")
        found = {"skip_share": share, "place_share": share} | found  # folders of a time without these two
        changed = [key for key, value in manifest.items() if found.get(key) != value]
        if changed:
            raise UsageError(
                f"{str(folder)!r} holds labels made with {changed[0]} = {found.get(changed[0])!r}, not "
                f"{manifest[changed[0]]!r}; choose another --out."
            )
    write_text(path, json.dumps(manifest, indent=1) + "\n")
    missing = [number for number in range(shards) if not _path(folder, number).exists()]
    done = shards - len(missing)

    def work(number: int) -> None:
        if not _path(folder, number).exists():
            _write_shard(folder, number, make_shard(settings, number))

    with ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(work, missing):
            done += 1
            if progress:
                progress(done * settings.shard)


def shard_files(folder: Path) -> tuple[dict[str, Any], list[Path]]:
    """Return the manifest of a folder of labels and its shards in order.

    Raises:
        UsageError: there are none.
    """
    try:
        manifest = json.loads((folder / MANIFEST_FILE).read_text("utf-8"))
        if not isinstance(manifest, dict) or not {
            "players",
            "seed",
            "layout_digest",
            "ruleset_digest",
        } <= set(manifest):
            raise ValueError("not a manifest")
    except (OSError, ValueError):
        raise UsageError(f"{str(folder)!r} holds no labels; make some with 'phase10 label'.") from None
    files = sorted(folder.glob("shard_*.npz"))
    if not files:
        raise UsageError(f"{str(folder)!r} holds no shard yet; make some with 'phase10 label'.")
    return manifest, files


def load_labels(files: list[Path], keep: Callable[[Labels], Labels] | None = None) -> Labels:
    """Return the decisions of some shards as one; of each shard what `keep` returns, if it is given.

    Raises:
        UsageError: a file that is damaged.
    """

    def read() -> Iterator[Labels]:
        for path in files:
            try:
                with path.open("rb") as file, np.load(file, allow_pickle=False) as shard:
                    labels = Labels(*(shard[name] for name in _NAMES))
            except (OSError, ValueError, KeyError, EOFError, BadZipFile) as problem:
                raise UsageError(
                    f"{str(path)!r} is damaged ({type(problem).__name__}); delete it and make it anew."
                ) from None
            yield labels if keep is None else keep(labels)

    return _joined(list(read()))


# ---- command -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelOptions:
    """Label decisions with the worth of every legal action, as teaching material for `phase10 distill`.

    Rounds are played by a compiled heuristic; each labelled decision is played on from the true deal, with the
    stock shuffled anew, once for each legal action and sample. The work can be killed at any moment; the same
    command goes on with the shards that are missing.

    Example: phase10 label --out runs/labels --decisions 1000000
    """

    out: Annotated[Path, tyro.conf.arg(metavar="DIR")]
    """Folder for the shards."""
    decisions: Annotated[int, tyro.conf.arg(metavar="N")] = 1_000_000
    """Labelled decisions in all, rounded up to whole shards, two at least."""
    agent: Annotated[str, tyro.conf.arg(metavar="SPEC")] = "aware"
    """Compiled heuristic that plays rounds and playouts."""
    samples: Annotated[int, tyro.conf.arg(metavar="N")] = 4
    """Orders of the stock that every legal action meets; 0: only what the heuristic does, for --places."""
    share: Annotated[float, tyro.conf.arg(metavar="X")] = LabelSettings.share
    """Of the decisions with a choice that are labelled."""
    lay_share: Annotated[float, tyro.conf.arg(metavar="X")] = LabelSettings.lay_share
    """The same for decisions in which the phase may be laid down."""
    skip_share: Annotated[float | None, tyro.conf.arg(metavar="X")] = None
    """The same for the other decisions in which a Skip may be played; as --share if not given."""
    place_share: Annotated[float | None, tyro.conf.arg(metavar="X")] = None
    """The same for decisions where a hit goes that fits several groups; as --share if not given."""
    workers: Annotated[int, tyro.conf.arg(metavar="N")] = 2
    """Threads."""
    game: GameOptions = field(default_factory=GameOptions)
    json: JsonOption = field(default_factory=JsonOption)


def label_command(options: LabelOptions) -> None:
    """Run `phase10 label`."""
    settings = LabelSettings(
        options.game.players,
        options.game.rules,
        options.agent,
        options.samples,
        options.share,
        options.lay_share,
        options.skip_share,
        options.place_share,
        seed=options.game.seed,
    )
    if options.decisions < 1 or options.workers < 1:
        raise UsageError(
            f"decisions and workers must be at least 1, found {options.decisions} and {options.workers}."
        )
    check_own("--out", options.out, MANIFEST_FILE)
    shards = max(2, -(-options.decisions // settings.shard))  # one to learn from, one to hold back
    with TrainingProgress(shards * settings.shard, 0, f"labels in {options.out}") as progress:
        make_labels(settings, options.out, shards, options.workers, lambda done: progress.update(done, {}))
    if options.json.json:
        sys.stdout.write(
            json.dumps({"folder": str(options.out), "shards": shards, **_manifest(settings)}) + "\n"
        )
    else:
        lesson = "" if settings.samples else " --places 64"
        sys.stdout.write(
            f"labels   {options.out}: {shards} shards of {settings.shard} decisions\n"
            f"learn    phase10 distill {options.out} --start-from RUN --out RUN{lesson}\n"
        )
