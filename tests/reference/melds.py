"""One meld on the table and where cards may be hit on it (R19, R20, R22)."""

from dataclasses import dataclass

from .cards import SKIP, WILD, number_of


@dataclass
class Meld:
    """Hold a meld; `value` is a set's number, a colour letter, or the present low end of a run."""

    seat: int
    group: int
    kind: str
    value: int | str
    cards: list[str]

    def open_ends(self, card: str) -> list[int]:
        """Return where a card may be hit (R20): 1 is the high end of a run, 0 everything else.

        >>> Meld(0, 0, "run", 3, ["R3", "W", "B5"]).open_ends("W")
        [0, 1]
        """
        if card == SKIP:
            return []
        if self.kind == "set":
            return [0] if card == WILD or number_of(card) == self.value else []
        if self.kind == "colour":
            return [0] if card == WILD or card[0] == self.value else []
        below, above = int(self.value) - 1, int(self.value) + len(self.cards)
        return [
            end
            for end, number in ((0, below), (1, above))
            if 1 <= number <= 12 and (card == WILD or number_of(card) == number)
        ]

    def add(self, card: str, end: int) -> None:
        """Put a hit on the meld; a run grows at its low (0) or high (1) end.

        >>> meld = Meld(0, 0, "run", 3, ["R3", "W", "B5"])
        >>> meld.add("Y2", 0)
        >>> meld.value, meld.cards
        (2, ['Y2', 'R3', 'W', 'B5'])
        """
        if self.kind == "run" and end == 0:
            self.cards.insert(0, card)
            self.value = int(self.value) - 1
        else:
            self.cards.append(card)

    def copy(self) -> "Meld":
        """Return an independent copy."""
        return Meld(self.seat, self.group, self.kind, self.value, list(self.cards))
