"""The rules of the game in plain Python, slow and literal: what the compiled engine is compared with.

Seats are 0 … players − 1; the first card of the stock and of the discard pile is the top.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from .cards import SKIP, check_deck, in_action_order, in_kind_order, is_natural, number_of, read_cards
from .endings import end_by_cap, end_game, end_round, ranks
from .lay_downs import Spelling, spellings
from .melds import Meld
from .rules import Rules

Mode = Literal["full", "compact"]
Deal = Mapping[str, Any]
Reshuffle = Sequence[str] | Callable[[list[str]], Sequence[str]]
NextRound = Deal | Callable[["ReferenceGame"], Deal]


class IllegalMoveError(ValueError):
    """Report an action that is not legal in the position."""


class ReferenceGame:
    """Play one game by the rules, every zone a list of cards.

    Make one with `start_round` or `ReferenceGame.from_position`. `stage` is `draw`, `play`, `build` or
    `onto`; `awaiting_deal` is true between a finished round and the next deal; `over` is true once the game
    has ended, with `truncated` where a cap ended it (R34). `turn` counts the turns begun in the round, lost
    ones and the present one included.
    """

    def __init__(self, rules: Rules, players: int) -> None:
        self.rules = rules
        self.players = players
        self.dealer = 0
        self.to_act = 0
        self.stage = "draw"
        self.round = 1
        self.turn = 0
        self.stock: list[str] = []
        self.discard: list[str] = []
        self.hands: list[list[str]] = [[] for _ in range(players)]
        self.phases = [1] * players
        self.done: list[list[int]] = [[] for _ in range(players)]
        self.laid = [False] * players
        self.laid_phase: list[int | None] = [None] * players
        self.scores = [0] * players
        self.skipped = [False] * players
        self.active = list(range(players))
        self.tie_break_round = False
        self.table: list[Meld] = []
        self.laid_this_turn = False
        self.taken: str | None = None
        self.building_phase: int | None = None
        self.spelled: list[str] = []
        self.card: str | None = None
        self.turns_without_draw = 0
        self.awaiting_deal = False
        self.over = False
        self.truncated = False
        self.went_out: int | None = None
        self.winners: list[int] = []

    @staticmethod
    def from_position(position: Mapping[str, Any], rules: Rules | None = None) -> "ReferenceGame":
        """Return the game a position describes; `rules` replaces the preset it names."""
        from .positions import read_position

        return read_position(position, rules)

    def position(self) -> dict[str, Any]:
        """Return the position as a dictionary ready for JSON, hands in kind order."""
        from .positions import write_position

        return write_position(self)

    def copy(self) -> "ReferenceGame":
        """Return an independent copy of the game."""
        twin = ReferenceGame(self.rules, self.players)
        for name, value in vars(self).items():
            setattr(twin, name, list(value) if isinstance(value, list) else value)
        twin.hands = [list(hand) for hand in self.hands]
        twin.done = [list(phases) for phases in self.done]
        twin.table = [meld.copy() for meld in self.table]
        return twin

    # ------------------------------------------------------------ rounds and turns

    def begin_round(self, deal: Deal) -> None:
        """Deal a round: `hands` by seat, `discard` (the first face-up card) and `stock`; then apply R7.

        Raises ValueError where the cards are not those of the deck or a hand has the wrong size.
        """
        hands = [read_cards(hand) for hand in deal["hands"]]
        discard, stock = read_cards(deal["discard"]), read_cards(deal["stock"])
        wanted = [self.rules.hand_size if seat in self.active else 0 for seat in range(self.players)]
        if [len(hand) for hand in hands] != wanted or len(discard) != 1:
            raise ValueError(
                f"expected hands of {wanted} cards and one face-up card, found "
                f"{[len(hand) for hand in hands]} and {len(discard)}; deal them so"
            )
        check_deck(self.rules.deck, [*stock, *discard, *(card for hand in hands for card in hand)])
        self.hands = [in_kind_order(hand) for hand in hands]
        self.discard, self.stock, self.table = discard, stock, []
        self.laid = [False] * self.players
        self.laid_phase = [None] * self.players
        self.skipped = [False] * self.players
        self.turn = self.turns_without_draw = 0
        self.awaiting_deal, self.went_out = False, None
        first = self.next_active(self.dealer)
        if discard[0] == SKIP:
            self.turn = self.turns_without_draw = 1
            first = self.next_active(first)
        self._begin_turn(first)

    def next_active(self, seat: int) -> int:
        """Return the next seat to the left that takes part in this round (R6, R33)."""
        seat = (seat + 1) % self.players
        while seat not in self.active:
            seat = (seat + 1) % self.players
        return seat

    def _begin_turn(self, seat: int) -> None:
        """Begin the turn of a seat, or of the first one after it that has not lost its turn (R23)."""
        while True:
            if self.turn >= self.rules.max_turns * len(self.active):
                end_by_cap(self)
                return
            self.turn += 1
            self.to_act = seat
            if not self.skipped[seat]:
                break
            self.skipped[seat] = False
            if self.rules.skip_placement == "front":
                self.discard.insert(0, SKIP)
            self.turns_without_draw += 1
            if self._full_circle_without_draw():
                end_round(self, None)
                return
            seat = self.next_active(seat)
        self.taken, self.laid_this_turn = None, False
        self.stage = "draw"
        self.pass_over_impossible_draw()

    def pass_over_impossible_draw(self) -> None:
        """Move on to the play stage where no card can be drawn or taken (R13)."""
        if self.stage == "draw" and not self._can_draw() and not self._can_take():
            self.turns_without_draw += 1
            self.stage = "play"

    def _end_turn(self) -> None:
        if not self.hands[self.to_act]:
            end_round(self, self.to_act)
        elif self._full_circle_without_draw():
            end_round(self, None)
        else:
            self._begin_turn(self.next_active(self.to_act))

    def _full_circle_without_draw(self) -> bool:
        return self.turns_without_draw >= len(self.active)

    # ------------------------------------------------------------ what is legal

    def legal(self, mode: Mode = "full") -> list[str]:
        """Return the legal action texts in index order; none once the round or game has ended."""
        if self.over or self.awaiting_deal:
            return []
        if self.stage == "draw":
            return ["draw"] * self._can_draw() + ["take"] * self._can_take()
        if self.stage == "build":
            return in_action_order(self._next_symbols(mode))
        if self.stage == "onto":
            assert self.card is not None
            return in_action_order(self._places(self.card))
        hits = self._playable(self._hits(), mode)
        discards = self._playable(self._discards(), mode)
        return in_action_order(
            [
                *(f"lay {number}" for number in self._layable()),
                *(f"build {number}" for number in self._layable()),
                *(f"play {card}" for card in hits),
                *(f"discard {card}" for card in discards),
                *(f"skip {distance}" for distance in self._skip_distances()),
            ]
        )

    def _can_draw(self) -> bool:
        """Tell whether the stock can give a card, after a reshuffle if need be (R13)."""
        return bool(self.stock) or len(self.discard) > 1

    def _can_take(self) -> bool:
        """Tell whether the top discard may be taken (R9)."""
        return bool(self.discard) and self.discard[0] != SKIP

    def open_phases(self, seat: int) -> list[int]:
        """Return the phases (from 1) that a seat may lay down this round (R10, R33, R35)."""
        last = len(self.rules.phases)
        if self.laid[seat]:
            return []
        if self.tie_break_round:
            return [last]
        if self.rules.advance == "pick":
            return [number for number in range(1, last + 1) if number not in self.done[seat]]
        return [self.phases[seat]]

    def spellings(self, number: int) -> tuple[Spelling, ...]:
        """Return every spelling of phase `number` for the seat to act; none where R28 forbids them."""
        hand = self.hands[self.to_act]
        phase = self.rules.phases[number - 1]
        if self.rules.go_out == "discard" and sum(size for _, size in phase) >= len(hand):
            return ()
        return spellings(hand, phase, self.rules)

    def _layable(self) -> list[int]:
        return [number for number in self.open_phases(self.to_act) if self.spellings(number)]

    def _places(self, card: str) -> dict[str, tuple[Meld, int]]:
        """Return the places a card may be hit, by action text (R11, R20)."""
        places = {}
        for meld in self.table:
            distance = (meld.seat - self.to_act) % self.players
            if distance and self.laid_this_turn and self.rules.hit_after_lay == "own":
                continue
            for end in meld.open_ends(card):
                places[f"onto {distance}.{meld.group}" + (" high" if end else "")] = (meld, end)
        return places

    def _hits(self) -> list[str]:
        hand = self.hands[self.to_act]
        if not self.laid[self.to_act] or (self.rules.go_out == "discard" and len(hand) == 1):
            return []
        return [card for card in sorted(set(hand)) if self._places(card)]

    def _discards(self) -> list[str]:
        """Return the cards that may end the turn as a discard (R12, `allow_return`)."""
        cards = [card for card in set(self.hands[self.to_act]) if card != SKIP]
        others = [card for card in cards if card != self.taken]
        if not self.rules.allow_return and (others or self._skip_distances()):
            return others
        return cards

    def _skip_distances(self) -> list[int]:
        """Return how many seats to the left the legal targets of a Skip sit (R23, R25, R33)."""
        if SKIP not in self.hands[self.to_act]:
            return []
        others = [seat for seat in self.active if seat != self.to_act]
        if self.rules.skip_target == "next":
            others = [self.next_active(self.to_act)]
        return [(seat - self.to_act) % self.players for seat in others if not self.skipped[seat]]

    def _playable(self, cards: list[str], mode: Mode) -> list[str]:
        """Return the cards to ask for: in compact mode one of each number where colours cannot matter."""
        if mode == "full" or self.colours_matter():
            return cards
        lowest: dict[object, str] = {}
        for card in in_kind_order(cards):
            lowest.setdefault(number_of(card) if is_natural(card) else card, card)
        return list(lowest.values())

    def colours_matter(self) -> bool:
        """Tell whether a colour group is on the table or may still be laid down this round."""
        on_table = any(meld.kind == "colour" for meld in self.table)
        return on_table or any(
            kind == "colour"
            for seat in self.active
            for number in self.open_phases(seat)
            for kind, _ in self.rules.phases[number - 1]
        )

    # ------------------------------------------------------------ building a lay-down

    def _begun_spellings(self) -> list[Spelling]:
        """Return the spellings that go on from what is spelled, cards included or declarations only."""
        assert self.building_phase is not None
        begun = tuple(self.spelled)
        return [
            spelling
            for spelling in self.spellings(self.building_phase)
            if begun in (spelling.symbols[: len(begun)], spelling.declarations[: len(begun)])
        ]

    def _next_symbols(self, mode: Mode) -> set[str]:
        """Return the children of the present node of the tree of spellings.

        A compact game never stops once everything is declared; a position from a full one may, and then
        its cards are asked for.
        """
        begun = self._begun_spellings()
        declared = sum(not symbol.startswith("play") for symbol in self.spelled)
        if mode == "compact" and declared < len(begun[0].groups):
            return {spelling.declarations[declared] for spelling in begun}
        return {s.symbols[len(self.spelled)] for s in begun if len(s.symbols) > len(self.spelled)}

    def _walk_building(self, mode: Mode) -> None:
        """Walk on while there is no choice, and lay down once the spelling is whole."""
        assert self.building_phase is not None
        while True:
            begun = self._begun_spellings()
            declared = sum(not symbol.startswith("play") for symbol in self.spelled)
            all_declared = declared == len(begun[0].groups)
            children = self._next_symbols(mode)
            if not children or (mode == "compact" and all_declared):
                self._lay_down(self.building_phase, begun)
                return
            if len(children) > 1:
                return
            self.spelled.extend(children)

    # ------------------------------------------------------------ playing

    def play(
        self,
        text: str,
        mode: Mode = "full",
        reshuffled: Reshuffle | None = None,
        next_round: NextRound | None = None,
    ) -> None:
        """Play one action for the seat to act.

        `reshuffled` is the new stock, top first, or a callable that is given the cards to shuffle and
        returns it; it is used only when a draw finds the stock empty (R13). `next_round` is the next deal
        (see `begin_round`) or a callable given the game that returns it; without one the game waits in
        `awaiting_deal` when the round ends. Raises IllegalMoveError or ValueError and changes nothing where
        the action is not legal or the new stock is missing or not made of the right cards.
        """
        if text not in self.legal(mode):
            choices = ", ".join(self.legal(mode)) or "nothing"
            raise IllegalMoveError(f"expected one of {choices}, found {text!r}; choose a legal action")
        word, _, argument = text.partition(" ")
        if word == "draw":
            self._draw(reshuffled)
        elif word == "take":
            self.taken = self.discard.pop(0)
            self._receive(self.taken)
        elif self.stage == "build":
            self.spelled.append(text)
            self._walk_building(mode)
        elif word == "lay":
            self._lay_down(int(argument), self.spellings(int(argument)))
        elif word == "build":
            self.building_phase, self.spelled, self.stage = int(argument), [], "build"
            self._walk_building(mode)
        elif word == "play":
            self.card, self.stage = argument, "onto"
            places = list(self._places(argument).values())
            if len(places) == 1:
                self._hit(*places[0])
        elif word == "onto":
            assert self.card is not None
            self._hit(*self._places(self.card)[text])
        elif word == "discard":
            self._give_up(argument)
            self.discard.insert(0, argument)
            self._end_turn()
        else:
            self._skip((self.to_act + int(argument)) % self.players)
        if self.awaiting_deal and next_round is not None:
            self.begin_round(next_round(self) if callable(next_round) else next_round)

    def needs_reshuffle(self) -> bool:
        """Tell whether a draw would have to shuffle the discard pile first (R13)."""
        return self.stage == "draw" and not self.stock and len(self.discard) > 1

    def _draw(self, reshuffled: Reshuffle | None) -> None:
        if not self.stock:
            beneath = self.discard[1:]
            order = reshuffled(list(beneath)) if callable(reshuffled) else reshuffled
            if order is None or Counter(order) != Counter(beneath):
                wanted = " ".join(in_kind_order(beneath))
                raise ValueError(f"expected a new stock made of {wanted}, found {order}; shuffle these")
            self.stock, self.discard = list(order), self.discard[:1]
        self._receive(self.stock.pop(0))

    def _receive(self, card: str) -> None:
        hand = self.hands[self.to_act]
        self.hands[self.to_act] = in_kind_order([*hand, card])
        self.turns_without_draw = 0
        self.stage = "play"

    def _give_up(self, card: str) -> None:
        self.hands[self.to_act].remove(card)

    def _lay_down(self, number: int, candidates: Sequence[Spelling]) -> None:
        """Lay phase `number` down whole, in the preferred one of some spellings (R10, R16, R17)."""
        spelling = min(candidates, key=lambda candidate: candidate.preference)
        for position, group in enumerate(spelling.groups):
            self.table.append(Meld(self.to_act, position, group.kind, group.value, list(group.cards)))
        for card in spelling.cards:
            self._give_up(card)
        self.laid[self.to_act] = self.laid_this_turn = True
        self.laid_phase[self.to_act] = number
        self.building_phase, self.spelled, self.stage = None, [], "play"
        if self.tie_break_round and self.rules.tie_break == "lay_down":
            end_game(self, [self.to_act])
        elif not self.hands[self.to_act]:
            end_round(self, self.to_act)

    def _hit(self, meld: Meld, end: int) -> None:
        assert self.card is not None
        self._give_up(self.card)
        meld.add(self.card, end)
        self.card, self.stage = None, "play"
        if not self.hands[self.to_act]:
            end_round(self, self.to_act)

    def _skip(self, target: int) -> None:
        """Play a Skip on a seat (R23, R24); in front of it, it reaches the pile when the turn is lost."""
        self._give_up(SKIP)
        if self.rules.skip_placement == "pile":
            self.discard.insert(0, SKIP)
        self.skipped[target] = True
        self._end_turn()

    def ranks(self) -> list[int] | None:
        """Return the rank of each seat (1 is best, equal ranks shared), or None where nobody has won."""
        return ranks(self)


def start_round(
    rules: Rules,
    players: int,
    dealer: int,
    hands: Sequence[str | Sequence[str]],
    discard: str | Sequence[str],
    stock: str | Sequence[str],
    *,
    phases: Sequence[int] | None = None,
    done: Sequence[Sequence[int]] | None = None,
    scores: Sequence[int] | None = None,
    round_number: int = 1,
    active: Sequence[int] | None = None,
) -> ReferenceGame:
    """Return a game at the start of a round, after R7.

    `hands` holds the cards of each seat; `discard` the first face-up card; `stock` the rest, top first.
    `phases` and `done` count from 1 into the ruleset's list. `active` names the seats of a tie-break round
    (R33). Raises ValueError where the cards are not those of the deck.
    """
    game = ReferenceGame(rules, players)
    game.dealer, game.round = dealer, round_number
    if phases is not None:
        game.phases = list(phases)
    if done is not None:
        game.done = [list(numbers) for numbers in done]
    if scores is not None:
        game.scores = list(scores)
    if active is not None:
        game.active, game.tie_break_round = list(active), True
    game.begin_round({"hands": hands, "discard": discard, "stock": stock})
    return game


def perft(game: ReferenceGame, depth: int, mode: Mode = "full") -> int:
    """Return the number of action sequences of exactly `depth` actions from a game.

    A finished round or game, or a draw that needs a reshuffle, is a leaf and counts as one sequence.
    """
    if depth == 0 or game.over or game.awaiting_deal:
        return 1
    total = 0
    for text in game.legal(mode):
        if depth == 1 or (text == "draw" and game.needs_reshuffle()):
            total += 1
            continue
        after = game.copy()
        after.play(text, mode)
        total += perft(after, depth - 1, mode)
    return total
