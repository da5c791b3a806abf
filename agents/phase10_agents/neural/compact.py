"""Lets a policy that was trained on compact actions play games in full mode, move for move the same.

In compact mode kinds that differ only in colour share one action, and a lay-down being built asks declarations
only. A full-mode decision is first read as the compact one; a compact choice that full mode does not offer (the
second declaration, while full mode asks for a card) is turned into the card the compact rule would spell next.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from phase10_env.decision import DecisionView
from phase10_env.observation import encode, observation_layout
from phase10_env.rules import table
from phase10_env.rules.kernel import kernel
from phase10_env.rules.lay_downs import finish_canonically, group_in_hand, take_back_card
from phase10_env.rules.legal import legal_actions
from phase10_env.rules.state import BUILD

__all__ = ["compact_choices", "full_actions"]


@kernel
def _list_compact(games, rules, legal, counts, observations, full):  # type: ignore[no-untyped-def]
    for row in range(len(games)):
        game = games[row]
        game.compact = 1
        if game.stage == BUILD and game.declared[1] == 0 and game.placed_sizes[0] > 0:
            # Compact mode asks for both declarations before any card: the policy sees the moment before them.
            while game.placed_sizes[0] > 0:
                take_back_card(game, 0)
            # (no candidate features: nothing is drawn or discarded now)
            encode(game, rules[0], game.to_act, observations, row, game.num_players, full)
        counts[row] = legal_actions(game, rules[0], legal[row])
        if counts[row] == 0:  # everything is declared: the card is settled by rule
            legal[row, 0] = 0
            counts[row] = 1


@kernel
def _to_full(games, rules, actions):  # type: ignore[no-untyped-def]
    for row in range(len(games)):
        game = games[row]
        if game.stage != BUILD:
            continue
        group = group_in_hand(game, rules[0])
        if game.declared[group] == 0:
            continue
        if game.declared[1] == 0 and table.NUMBER <= actions[row] < table.PLAY:
            if actions[row] >= table.COLOUR:
                game.declared[1] = actions[row] - table.COLOUR + 1
            else:
                game.declared[1] = actions[row] - table.NUMBER + 1
        place = game.placed_sizes[group]
        finish_canonically(game, rules[0])
        actions[row] = table.PLAY + game.placed[group, place]


def compact_choices(view: DecisionView) -> DecisionView:
    """Return a view of full-mode decisions as compact mode has them: legal actions, and what the policy reads."""
    legal = np.zeros_like(view.legal_actions)
    counts = np.zeros_like(view.legal_counts)
    observations = view.observations.copy()
    full = view.layout.begins_with(observation_layout(view.num_players))
    _list_compact(view.information.copy(), view.ruleset.record, legal, counts, observations, full)
    return dataclasses.replace(view, observations=observations, legal_actions=legal, legal_counts=counts)


def full_actions(view: DecisionView, actions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return compact choices int64[n] as actions that full mode offers."""
    found = actions.copy()
    _to_full(view.information.copy(), view.ruleset.record, found)
    return found
