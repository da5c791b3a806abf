"""The whole state of one game as plain text, hidden cards included."""

from __future__ import annotations

from phase10_env.engine import Record
from phase10_env.notation import format_card, format_cards, format_counts
from phase10_env.rules.cards import COLOUR_LETTERS
from phase10_env.rules.phases import COLOUR_GROUP, GROUP_KINDS, NO_GROUP, RUN
from phase10_env.rules.ruleset import RuleSet, phase_text
from phase10_env.rules.state import ONTO, OVER, RUNNING, STAGES, TRUNCATED

__all__ = ["describe_game"]


def describe_game(games: Record, ruleset: RuleSet) -> str:
    """Return a game as text: one line on the turn, one a seat, one a meld, the two piles.

    Args:
        games: GAME[1].
        ruleset: its rules.
    """
    game = games[0]
    players = range(int(game["num_players"]))
    lines = [f"{ruleset.name}, {len(players)} players, round {game['round']}, dealt by seat {game['dealer']}"]
    lines.append(_turn_line(games))
    lines += [_seat_line(games, ruleset, seat) for seat in players]
    lines += [_meld_line(games, m) for m in range(2 * len(players)) if game["meld_kind"][m] != NO_GROUP]
    pile = format_cards(game["discard"][: game["discard_size"]][::-1].tolist())
    lines.append(f"discard pile, top first: {pile or 'empty'}")
    lines.append(f"stock: {game['stock_size']} cards")
    return "\n".join(lines)


def _turn_line(games: Record) -> str:
    game = games[0]
    if game["status"] == TRUNCATED:
        return "the game was truncated: a cap was reached (R34)"
    if game["status"] != RUNNING or game["stage"] == OVER:
        ranks = game["rank"][: game["num_players"]].tolist()
        return f"the game is over; ranks by seat: {' '.join(map(str, ranks))}"
    line = f"seat {game['to_act']} to act, stage {STAGES[int(game['stage'])]}"
    if game["stage"] == ONTO:
        line += f", placing {format_card(int(game['onto_card']))}"
    return line


def _seat_line(games: Record, ruleset: RuleSet, seat: int) -> str:
    game = games[0]
    if not game["active"][seat]:
        return f"seat {seat}: score {game['score'][seat]}, does not take part in this round"
    if ruleset.advance == "pick":
        done = [str(k + 1) for k in range(len(ruleset.phases)) if int(game["done"][seat]) >> k & 1]
        state = f"done {' '.join(done) or 'none'}"
    elif game["phase"][seat] >= len(ruleset.phases):
        state = "all phases done"
    else:
        phase = int(game["phase"][seat])
        state = f"phase {phase + 1} ({phase_text(ruleset.phases[phase])})"
    notes = "".join(
        note
        for flag, note in ((game["laid"][seat], ", laid down"), (game["skipped"][seat], ", Skip pending"))
        if flag
    )
    hand = format_counts(game["hands"][seat]) or "no cards"
    return f"seat {seat}: score {game['score'][seat]}, {state}{notes}: {hand}"


def _meld_line(games: Record, place: int) -> str:
    game = games[0]
    kind, value = int(game["meld_kind"][place]), int(game["meld_value"][place])
    what = f"{GROUP_KINDS[kind]} of {COLOUR_LETTERS[value] if kind == COLOUR_GROUP else value}"
    if kind == RUN:
        what = f"run {value} to {game['meld_high'][place]}"
    cards = format_cards(game["meld_cards"][place, : game["meld_size"][place]].tolist())
    return f"table, seat {place // 2} group {place % 2}: {what}: {cards}"
