"""How rounds and games end: scoring, phases completed, tie-breaks, caps and ranks (R13, R28–R35)."""

from typing import TYPE_CHECKING

from .cards import points_of

if TYPE_CHECKING:
    from .model import ReferenceGame


def end_round(game: "ReferenceGame", out: int | None) -> None:
    """End the round, `out` being the seat that went out or None (R13), and the game where that decides it."""
    game.went_out = out
    if game.tie_break_round:
        if out is None:
            _start_tie_break(game, game.active)
        else:
            end_game(game, [out])
        return
    # The hand of the seat that went out is empty, so it scores 0 (R29).
    for seat, hand in enumerate(game.hands):
        game.scores[seat] += sum(points_of(card) for card in hand)
    _complete_phases(game, out)
    competitors = [
        seat for seat in range(game.players) if phases_completed(game, seat) == len(game.rules.phases)
    ]
    if not competitors:
        _go_on(game)
        return
    lowest = min(game.scores[seat] for seat in competitors)
    best = [seat for seat in competitors if game.scores[seat] == lowest]
    if len(best) == 1 or game.rules.tie_break == "share":
        end_game(game, best)
    else:
        _start_tie_break(game, best)


def _complete_phases(game: "ReferenceGame", out: int | None) -> None:
    """Move the seats on that have done their phase (R17, R30, R31, R35)."""
    rules = game.rules
    for seat in range(game.players):
        laid_number = game.laid_phase[seat]
        if rules.advance == "every_round":
            game.phases[seat] += 1
        elif laid_number is None:
            continue
        elif rules.advance == "pick":
            game.done[seat] = sorted([*game.done[seat], laid_number])
        elif rules.winner == "completed" or laid_number < len(rules.phases) or seat == out:
            game.phases[seat] += 1


def phases_completed(game: "ReferenceGame", seat: int) -> int:
    """Return how many phases a seat has completed; under `every_round`, how many it has played."""
    if game.rules.advance == "pick":
        return len(game.done[seat])
    return game.phases[seat] - 1


def _go_on(game: "ReferenceGame") -> None:
    """Wait for the deal of the next round by the next dealer (R4), unless the cap is reached (R34)."""
    if game.round >= game.rules.max_rounds:
        game.over = game.truncated = True
        return
    game.round += 1
    game.dealer = game.next_active(game.dealer)
    game.awaiting_deal = True


def _start_tie_break(game: "ReferenceGame", tied: list[int]) -> None:
    """Wait for the deal of a round among the tied seats, or let them share at the cap (R33, R34)."""
    if game.round >= game.rules.max_rounds:
        end_game(game, tied)
        return
    game.tie_break_round = True
    game.active = list(tied)
    if game.rules.advance != "pick":
        for seat in tied:
            game.phases[seat] = len(game.rules.phases)
    _go_on(game)


def end_by_cap(game: "ReferenceGame") -> None:
    """End the game because a round has lasted too long: truncated, or shared in a tie-break round (R34)."""
    if game.tie_break_round:
        end_game(game, game.active)
    else:
        game.over = game.truncated = True


def end_game(game: "ReferenceGame", winners: list[int]) -> None:
    """End the game with these winners."""
    game.winners = list(winners)
    game.over = True


def ranks(game: "ReferenceGame") -> list[int] | None:
    """Return the rank of each seat (1 is best, equal ranks shared), or None where nobody has won (R32)."""
    if not game.winners:
        return None
    keys = [_ranking_key(game, seat) for seat in range(game.players)]
    return [1 + sum(other < key for other in keys) for key in keys]


def _ranking_key(game: "ReferenceGame", seat: int) -> tuple[bool, bool, int, int]:
    """Return the key by which seats are ranked: winners, others tied with them, then phases and points."""
    # A tied seat replays the last phase, so its own counter no longer tells that it had completed all;
    # under `every_round` all others have played as many phases and are ranked by points alone.
    tied_for_first = game.tie_break_round and seat in game.active
    return seat not in game.winners, not tied_for_first, -phases_completed(game, seat), game.scores[seat]
