"""Gathers what a report shows from a tournament's folder: standings, rounds, luck, chosen games, faults."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special, stats

from phase10_training.game_records import game_record
from phase10_training.matches import FORFEITED
from phase10_training.round_stats import MAX_WILDS, RoundStats
from phase10_training.standings import Standings
from phase10_training.statistics import FloatArray, check_luck
from phase10_training.store import ResultStore, StoredGames
from phase10_training.tournament import TournamentConfig, read_standings

__all__ = ["ChosenGame", "LuckOfSeat", "ReportData", "read_report_data"]


@dataclass(frozen=True)
class LuckOfSeat:
    """Hold what one seat was dealt and drew, next to what was to be expected; `share` is what it won."""

    seat: int
    share: float
    hands: int
    wilds_dealt: float
    wilds_expected: float
    dealt_p: float
    wilds_drawn: float
    drawn_expected: float
    drawn_z: float


@dataclass(frozen=True)
class ChosenGame:
    """Hold one game worth looking at: why, who played, its number and its record."""

    reason: str
    number: int
    line_up: tuple[str, ...]
    result: str
    record: str


@dataclass(frozen=True)
class ReportData:
    """Hold everything that a report shows. `luck_p` are p values by what was tested."""

    config: TournamentConfig
    settings: Mapping[str, Any]
    standings: Standings
    rounds: RoundStats
    luck: tuple[LuckOfSeat, ...]
    luck_p: dict[str, float]
    games: tuple[ChosenGame, ...]
    faults: tuple[dict[str, Any], ...]


def read_report_data(folder: Path) -> ReportData:
    """Read the results in a folder.

    Raises:
        ValueError: there are none; one sentence.
    """
    config, standings = read_standings(folder)
    store = ResultStore.open(folder)
    try:
        games = store.games()
        settings = store.settings
        rounds = store.round_stats(len(standings.agents), standings.players)
        luck, luck_p = luck_of_seats(rounds, games, settings)
        chosen = tuple(
            ChosenGame(
                reason,
                int(games.number[row]),
                tuple(standings.agents[agent] for agent in games.seats[row]),
                _result_text(games, row),
                game_record(store, games, row),
            )
            for reason, row in choose_games(games, standings)
        )
        return ReportData(config, settings, standings, rounds, luck, luck_p, chosen, tuple(store.faults()))
    finally:
        store.close()


# ---- luck --------------------------------------------------------------------------------------------------


def luck_of_seats(
    rounds: RoundStats, games: StoredGames, settings: Mapping[str, Any]
) -> tuple[tuple[LuckOfSeat, ...], dict[str, float]]:
    """Compare the cards of each seat with the odds: hands by a chi-square test, draws by their z values."""
    ruleset = settings["ruleset"]
    deck = _deck(ruleset)
    odds = _hand_odds(deck, "W", int(ruleset["hand_size"]))
    skip_odds = _hand_odds(deck, "S", int(ruleset["hand_size"]))
    found = []
    for seat in range(games.seats.shape[1]):
        counts = rounds.dealt_wilds[seat]
        drawn, expected, variance = rounds.drawn[seat, 0]
        found.append(
            LuckOfSeat(
                seat=seat,
                share=float(games.share[:, seat].mean()),
                hands=int(counts.sum()),
                wilds_dealt=float(counts @ np.arange(MAX_WILDS) / max(counts.sum(), 1.0)),
                wilds_expected=float(odds @ np.arange(MAX_WILDS)),
                dealt_p=check_luck(counts, odds).p_value if counts.sum() else 1.0,
                wilds_drawn=float(drawn),
                drawn_expected=float(expected),
                drawn_z=float((drawn - expected) / np.sqrt(variance)) if variance > 0 else 0.0,
            )
        )
    tests = {}
    if rounds.dealt_wilds.sum(axis=1).all():
        tests["Wilds dealt"] = check_luck(rounds.dealt_wilds, odds).p_value
        tests["Skips dealt"] = check_luck(rounds.dealt_skips, skip_odds).p_value
    for which, name in enumerate(("Wilds drawn", "Skips drawn")):
        drawn, expected, variance = rounds.drawn[:, which].T
        if (variance > 0).all():
            tests[name] = float(special.chdtrc(len(drawn), ((drawn - expected) ** 2 / variance).sum()))
    return tuple(found), tests


def _deck(ruleset: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of Wilds, of Skips and of all cards of a deck."""
    from phase10_env.rules.ruleset import RuleSet

    rules = RuleSet.from_dict(ruleset).record[0]
    counts = rules["deck_counts"]
    return {"W": int(counts[48]), "S": int(counts[49]), "all": int(rules["deck_size"])}


def _hand_odds(deck: Mapping[str, int], kind: str, hand: int) -> FloatArray:
    odds = stats.hypergeom.pmf(np.arange(MAX_WILDS), deck["all"], deck[kind], hand)
    odds[-1] += 1.0 - odds.sum()
    return np.asarray(np.clip(odds, 0.0, None), dtype=np.float64)


# ---- games worth a look ------------------------------------------------------------------------------------


def choose_games(games: StoredGames, standings: Standings) -> list[tuple[str, int]]:
    """Return `(why, row)` of a few games worth looking at."""
    rows = np.arange(len(games.number))
    ended = rows[games.status == 1]
    chosen: list[tuple[str, int]] = []
    if ended.size:
        length = games.rounds[ended] * 10_000 + games.decisions[ended].sum(axis=1)
        chosen.append(("the longest game", int(ended[length.argmax()])))
        chosen.append(("the shortest game", int(ended[length.argmin()])))
        scores = np.sort(games.score[ended], axis=1)
        finished = (games.phases[ended] == games.phases[ended].max()).sum(axis=1) > 1
        if finished.any():
            gap = np.where(finished, scores[:, 1] - scores[:, 0], 1 << 30)
            chosen.append(("the closest finish", int(ended[gap.argmin()])))
        if standings.ratings is not None:
            elo = standings.ratings.elo[games.seats[ended]]
            winner = np.where(games.rank[ended] == 1, elo, np.inf).min(axis=1)
            upset = elo.max(axis=1) - winner
            if upset.max() > 0:
                chosen.append(("the greatest upset", int(ended[upset.argmax()])))
    lost = rows[games.status == FORFEITED]
    if lost.size:
        chosen.append(("the first game lost by a fault", int(lost[0])))
    return chosen


def _result_text(games: StoredGames, row: int) -> str:
    if games.status[row] == FORFEITED:
        return "lost by a fault"
    scores = " : ".join(str(score) for score in games.score[row])
    return f"{games.rounds[row]} rounds, points {scores}"
