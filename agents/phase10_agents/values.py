"""What greedy, expected-turns and aware think of every legal action, on a scale of their own.

Lay-downs stand above hits, hits above Skips, Skips above discards; within a kind the number is the rule's own
score. The best value belongs to the action that the policy takes. Random policies give every action 0.
"""

from __future__ import annotations

from phase10_agents.aware import discard_score, draw_worths, prepare_discards
from phase10_agents.greedy import greedy_worth
from phase10_agents.policies import EXPECTED_TURNS, GREEDY, policy_action
from phase10_agents.targets import greedy_target, outside_target
from phase10_env.rules import table
from phase10_env.rules.cards import NATURALS, WILD
from phase10_env.rules.kernel import kernel
from phase10_env.rules.state import DRAW, PLAY

__all__ = ["policy_values", "value_rows"]

_LAY, _HIT, _SKIP = 400.0, 300.0, 200.0
_WILD_LAST = -1000.0


@kernel
def _standing(action):  # type: ignore[no-untyped-def]
    """Return the value of an action by its kind alone."""
    if table.LAY <= action < table.NUMBER:
        return _LAY
    if table.PLAY <= action < table.ONTO:
        return _HIT
    if action >= table.SKIP:
        return _SKIP
    return 0.0


@kernel
def _discard_values(game, rules, policy, weights, scratch, legal, count, out):  # type: ignore[no-untyped-def]
    fits = near = outside = 0
    receiver = -1
    urgency = 0.0
    if policy >= EXPECTED_TURNS:
        fits, near, receiver, urgency = prepare_discards(game, rules, weights, scratch)
    else:
        outside = NATURALS
        if not game.laid[game.to_act]:
            phase, demand = greedy_target(game, rules)
            outside = outside_target(game, rules, phase, demand, NATURALS)
    for place in range(count):
        action = legal[place]
        kind = action - table.DISCARD
        if not table.DISCARD <= action < table.SKIP:
            continue
        if kind == WILD:
            out[action] = _WILD_LAST
        elif policy >= EXPECTED_TURNS:
            out[action] = discard_score(game, rules, kind, fits, near, receiver, urgency, weights, scratch)
        else:
            out[action] = greedy_worth(kind, outside)


@kernel
def policy_values(game, rules, policy, stream, weights, scratch, legal, count, out):  # type: ignore[no-untyped-def]
    """Write the value of each legal action into out float64[165]; other places stay as they are."""
    for place in range(count):
        out[legal[place]] = _standing(legal[place]) if policy >= GREEDY else 0.0
    if policy < GREEDY:
        return
    if game.stage == DRAW and policy >= EXPECTED_TURNS and count == 2:
        out[table.DRAW], out[table.TAKE] = draw_worths(game, rules, weights[policy], scratch)
    elif game.stage == PLAY:
        _discard_values(game, rules, policy, weights[policy], scratch, legal, count, out)
    chosen = policy_action(game, rules, policy, stream, weights, scratch)
    best = out[chosen]
    for place in range(count):
        best = max(best, out[legal[place]])
    if out[chosen] < best or count < 3 or table.PLAY <= chosen < table.DISCARD:
        out[chosen] = best + 0.001


@kernel
def value_rows(games, rules, policy, streams, weights, scratch, legal, counts, out):  # type: ignore[no-untyped-def]
    """Write `policy_values` of every row into out float64[n, 165]."""
    for row in range(len(games)):
        policy_values(
            games[row],
            rules[0],
            policy,
            streams[row],
            weights,
            scratch[0],
            legal[row],
            counts[row],
            out[row],
        )
