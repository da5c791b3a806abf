"""Runs tournaments: settings, stages, blocks of games into the store, and the command `phase10 tournament`.

Formats: "round-robin" (every set of different agents), "field" (each agent at a table full of copies of each
other one), "gauntlet" (challengers against copies of each agent of the pool), "swiss" (rounds paired by the
standings). Deals are fixed by the seed and the same for every line-up; each is played under every rotation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from phase10_agents.catalog import load_agent
from phase10_env import __version__
from phase10_env.names import hint
from phase10_env.rules.ruleset import RuleSet
from phase10_training import line_ups
from phase10_training.blocks import BlockPlan, block_games, play_block
from phase10_training.config import build_config
from phase10_training.errors import LARGEST_COUNT, LONGEST_TIME, UsageError
from phase10_training.guarded import GuardedAgent
from phase10_training.line_ups import LineUp
from phase10_training.matches import GameResults, PlaySettings, check_table
from phase10_training.rules_option import load_rules
from phase10_training.standings import Standings, make_standings
from phase10_training.store import ResultStore

__all__ = [
    "FORMATS",
    "TournamentConfig",
    "agent_names",
    "read_standings",
    "run_tournament",
    "saved_tournament",
]

Format = Literal["round-robin", "field", "gauntlet", "swiss"]
FORMATS: tuple[Format, ...] = ("round-robin", "field", "gauntlet", "swiss")
Count = Annotated[int, msgspec.Meta(ge=1, le=LARGEST_COUNT)]


class TournamentConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Say what a tournament plays.

    Arguments:
        agents: specifications; a repeated one takes part once more, under a name of its own.
        format: see FORMATS.
        challengers: the agents (of `agents`) that run the gauntlet; the others are the pool.
        players: seats a table, 2-6.
        rules: a preset, a name under configs/rules, or a TOML file.
        deals: deals a line-up (in each round of a Swiss tournament).
        rounds: of a Swiss tournament.
        seed: of the deals.
        actions: "full" or "compact".
        time_limit: seconds for one decision.
        resamples: for the intervals of the ratings.
        block_games: games played and stored together.
    """

    agents: tuple[str, ...]
    format: Format = "round-robin"
    challengers: tuple[str, ...] = ()
    players: Annotated[int, msgspec.Meta(ge=2, le=6)] = 2
    rules: str = "official"
    deals: Count = 1000
    rounds: Count = 5
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] = 0
    actions: Literal["full", "compact"] = "full"
    time_limit: Annotated[float, msgspec.Meta(gt=0, le=LONGEST_TIME)] = 30.0
    resamples: Annotated[int, msgspec.Meta(ge=2, le=1_000_000)] = 1000
    block_games: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 1024


def agent_names(specs: Sequence[str]) -> tuple[str, ...]:
    """Return a name of its own for each agent: its specification, numbered where repeated.

    >>> agent_names(["greedy", "random", "greedy"])
    ('greedy', 'random', 'greedy#2')
    """
    seen: Counter[str] = Counter()
    names = []
    for spec in specs:
        seen[spec] += 1
        names.append(spec if seen[spec] == 1 else f"{spec}#{seen[spec]}")
    return tuple(names)


def check_config(config: TournamentConfig, rules: RuleSet | None = None) -> RuleSet:
    """Return the rules of a tournament, or say what in its settings cannot be played.

    Arguments:
        config: the settings.
        rules: what `config.rules` stands for; looked up if None.

    Raises:
        ValueError: too few agents, an unknown agent, challengers that do not take part, unknown rules.
    """
    if len(config.agents) < 2:
        raise UsageError(f"agents expects at least two, found {list(config.agents)}; name more.")
    agents = [load_agent(spec) for spec in dict.fromkeys(config.agents)]
    names = agent_names(config.agents)
    if config.format == "gauntlet":
        for name in config.challengers:
            if name not in names:
                raise UsageError(
                    f"challengers has {name!r}, not one of agents; {hint(name, names, 'agent')}."
                )
        if not 0 < len(config.challengers) < len(names):
            raise UsageError(
                "a gauntlet expects challengers and a pool; name one or more of the agents in challengers."
            )
    elif config.challengers:
        raise UsageError(f"challengers only play in format = 'gauntlet', found format = {config.format!r}.")
    if config.format == "swiss" and len(names) < config.players:
        raise UsageError(
            f"a Swiss tournament of {config.players} players expects as many agents, found {len(names)}."
        )
    ruleset = load_rules(config.rules) if rules is None else rules
    ruleset.check_players(config.players)
    check_table(agents, config.players, PlaySettings(ruleset, config.actions, config.time_limit))
    return ruleset


def stored_settings(config: TournamentConfig, ruleset: RuleSet) -> dict[str, Any]:
    """Return what is kept in the store: settings that decide the games, rules with digest, versions."""
    return {
        **msgspec.to_builtins(config),
        "ruleset": ruleset.to_dict(),
        "ruleset_digest": ruleset.digest,
        "version": __version__,
    }


# ---- stages ------------------------------------------------------------------------------------------------


def _plan(config: TournamentConfig, ruleset: RuleSet, stage: int, pairings: Sequence[LineUp]) -> BlockPlan:
    return BlockPlan(
        stage=stage,
        line_ups=tuple(pairings),
        deals=config.deals,
        first_deal=stage * config.deals,
        seed=config.seed,
        rules=ruleset.spec,
        actions=config.actions,
        time_limit=config.time_limit,
        block_games=config.block_games,
    )


def _stages(config: TournamentConfig, ruleset: RuleSet, store: ResultStore) -> Iterator[BlockPlan]:
    """Yield the stages one after another; each must be stored before the next is asked for."""
    if config.format == "swiss":
        for stage in range(config.rounds):
            points, met, byes = _swiss_standings(config, store, stage)
            pairings, _ = line_ups.swiss_round(points, met, byes, config.players)
            yield _plan(config, ruleset, stage, pairings)
        return
    yield _plan(config, ruleset, 0, _pairings(config))


def _pairings(config: TournamentConfig) -> list[LineUp]:
    """Return the line-ups of a tournament that has one stage."""
    names = agent_names(config.agents)
    if config.format == "round-robin":
        return line_ups.round_robin(len(names), config.players)
    if config.format == "field":
        return line_ups.field(len(names), config.players)
    challengers = [names.index(name) for name in config.challengers]
    pool = [index for index in range(len(names)) if index not in challengers]
    return line_ups.gauntlet(challengers, pool, config.players)


def _swiss_standings(
    config: TournamentConfig, store: ResultStore, stage: int
) -> tuple[list[float], np.ndarray, list[int]]:
    """Return points (mean share of each round, par for a bye), meetings and byes before a stage."""
    agents = len(config.agents)
    points, byes = [0.0] * agents, [0] * agents
    met = np.zeros((agents, agents), np.int64)
    if not stage:
        return points, met, byes
    games = store.games()
    for earlier in range(stage):
        now = games.stage == earlier
        seats, share = games.seats[now], games.share[now]
        for agent in range(agents):
            mine = seats == agent
            byes[agent] += not mine.any()
            points[agent] += float(share[mine].mean()) if mine.any() else 1.0 / config.players
            for other in np.unique(seats[mine.any(axis=1)]):
                met[agent, other] += other != agent
    return points, met, byes


def total_games(config: TournamentConfig) -> int:
    """Return the number of games of a whole tournament."""
    if config.format == "swiss":
        tables = len(config.agents) // config.players
        return config.rounds * config.deals * tables * len(line_ups.rotations(range(config.players)))
    return config.deals * sum(len(line_ups.rotations(pairing)) for pairing in _pairings(config))


# ---- playing -----------------------------------------------------------------------------------------------

Play = Callable[[BlockPlan, Sequence[int], tuple[str, ...]], Iterator[tuple[int, GameResults]]]
"""Plays blocks of a plan with the agents of these specifications and yields each as it is done."""


def play_here(
    plan: BlockPlan,
    blocks: Sequence[int],
    specs: tuple[str, ...],
    progress: Callable[[int], None] | None = None,
) -> Iterator[tuple[int, GameResults]]:
    """Play blocks one after another in this process."""
    agents = [GuardedAgent(load_agent(spec), plan.time_limit) for spec in specs]
    for block in blocks:
        yield block, play_block(plan, block, agents, progress)


def play_in_processes(workers: int) -> Play:
    """Return a function that plays blocks in processes of their own."""

    def play(
        plan: BlockPlan, blocks: Sequence[int], specs: tuple[str, ...]
    ) -> Iterator[tuple[int, GameResults]]:
        from concurrent.futures import ProcessPoolExecutor, as_completed
        from multiprocessing import get_context

        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            waiting = {pool.submit(play_alone, plan, block, specs): block for block in blocks}
            try:
                for future in as_completed(waiting):
                    yield waiting[future], future.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    return play


_agents_here: dict[tuple[tuple[str, ...], float | None], list[GuardedAgent]] = {}


def play_alone(plan: BlockPlan, block: int, specs: tuple[str, ...]) -> GameResults:
    """Play one block in a worker process, which loads the agents once."""
    key = (specs, plan.time_limit)
    if key not in _agents_here:
        _agents_here[key] = [GuardedAgent(load_agent(spec), plan.time_limit) for spec in specs]
    return play_block(plan, block, _agents_here[key])


def run_tournament(
    config: TournamentConfig,
    folder: Path,
    *,
    resume: bool = False,
    rules: RuleSet | None = None,
    play: Play | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Standings:
    """Play a tournament, or what is left of it, and return its table.

    A kill at any moment loses at most the blocks in play; with `resume` the others are kept, and the table is
    the same as without the kill.

    Arguments:
        config: what is played.
        folder: where the results are kept.
        resume: go on with the results that are there.
        rules: what `config.rules` stands for; looked up if None.
        play: plays blocks; default one after another in this process.
        progress: called with (games done, games in all).

    Raises:
        ValueError: settings that cannot be played, or results that belong to others; one sentence.
    """
    ruleset = check_config(config, rules)
    total = total_games(config)
    store = ResultStore(folder, stored_settings(config, ruleset), resume)
    try:
        for plan in _stages(config, ruleset, store):
            _play_stage(plan, config, store, play, progress, total)
        return _standings(config, store)
    finally:
        store.close()


def _play_stage(
    plan: BlockPlan,
    config: TournamentConfig,
    store: ResultStore,
    play: Play | None,
    progress: Callable[[int, int], None] | None,
    total: int,
) -> None:
    done = store.done(plan.stage)
    left = [block for block in range(plan.blocks) if block not in done]
    before = store.games_done()

    def tell(games: int) -> None:
        if progress:
            progress(before + games, total)

    tell(0)
    played = play_here(plan, left, config.agents, tell) if play is None else play(plan, left, config.agents)
    for block, results in played:
        store.add(plan.stage, block, block_games(plan, block), results)
        before += len(results.status)
        tell(0)


def _standings(config: TournamentConfig, store: ResultStore) -> Standings:
    return make_standings(
        agent_names(config.agents),
        store.games(),
        store.faults(),
        field_of_copies=config.format in ("field", "gauntlet"),
        resamples=config.resamples,
        seed=config.seed,
    )


def read_standings(folder: Path) -> tuple[TournamentConfig, Standings]:
    """Return the settings and the table of the results in a folder, finished or not.

    Raises:
        ValueError: there are none; one sentence.
    """
    store = ResultStore.open(folder)
    try:
        config = _stored_config(store)
        return config, _standings(config, store)
    finally:
        store.close()


def _stored_config(store: ResultStore) -> TournamentConfig:
    known = {field.name for field in msgspec.structs.fields(TournamentConfig)}
    settings = {key: value for key, value in store.settings.items() if key in known}
    return build_config(TournamentConfig, settings, str(store.path))


def saved_tournament(folder: Path) -> tuple[TournamentConfig, RuleSet]:
    """Return the settings and the rules of the tournament in a folder, to go on with it from there alone.

    Raises:
        ValueError: there is none, or one of its agents is not to be found any more; one sentence.
    """
    store = ResultStore.open(folder)
    try:
        config, rules = _stored_config(store), load_rules(store.settings["ruleset"])
    finally:
        store.close()
    for spec in dict.fromkeys(config.agents):
        try:
            load_agent(spec)
        except ValueError as problem:
            raise UsageError(
                f"agent {spec!r} of the tournament in {str(folder)!r} cannot be made here ({problem}); "
                "go on in the folder where the tournament was begun, or put its module on PYTHONPATH."
            ) from None
    return config, rules
