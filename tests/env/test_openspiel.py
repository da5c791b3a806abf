"""The game for OpenSpiel: its chance events, what seats know, and OpenSpiel's solvers on a tiny deck."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyspiel", reason="needs the extra openspiel")

import pyspiel
from open_spiel.python import policy as policies
from open_spiel.python.algorithms import cfr, expected_game_score, exploitability
from open_spiel.python.observation import make_observation

from phase10_env import Game, RuleSet
from phase10_env.compat.openspiel import Phase10Game, Phase10State, hand_chances
from phase10_env.observation import observe
from phase10_env.rules.cards import KIND_TEXTS

# whole trees need a deck of four to eight cards: one phase, one or two cards each, a turn or two
TINY = RuleSet(
    name="tiny", phases=("set 2",), hand_size=1, deck={"R1": 2, "R2": 2}, max_turns=2, max_rounds=1, dealer=0
)
SMALL = TINY.replace(deck={"R1": 2, "R2": 2, "W": 1, "S": 1}, dealer=None)
TWO_ROUNDS = TINY.replace(deck={"R1": 3, "R2": 2}, max_turns=1, max_rounds=2, phases=("set 2", "set 2"))
QUICK = RuleSet(name="quick", phases=("set 2", "set 3"), hand_size=5, max_turns=6, max_rounds=3)

FOLDER: list[Path] = []  # of ruleset files: OpenSpiel's parameters are plain text


@pytest.fixture(scope="module", autouse=True)
def files(tmp_path_factory: pytest.TempPathFactory) -> None:
    FOLDER.append(tmp_path_factory.mktemp("rules"))


def load(ruleset: RuleSet, **parameters: Any) -> Any:
    file = FOLDER[0] / f"{ruleset.digest}.toml"
    file.write_text(ruleset.to_toml(), encoding="utf-8")
    return pyspiel.load_game("python_phase10", {"ruleset": str(file), **parameters})


def successors(state: Any) -> list[tuple[int, float | None]]:
    if state.is_chance_node():
        return list(state.chance_outcomes())
    return [(action, None) for action in state.legal_actions()]


def tree(state: Any) -> Iterator[Any]:
    """Every state of the tree below one, itself first."""
    yield state
    if not state.is_terminal():
        for action, _ in successors(state):
            yield from tree(state.child(action))


def play(state: Any, rng: np.random.Generator) -> None:
    """Play on at random to the end."""
    while not state.is_terminal():
        actions, chances = zip(*successors(state), strict=True)
        weights = None if chances[0] is None else np.array(chances) / sum(chances)
        state.apply_action(int(rng.choice(actions, p=weights)))


@pytest.mark.parametrize("parameters", [{}, {"players": 3, "reward": "rank", "actions": "full"}])
@pytest.mark.parametrize("ruleset", [QUICK, SMALL.replace(hand_size=1, deck={"R1": 4, "R2": 4, "S": 1})])
def test_openspiel_accepts_the_game(ruleset: RuleSet, parameters: dict[str, Any]) -> None:
    pyspiel.random_sim_test(load(ruleset, **parameters), num_sims=3, serialize=False, verbose=False)


def test_a_saved_game_goes_on_alike() -> None:
    pyspiel.random_sim_test(load(SMALL), num_sims=3, serialize=True, verbose=False)


@pytest.mark.parametrize(
    ("episode", "reward"), [("game", "points"), ("round", "points"), ("round", "equity")]
)
def test_every_reward_sums_to_zero_within_its_bounds(episode: str, reward: str) -> None:
    game = load(QUICK.replace(max_turns=60), episode=episode, reward=reward)
    rng = np.random.default_rng(5)
    paid = []
    for _ in range(5):
        state = game.new_initial_state()
        play(state, rng)
        assert sum(state.returns()) == pytest.approx(0.0, abs=1e-6)
        assert all(game.min_utility() <= value <= game.max_utility() for value in state.returns())
        assert 0 < len(state.history()) <= game.max_history_length()
        paid += state.returns()
    assert any(paid)


def test_the_hands_that_chance_deals_have_the_odds_of_a_shuffled_deck() -> None:
    left = [2, 1, 3] + [0] * 45 + [1, 0]
    deck = [kind for kind, count in enumerate(left) for _ in range(count)]
    expected = Counter(tuple(sorted(hand)) for hand in combinations(deck, 3))
    total = sum(expected.values())

    def hands(hand: tuple[int, ...], chance: float) -> Iterator[tuple[tuple[int, ...], float]]:
        if len(hand) == 3:
            yield hand, chance
            return
        found = hand_chances(left, hand, 3)
        assert sum(each for _, each in found) == pytest.approx(1.0)
        for kind, each in found:
            yield from hands((*hand, kind), chance * each)

    dealt = list(hands((), 1.0))
    assert len({hand for hand, _ in dealt}) == len(dealt)
    assert dict(dealt) == pytest.approx({hand: count / total for hand, count in expected.items()})


def test_what_chance_deals_is_on_the_table() -> None:
    state = load(RuleSet(dealer=1)).new_initial_state()
    rng = np.random.default_rng(3)
    while state.is_chance_node():
        actions, chances = zip(*state.chance_outcomes(), strict=True)
        state.apply_action(int(rng.choice(actions, p=chances)))
    cards = [KIND_TEXTS[kind] for kind in state.history()]
    game = Game(ruleset=RuleSet(dealer=1))
    left = Counter(dict(zip(KIND_TEXTS, RuleSet().deck, strict=True)))
    left.subtract(cards)
    game.deal([" ".join(cards[:10]), " ".join(cards[10:20])], cards[20], " ".join(left.elements()))
    assert [state.action_to_string(action) for action in state.legal_actions()] == game.legal_actions()
    for seat in range(2):
        assert (observe(state.record, game.ruleset, seat) == observe(game.state, game.ruleset, seat)).all()


def test_draws_have_the_odds_of_the_cards_that_are_left_and_the_pile_turns_over() -> None:
    turned = 0
    for state in tree(load(TINY).new_initial_state()):
        if (
            state.is_chance_node()
            and state.record["status"][0] == 0
            and "draw" in str(state).splitlines()[-1]
        ):
            stock = Counter(state.record["stock"][0, : state.record["stock_size"][0]].tolist())
            total = sum(stock.values())
            assert dict(state.chance_outcomes()) == {kind: n / total for kind, n in stock.items()}
            turned += int(state.record["reshuffles"][0]) > 0
    assert turned > 0


@pytest.mark.parametrize(
    ("ruleset", "actions"), [(TINY, "compact"), (TWO_ROUNDS, "full"), (SMALL.replace(max_turns=1), "full")]
)
def test_seats_are_told_what_they_may_know_and_forget_nothing(ruleset: RuleSet, actions: str) -> None:
    """Equal courses of observations and own actions mean equal information states, and the other way round."""
    game = load(ruleset, actions=actions)
    seen: dict[tuple[Any, ...], str] = {}
    legal: dict[str, list[int]] = {}
    shown: dict[str, set[bytes]] = defaultdict(set)
    courses: dict[str, set[tuple[Any, ...]]] = defaultdict(set)

    def walk(state: Any, course: tuple[tuple[Any, ...], ...]) -> None:
        if state.is_terminal():
            return
        if state.current_player() >= 0:
            vectors = [observe(state.record, ruleset, seat).tobytes() for seat in range(2)]
            course = tuple((*each, vectors[seat]) for seat, each in enumerate(course))
            seat = state.current_player()
            told = state.information_state_string(seat)
            assert seen.setdefault((seat, course[seat]), told) == told
            assert legal.setdefault(told, state.legal_actions()) == state.legal_actions()
            shown[told].add(vectors[seat])
            courses[told].add(tuple(each for each in course[seat] if isinstance(each, int)))
        for action, _ in successors(state):
            after = course
            if state.current_player() >= 0:
                seat = state.current_player()
                after = tuple((*each, action) if s == seat else each for s, each in enumerate(course))
            walk(state.child(action), after)

    walk(game.new_initial_state(), ((), ()))
    assert len(legal) > 50
    assert all(len(each) == 1 for each in shown.values())
    assert all(len(each) == 1 for each in courses.values())


def test_the_observation_tensor_is_the_observation_of_the_other_environments() -> None:
    game = load(QUICK)
    state = game.new_initial_state()
    assert not any(state.observation_tensor(0))
    while state.is_chance_node():
        state.apply_action(state.chance_outcomes()[-1][0])
    for seat in range(2):
        vector = observe(state.record, QUICK, seat, "basic")
        assert state.observation_tensor(seat) == vector.tolist()
        assert state.observation_string(seat).startswith("hand")
    observation = make_observation(game, pyspiel.IIGObservationType(perfect_recall=True))
    assert observation.string_from(state, 1) == state.information_state_string(1)
    hidden = pyspiel.IIGObservationType(private_info=pyspiel.PrivateInfoType.NONE, perfect_recall=False)
    with pytest.raises(ValueError, match="what one seat knows"):
        Phase10Game().make_py_observer(hidden)


def test_a_clone_does_not_change_with_its_original() -> None:
    state = load(QUICK).new_initial_state()
    rng = np.random.default_rng(1)
    for _ in range(30):
        actions, _ = zip(*successors(state), strict=True)
        state.apply_action(int(rng.choice(actions)))
    copied, text = state.clone(), str(state)
    play(state, rng)
    assert str(copied) == text
    assert isinstance(copied, Phase10State)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ruleset": "offical"}, "the nearest is 'official'"),
        ({"ruleset": "nowhere.toml"}, "expected a readable file with rules"),
        ({"players": 7}, "expected 2 to 6 players"),
        ({"episode": "round"}, "reward='equity'"),
    ],
)
def test_wrong_parameters_are_refused_with_one_sentence(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Phase10Game(parameters)


def test_an_action_that_the_rules_forbid_is_refused() -> None:
    state = load(QUICK).new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.chance_outcomes()[0][0])
    with pytest.raises(ValueError, match="may not"):
        state._apply_action(111)


@pytest.mark.slow
def test_counterfactual_regret_minimisation_finds_an_equilibrium_of_a_tiny_deck() -> None:
    game = load(TINY)
    uniform = policies.UniformRandomPolicy(game)
    start = exploitability.exploitability(game, uniform)
    assert start > 0.3
    solver = cfr.CFRPlusSolver(game)
    for _ in range(30):
        solver.evaluate_and_update_policy()
    average = solver.average_policy()
    assert exploitability.exploitability(game, average) < 0.01
    best = exploitability.nash_conv(game, average, return_only_nash_conv=False)
    values = expected_game_score.policy_value(game.new_initial_state(), [average, average])
    assert sum(values) == pytest.approx(0.0, abs=1e-9)
    assert all(gain >= -1e-9 for gain in best.player_improvements)
