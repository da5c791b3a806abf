"""The hand-written agents: what each does, in words, and its weakness; the rules are kernels (policies.py)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from phase10_agents.base import DecisionView
from phase10_agents.policies import POLICY_WEIGHTS, choose_rows, policy_number
from phase10_agents.scratch import new_scratch
from phase10_agents.uniform import uniform_choice
from phase10_agents.values import value_rows
from phase10_env.rules.kernel import announce, kernel
from phase10_env.rules.random import random_below, random_bits
from phase10_env.rules.table import NUM_ACTIONS

__all__ = ["Aware", "ExpectedTurns", "Greedy", "PolicyAgent"]


class PolicyAgent:
    """An agent that plays one of the compiled policies, named by its class."""

    name = ""
    value_meaning = "heuristic score, on a scale of its own"

    def __init__(self) -> None:
        announce("phase10_agents.policies")
        self.policy = policy_number(self.name)
        self.weights: npt.NDArray[np.void] = POLICY_WEIGHTS

    def act(self, view: DecisionView) -> npt.NDArray[np.integer]:
        """Return int64[n], a legal action for each row."""
        out = np.zeros(len(view), np.int64)
        choose_rows(
            view.information, view.ruleset.record, self.policy, view.random, self.weights, new_scratch(), out
        )
        return out

    def values(self, view: DecisionView) -> npt.NDArray[np.float64]:
        """Return float64[n, 165], what the rule thinks of each legal action (nan elsewhere), see values.py."""
        out = np.full((len(view), NUM_ACTIONS), np.nan)
        value_rows(
            view.information,
            view.ruleset.record,
            self.policy,
            view.random,
            self.weights,
            new_scratch(),
            view.legal_actions,
            view.legal_counts,
            out,
        )
        return out


@kernel
def _stray(legal, counts, streams, epsilon, out):  # type: ignore[no-untyped-def]
    """Replace each action by a uniformly random legal one with probability epsilon."""
    for row in range(len(out)):
        if random_below(streams[row], 1, 1 << 24) < epsilon * (1 << 24):
            out[row] = uniform_choice(legal[row], counts[row], random_bits(streams[row], 2))


class Greedy(PolicyAgent):
    """`greedy`: comes as near to its phase as it can, card by card.

    Takes the top discard if it is a Wild, brings the hand nearer to the phase or, once the phase is down, can be
    hit. Lays down at once, hits everything. A Skip goes at once to the nearest player. Discards the dearest
    card outside its target: the lay-down with the fewest cards missing and, among those, the most unseen cards
    that would help. A Wild only goes when nothing else may.

    Weakness: it looks at nobody else, so it feeds the next player; and it counts missing cards, not how long
    they take to come.

    Args:
        epsilon: chance of a uniformly random legal action instead, 0-1: a yardstick graded in strength.

    >>> from phase10_env import GameBatch
    >>> Greedy().act(GameBatch(num_games=3).view()).shape
    (3,)
    """

    name = "greedy"

    def __init__(self, epsilon: float = 0.0) -> None:
        super().__init__()
        self.epsilon = epsilon
        if epsilon:
            self.name = f"greedy:epsilon={epsilon:g}"

    def act(self, view: DecisionView) -> npt.NDArray[np.integer]:
        """Return int64[n], a legal action for each row."""
        out = super().act(view)
        if self.epsilon:
            _stray(view.legal_actions, view.legal_counts, view.random, self.epsilon, out)
        return out


class ExpectedTurns(PolicyAgent):
    """`expected-turns`: weighs all lay-downs within reach by the turns they still take (`phase10_env.hand_worth`).

    Takes the top discard if it raises the worth of the hand more than an unseen card would on average. Discards
    the card whose loss costs least, dearer cards first where that is equal. Lays down, hits and skips like
    `greedy`.

    Weakness: it looks at nobody else, so it feeds the next player; after the lay-down it only counts points.

    >>> from phase10_env import GameBatch
    >>> ExpectedTurns().act(GameBatch(num_games=3).view()).shape
    (3,)
    """

    name = "expected-turns"


class Aware(PolicyAgent):
    """`aware`: `expected-turns` with an eye on the others.

    Before a discard it reckons with the player who could take it: cards that fit the table once that player has
    laid down, numbers (set phases) and colours (colour phases) that player is known to hold, and cards of a
    number that player lately threw or left lying, which are safe. Before its own lay-down it keeps cards that fit
    the table for later; afterwards those one step from the end of a run. Points weigh more once somebody who has
    laid down holds three cards or fewer. A Skip goes to the laid-down player with the fewest cards, else to the
    one furthest on.

    Weakness: it judges each card alone and never looks ahead; it neither hides its own plans nor reckons with
    players beyond the next.

    >>> from phase10_env import GameBatch
    >>> Aware().act(GameBatch(num_games=3).view()).shape
    (3,)
    """

    name = "aware"
