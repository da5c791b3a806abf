"""The rules in words: text for card players, generated from the options of a ruleset.

Each section is a function that returns its rules as (number, sentences); a rule that cannot come up with this
ruleset (Skips in a deck without Skips, say) is left out.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from phase10_env.rules.cards import COLOUR_LETTERS, COLOURS, NUMBERS, SKIP, WILD
from phase10_env.rules.phases import STANDARD_PHASES
from phase10_env.rules.ruleset import RuleSet
from phase10_env.rules.validity import Phase

__all__ = ["phase_in_words", "rule_text"]

_WIDTH = 92
_INDENT = 5

_COLOUR_NAMES = ("red", "blue", "green", "yellow")
_WORDS = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)

_Rules = Iterator[tuple[str, str]]


def rule_text(ruleset: RuleSet) -> str:
    """Return the whole rules of a ruleset as text, each with its number (R1-R36).

    >>> print(rule_text(RuleSet())[:56])
    Phase 10, rules "official" (77b9c0f6)
    <BLANKLINE>
    The cards and the
    """
    sections = (
        ("The cards and the deal", _deal_rules(ruleset)),
        ("Your turn", _turn_rules(ruleset)),
        ("Phases and melds", _phase_rules(ruleset)),
        ("Skips", _skip_rules(ruleset)),
        ("The end of a round", _round_rules(ruleset)),
        ("The end of the game", _game_rules(ruleset)),
    )
    lines = [f'Phase 10, rules "{ruleset.name}" ({ruleset.digest})']
    for title, rules in sections:
        entries = [_entry(number, text) for number, text in rules]
        if entries:
            lines += ["", title, *entries]
    return "\n".join(lines) + "\n"


def phase_in_words(phase: Phase) -> str:
    """Return a phase as a card player says it.

    >>> phase_in_words((("set", 3), ("run", 4)))
    'a set of 3 and a run of 4'
    >>> phase_in_words((("set", 4), ("set", 4)))
    'two sets of 4'
    """
    if len(phase) == 2 and phase[0] == phase[1]:
        kind, size = phase[0]
        return f"two {kind}s of {size}"
    return " and ".join(
        f"{size} {'card' if size == 1 else 'cards'} of one colour"
        if kind == "colour"
        else f"a {kind} of {size}"
        for kind, size in phase
    )


def _entry(number: str, text: str) -> str:
    """Return one rule, its lines wrapped beside the number."""
    first, *more = text.split("\n")
    head = textwrap.fill(first, _WIDTH, initial_indent=number.ljust(_INDENT), subsequent_indent=" " * _INDENT)
    return "\n".join([head, *(" " * _INDENT + line for line in more)])


def _word(number: int) -> str:
    return _WORDS[number] if number < len(_WORDS) else str(number)


def _count(number: int, noun: str) -> str:
    return f"{_word(number)} {noun}" if number == 1 else f"{_word(number)} {noun}s"


def _listed(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


# ---------------------------------------------------------------- the cards and the deal


def _naturals_in_words(ruleset: RuleSet) -> str:
    """Return the numbered cards of a deck in words."""
    table = ruleset.to_dict()["deck"]
    if "numbers" in table:
        names = [_COLOUR_NAMES[COLOUR_LETTERS.index(letter)] for letter in table["colours"]]
        low, _, high = str(table["numbers"]).strip("[]").partition("-")
        numbers = f"number {low}" if low == high else f"numbers {low} to {high}" if high else f"numbers {low}"
        colours = "one colour" if len(names) == 1 else f"{_word(len(names))} colours"
        return f"the {numbers} in {colours} ({_listed(names)}), {_word(table['copies'])} of each"
    parts = []
    for colour in range(COLOURS):
        counts = ruleset.deck[colour * NUMBERS : (colour + 1) * NUMBERS]
        cards = [str(number) for number, count in enumerate(counts, 1) for _ in range(count)]
        if cards:
            parts.append(f"in {_COLOUR_NAMES[colour]} {' '.join(cards)}")
    return "; ".join(parts)


def _points_in_words(ruleset: RuleSet) -> str:
    """Return the penalty points of the cards that are in the deck (R3)."""
    numbers = {kind % NUMBERS + 1 for kind in range(WILD) if ruleset.deck[kind]}
    parts = []
    if min(numbers) <= 9:
        parts.append("a card from 1 to 9 five points")
    if max(numbers) >= 10:
        parts.append("a card from 10 to 12 ten")
    if ruleset.deck[SKIP]:
        parts.append("a Skip fifteen")
    if ruleset.deck[WILD]:
        parts.append("a Wild twenty-five")
    return _listed(parts)


def _deal_rules(ruleset: RuleSet) -> _Rules:
    wilds, skips = ruleset.deck[WILD], ruleset.deck[SKIP]
    least, most = _least_players(ruleset), ruleset.max_players
    yield "R1", f"{least} players." if least == most else f"{least} to {most} players."
    specials = f"{_count(wilds, 'Wild')} and {_count(skips, 'Skip')}"
    yield "R2", f"{ruleset.deck_size} cards: {_naturals_in_words(ruleset)}; {specials}."
    yield "R3", f"Cards left in hand at the end of a round cost penalty points: {_points_in_words(ruleset)}."
    dealer = (
        "The first dealer is drawn by lot."
        if ruleset.dealer is None
        else f"The player in seat {ruleset.dealer} deals first (seats are counted from 0)."
    )
    yield "R4", f"{dealer} Each new round is dealt by the next player to the left."
    yield (
        "R5",
        f"Each player is dealt {_count(ruleset.hand_size, 'card')}. The rest is the stock, face down; its "
        "top card is turned up and starts the discard pile.",
    )
    yield "R6", "The player to the left of the dealer begins, and play goes on to the left."
    first = []
    if skips:
        first.append("If the first card turned up is a Skip, the first player loses the first turn.")
    if wilds:
        first.append("If the first card turned up is a Wild, the first player may take it.")
    if first:
        yield "R7", " ".join(first)


def _least_players(ruleset: RuleSet) -> int:
    return max(2, 0 if ruleset.dealer is None else ruleset.dealer + 1)


# ---------------------------------------------------------------- the turn


def _turn_rules(ruleset: RuleSet) -> _Rules:
    skips = ruleset.deck[SKIP]
    yield "R8", "First draw exactly one card: the top card of the stock or the top card of the discard pile."
    if skips:
        yield "R9", "A Skip can never be taken from the discard pile, and neither can any card beneath it."
    phase = "one phase that you have not done yet" if ruleset.advance == "pick" else "your current phase"
    yield (
        "R10",
        f"Then you may lay down {phase}: the whole of it at once, and only once in a round. "
        "You never have to.",
    )
    if ruleset.hit_after_lay == "all":
        hits = (
            "Once your phase is down, and already in the turn in which you lay it down, you may hit: add as "
            "many cards as you like from your hand to melds on the table, your own or those of others."
        )
    else:
        hits = (
            "Once your phase is down you may hit: add as many cards as you like from your hand to melds on "
            "the table. In the turn in which you lay down, only your own melds may be hit; in later turns "
            "those of others too."
        )
    yield "R11", hits
    end = "End your turn by discarding one card" + (" or by playing a Skip." if skips else ".")
    if ruleset.allow_return:
        back = "You may discard the very card that you have just taken from the discard pile."
    else:
        back = (
            "If you took a card from the discard pile, you may not discard it, nor another just like it, in "
            "the same turn, unless nothing else can end your turn."
        )
    yield "R12", f"{end} {back}"
    yield (
        "R13",
        "If the stock is empty when you draw from it, all discards but the top one are shuffled and become "
        "the new stock. If you can draw neither from the stock nor from the discard pile, you play on "
        "without drawing; when nobody could draw for a full circle of turns, the round ends without a "
        "winner: everyone scores the cards in hand, and phases count as after any other round.",
    )


# ---------------------------------------------------------------- phases and melds


def _phase_rules(ruleset: RuleSet) -> _Rules:
    wilds = ruleset.deck[WILD]
    kinds = {kind for phase in ruleset.phases for kind, _ in phase}
    shapes = {
        "set": "A set is cards of one number, in any colours.",
        "run": "A run is consecutive numbers in any colours, none twice; it never goes on from 12 to 1.",
        "colour": "Cards of one colour may have any numbers, the same number more than once too.",
    }
    yield "R14", " ".join(text for kind, text in shapes.items() if kind in kinds)
    yield from _phase_list(ruleset)
    yield (
        "R16",
        "A lay-down uses exactly the cards that the phase asks for. Further cards that fit go down as hits, "
        "which the same turn allows.",
    )
    done = "A phase counts as done the moment it is laid down; you need not go out."
    yield "R17", done + (" The last phase is an exception (R31)." if ruleset.winner == "went_out" else "")
    if wilds:
        yield "R18", _wild_rule(ruleset)
        yield (
            "R19",
            "A Wild on the table keeps the value it was laid as until the round ends. No card on the table "
            "is ever replaced, moved or taken back.",
        )
    else:
        yield "R19", "No card on the table is ever replaced, moved or taken back."
    yield "R20", _hit_rule(kinds, wilds > 0)
    if ruleset.deck[SKIP]:
        yield "R21", "A Skip is never part of a group and never a hit."
    yield (
        "R22",
        "What fits a meld depends on that meld alone, not on the phase its owner is playing. Melds stay on "
        "the table until the round ends.",
    )


def _phase_list(ruleset: RuleSet) -> _Rules:
    phases = ruleset.phases
    listed = [f"{k:>2}. {phase_in_words(phase)}" for k, phase in enumerate(phases, 1)]
    two_sets = any([kind for kind, _ in phase] == ["set", "set"] for phase in phases)
    same = "Both sets of a phase may have the same number; they are two melds all the same."
    title = "There is one phase:" if len(phases) == 1 else f"There are {_word(len(phases))} phases:"
    if phases == STANDARD_PHASES:
        yield "R15", "\n".join([f"{same} {title}", *listed])
        return
    if two_sets:
        yield "R15", same
    yield "R36", "\n".join([title, *listed])


def _wild_rule(ruleset: RuleSet) -> str:
    """Return the rule of what a Wild stands for and of the naturals asked for (R18)."""
    stands = "A Wild stands for any number and any colour."
    two_groups = {kind for phase in ruleset.phases if len(phase) == 2 for kind, _ in phase}
    if ruleset.naturals == "group" or not two_groups:
        return f"{stands} Each group needs at least one numbered card."
    declared = {"set": "the number of a set", "run": "the lowest number of a run", "colour": "its colour"}
    names = [text for kind, text in declared.items() if kind in two_groups]
    either = " or ".join(names)
    return (
        f"{stands} A phase needs at least one numbered card in all of its groups together. Where a group is "
        f"made of Wilds alone, its player says what it is: {either}."
    )


def _hit_rule(kinds: set[str], wilds: bool) -> str:
    """Return what may be added to a meld (R20)."""
    places = {
        "set": "on a set, cards of the same number",
        "run": "on a run, the number just below its low end or just above its high end",
        "colour": "on a group of one colour, cards of that colour",
    }
    text = f"Hits: {'; '.join(place for kind, place in places.items() if kind in kinds)}."
    if not wilds:
        return text
    if "run" not in kinds:
        return f"{text} A Wild fits everywhere."
    return (
        f"{text} A Wild fits everywhere except on a run that already goes from 1 to 12; on a run that is "
        "open at both ends you choose the end."
    )


# ---------------------------------------------------------------- Skips


def _skip_rules(ruleset: RuleSet) -> _Rules:
    if not ruleset.deck[SKIP]:
        return
    target = (
        "A player of your choice loses the next turn."
        if ruleset.skip_target == "choose"
        else "The next player loses the next turn; you have no choice."
    )
    yield "R23", f"Playing a Skip ends your turn. {target}"
    if ruleset.skip_placement == "front":
        yield (
            "R24",
            "The Skip lies in front of the player who is skipped, who puts it on the discard pile when the "
            "lost turn comes. Until then the card on top of the discard pile may still be taken; afterwards "
            "the Skip blocks the pile for the player who follows.",
        )
    else:
        yield (
            "R24",
            "The Skip goes onto the discard pile at once and blocks the pile for the player who follows.",
        )
    yield "R25", "A player for whom a Skip is still waiting cannot be skipped again."
    if _least_players(ruleset) == 2:
        yield "R26", "With two players, whoever plays a Skip takes another whole turn."
    yield (
        "R27",
        "A Skip still waiting at the end of a round is void. A Skip may be kept for later, and it may be the "
        "last card, with which you go out.",
    )


# ---------------------------------------------------------------- the end of a round


def _round_rules(ruleset: RuleSet) -> _Rules:
    if ruleset.go_out == "any":
        yield (
            "R28",
            "Whoever has no card left goes out, be it by the lay-down, by a hit or by the discard, and the "
            "round ends at once for everyone.",
        )
    else:
        skip = ", or be a Skip that is played" if ruleset.deck[SKIP] else ""
        yield (
            "R28",
            "Whoever has no card left goes out, and the round ends at once for everyone. The last card must "
            f"be discarded{skip}: a lay-down or a hit that would leave no card in hand is not allowed.",
        )
    yield (
        "R29",
        "Whoever goes out scores nothing. Everyone else adds the points of the cards in hand to the total, "
        "phase done or not. Cards on the table never count. The last round of a game is scored too.",
    )
    if ruleset.advance == "completed":
        exception = " The last phase is an exception (R31)." if ruleset.winner == "went_out" else ""
        yield (
            "R30",
            f"Everyone who has laid down moves to the next phase; the others repeat theirs.{exception}",
        )
    elif ruleset.advance == "pick":
        yield (
            "R30",
            "Everyone who has laid down has done that phase; the others have as many phases left as before.",
        )


# ---------------------------------------------------------------- the end of the game


def _game_rules(ruleset: RuleSet) -> _Rules:
    number = len(ruleset.phases)
    if ruleset.winner == "went_out":
        yield (
            "R31",
            "Whoever lays down the last phase and goes out in the same round wins, and the game ends. If you "
            "have laid it down and do not go out in that round, it does not count as done, and you repeat "
            "it.",
        )
        yield "R32", "The others are ranked by phases done, then by the lower total of points."
        yield "R33", "Two players cannot tie for the win, as only one of them goes out."
    else:
        if ruleset.advance != "every_round":
            last = "has done every phase" if ruleset.advance == "pick" else "completes the last phase"
            yield (
                "R31",
                f"The game ends with the round in which somebody {last}. Everyone who has done so by the end "
                "of that round competes for the win, whoever went out.",
            )
            yield (
                "R32",
                "Among those who compete, the lowest total of points wins. The others are ranked by phases "
                "done, then by the lower total.",
            )
        else:
            yield "R32", "The lowest total of points wins. The others are ranked by points alone."
        yield "R33", _tie_rule(ruleset)
    shared = (
        " A round that was to break a tie then leaves the tied players to share the win."
        if ruleset.winner == "completed" and ruleset.tie_break != "share"
        else ""
    )
    yield (
        "R34",
        f"A round in which every player has had {ruleset.max_turns} turns (lost turns count), and a game of "
        f"{ruleset.max_rounds} rounds, is broken off: the open round is not scored and nobody wins.{shared}",
    )
    yield "R35", _advance_rule(ruleset, number)


def _tie_rule(ruleset: RuleSet) -> str:
    """Return what happens when the lowest totals are equal (R33)."""
    if ruleset.tie_break == "share":
        return "Players with equal lowest totals share the win."
    first = (
        "The first of them to go out wins."
        if ruleset.tie_break == "go_out"
        else "The first of them to lay the phase down wins at once."
    )
    return (
        "With equal lowest totals, the tied players alone play the last phase of the list once more. The "
        "others sit out: they get no cards, have no turns and cannot be skipped. The next tied player to the "
        f"left deals, and the totals do not change. {first}"
    )


def _advance_rule(ruleset: RuleSet, number: int) -> str:
    """Return how players get from phase to phase (R35)."""
    if ruleset.advance == "completed":
        return "The phases are played in their order; each player has a current phase of his or her own."
    if ruleset.advance == "pick":
        return "The phases may be done in any order, each once. You choose the phase when you lay it down."
    return (
        "After each round everybody moves to the next phase, done or not. The game ends after "
        f"{_count(number, 'round')}, and everybody competes for the win."
    )
