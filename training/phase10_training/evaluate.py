"""Measures how strong an agent is: win share against others on paired deals, with an interval.

Every deal is played once from every seat of the agent against copies of one opponent. The average over the
seats of a deal is one value; the interval is over deals. Par is 1 / P, the share of an equal agent.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import tyro

from phase10_agents.catalog import load_agent
from phase10_env.decision import Agent
from phase10_env.rules.ruleset import RuleSet
from phase10_training.cli_support import DealOptions, FailedRun, GameOptions, JsonOption
from phase10_training.errors import LONGEST_TIME, UsageError, check_range
from phase10_training.guarded import Fault, GuardedAgent, nothing_measured
from phase10_training.line_ups import deal_seeds, rotations
from phase10_training.matches import GameResults, PlaySettings, check_table, play_games
from phase10_training.progress import TrainingProgress
from phase10_training.rules_option import load_rules
from phase10_training.statistics import FloatArray, clustered_estimate

__all__ = ["EvaluateOptions", "EvaluationResult", "as_agent", "evaluate", "evaluate_command"]

BLOCK_GAMES = 2048
"""Games played side by side; more only cost memory."""


@dataclass(frozen=True)
class EvaluationResult:
    """Hold how an agent did against copies of one opponent.

    Attributes:
        agent, opponent: names.
        players: seats a table; `par` = 1 / players is the share of an equal agent.
        deals: N; each was played from every seat of the agent.
        win_share: mean share of wins, 0 to 1; `interval` its 95 % interval, clustered by deal.
        standard_error: of the win share.
        shares: float64[N, players], share in each deal from each seat.
        illegal_actions: of the agent; `opponent_illegal_actions` of the opponent. Each lost its game.
        faults: every game lost by an illegal action, a crash or a stall, with its position.
        truncated: games that ended without a winner (R34); they count 1 / players for everybody.
        rounds, decisions: means a game. `seconds`: time of the agent for one decision, mean.
    """

    agent: str
    opponent: str
    players: int
    par: float
    deals: int
    win_share: float
    interval: tuple[float, float]
    standard_error: float
    shares: FloatArray
    illegal_actions: int
    opponent_illegal_actions: int
    faults: tuple[Fault, ...]
    truncated: int
    rounds: float
    decisions: float
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values that JSON can hold."""
        return {
            "agent": self.agent,
            "opponent": self.opponent,
            "win_share": self.win_share,
            "interval": list(self.interval),
            "standard_error": self.standard_error,
            "deals": self.deals,
            "par": self.par,
            "illegal_actions": self.illegal_actions,
            "opponent_illegal_actions": self.opponent_illegal_actions,
            "crashes": sum(fault.agent == 0 and fault.kind == "crash" for fault in self.faults),
            "stalls": sum(fault.agent == 0 and fault.kind == "stall" for fault in self.faults),
            "truncated": self.truncated,
            "rounds_per_game": self.rounds,
            "decisions_per_game": self.decisions,
            "seconds_per_decision": self.seconds,
            "faults": [
                {
                    "by": self.opponent if fault.agent else self.agent,
                    "seat": fault.seat,
                    "kind": fault.kind,
                    "detail": fault.detail,
                    "position": fault.position,
                }
                for fault in self.faults[:MOST_FAULTS_SHOWN]
            ],
        }


MOST_FAULTS_SHOWN = 20


def as_agent(agent: str | Agent) -> Agent:
    """Return the agent that a specification names; an agent is returned as it is."""
    return load_agent(agent) if isinstance(agent, str) else agent


def evaluate(
    agent: str | Agent,
    against: Sequence[str | Agent],
    players: int = 2,
    rules: str | RuleSet | Mapping[str, Any] = "official",
    deals: int = 1000,
    seed: int = 0,
    *,
    actions: Literal["full", "compact"] = "full",
    confidence: float = 0.95,
    time_limit: float | None = None,
    threads: int = 1,
    first_deal: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> list[EvaluationResult]:
    """Play an agent against copies of each opponent on paired deals and return one result an opponent.

    All opponents are met on the same deals. The results depend on the arguments alone, not on the machine,
    as long as the agents take their random numbers from the view.

    Arguments:
        agent: an agent, or a specification such as "greedy".
        against: the opponents.
        players: seats a table, 2-6.
        rules: a preset, a name under configs/rules, a TOML file, a RuleSet or its fields.
        deals: N; each is played `players` times, once from every seat of the agent.
        seed: of the deals.
        actions: "full" or "compact".
        confidence: coverage of the intervals.
        time_limit: seconds for one decision, or None.
        threads: worker threads of the engine.
        first_deal: number of the first deal, to go on where an earlier evaluation of the same seed ended.
        progress: called with (games done, games in all).

    Raises:
        ValueError: an unknown agent or preset, a number out of range; one sentence.

    >>> (result,) = evaluate("greedy", ["melder"], deals=10)
    >>> result.win_share > result.par, result.illegal_actions
    (True, 0)
    """
    if deals < 1:
        raise UsageError(f"deals expects at least 1, found {deals}.")
    if not against:
        raise UsageError("against expects at least one opponent, found none; name one, such as 'greedy'.")
    ruleset = load_rules(rules)
    ruleset.check_players(players)
    settings = PlaySettings(ruleset, actions, time_limit, threads=threads)
    # all are made before anything is played: an unknown one must not come to light after hours
    one, *others = [GuardedAgent(as_agent(each), time_limit) for each in (agent, *against)]
    total = len(against) * deals * players
    results = []
    for place, other in enumerate(others):
        done = place * deals * players

        def tell(games: int, before: int = done) -> None:
            if progress:
                progress(before + games, total)

        one.seconds, one.decisions = 0.0, 0
        parts = _play_deals([one, other], players, deals, seed, settings, tell, first_deal)
        results.append(_result(one, other, players, deals, parts, confidence))
    return results


def _play_deals(
    agents: list[GuardedAgent],
    players: int,
    deals: int,
    seed: int,
    settings: PlaySettings,
    progress: Callable[[int], None],
    first_deal: int = 0,
) -> list[GameResults]:
    seatings = np.array(rotations((0, *[1] * (players - 1))))
    at_once = max(1, BLOCK_GAMES // len(seatings))
    parts = []
    for first in range(0, deals, at_once):
        count = min(at_once, deals - first)
        seeds = np.repeat(deal_seeds(seed, first_deal + first, count), len(seatings))
        before = first * len(seatings)
        parts.append(
            play_games(
                agents,
                seeds,
                np.tile(seatings, (count, 1)),
                settings,
                lambda games, before=before: progress(before + games),  # type: ignore[misc]
            )
        )
    return parts


def _result(
    one: GuardedAgent,
    other: GuardedAgent,
    players: int,
    deals: int,
    parts: Sequence[GameResults],
    confidence: float,
) -> EvaluationResult:
    mine = np.tile(np.array(rotations((0, *[1] * (players - 1)))) == 0, (deals, 1))
    shares = np.concatenate([part.share for part in parts])[mine].reshape(deals, players)
    illegal = np.concatenate([part.illegal for part in parts])
    decisions = np.concatenate([part.decisions for part in parts])
    estimate = clustered_estimate(shares, confidence=confidence)
    return EvaluationResult(
        agent=one.agent.name,
        opponent=other.agent.name,
        players=players,
        par=1.0 / players,
        deals=deals,
        win_share=estimate.mean,
        interval=(estimate.low, estimate.high),
        standard_error=estimate.standard_error,
        shares=shares,
        illegal_actions=int(illegal[mine].sum()),
        opponent_illegal_actions=int(illegal[~mine].sum()),
        faults=tuple(fault for part in parts for fault in part.faults),
        truncated=int(sum((part.status == 2).sum() for part in parts)),
        rounds=float(np.concatenate([part.rounds for part in parts]).mean()),
        decisions=float(decisions.sum(axis=1).mean()),
        seconds=one.seconds / max(one.decisions, 1),
    )


# ---- command -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EvaluateOptions:
    """Measure the win share of an agent against copies of each opponent, on paired deals.

    Every deal is played once from every seat; the 95 % interval is clustered by deal. Par is 1 / players.

    Example: phase10 evaluate greedy --against random melder --players 4 --deals 500
    """

    agent: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="AGENT")]
    """The agent: random, melder, greedy:epsilon=0.1, checkpoint:runs/x, my_module:MyAgent, ..."""
    against: Annotated[
        tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]], tyro.conf.arg(metavar="AGENT ...")
    ]
    """The opponents, one or several."""
    game: GameOptions
    deals: DealOptions
    json: JsonOption
    actions: Literal["full", "compact"] = "full"
    """Which of equal actions the agents are offered."""
    time_limit: Annotated[float, tyro.conf.arg(metavar="SECONDS")] = 30.0
    """Longest time for one decision; who takes longer loses the game."""


def evaluate_command(options: EvaluateOptions) -> int | None:
    """Run `phase10 evaluate`."""
    against = [spec for group in options.against for spec in group]
    if not against:
        raise UsageError("--against expects at least one opponent, found none; try --against greedy.")
    check_range("--time-limit", options.time_limit, 0, LONGEST_TIME, above=True)
    total = len(against) * options.deals.deals * options.game.players
    agent, *others = [load_agent(spec) for spec in (options.agent, *against)]
    ruleset = load_rules(options.game.rules)
    ruleset.check_players(options.game.players)
    check_table(
        [agent, *others], options.game.players, PlaySettings(ruleset, options.actions, options.time_limit)
    )
    with TrainingProgress(total, title="games", unit="games") as bar:
        results = evaluate(
            agent,
            others,
            options.game.players,
            ruleset,
            options.deals.deals,
            options.game.seed,
            actions=options.actions,
            time_limit=options.time_limit,
            progress=lambda done, _total: bar.update(done),
        )
    if options.json.json:
        text = json.dumps(
            {
                "agent": results[0].agent,
                "players": options.game.players,
                "rules": options.game.rules,
                "seed": options.game.seed,
                "opponents": [result.to_dict() for result in results],
            },
            indent=1,
        )
        sys.stdout.write(f"{text}\n")
    else:
        _print_table(results, options)
    for result in results:
        names, games = (result.agent, result.opponent), result.deals * result.players
        in_vain = nothing_measured(names, result.faults, games)
        if in_vain:
            raise FailedRun(in_vain)
    return None


def _print_table(results: Sequence[EvaluationResult], options: EvaluateOptions) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    table = Table(
        title=f"{results[0].agent}: win share, {options.game.players} players, {options.game.rules}"
    )
    for heading in ("opponent", "win share", "95 % interval", "par", "deals", "illegal", "ms/move"):
        justify: Literal["left", "right"] = "left" if heading == "opponent" else "right"
        table.add_column(heading, justify=justify, overflow="fold")
    for result in results:
        low, high = result.interval
        verdict = "green" if low > result.par else "red" if high < result.par else ""
        table.add_row(
            result.opponent,
            f"[{verdict}]{100 * result.win_share:.1f} %[/]" if verdict else f"{100 * result.win_share:.1f} %",
            f"{100 * low:.1f} - {100 * high:.1f}",
            f"{100 * result.par:.1f}",
            str(result.deals),
            str(result.illegal_actions),
            f"{1000 * result.seconds:.3f}",
        )
    console.print(table)
    console.print(f"Each deal from every seat; interval clustered by deal; seed {options.game.seed}.")
    for result in results:
        for fault in result.faults[:MOST_FAULTS_SHOWN]:
            who = result.opponent if fault.agent else result.agent
            sys.stderr.write(
                f"{who} lost a game: {fault.kind}, {fault.detail}\n{json.dumps(fault.position)}\n"
            )
