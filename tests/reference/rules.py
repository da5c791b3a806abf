"""The rule options of the reference model and the published presets, as plain data.

Nothing is validated here (R37 is the engine's): the model is only given rules that make sense.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from .cards import STANDARD_DECK

Group = tuple[str, int]
Phase = tuple[Group, ...]

OFFICIAL_PHASES: tuple[Phase, ...] = (
    (("set", 3), ("set", 3)),
    (("set", 3), ("run", 4)),
    (("set", 4), ("run", 4)),
    (("run", 7),),
    (("run", 8),),
    (("run", 9),),
    (("set", 4), ("set", 4)),
    (("colour", 7),),
    (("set", 5), ("set", 2)),
    (("set", 5), ("set", 3)),
)


@dataclass(frozen=True)
class Rules:
    """Hold every rule option; the defaults are the official sheet.

    >>> Rules().skip_placement, len(Rules().phases)
    ('front', 10)
    """

    name: str = "official"
    phases: tuple[Phase, ...] = OFFICIAL_PHASES
    skip_target: Literal["choose", "next"] = "choose"
    skip_placement: Literal["front", "pile"] = "front"
    hit_after_lay: Literal["all", "own"] = "all"
    go_out: Literal["any", "discard"] = "any"
    winner: Literal["completed", "went_out"] = "completed"
    tie_break: Literal["go_out", "lay_down", "share"] = "go_out"
    naturals: Literal["group", "phase"] = "group"
    advance: Literal["completed", "every_round", "pick"] = "completed"
    allow_return: bool = True
    hand_size: int = 10
    deck: Mapping[str, int] = field(default_factory=lambda: dict(STANDARD_DECK), hash=False)
    max_turns: int = 500
    max_rounds: int = 200


_OFFICIAL = Rules()
_NEXT_PLAYER = replace(
    _OFFICIAL,
    name="next-player-skip",
    skip_target="next",
    skip_placement="pile",
    hit_after_lay="own",
    go_out="discard",
    tie_break="lay_down",
)

PRESETS: dict[str, Rules] = {
    rules.name: rules
    for rules in (
        _OFFICIAL,
        replace(_OFFICIAL, name="ten-rounds", advance="every_round"),
        replace(_OFFICIAL, name="short-5", phases=OFFICIAL_PHASES[:5]),
        replace(_OFFICIAL, name="short-7", phases=OFFICIAL_PHASES[:7]),
        replace(_OFFICIAL, name="short-8", phases=OFFICIAL_PHASES[:8]),
        _NEXT_PLAYER,
        replace(_NEXT_PLAYER, name="even-phases", phases=OFFICIAL_PHASES[1::2]),
        replace(_NEXT_PLAYER, name="odd-phases", phases=OFFICIAL_PHASES[0::2]),
        replace(_NEXT_PLAYER, name="pick-a-phase", advance="pick"),
        replace(_OFFICIAL, name="pile-skip", skip_placement="pile"),
    )
}
