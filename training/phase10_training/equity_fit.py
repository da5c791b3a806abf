"""Fits equity models to whole games: strengths by maximum likelihood, a table for two players by recursion.

Shapes: S standings before rounds, P seats. The likelihood of a standing is the model's equity of the seat that
won; standard errors are clustered by game, since the standings of a game share its outcome.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import tyro
from scipy.optimize import minimize

from phase10_env.equity import EquityModel, default_equity, equities_of
from phase10_env.rules.phases import MAX_PHASES, STANDARD_PHASES
from phase10_env.rules.ruleset import RuleSet
from phase10_env.rules.state import GAME
from phase10_training.cli_support import GameOptions, JsonOption
from phase10_training.equity_data import Standings, collect_standings
from phase10_training.errors import UsageError, check_range
from phase10_training.files import check_file, write_text
from phase10_training.progress import TrainingProgress
from phase10_training.rules_option import load_rules

__all__ = [
    "EquityFit",
    "EquityOptions",
    "equity_command",
    "fit_equity",
    "fit_strengths",
    "fit_table",
    "log_likelihoods",
]

_Float = npt.NDArray[np.float64]

_EVERY_ROUND = "every_round"

MOST_GAMES = 10_000_000
"""All standings are held in memory."""


@dataclasses.dataclass(frozen=True, slots=True)
class EquityFit:
    """Hold a fitted model and how good it is on games it has not seen.

    Attributes:
        model: the model.
        standard_errors: by name of the number; for a table the largest of its cells.
        games, standings: fitted and held out together.
        held_out: mean log-likelihood of a held-out standing.
        shipped: the same for the model that the package would use.
        gain: mean difference of the two, and its standard error.
    """

    model: EquityModel
    standard_errors: dict[str, Any]
    games: int
    standings: int
    held_out: float
    shipped: float
    gain: tuple[float, float]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON, the model's own numbers first."""
        return self.model.to_dict() | {
            "hash": self.model.hash,
            "source": self.model.source,
            "games": self.games,
            "standings": self.standings,
            "standard_errors": self.standard_errors,
            "held_out_log_likelihood": self.held_out,
            "shipped_log_likelihood": self.shipped,
            "gain": list(self.gain),
        }


# ---- likelihood --------------------------------------------------------------------------------------------


def log_likelihoods(model: EquityModel, standings: Standings, ruleset: RuleSet) -> _Float:
    """Return float64[S], the log of the equity that the model gives to whoever won.

    Equities are held at 1e-6 or above, so that one sure mistake does not outweigh everything else.
    """
    players = standings.done.shape[1]
    games = np.zeros(len(standings.game), GAME)
    games["num_players"] = players
    games["active"][:, :players] = 1
    games["phase"][:, :players] = standings.done
    games["done"][:, :players] = (1 << standings.done.astype(np.int64)) - 1
    games["score"][:, :players] = standings.scores
    equities = np.zeros((len(games), players))
    equities_of(games, ruleset.record, model.record, equities)
    found: _Float = (standings.shares * np.log(np.maximum(equities, 1e-6))).sum(axis=1)
    return found


def _mean_and_error(values: _Float, games: npt.NDArray[np.int64]) -> tuple[float, float]:
    """Return the mean over standings and its standard error, clustered by game."""
    mean = float(values.mean())
    _, which = np.unique(games, return_inverse=True)
    sums = np.bincount(which, values - mean)
    return mean, float(np.sqrt((sums**2).sum()) / len(values))


# ---- strengths ---------------------------------------------------------------------------------------------

_LEAST_STEP = 0.03
"""Logit that a phase ahead of equals is worth at least: nobody may be paid for staying behind."""


def _logits(numbers: _Float, standings: Standings, ruleset: RuleSet) -> tuple[_Float, _Float]:
    """Return the model's logits float64[S, P] and their slopes float64[S, P, K] in its K numbers.

    The numbers are the steps (what one more phase is worth among equals: the difference of the strengths plus
    lag), lag, score_weight, score_near, and score_scale and score_left in hundreds; under `every_round` the one
    number 100 / round_scale.
    """
    scores = standings.scores / 100.0
    phases = len(ruleset.phases)
    if ruleset.advance == _EVERY_ROUND:
        left = np.maximum(1, phases - standings.done)
        slopes = (-scores / np.sqrt(left))[:, :, None]
        return slopes[:, :, 0] * numbers[0], slopes
    done = standings.done.astype(np.int64)
    leader = done.max(axis=1, keepdims=True)
    trail = leader - done
    steps = np.concatenate(
        [done[:, :, None] >= np.arange(1, phases), -(done + trail**2)[:, :, None]], axis=2, dtype=np.float64
    )
    weight, near, scale, per_left = numbers[-4:]
    left = (phases - 1 - leader)[:, :, None]
    between = np.abs(done[:, :, None] - done[:, None, :])
    gap = scores[:, :, None] - scores[:, None, :]
    points = scale + per_left * left
    ahead = np.tanh(gap / points)
    others = done.shape[1] - 1
    fading = np.exp(-near * between) / others
    flat = weight * fading * (1 - ahead**2) * gap / points**2
    of_points = [-fading * ahead, weight * between * fading * ahead, flat, flat * left]
    slopes = np.concatenate([steps, *(part.sum(axis=2)[:, :, None] for part in of_points)], axis=2)
    return steps @ numbers[:-4] + weight * slopes[:, :, -4], slopes


def _probabilities(logits: _Float) -> _Float:
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    found: _Float = weights / weights.sum(axis=1, keepdims=True)
    return found


def fit_strengths(
    standings: Standings, ruleset: RuleSet, source: str = ""
) -> tuple[EquityModel, dict[str, Any]]:
    """Fit strengths, lag and what scores count for by maximum likelihood; return the model and standard errors.

    The errors of the strengths are those of their steps from phase to phase.
    """
    shares = standings.shares

    def loss(numbers: _Float) -> tuple[float, _Float]:
        logits, slopes = _logits(numbers, standings, ruleset)
        chances = _probabilities(logits)
        value = -(shares * np.log(chances + 1e-12)).sum() / len(shares)
        return float(value), np.einsum("sp,spk->k", chances - shares, slopes) / len(shares)

    if ruleset.advance == _EVERY_ROUND:
        start, bounds = np.array([0.5]), [(0.01, 100.0)]
    else:
        steps = len(ruleset.phases) - 1
        start = np.array([*[0.3] * steps, 0.05, 0.8, 1.0, 0.12, 0.2])
        bounds = [
            *[(_LEAST_STEP, 30.0)] * steps,
            (0.0, 1.0),
            (0.0, 10.0),
            (0.0, 10.0),
            (0.03, 5.0),
            (0.0, 5.0),
        ]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 500}).x
    errors = [_rounded(error) for error in _sandwich(found, standings, ruleset)]
    if ruleset.advance == _EVERY_ROUND:
        scale = 100.0 / found[0]
        model = EquityModel(strength=(0.0,) * (MAX_PHASES + 1), round_scale=_rounded(scale), source=source)
        return model, {"round_scale": _rounded(scale * errors[0] / found[0])}
    lag, weight, near, scale, left = found[-5:]
    strength = np.concatenate([[0.0], np.cumsum(found[:-5] - lag)])
    strength = np.concatenate([strength, np.full(MAX_PHASES + 1 - len(strength), strength[-1])])
    model = EquityModel(
        strength=tuple(_rounded(x) for x in strength),
        lag=_rounded(lag),
        score_weight=_rounded(weight),
        score_near=_rounded(near),
        score_scale=_rounded(100.0 * scale),
        score_left=_rounded(100.0 * left),
        source=source,
    )
    names = ("lag", "score_weight", "score_near")
    return model, {
        "steps": errors[:-5],
        **dict(zip(names, errors[-5:-2], strict=True)),
        "score_scale": _rounded(100.0 * errors[-2]),
        "score_left": _rounded(100.0 * errors[-1]),
    }


def _sandwich(numbers: _Float, standings: Standings, ruleset: RuleSet) -> _Float:
    """Return standard errors float64[K] of maximum likelihood, clustered by game (Liang and Zeger 1986)."""
    logits, slopes = _logits(numbers, standings, ruleset)
    chances = _probabilities(logits)
    means = np.einsum("sp,spk->sk", chances, slopes)
    curvature = np.einsum("sp,spk,spl->kl", chances, slopes, slopes, optimize=True) - means.T @ means
    scores = np.einsum("sp,spk->sk", standings.shares - chances, slopes)
    _, which = np.unique(standings.game, return_inverse=True)
    by_game = np.zeros((which.max() + 1, len(numbers)))
    np.add.at(by_game, which, scores)
    inverse = np.linalg.pinv(curvature)
    found: _Float = np.sqrt(np.diag(inverse @ (by_game.T @ by_game) @ inverse))
    return found


def _rounded(value: float) -> float:
    """Return four digits after the point for small numbers, five in all for large ones."""
    return round(float(value), 4) if abs(value) < 10 else float(f"{value:.5g}")


# ---- the table of two players ------------------------------------------------------------------------------


def fit_table(standings: Standings, source: str = "") -> tuple[EquityModel, dict[str, Any]]:
    """Fit the table of two players by the recursion over round outcomes, scores ignored.

    With p11, p10, p01, p00 the chances that both, only the first, only the second or neither of the seats
    complete a phase in a round from phases (i, j), and W(10, < 10) = 1, W(10, 10) = 1/2:

        W(i, j) = [p11 W(i+1, j+1) + p10 W(i+1, j) + p01 W(i, j+1)] / (1 - p00)

    Both seats' views of a round are counted, which makes W(i, j) + W(j, i) = 1 exact. A cell is helped by one
    round with the outcomes of its seats' phases in general.
    """
    rows = MAX_PHASES + 1
    counts = np.zeros((rows, rows, 2, 2))
    advanced = np.minimum(standings.next_done - standings.done, 1)
    for own, other in ((0, 1), (1, 0)):
        place = (standings.done[:, own], standings.done[:, other], advanced[:, own], advanced[:, other])
        np.add.at(counts, place, 1.0)
    tried = counts.sum(axis=(1, 2, 3))[:MAX_PHASES]
    chance = counts[:, :, 1].sum(axis=(1, 2))[:MAX_PHASES] / np.maximum(1.0, tried)
    table = np.full((rows, rows), 0.5)
    table[MAX_PHASES, :MAX_PHASES] = 1.0
    table[:MAX_PHASES, MAX_PHASES] = 0.0
    error = 0.0
    for i in reversed(range(MAX_PHASES)):
        for j in reversed(range(MAX_PHASES)):
            mine, theirs = np.array([1 - chance[i], chance[i]]), np.array([1 - chance[j], chance[j]])
            outcome = counts[i, j] + np.outer(mine, theirs)
            total = outcome.sum()
            (_, p01), (p10, p11) = outcome / total
            moving = p01 + p10 + p11
            after = np.array([table[i, j + 1], table[i + 1, j], table[i + 1, j + 1]])
            shares = np.array([p01, p10, p11]) / moving
            table[i, j] = float(shares @ after)
            spread = float(shares @ (after - table[i, j]) ** 2)
            error = max(error, float(np.sqrt(spread / (total * moving))))
    cells = tuple(tuple(round(float(x), 5) for x in row) for row in table)
    return EquityModel(strength=(0.0,) * rows, table=cells, source=source), {"table": _rounded(error)}


# ---- the whole fit -----------------------------------------------------------------------------------------


def fit_equity(standings: Standings, ruleset: RuleSet, source: str = "", table: bool = False) -> EquityFit:
    """Fit a model to four fifths of the games, judge it on the rest, and return one fitted to all of them.

    Args:
        standings: of whole games.
        ruleset: that they were played by.
        source: what to say about their origin.
        table: fit the table of two players instead of strengths.

    Raises:
        UsageError: too few games, or a table for other than two players with the standard phases.
    """
    players = standings.done.shape[1]
    standard = tuple(ruleset.phases) == STANDARD_PHASES and ruleset.advance == "completed"
    if table and not (standard and players == 2):
        raise UsageError(
            f"a table needs two players and the standard phases, found {players} players; leave it."
        )

    def fit(part: Standings) -> tuple[EquityModel, dict[str, Any]]:
        return fit_table(part, source) if table else fit_strengths(part, ruleset, source)

    held = standings.game % 5 == 0
    if not held.any() or held.all():
        raise UsageError(
            f"expected at least 10 games to fit, found {len(np.unique(standings.game))}; raise --games."
        )
    trial, _ = fit(standings.rows(~held))
    test = standings.rows(held)
    ours = log_likelihoods(trial, test, ruleset)
    shipped = log_likelihoods(default_equity(ruleset, players), test, ruleset)
    model, errors = fit(standings)
    return EquityFit(
        model=model,
        standard_errors=errors,
        games=len(np.unique(standings.game)),
        standings=len(standings.game),
        held_out=float(ours.mean()),
        shipped=float(shipped.mean()),
        gain=_mean_and_error(ours - shipped, test.game),
    )


# ---- command -----------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class EquityOptions:
    """Fit the win equity between rounds, the reward of training, to games of an agent against itself.

    Write it to a file and name the file in a training: --set environment.equity=FILE.

    Example: phase10 equity aware --players 4 --games 20000 --out equity-4.json
    """

    game: GameOptions
    json: JsonOption
    agent: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="AGENT")] = "aware"
    """Who plays."""
    games: Annotated[int, tyro.conf.arg(metavar="N")] = 20_000
    """Games to play."""
    mixed: Annotated[float, tyro.conf.arg(metavar="SHARE")] = 0.5
    """Share of games that begin in the middle, with uneven standings."""
    table: bool = False
    """For two players: a table by phases alone, which ignores scores."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """File for the model; printed if there is none."""

    def __post_init__(self) -> None:
        check_range("--games", self.games, 10, MOST_GAMES)
        check_range("--mixed", self.mixed, 0, 1)
        if self.out is not None and (self.out.is_dir() or not self.out.parent.is_dir()):
            raise UsageError(f"--out expects a file in a folder that exists, found {str(self.out)!r}.")


def equity_command(options: EquityOptions) -> None:
    """Run `phase10 equity`."""
    game = options.game
    ruleset = load_rules(game.rules)
    ruleset.check_players(game.players)
    if options.out is not None:
        check_file("--out", options.out)
    with TrainingProgress(options.games, 0, "equity", unit="games") as progress:
        standings = collect_standings(
            options.agent,
            game.players,
            ruleset,
            options.games,
            game.seed,
            options.mixed,
            lambda finished: progress.update(finished, {}),
        )
    source = f"{options.agent}, {options.games} games, seed {game.seed}"
    fit = fit_equity(standings, ruleset, source, options.table)
    data = {
        "ruleset": ruleset.name,
        "ruleset_digest": ruleset.digest,
        "players": game.players,
    } | fit.to_dict()
    text = json.dumps(data, indent=1) + "\n"
    if options.out is not None:
        write_text(options.out, text)
    if options.json.json or options.out is None:
        sys.stdout.write(text)
        return
    gain, error = fit.gain
    sys.stdout.write(
        f"model {fit.model.hash} in {options.out}: {fit.standings} standings of {fit.games} games\n"
        f"log-likelihood of held-out standings {fit.held_out:.4f}, of the shipped model {fit.shipped:.4f}; "
        f"gain {gain:+.4f} ± {1.96 * error:.4f}\n"
    )
