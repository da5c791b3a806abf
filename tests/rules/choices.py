"""Simple players and random rulesets for whole-game tests: games that end soon and reach rare situations."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from reference import ReferenceGame, points_of
from reference.cards import COLOURS, SKIP, WILD, number_of
from reference.rules import Group

from phase10_env import RuleSet
from phase10_env.rules.phases import OPTION_VALUES
from phase10_env.rules.ruleset import RuleSetError

STYLES = ("sensible", "builder", "eager", "rare")


def choose(model: ReferenceGame, legal: Sequence[str], style: str, stream: random.Random) -> str:
    """Return an action for the seat to act; each style plays at random now and then."""
    if len(legal) == 1 or stream.random() < 0.04:
        return stream.choice(legal)
    if style == "eager":
        return _eager(legal, stream)
    if style == "rare":
        return _rare(legal, stream)
    return _sensible(model, legal, style == "builder", stream)


def _starting(legal: Sequence[str], *words: str) -> list[str]:
    return [text for text in legal if text.split()[0] in words]


def _eager(legal: Sequence[str], stream: random.Random) -> str:
    return stream.choice(_starting(legal, "lay", "build", "play", "number", "colour", "onto") or list(legal))


def _rare(legal: Sequence[str], stream: random.Random) -> str:
    """Prefer what seldom happens: building with Wilds, high ends, Skips, taking."""
    words = ["build", "onto", "play", "take"]
    stream.shuffle(words)
    for word in ["skip", *words]:
        found = _starting(legal, word)
        if found and stream.random() < 0.8:
            wild = [text for text in found if text.endswith((WILD, "high"))]
            return stream.choice(wild or found)
    return stream.choice(legal)


def _sensible(model: ReferenceGame, legal: Sequence[str], builds: bool, stream: random.Random) -> str:
    """Collect the phase, lay it down, hit, and get rid of the rest."""
    if model.stage in ("build", "onto"):
        return stream.choice(legal)
    hand = model.hands[model.to_act]
    if model.stage == "draw":
        top = model.discard[0] if model.discard else SKIP
        return "take" if "take" in legal and _helps(model, hand, top) else legal[0]
    down = _starting(legal, "build" if builds else "lay") or _starting(legal, "play")
    if down:
        return stream.choice(down)
    skips = _starting(legal, "skip")
    if skips and stream.random() < 0.5:
        return stream.choice(skips)
    rest = [text.split()[1] for text in _starting(legal, "discard")]
    if not rest:
        return stream.choice(legal)
    return "discard " + max(rest, key=lambda card: (not _is_kept(model, hand, card), points_of(card)))


def _goals(model: ReferenceGame, hand: Sequence[str]) -> list[tuple[Group, int | str]]:
    """Return, for each group of the phase to lay down, the declaration that the hand is nearest to."""
    numbers = Counter(card[1:] for card in hand if card not in (WILD, SKIP))
    colours = Counter(card[0] for card in hand if card not in (WILD, SKIP))
    phase = model.rules.phases[min(model.open_phases(model.to_act)[0], len(model.rules.phases)) - 1]
    goals: list[tuple[Group, int | str]] = []
    for kind, size in phase:
        value: int | str
        if kind == "colour":
            value = max(COLOURS, key=lambda letter: colours[letter])
        elif kind == "set":
            value = max(range(1, 13), key=lambda number: numbers[str(number)])
            numbers[str(value)] = 0
        else:
            value = max(
                range(1, 14 - size),
                key=lambda low: sum(numbers[str(number)] > 0 for number in range(low, low + size)),
            )
        goals.append(((kind, size), value))
    return goals


def _fits(card: str, goal: tuple[Group, int | str]) -> bool:
    (kind, size), value = goal
    if kind == "colour":
        return card[0] == value
    low = int(value)
    return low <= number_of(card) < low + (size if kind == "run" else 1)


def _helps(model: ReferenceGame, hand: Sequence[str], card: str) -> bool:
    if card == WILD:
        return True
    if model.laid[model.to_act]:
        return any(meld.open_ends(card) for meld in model.table)
    held = {number_of(other) for other in hand if other not in (WILD, SKIP)}
    return any(
        _fits(card, goal) and (goal[0][0] != "run" or number_of(card) not in held)
        for goal in _goals(model, hand)
    )


def _is_kept(model: ReferenceGame, hand: Sequence[str], card: str) -> bool:
    if card == WILD:
        return True
    if model.laid[model.to_act]:
        return False
    rest = list(hand)
    rest.remove(card)
    held = {number_of(other) for other in rest if other not in (WILD, SKIP)}
    return any(
        _fits(card, goal) and (goal[0][0] != "run" or number_of(card) not in held)
        for goal in _goals(model, hand)
    )


# ---- rulesets ----------------------------------------------------------------------------------------------


def random_options(stream: random.Random) -> dict[str, str]:
    """Return a value for each rule option, a combination that can be played (R31)."""
    fields = {name: stream.choice(values) for name, values in OPTION_VALUES.items()}
    if fields["winner"] == "went_out":
        fields["advance"] = "completed"
    return fields


def quick_ruleset(stream: random.Random) -> RuleSet:
    """Return random rules of short games in which equal scores are frequent (R33)."""
    last = stream.choice((2, 3, 4, 9))
    skips = stream.choice((0, 2, 4))
    choices = ("set 1", "set 2", "set 3", "run 2", "set 2 + set 1", "set 1 + run 2", "colour 2")
    return RuleSet(
        name="quick",
        phases=[stream.choice(choices) for _ in range(stream.randint(1, 4))],
        hand_size=stream.choice((3, 4, 4, 5)),
        deck={"numbers": f"1-{last}", "copies": 2 + (last < 9), "wilds": 4, "skips": skips},
        allow_return=stream.random() < 0.6,
        max_turns=stream.choice((10, 30)),
        max_rounds=stream.choice((3, 5, 20)),
        **random_options(stream),
    )


def starved_ruleset(stream: random.Random) -> RuleSet:
    """Return random rules with hardly a card beyond the hands of `max_players`: draws fail (R13)."""
    while True:
        players, hand_size = stream.randint(2, 4), stream.randint(1, 6)
        total = players * hand_size + 2 + stream.choice((0, 0, 1, min(3, hand_size - 1)))
        skips = stream.randint(0, max(0, total - 4))
        counts = Counter(stream.choices((0, 1, 12, 13, 24, 25, 48), k=total - skips))
        try:
            return RuleSet(
                name="starved",
                phases=[
                    stream.choice(("set 2", "set 1", "run 2")) for _ in range(stream.choice((1, 1, 2, 3)))
                ],
                hand_size=hand_size,
                deck=[*(counts[kind] for kind in range(49)), skips],
                allow_return=stream.random() < 0.6,
                max_turns=stream.choice((4, 10, 30)),
                max_rounds=stream.choice((2, 5, 20)),
                **random_options(stream),
            )
        except RuleSetError:
            continue


def random_ruleset(stream: random.Random) -> RuleSet:
    """Return random rules that can be played: any options, phases, deck, hand size and caps."""
    while True:
        hand_size = stream.choice((1, 2, 3, 4, 5, 6, 7, 8, 10, 10, 12, 14))
        try:
            return RuleSet(
                name="random",
                phases=_random_phases(stream, hand_size),
                hand_size=hand_size,
                deck=_random_deck(stream),
                allow_return=stream.random() < 0.6,
                dealer=stream.choice((None, 0, 1)),
                max_turns=stream.choice((1, 2, 3, 5, 8, 15, 30, 60)),
                max_rounds=stream.choice((1, 2, 3, 4, 6, 10)),
                **random_options(stream),
            )
        except RuleSetError:
            continue


def _random_phases(stream: random.Random, hand_size: int) -> list[list[Group]]:
    most = min(hand_size + 1, 9)
    phases = []
    for _ in range(stream.choice((1, 1, 2, 2, 3, 4, 10))):
        total = stream.randint(1, most)
        groups = 2 if total > 1 and stream.random() < 0.6 else 1
        first = stream.randint(1, total - 1) if groups == 2 else total
        sizes = [first, total - first][:groups]
        kinds = [stream.choice(("set", "run", "colour")) for _ in sizes]
        if groups == 2 and stream.random() < 0.4:
            sizes = [max(1, total // 2)] * 2
            kinds = [stream.choice(("set", "run"))] * 2
        phases.append(
            [
                ("set", 1) if kind == "run" and size < 2 else (kind, size)
                for kind, size in zip(kinds, sizes, strict=True)
            ]
        )
    return phases


def _random_deck(stream: random.Random) -> dict[str, object] | list[int]:
    form = stream.random()
    if form < 0.3:
        return {}
    if form < 0.8:
        low = stream.randint(1, 9)
        return {
            "numbers": f"{low}-{stream.randint(low, 12)}",
            "colours": "".join(sorted(set(stream.choices(COLOURS, k=stream.randint(1, 6))))),
            "copies": stream.randint(1, 4),
            "wilds": stream.randint(0, 8),
            "skips": stream.randint(0, 8),
        }
    naturals = [stream.choice((0, 0, 0, 1, 1, 2, 3)) for _ in range(48)]
    return [*naturals, stream.randint(0, 8), stream.randint(0, 6)]
