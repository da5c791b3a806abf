"""A simple, seeded way to play whole games for tests: collect for the phase, lay down and hit if possible."""

import random

from phase10_env.game import Game


def choose(game: Game, chance: random.Random) -> str:
    """Return an action of the seat to act: lay-downs, hits and Skips first, then the least useful discard."""
    legal = game.legal_actions()
    lay_downs = game.stage != "draw" and any(action.startswith(("lay", "play", "skip")) for action in legal)
    if not lay_downs and chance.random() < 0.25:
        return chance.choice(legal)  # two careful players may wait for the same cards for ever
    if game.stage == "draw":
        top = game.position()["discard"].split()[:1]
        useful = "take" in legal and top and worth(game, top[0]) > 1
        return "take" if useful or "draw" not in legal else "draw"
    if game.stage != "play":
        return chance.choice(legal)
    for verbs in (("lay", "build"), ("play",), ("skip",)):
        found = [action for action in legal if action.split()[0] in verbs]
        if found:
            return chance.choice(found)
    discards = [action for action in legal if action.startswith("discard")]
    return min(chance.sample(discards, len(discards)), key=lambda action: worth(game, action[8:]))


def worth(game: Game, card: str) -> float:
    """Return how useful a card is for the phase of the seat to act: Wilds most, then what fits the hand."""
    if card == "W":
        return 100.0
    hand = game.hands[game.to_act].split()
    kinds = {kind for phase in open_phases(game) for kind, _ in phase}
    matching = sum(other[1:] == card[1:] for other in hand)
    if kinds == {"colour"}:
        return sum(other[0] == card[0] for other in hand) / 2
    if kinds == {"run"}:
        return 1.5 if matching == 0 else 2.0 / matching - 0.5 * (card in ("R12", "R1"))
    return float(matching) + (0.5 if matching == 0 and "run" in kinds else 0.0)


def open_phases(game: Game) -> list[tuple[tuple[str, int], ...]]:
    """Return the phases that the seat to act may lay down."""
    phases = game.ruleset.phases
    if game.ruleset.advance == "pick":
        return [phase for k, phase in enumerate(phases, 1) if k not in game.phases_done[game.to_act]][:1]
    return [phases[min(game.phases[game.to_act], len(phases)) - 1]]


def play_out(game: Game, seed: int, decisions: int = 100_000) -> Game:
    """Play a game on for some decisions, or to its end."""
    chance = random.Random(seed)
    for _ in range(decisions):
        if game.over:
            break
        game.play(choose(game, chance))
    return game
