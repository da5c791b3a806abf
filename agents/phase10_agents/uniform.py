"""Agents that choose at random: `random` and `melder`. One random stream a row, from the view."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from phase10_agents.base import DecisionView
from phase10_env.rules import table
from phase10_env.rules.kernel import kernel
from phase10_env.rules.random import random_below

__all__ = ["Melder", "UniformRandom", "melder_choice", "uniform_choice"]


@kernel
def uniform_choice(legal, count, stream):  # type: ignore[no-untyped-def]
    """Return one of the first `count` legal actions, each as likely."""
    return np.int64(legal[random_below(stream, 0, count)])


@kernel
def melder_choice(legal, count, stream):  # type: ignore[no-untyped-def]
    """Return a whole lay-down if one is legal, else a hit if one is, else any legal action but `build`."""
    lays = 0
    hits = 0
    builds = 0
    ends = 0
    for place in range(count):
        action = legal[place]
        lays += table.LAY <= action < table.BUILD
        builds += table.BUILD <= action < table.NUMBER
        hits += table.PLAY <= action < table.ONTO
        ends += action >= table.DISCARD
    if lays > 0:
        return np.int64(legal[random_below(stream, 0, lays)])
    if hits > 0 and ends > 0:  # in the play stage hits come before whatever ends the turn
        return np.int64(legal[random_below(stream, 0, hits)])
    return np.int64(legal[builds + random_below(stream, 0, count - builds)])


@kernel
def _choose_uniform(legal, counts, streams, out):  # type: ignore[no-untyped-def]
    for row in range(len(out)):
        out[row] = uniform_choice(legal[row], counts[row], streams[row])


@kernel
def _choose_melder(legal, counts, streams, out):  # type: ignore[no-untyped-def]
    for row in range(len(out)):
        out[row] = melder_choice(legal[row], counts[row], streams[row])


class UniformRandom:
    """`random`: any legal action, each as likely.

    Weakness: everything; it lays down by accident and runs into the turn cap. Good for testing that an
    environment survives whatever is legal, of no use as a yardstick of strength.

    >>> from phase10_env import GameBatch
    >>> UniformRandom().act(GameBatch(num_games=3).view()).shape
    (3,)
    """

    name = "random"

    def act(self, view: DecisionView) -> npt.NDArray[np.integer]:
        """Return int64[n], a legal action for each row."""
        out = np.zeros(len(view), np.int64)
        _choose_uniform(view.legal_actions, view.legal_counts, view.random, out)
        return out


class Melder:
    """`melder`: draws and discards at random, but lays down and hits whenever it may.

    Weakness: it collects nothing, so it completes a phase only when the deal helps; any player with a plan beats
    it nearly always.

    >>> from phase10_env import GameBatch
    >>> Melder().act(GameBatch(num_games=3).view()).shape
    (3,)
    """

    name = "melder"

    def act(self, view: DecisionView) -> npt.NDArray[np.integer]:
        """Return int64[n], a legal action for each row."""
        out = np.zeros(len(view), np.int64)
        _choose_melder(view.legal_actions, view.legal_counts, view.random, out)
        return out
