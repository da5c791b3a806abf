"""The hand-written policies as numbers, so that one compiled loop can play any of them.

`policy_action` is the one place where a policy's number becomes a decision. Arrays: `games` GAME[B], `rules`
RULES[1], `policies` int64[6] by seat, `scratch` uint8[165] for legal actions, `worth` float64[64] for hand values.
"""

from __future__ import annotations

import numpy as np

from phase10_agents.greedy import greedy_action
from phase10_agents.uniform import melder_choice, uniform_choice
from phase10_env.rules.kernel import kernel
from phase10_env.rules.legal import legal_actions
from phase10_env.rules.random import AGENT, random_bits, stream_key
from phase10_env.rules.state import RUNNING
from phase10_env.rules.step import apply, start_game

__all__ = ["POLICIES", "choose_rows", "play_decisions", "play_out", "policy_action", "policy_number"]

RANDOM, MELDER, GREEDY = 0, 1, 2
POLICIES = ("random", "melder", "greedy")
"""Names of the policies; the place is the number."""


def policy_number(name: str) -> int:
    """Return the number of a policy by its name, or -1.

    >>> policy_number("greedy"), policy_number("champion")
    (2, -1)
    """
    return POLICIES.index(name) if name in POLICIES else -1


@kernel
def policy_action(game, rules, policy, stream, scratch, worth):  # type: ignore[no-untyped-def]
    """Return the action that a policy takes for the seat to act."""
    if policy == GREEDY:
        return greedy_action(game, rules)
    count = legal_actions(game, rules, scratch)
    if policy == MELDER:
        return melder_choice(scratch, count, stream)
    return uniform_choice(scratch, count, stream)


@kernel
def choose_rows(games, rules, policy, streams, scratch, worth, out):  # type: ignore[no-untyped-def]
    """Write a policy's action for every row into out int64[n]."""
    for row in range(len(out)):
        out[row] = policy_action(games[row], rules[0], policy, streams[row], scratch, worth)


@kernel
def play_out(game, rules, policies, scratch, worth):  # type: ignore[no-untyped-def]
    """Play a game on to the end of its round, each seat by its policy; return the decisions taken."""
    decisions = 0
    while True:
        key = stream_key(game.seed, game.episode, game.round, AGENT)
        action = policy_action(
            game, rules, policies[game.to_act], random_bits(key, game.decisions), scratch, worth
        )
        apply(game, rules, action, scratch)
        decisions += 1
        if game.round_over or game.status != RUNNING:
            return decisions


@kernel
def play_decisions(games, rules, policies, decisions, scratch, worth):  # type: ignore[no-untyped-def]
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
                game, rules[0], policies[game.to_act], random_bits(key, game.decisions), scratch, worth
            )
            apply(game, rules[0], action, scratch)
            if game.status != RUNNING:
                finished += 1
                game.episode += 1
                start_game(game, rules[0])
    return finished


def scratch_arrays() -> tuple[np.ndarray, np.ndarray]:
    """Return the arrays that kernels of this module write on: uint8[165] and float64[64]."""
    return np.zeros(165, np.uint8), np.zeros(64, np.float64)
