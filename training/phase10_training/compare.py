"""Tells which of two agents is stronger with as few deals as the difference allows, or that it is undecided.

A sequential test (sequential.py) on deal averages: each deal is played from every seat of A at a table whose
other seats are B. With luck adjustment the estimate is also given with the luck of the cards taken out.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import tyro

from phase10_agents.catalog import load_agent
from phase10_env.decision import Agent
from phase10_env.rules.ruleset import RuleSet
from phase10_training.cli_support import FailedRun, GameOptions, JsonOption
from phase10_training.errors import LARGEST_COUNT, LONGEST_TIME, check_range
from phase10_training.guarded import Fault, GuardedAgent, nothing_measured
from phase10_training.line_ups import deal_seeds, rotations
from phase10_training.matches import PlaySettings, play_games
from phase10_training.progress import TrainingProgress
from phase10_training.round_stats import LUCK
from phase10_training.rules_option import load_rules
from phase10_training.sequential import LARGEST_ELO, Decision, SequentialTest
from phase10_training.statistics import (
    Estimate,
    FloatArray,
    LuckAdjusted,
    adjust_for_luck,
    clustered_estimate,
    likelihood_of_superiority,
    share_to_elo,
)

__all__ = ["CompareOptions", "Comparison", "compare", "compare_command"]

BLOCK_DEALS = 250


@dataclass(frozen=True)
class Comparison:
    """Hold the outcome of a comparison of agent A with agent B.

    Attributes:
        agent, opponent: names of A and B.
        decision: "accept_h1" (A is stronger by elo1 rather than elo0), "accept_h0", or "undecided".
        deals: used by the test. `averages` float64[deals] are A's deal averages.
        llr, lower, upper: log-likelihood ratio and its two limits.
        estimate: A's win share over these deals; stopping early makes it lean away from the middle a little.
        superiority: probability that A's true share is above par.
        outcomes: how often each deal average came out (pentanomial for two players).
        adjusted: the estimate without the luck of the cards, or None where it was not asked for.
        games: played in all, also those of a block that the test did not need.
        faults: of these games; agent 0 is A.
    """

    agent: str
    opponent: str
    players: int
    elo0: float
    elo1: float
    decision: Decision
    deals: int
    averages: FloatArray
    llr: float
    lower: float
    upper: float
    estimate: Estimate
    superiority: float
    outcomes: dict[float, int]
    adjusted: LuckAdjusted | None
    games: int
    faults: tuple[Fault, ...]

    @property
    def verdict(self) -> str:
        """The decision in a sentence."""
        a, b = self.agent, self.opponent
        if self.decision == "accept_h1":
            return (
                f"{a} is stronger than {b}: {self.elo1:+g} Elo explains the deals, {self.elo0:+g} does not."
            )
        if self.decision == "accept_h0":
            return (
                f"{a} is not {self.elo1:+g} Elo stronger than {b}: {self.elo0:+g} explains the deals better."
            )
        return (
            f"Undecided after {self.deals} deals: neither {self.elo0:+g} nor {self.elo1:+g} Elo can be excluded; "
            "play more deals (--max-deals) or put the two further apart."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as plain values that JSON can hold."""
        estimate, adjusted = self.estimate, self.adjusted
        return {
            "agent": self.agent,
            "opponent": self.opponent,
            "players": self.players,
            "elo0": self.elo0,
            "elo1": self.elo1,
            "decision": self.decision,
            "verdict": self.verdict,
            "deals": self.deals,
            "llr": self.llr,
            "llr_limits": [self.lower, self.upper],
            "par": 1.0 / self.players,
            "win_share": estimate.mean,
            "interval": [estimate.low, estimate.high],
            "elo": _finite(share_to_elo(estimate.mean, self.players)),
            "elo_interval": [
                _finite(share_to_elo(end, self.players)) for end in (estimate.low, estimate.high)
            ],
            "likelihood_of_superiority": self.superiority,
            "outcomes": [[share, count] for share, count in self.outcomes.items()],
            "luck_adjusted": None
            if adjusted is None
            else {
                "win_share": adjusted.estimate.mean,
                "interval": [adjusted.estimate.low, adjusted.estimate.high],
                "variance_reduction": _finite(adjusted.variance_reduction),
                "coefficients": dict(zip(LUCK, adjusted.coefficients, strict=True)),
                "mean_zero_p": adjusted.mean_zero_p,
                "used": adjusted.used,
                "reason": adjusted.reason,
            },
            "faults": [
                {
                    "by": self.opponent if fault.agent else self.agent,
                    "kind": fault.kind,
                    "detail": fault.detail,
                    "position": fault.position,
                }
                for fault in self.faults[:20]
            ],
        }


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def compare(
    agent: str | Agent,
    opponent: str | Agent,
    elo0: float = 0.0,
    elo1: float = 10.0,
    players: int = 2,
    rules: str | RuleSet | Mapping[str, Any] = "official",
    seed: int = 0,
    *,
    alpha: float = 0.05,
    beta: float = 0.05,
    max_deals: int = 20_000,
    adjust_luck: bool = False,
    actions: Literal["full", "compact"] = "full",
    time_limit: float | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Comparison:
    """Play deals until the test decides between elo0 and elo1, at most `max_deals`.

    Arguments:
        agent: A, an agent or a specification.
        opponent: B; it fills the other seats.
        elo0, elo1: Elo of A above B under the two hypotheses, `elo0 < elo1`.
        players: seats a table, 2-6.
        rules: what `load_rules` takes.
        seed: of the deals.
        alpha, beta: greatest probability to accept H1 when H0 holds, and H0 when H1 holds.
        max_deals: after these it is undecided.
        adjust_luck: also estimate with the luck of dealt and drawn Wilds and Skips taken out.
        actions: "full" or "compact".
        time_limit: seconds for one decision, or None.
        progress: called with (deals done, log-likelihood ratio).

    Raises:
        ValueError: an unknown agent or preset, settings that contradict each other; one sentence.

    >>> result = compare("greedy", "melder", elo0=0, elo1=100, rules="short-5")
    >>> result.decision, result.deals
    ('accept_h1', 100)
    """
    ruleset = load_rules(rules)
    ruleset.check_players(players)
    least = min(100, max_deals)
    test = SequentialTest(elo0, elo1, alpha, beta, players, min_deals=least, max_deals=max_deals)
    one, other = (
        GuardedAgent(load_agent(spec) if isinstance(spec, str) else spec, time_limit)
        for spec in (agent, opponent)
    )
    settings = PlaySettings(ruleset, actions, time_limit, track_rounds=adjust_luck)
    shares: list[FloatArray] = []
    luck: list[FloatArray] = []
    faults: list[Fault] = []
    done = 0
    while test.decision == "continue":
        count = min(least if not done else BLOCK_DEALS, max_deals - done)
        share, covariates, new_faults = _play([one, other], players, deal_seeds(seed, done, count), settings)
        shares.append(share)
        luck.append(covariates)
        faults += new_faults
        done += count
        test.add(share)
        if progress:
            progress(done, test.llr)
    used = test.deals
    averages = np.concatenate(shares)[:used]
    estimate = clustered_estimate(averages)
    outcomes = Counter(np.round(averages, 6).tolist())
    return Comparison(
        agent=one.agent.name,
        opponent=other.agent.name,
        players=players,
        elo0=elo0,
        elo1=elo1,
        decision=test.decision,
        deals=used,
        averages=averages,
        llr=test.llr,
        lower=test.lower,
        upper=test.upper,
        estimate=estimate,
        superiority=likelihood_of_superiority(estimate, 1.0 / players),
        outcomes=dict(sorted(outcomes.items())),
        adjusted=adjust_for_luck(averages, np.concatenate(luck)[:used]) if adjust_luck else None,
        games=done * players,
        faults=tuple(faults),
    )


def _play(
    agents: list[GuardedAgent], players: int, seeds: np.ndarray, settings: PlaySettings
) -> tuple[FloatArray, FloatArray, tuple[Fault, ...]]:
    """Play deals from every seat; return averages [deals], luck of A less that of the others [deals, k]."""
    seatings = np.array(rotations((0, *[1] * (players - 1))))
    line_ups = np.tile(seatings, (len(seeds), 1))
    results = play_games(agents, np.repeat(seeds, players), line_ups, settings)
    mine = line_ups == 0
    averages = results.share[mine].reshape(len(seeds), players).mean(axis=1)
    covariates = np.zeros((len(seeds), len(LUCK)))
    if results.luck is not None:
        own = results.luck[mine]
        others = (results.luck.sum(axis=1) - own) / (players - 1)
        covariates = (own - others).reshape(len(seeds), players, len(LUCK)).mean(axis=1)
    return averages, covariates, results.faults


# ---- command -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CompareOptions:
    """Test whether agent A is stronger than agent B; the test stops by itself, or says "undecided".

    H0: A is elo0 above B. H1: A is elo1 above B. Each deal is played from every seat of A.

    Example: phase10 compare aware greedy --elo0 0 --elo1 10
    """

    a: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="A")]
    """The agent that may be stronger."""
    b: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="B")]
    """The agent it is compared with; it fills the other seats."""
    game: GameOptions
    json: JsonOption
    elo0: Annotated[float, tyro.conf.arg(metavar="ELO")] = 0.0
    """Elo of A above B under H0."""
    elo1: Annotated[float, tyro.conf.arg(metavar="ELO")] = 10.0
    """Elo of A above B under H1."""
    alpha: Annotated[float, tyro.conf.arg(metavar="P")] = 0.05
    """Greatest probability to accept H1 when H0 holds."""
    beta: Annotated[float, tyro.conf.arg(metavar="P")] = 0.05
    """Greatest probability to accept H0 when H1 holds."""
    max_deals: Annotated[int, tyro.conf.arg(metavar="N")] = 20_000
    """Deals after which it stays undecided."""
    adjust_luck: bool = False
    """Also estimate with the luck of Wilds and Skips taken out, and say what that is worth."""
    actions: Literal["full", "compact"] = "full"
    """Which of equal actions the agents are offered."""
    time_limit: Annotated[float, tyro.conf.arg(metavar="SECONDS")] = 30.0
    """Longest time for one decision; who takes longer loses the game."""


def compare_command(options: CompareOptions) -> int | None:
    """Run `phase10 compare`."""
    check_range("--max-deals", options.max_deals, 2, LARGEST_COUNT)
    check_range("--time-limit", options.time_limit, 0, LONGEST_TIME, above=True)
    for name, elo in (("--elo0", options.elo0), ("--elo1", options.elo1)):
        check_range(name, elo, -LARGEST_ELO, LARGEST_ELO)
    with TrainingProgress(options.max_deals, title="deals", unit="deals") as bar:
        result = compare(
            options.a,
            options.b,
            options.elo0,
            options.elo1,
            options.game.players,
            options.game.rules,
            options.game.seed,
            alpha=options.alpha,
            beta=options.beta,
            max_deals=options.max_deals,
            adjust_luck=options.adjust_luck,
            actions=options.actions,
            time_limit=options.time_limit,
            progress=lambda done, llr: bar.update(done, {"LLR": llr}),
        )
    if options.json.json:
        sys.stdout.write(json.dumps(result.to_dict(), indent=1) + "\n")
    else:
        _print(result, options)
    in_vain = nothing_measured((result.agent, result.opponent), result.faults, result.games)
    if in_vain:
        raise FailedRun(in_vain)
    return None


def _print(result: Comparison, options: CompareOptions) -> None:
    estimate, par = result.estimate, 1.0 / result.players
    elo, low, high = (
        share_to_elo(share, result.players) for share in (estimate.mean, estimate.low, estimate.high)
    )
    lines = [
        result.verdict,
        f"win share  {_percent(estimate)} of {100 * par:.1f} % par, {result.deals} deals from every seat",
        f"Elo        {elo:+.1f} [{low:+.1f}, {high:+.1f}]",
        f"LLR        {result.llr:+.2f}, limits {result.lower:+.2f} and {result.upper:+.2f}",
        f"superior   with probability {100 * result.superiority:.1f} %",
        "outcomes   " + ", ".join(f"{share:.3g}: {count}" for share, count in result.outcomes.items()),
    ]
    if result.adjusted is not None:
        adjusted = result.adjusted
        told = (
            f"variance reduced {adjusted.variance_reduction:.2f} times" if adjusted.used else adjusted.reason
        )
        lines.append(f"less luck  {_percent(adjusted.estimate)}, {told}")
    lines.append(
        f"seed {options.game.seed}, 95 % intervals clustered by deal; they do not allow for the early stop."
    )
    sys.stdout.write("\n".join(lines) + "\n")
    for fault in result.faults[:20]:
        who = result.opponent if fault.agent else result.agent
        sys.stderr.write(f"{who} lost a game: {fault.kind}, {fault.detail}\n{json.dumps(fault.position)}\n")


def _percent(estimate: Estimate) -> str:
    return f"{100 * estimate.mean:.1f} % [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"
