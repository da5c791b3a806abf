"""The hand-written agents: what each does, in words, and its weakness; the rules are kernels (policies.py)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from phase10_agents.base import DecisionView
from phase10_agents.policies import choose_rows, policy_number, scratch_arrays
from phase10_agents.uniform import uniform_choice
from phase10_env.rules.kernel import announce, kernel
from phase10_env.rules.random import random_below, random_bits

__all__ = ["Greedy", "PolicyAgent"]


class PolicyAgent:
    """An agent that plays one of the compiled policies."""

    name = ""

    def __init__(self) -> None:
        announce(__name__)
        self.policy = policy_number(self.name)

    def act(self, view: DecisionView) -> npt.NDArray[np.integer]:
        """Return int64[n], a legal action for each row."""
        out = np.zeros(len(view), np.int64)
        choose_rows(view.information, view.ruleset.record, self.policy, view.random, *scratch_arrays(), out)
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
