"""The hand-written policies as numbers, so that one compiled loop can play any of them.

`policy_action` is the one place where a policy's number becomes a decision. Arrays: `games` GAME[B], `rules`
RULES[1], `policies` int64[6] by seat, `weights` WEIGHTS[policies], `scratch` SCRATCH[1].
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from phase10_agents.aware import aware_action
from phase10_agents.greedy import greedy_action
from phase10_agents.own_draws import prepare_draw
from phase10_agents.scratch import WEIGHTS
from phase10_agents.uniform import melder_choice, uniform_choice
from phase10_env.rules.kernel import kernel
from phase10_env.rules.legal import legal_actions
from phase10_env.rules.random import AGENT, random_bits, stream_key
from phase10_env.rules.state import RUNNING
from phase10_env.rules.step import apply, start_game

__all__ = [
    "POLICIES",
    "POLICY_WEIGHTS",
    "choose_rows",
    "play_decisions",
    "play_on",
    "play_out",
    "policy_action",
    "policy_number",
]

RANDOM, MELDER, GREEDY, EXPECTED_TURNS, AWARE = 0, 1, 2, 3, 4
POLICIES = ("random", "melder", "greedy", "expected-turns", "aware")
"""Names of the policies; the place is the number."""

_CARES: dict[str, dict[str, float]] = {
    "expected-turns": {"discount": 0.45, "reach": 1.25, "points": 0.0015, "late": 1.0, "near_end": 0.0},
    "aware": {
        "discount": 0.45,
        "reach": 1.25,
        "points": 0.0015,
        "late": 3.0,
        "feed": 0.7,
        "known_number": 0.6,
        "known_colour": 0.24,
        "spurned": 0.15,
        "keep_hit": 0.1,
        "near_end": 0.05,
    },
}


def _weights() -> npt.NDArray[np.void]:
    table = np.zeros(len(POLICIES), WEIGHTS)
    for name, cares in _CARES.items():
        for field, value in cares.items():
            table[field][POLICIES.index(name)] = value
    table.flags.writeable = False
    return table


POLICY_WEIGHTS = _weights()
"""WEIGHTS of each policy, read-only; zero where a policy has none."""


def policy_number(name: str) -> int:
    """Return the number of a policy by its name, or -1.

    >>> policy_number("greedy"), policy_number("champion")
    (2, -1)
    """
    return POLICIES.index(name) if name in POLICIES else -1


@kernel
def policy_action(game, rules, policy, stream, weights, scratch):  # type: ignore[no-untyped-def]
    """Return the action that a policy takes for the seat to act."""
    if policy == GREEDY:
        return greedy_action(game, rules)
    if policy >= EXPECTED_TURNS:
        return aware_action(game, rules, weights[policy], scratch)
    count = legal_actions(game, rules, scratch.legal)
    if policy == MELDER:
        return melder_choice(scratch.legal, count, stream)
    return uniform_choice(scratch.legal, count, stream)


@kernel
def choose_rows(games, rules, policy, streams, weights, scratch, out):  # type: ignore[no-untyped-def]
    """Write a policy's action for every row into out int64[n]."""
    for row in range(len(out)):
        out[row] = policy_action(games[row], rules[0], policy, streams[row], weights, scratch[0])


@kernel
def play_out(game, rules, policies, weights, scratch):  # type: ignore[no-untyped-def]
    """Play a game on to the end of its round, each seat by its policy; return the decisions taken."""
    decisions = 0
    while True:
        key = stream_key(game.seed, game.episode, game.round, AGENT)
        action = policy_action(
            game, rules, policies[game.to_act], random_bits(key, game.decisions), weights, scratch
        )
        apply(game, rules, action, scratch.legal)
        decisions += 1
        if game.round_over or game.status != RUNNING:
            return decisions


@kernel
def play_on(game, rules, action, policies, weights, scratch):  # type: ignore[no-untyped-def]
    """Take an action and play on to the end of the round, each seat by its policy and with draws of its own.

    See own_draws.py: this is for comparing actions, on copies of a game whose stock has been shuffled.
    """
    left = np.int64(-1)
    while True:
        left = prepare_draw(game, action, left, scratch.ends)
        apply(game, rules, action, scratch.legal)
        if game.round_over or game.status != RUNNING:
            return
        key = stream_key(game.seed, game.episode, game.round, AGENT)
        action = policy_action(
            game, rules, policies[game.to_act], random_bits(key, game.decisions), weights, scratch
        )


@kernel
def play_decisions(games, rules, policies, decisions, weights, scratch):  # type: ignore[no-untyped-def]
    """Play `decisions` decisions on every row, without observations; finished games start anew.

    Returns:
        The games finished.
    """
    finished = 0
    for row in range(len(games)):
        game = games[row]
        for _ in range(decisions):
            key = stream_key(game.seed, game.episode, game.round, AGENT)
            action = policy_action(
                game,
                rules[0],
                policies[game.to_act],
                random_bits(key, game.decisions),
                weights,
                scratch[0],
            )
            apply(game, rules[0], action, scratch[0].legal)
            if game.status != RUNNING:
                finished += 1
                game.episode += 1
                start_game(game, rules[0])
    return finished
