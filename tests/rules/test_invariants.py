"""The invariants I1-I6 of the rules, as properties of whole games by any rules."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference import ReferenceGame, spellings
from rules.choices import STYLES, choose, quick_ruleset, random_ruleset, starved_ruleset
from rules.duel import model_of
from rules.effort import effort
from rules.situations import lay_downs_built, situation

from phase10_env import PRESETS, Game, GameBatch, IllegalActionError, RuleSet
from phase10_env.actions import ACTION_TEXTS
from phase10_env.decision import blank_hidden
from phase10_env.game_batch import game_seeds
from phase10_env.observation import LEVELS, observe
from phase10_env.positions import set_hand, set_pile
from phase10_env.rules.check import Broken, check
from phase10_env.rules.ruleset import RuleSetError
from phase10_env.rules.state import DRAW, GAME

SETTINGS = settings(max_examples=effort(40), deadline=None, suppress_health_check=list(HealthCheck))


def any_rules(seed: int) -> tuple[RuleSet, int]:
    """Return some rules and a number of players whom they fit: a preset or random ones."""
    stream = random.Random(seed)
    family = (quick_ruleset, random_ruleset, starved_ruleset, None)[seed % 4]
    ruleset = PRESETS[stream.choice(list(PRESETS))] if family is None else family(stream)
    return ruleset, stream.randint(2, ruleset.max_players)


def game_somewhere(seed: int, decisions: int, style: str = "builder", mode: str = "full") -> Game:
    """Return a game by any rules after some decisions, not over."""
    ruleset, players = any_rules(seed)
    stream = random.Random(seed)
    game = Game(players, ruleset, seed=seed, actions=mode)
    for _ in range(decisions):
        before = game.state.copy()
        game.play(choose(model_of(game), game.legal_actions(), style, stream))
        if game.over:
            game.state[:] = before
            break
    return game


any_game = st.builds(
    game_somewhere,
    st.integers(0, 10**6),
    st.integers(0, 60),
    st.sampled_from(STYLES),
    st.sampled_from(["full", "compact"]),
)


# ---- I1, I2, I3 and the flags ------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["full", "compact"])
@pytest.mark.parametrize("seed", range(12))
def test_no_invariant_breaks_in_a_whole_game(seed: int, mode: str) -> None:
    ruleset, players = any_rules(seed)
    stream = random.Random(seed)
    game = Game(players, ruleset, seed=seed, actions=mode)
    for _ in range(effort(400)):
        assert check(game.state, ruleset) == Broken.NOTHING
        if game.over:
            break
        game.play(stream.choice(game.legal_actions()))


@given(any_game)
@SETTINGS
def test_i1_all_zones_together_are_the_deck(game: Game) -> None:
    position = game.position()
    texts = [position["stock"], position["discard"], *(seat["hand"] for seat in position["seats"])]
    texts += [entry["cards"] for entry in position["table"]]
    if game.ruleset.skip_placement == "front":
        texts += ["S"] * sum(seat["skipped"] for seat in position["seats"])
    found = Counter(" ".join(texts).split())
    assert [found[text] for text in (*ACTION_CARDS, "S")] == list(game.ruleset.deck)


ACTION_CARDS = [text.split()[1] for text in ACTION_TEXTS if text.startswith("discard")]


@pytest.mark.parametrize("preset", PRESETS)
def test_i2_until_a_lay_down_the_cards_outside_the_hands_are_the_deck_less_ten_a_player(preset: str) -> None:
    for players in range(2, 7):
        game = Game(players, preset, seed=players)
        while not any(seat["laid"] for seat in game.position()["seats"]) and game.turn < effort(40):
            state = game.state[0]
            if game.stage == "draw":
                in_front = int(state["skipped"].sum()) if game.ruleset.skip_placement == "front" else 0
                outside = int(state["stock_size"]) + int(state["discard_size"]) + in_front
                assert outside == 108 - 10 * players
            game.play(game.legal_actions()[-1])


@given(any_game)
@SETTINGS
def test_i3_a_skip_always_has_a_legal_target(game: Game) -> None:
    if game.stage == "draw":
        game.play(game.legal_actions()[0])
    if game.over or game.stage != "play":
        return
    state, actor = game.state, game.to_act
    if state["hands"][0, actor, 49] == 0:
        held = int(state["hands"][0, actor].nonzero()[0][0])
        kinds = np.repeat(np.arange(50), state["hands"][0, actor]).tolist()
        kinds.remove(held)
        set_hand(state, actor, [*kinds, 49])
    assert any(text.startswith("skip") for text in game.legal_actions())


def broken_game(change: str) -> tuple[np.ndarray, RuleSet]:
    """Return a running game with one field put wrong."""
    table = [
        {"seat": 0, "group": 0, "kind": "set", "number": 7, "cards": "R7 B7 G7"},
        {"seat": 0, "group": 1, "kind": "set", "number": 9, "cards": "R9 B9 G9"},
    ]
    game = situation("R1 R2 W", "B1 B2 W", seats={0: {"laid": True}}, table=table)
    exec(change, {"game": game.state[0], "np": np})
    return game.state, game.ruleset


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        ("pass", Broken.NOTHING),
        ("game['stock'][3] = game['stock'][4]", Broken.DECK),
        ("game['discard_size'] = 0; game['pile_counts'] = 0", Broken.DECK),
        ("game['pile_counts'][0] += 1", Broken.SUMS),
        ("game['table_counts'][5] += 1", Broken.SUMS),
        ("game['numbers'][0] += 1", Broken.SUMS),
        ("game['colours'][1] += 1", Broken.SUMS),
        ("game['held'][1] ^= 1", Broken.SUMS),
        ("game['hand_sizes'][1] += 1", Broken.SUMS),
        ("game['known'][1, 7] = 1", Broken.SUMS),
        ("game['laid_phase'][0] = 9", Broken.MELDS),
        ("game['skipped'][0] = 1", Broken.SKIPS | Broken.DECK),
        ("game['skipped'][1] = 1", Broken.SKIPS | Broken.DECK),
        ("game['skipped'][3] = 1", Broken.SKIPS | Broken.DECK),
        ("game['meld_value'][0] = 8", Broken.MELDS),
        ("game['meld_cards'][0, 0] = 49", Broken.MELDS | Broken.DECK),
        ("game['meld_cards'][0, 0] = -1", Broken.MELDS | Broken.DECK),
        ("game['meld_kind'][1] = 2", Broken.MELDS),
        ("game['meld_size'][3] = 1", Broken.MELDS | Broken.SUMS | Broken.DECK),
        ("game['meld_fits'][0] = 0", Broken.MELDS),
        ("game['laid'][0] = 0", Broken.MELDS),
        ("game['to_act'] = 2", Broken.TURN),
        ("game['to_act'] = -1", Broken.TURN),
        ("game['stage'] = 7", Broken.TURN),
        ("game['stage'] = 4", Broken.TURN),
        ("game['rank'][1] = 1", Broken.TURN),
        ("game['active'][1] = 0; game['active'][2] = 1", Broken.TURN | Broken.HANDS),
        ("game['dealer'] = 2", Broken.TURN),
        ("game['status'] = 1", Broken.TURN),
        ("game['stage'] = 3; game['onto_card'] = 20", Broken.BUILDING),
        ("game['stage'] = 2; game['free'] = 0", Broken.BUILDING),
        ("game['stage'] = 3; game['onto_card'] = 0", Broken.CHOICE),
    ],
)
def test_each_broken_invariant_has_its_flag(change: str, broken: Broken) -> None:
    games, ruleset = broken_game(change)
    found = check(games, ruleset)
    assert broken in found if broken else found == broken, found


def test_a_run_beyond_12_or_with_a_wrong_end_is_broken() -> None:
    table = [{"seat": 0, "group": 0, "kind": "run", "low": 6, "cards": "R6 R7 R8 R9 R10 R11 R12"}]
    game = situation("R1 R2 W", "B1 B2 W", seats={0: {"laid": True, "phase": 4}}, table=table)
    assert check(game.state, game.ruleset) == Broken.NOTHING
    game.state["meld_high"][0, 0] = 11
    assert check(game.state, game.ruleset) == Broken.MELDS
    game.state["meld_high"][0, 0], game.state["meld_value"][0, 0] = 13, 7
    assert check(game.state, game.ruleset) == Broken.MELDS


def test_hands_may_not_grow_beyond_the_draws() -> None:
    game = Game(seed=1)
    kinds = np.repeat(np.arange(50), game.state["hands"][0, 0]).tolist()
    set_hand(game.state, 0, [*kinds, int(game.state["stock"][0, game.state["stock_size"][0] - 1])])
    game.state["stock_size"] -= 1
    assert check(game.state, game.ruleset) == Broken.HANDS


# ---- I4 ----------------------------------------------------------------------------------------------------


def deal_hidden_cards_anew(game: Game, seat: int, stream: random.Random) -> np.ndarray:
    """Return the record with all that a seat cannot know dealt in another way: stock and others' hands.

    Cards known to be in a hand stay there; a lay-down being built or a card waiting for its place is the
    business of the seat to act, who holds on to those cards.
    """
    games = game.state.copy()
    state = games[0]
    others = [other for other in range(game.num_players) if other != seat]
    kept = {other: np.repeat(np.arange(50), state["known"][other]).tolist() for other in others}
    hands = {other: np.repeat(np.arange(50), state["hands"][other]).tolist() for other in others}
    hidden = state["stock"][: state["stock_size"]].tolist()
    for other in others:
        hidden += (Counter(hands[other]) - Counter(kept[other])).elements()
    stream.shuffle(hidden)
    for other in others:
        drawn = len(hands[other]) - len(kept[other])
        set_hand(games, other, [*kept[other], *(hidden.pop() for _ in range(drawn))])
    set_pile(games, "stock", hidden)
    state["seed"] = stream.getrandbits(64)
    return games


@given(any_game, st.integers(0, 1000))
@SETTINGS
def test_i4_what_a_seat_is_shown_depends_on_public_facts_and_its_own_hand_alone(
    game: Game, seed: int
) -> None:
    stream = random.Random(seed)
    for seat in range(game.num_players):
        if game.stage in ("build", "onto") and seat != game.to_act:
            continue  # it is dealt cards that the seat to act is laying down: compared below
        games = deal_hidden_cards_anew(game, seat, stream)
        assert check(games, game.ruleset) == check(game.state, game.ruleset)
        for level in LEVELS:
            for pad in (False, True):
                shown = observe(game.state, game.ruleset, seat, level, pad)
                assert (observe(games, game.ruleset, seat, level, pad) == shown).all()
    games = deal_hidden_cards_anew(game, game.to_act, stream)
    batch = GameBatch(2, game.num_players, game.ruleset, actions=game.actions)
    batch.games[0] = game.state[0]
    batch.games[1] = games[0]
    batch.refresh()
    view = batch.view()
    assert (view.action_masks[0] == view.action_masks[1]).all()
    assert (view.observations[0] == view.observations[1]).all()
    assert view.information[0].tobytes() == view.information[1].tobytes()


@given(any_game)
@SETTINGS
def test_i4_others_see_a_sub_choice_only_when_it_is_complete(game: Game) -> None:
    for _ in range(30):
        if game.over or game.stage in ("build", "onto"):
            break
        down = [text for text in game.legal_actions() if text.split()[0] in ("build", "play")]
        game.play((down or game.legal_actions())[0])
    if game.over or game.stage not in ("build", "onto"):
        return
    before = game.copy()
    while before.stage in ("build", "onto"):
        try:
            before.pop()
        except IndexError:
            return
    for seat in range(game.num_players):
        shown = [observe(moment.state, game.ruleset, seat) for moment in (game, before)]
        assert (shown[0] == shown[1]).all() == (seat != game.to_act)


@given(any_game)
@SETTINGS
def test_i4_blanked_information_holds_no_hidden_card(game: Game) -> None:
    out = np.zeros(1, GAME)
    blank_hidden(game.state, np.zeros(1, np.int64), out)
    seat = game.to_act
    assert (np.delete(out["hands"][0], seat, axis=0) == 0).all()
    assert (out["stock"][0] == 50).all()
    assert out["seed"][0] == 0
    assert (out["hands"][0, seat] == game.state["hands"][0, seat]).all()


# ---- I5 ----------------------------------------------------------------------------------------------------


@given(any_game)
@SETTINGS
def test_i5_each_legal_action_executes_and_each_other_raises_and_changes_nothing(game: Game) -> None:
    legal = game.legal_actions()
    assert legal
    before = game.state.copy()
    for text in ACTION_TEXTS:
        assert (game.why_illegal(text) is None) == (text in legal), text
        if text in legal:
            twin = game.copy()
            twin.play(text)
            assert twin.state != before
            assert check(twin.state, game.ruleset) == Broken.NOTHING
        else:
            with pytest.raises(IllegalActionError):
                game.play(text)
        assert game.state == before


@given(any_game, st.sampled_from([-1, 165, 10**9, -(10**9)]))
@SETTINGS
def test_i5_an_action_outside_the_table_is_refused(game: Game, action: int) -> None:
    before = game.state.copy()
    with pytest.raises(ValueError, match="expected an action index"):
        game.play(action)
    assert game.state == before


@given(any_game)
@SETTINGS
def test_i5_the_mask_of_a_batch_is_the_list_of_legal_actions(game: Game) -> None:
    batch = GameBatch(1, game.num_players, game.ruleset, actions=game.actions)
    batch.games[0] = game.state[0]
    batch.refresh()
    assert batch.action_masks[0].nonzero()[0].tolist() == game.legal_indices()
    assert batch.legal_actions[0, : batch.legal_counts[0]].tolist() == game.legal_indices()


# ---- I6 ----------------------------------------------------------------------------------------------------


def play_batch(batch: GameBatch, steps: int) -> GameBatch:
    """Play steps in which each game's choice depends on its own legal actions and decisions alone."""
    for _ in range(effort(steps)):
        picks = (7 * batch.games["decisions"] + 3) % np.maximum(batch.legal_counts, 1)
        batch.step(batch.legal_actions[np.arange(batch.num_games), picks])
    return batch


@pytest.mark.parametrize("preset", ["official", "pick-a-phase", "pile-skip"])
def test_i6_a_batch_of_n_is_n_batches_of_one(preset: str) -> None:
    together = play_batch(GameBatch(5, 3, preset, seed=9), 300)
    for row in range(5):
        alone = play_batch(GameBatch(1, 3, preset, seed=9, first_game=row), 300)
        assert together.games[row].tobytes() == alone.games[0].tobytes()
        assert (together.observations[row] == alone.observations[0]).all()
        assert (together.rewards[row] == alone.rewards[0]).all()


def test_i6_threads_and_batch_size_change_nothing() -> None:
    wide = play_batch(GameBatch(33, 2, seed=4, threads=4), 200)
    narrow = play_batch(GameBatch(7, 2, seed=4, first_game=20), 200)
    assert (wide.games[20:27] == narrow.games).all()
    random_steps = GameBatch(33, 2, seed=4, threads=3), GameBatch(33, 2, seed=4)
    assert random_steps[0].play_random(effort(500)) == random_steps[1].play_random(effort(500))
    assert (random_steps[0].games == random_steps[1].games).all()


SCRATCH = {"placed", "placed_sizes", "declared", "free", "free_numbers", "build_phase", "meld_cards"}
"""Fields that mean something only while a lay-down is being built or a meld lies on the table."""


def live_fields(game: np.void) -> dict[str, list[int]]:
    """Return the fields of a record that mean something, piles up to their size."""
    fields = {name: np.atleast_1d(game[name]) for name in game.dtype.names if name not in SCRATCH}
    for pile in ("stock", "discard"):
        fields[pile] = fields[pile][: game[f"{pile}_size"]]
    return {name: values.tolist() for name, values in fields.items()}


@pytest.mark.parametrize("seed", range(6))
def test_i6_an_episode_does_not_depend_on_the_ones_before(seed: int) -> None:
    rules = quick_ruleset(random.Random(seed))
    batch = GameBatch(1, 2, rules, seeds=[seed], observation=None)
    for episode in range(1, 1 + 20):
        while batch.games["episode"][0] < episode:
            batch.play_random(1)
        alone = Game(2, rules, seed=seed, episode=episode)
        assert live_fields(batch.games[0]) == live_fields(alone.state[0])


def test_i6_a_batch_deals_what_a_single_game_of_the_seed_deals() -> None:
    batch = GameBatch(4, 5, seed=21)
    for row, seed in enumerate(game_seeds(21, 0, 4)):
        assert batch.games[row].tobytes() == Game(5, seed=int(seed)).state[0].tobytes()


def test_i6_streams_differ_by_seed_episode_and_round() -> None:
    first = Game(2, seed=1)
    assert len({first.hands[0], Game(2, seed=2).hands[0], Game(2, seed=1, episode=1).hands[0]}) == 3


# ---- lay K -------------------------------------------------------------------------------------------------


@st.composite
def hand_and_phase(draw: st.DrawFn) -> tuple[RuleSet, str]:
    """Return rules with one phase and a hand of eleven, or less, that often holds it."""
    sizes = st.integers(1, 5)
    group = st.one_of(
        st.tuples(st.just("set"), sizes),
        st.tuples(st.just("run"), st.integers(2, 5)),
        st.tuples(st.just("colour"), sizes),
    )
    phase = draw(
        st.lists(group, min_size=1, max_size=2).filter(lambda p: [k for k, _ in p].count("colour") < 2)
    )
    rules = RuleSet(phases=[phase], naturals=draw(st.sampled_from(["group", "phase"])))
    low = draw(st.integers(1, 9))
    kinds = [f"{c}{n}" for c in "RB" for n in range(low, low + draw(st.integers(1, 4)))]
    hand = draw(st.lists(st.sampled_from([*kinds, *kinds, "W"]), min_size=2, max_size=10))
    hand = [card for card, count in Counter(hand).items() for _ in range(min(count, 8 if card == "W" else 2))]
    return rules, " ".join([*hand, "S"])


@given(hand_and_phase())
@settings(max_examples=effort(300), deadline=None, suppress_health_check=list(HealthCheck))
def test_lay_k_takes_the_best_spelling_of_the_tree(case: tuple[RuleSet, str]) -> None:
    rules, hand = case
    game = situation(hand, "G12", rules=rules, discard="G12")
    model = model_of(game)
    found = spellings(model.hands[0], rules.phases[0], model.rules)
    assert ("lay 1" in game.legal_actions()) == bool(found)
    if not found:
        return
    best = min(found, key=lambda spelling: spelling.preference)
    game.play("lay 1")
    laid = [entry["cards"] for entry in game.position()["table"]]
    assert laid == [" ".join(group.cards) for group in best.groups]


@given(hand_and_phase())
@settings(max_examples=effort(60), deadline=None, suppress_health_check=list(HealthCheck))
def test_building_reaches_each_spelling_once_and_nothing_else(case: tuple[RuleSet, str]) -> None:
    rules, hand = case
    game = situation(hand, "G12 G11", rules=rules, discard="G10")
    model: ReferenceGame = model_of(game)
    wanted = [
        [" ".join(g.cards) for g in s.groups] for s in spellings(model.hands[0], rules.phases[0], model.rules)
    ]
    if not 0 < len(wanted) < 200:
        return
    assert lay_downs_built(game) == sorted(wanted)


def test_random_rules_are_often_refused_and_always_with_a_reason() -> None:
    with pytest.raises(RuleSetError, match="expected"):
        RuleSet(phases=["run 9"], hand_size=3)


def test_a_turn_begins_with_the_draw_stage() -> None:
    assert Game(seed=1).state["stage"][0] == DRAW
