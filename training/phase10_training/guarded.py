"""Asks an agent for its actions and finds the very decisions in which it crashes, stalls or breaks the rules.

The rule: whoever plays an illegal action, raises an exception, returns no list of actions, or takes longer
than the time limit for a single decision loses that game there and then. The others at the table tie.
"""

import signal
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phase10_agents.base import AgentError
from phase10_env.decision import Agent, DecisionView

__all__ = ["FORFEIT_RULE", "Fault", "GuardedAgent", "Problem", "nothing_measured"]

FORFEIT_RULE = (
    "An agent that plays an illegal action, crashes, or exceeds the time limit of a decision loses that game "
    "at once: its seat comes last, all other seats share the first place. After three stalls in one block of "
    "games its other games of the block are lost without asking it."
)

STALLS_ALLOWED = 3
WARM_UP_FACTOR = 20.0
"""The first call may compile or load something: it gets this many times the limit and is repeated."""


@dataclass(frozen=True)
class Problem:
    """Say what went wrong at one decision: `kind` is "illegal", "crash" or "stall"."""

    kind: str
    detail: str


@dataclass(frozen=True)
class Fault:
    """Say who lost a game by a fault, and show the position: play it again with `phase10 legal`."""

    game: int
    agent: int
    seat: int
    kind: str
    detail: str
    position: dict[str, Any]


MOST_GAMES = 0.9
"""Share of games lost by crashes and stalls from which results say nothing about how an agent plays."""


def nothing_measured(names: Sequence[str], faults: Iterable[Fault], games: int) -> str | None:
    """Return a sentence if an agent gave no answer in (nearly) all games, so that nothing was measured, else None.

    Illegal actions are answers: they are counted as results.

    Args:
        names: of the agents, by index.
        faults: of the games.
        games: how many were played.

    >>> fault = Fault(0, 1, 0, "crash", "KeyError: 'x'", {})
    >>> nothing_measured(["greedy", "mine"], [fault], 1)[:50]
    "'mine' gave no action in 1 of 1 games and lost the"
    >>> nothing_measured(["greedy", "mine"], [fault], 2) is None
    True
    """
    silent = [fault for fault in faults if fault.kind != "illegal"]
    for agent, name in enumerate(names):
        mine = [fault for fault in silent if fault.agent == agent]
        if mine and len(mine) >= MOST_GAMES * games:
            return (
                f"{name!r} gave no action in {len(mine)} of {games} games and lost them (the first: "
                f"{mine[0].kind}, {mine[0].detail}), so nothing was measured; mend the agent, "
                "phase10_env.testing.check_agent shows its faults."
            )
    return None


class _TimeIsUp(BaseException):
    """Not an Exception, so that an agent that catches those cannot hold it up."""


@contextmanager
def _time_limit(seconds: float | None) -> Iterator[None]:
    """Raise _TimeIsUp after some seconds, where the system can (POSIX, main thread)."""
    able = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if seconds is None or not able:
        yield
        return

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise _TimeIsUp

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


class GuardedAgent:
    """Ask an agent for many actions at once, and charge it for each decision at which it fails.

    A call that fails is repeated in halves until the single decisions at fault are found, so one bad position
    costs one game. The limit holds for single decisions: a call for many that takes longer is repeated in
    halves too, and later calls keep to the size that was quick enough.

    Args:
        agent: the agent.
        time_limit: seconds for one decision, or None. It interrupts Python code, not a compiled loop.

    Attributes:
        seconds: time spent in the agent so far; `decisions` it has taken.
    """

    def __init__(self, agent: Agent, time_limit: float | None = None) -> None:
        self.agent = agent
        self.time_limit = time_limit
        self.seconds = 0.0
        self.decisions = 0
        self._largest = 1 << 30
        self._warm = time_limit is None
        self._stalls = 0

    def new_block(self) -> None:
        """Forget the stalls of the games before."""
        self._stalls = 0

    def act(self, view: DecisionView) -> tuple[NDArray[np.int64], dict[int, Problem]]:
        """Return actions int64[n], legal where there is no problem, and the problems by row.

        Raises:
            AgentError: the agent cannot play at this table at all.
        """
        if not self._warm:
            self._warm_up(view)
        out = np.zeros(len(view), np.int64)
        problems: dict[int, Problem] = {}
        largest, stalls = self._largest, self._stalls
        for first in range(0, len(view), largest):
            self._ask(view, first, min(first + largest, len(view)), out, problems)
        if self._stalls > stalls:
            self._largest = largest  # it was one decision, not the number of them
        self._check_legal(view, out, problems)
        return out, problems

    def _warm_up(self, view: DecisionView) -> None:
        self._warm = True
        assert self.time_limit is not None
        try:
            with _time_limit(WARM_UP_FACTOR * self.time_limit):
                self.agent.act(view.rows(slice(0, 1)))
        except (Exception, _TimeIsUp):
            pass  # the same decision is asked again, and charged if it fails again

    def _ask(
        self, view: DecisionView, first: int, last: int, out: NDArray[np.int64], problems: dict[int, Problem]
    ) -> None:
        if self._stalls >= STALLS_ALLOWED:
            told = f"not asked again after {STALLS_ALLOWED} stalls"
            problems.update((row, Problem("stall", told)) for row in range(first, last))
            return
        count = last - first
        begin = time.perf_counter()
        try:
            with _time_limit(self.time_limit):
                answer = self.agent.act(view if count == len(view) else view.rows(slice(first, last)))
            actions = np.asarray(answer)
            if actions.shape != (count,) or not np.issubdtype(actions.dtype, np.integer):
                raise TypeError(
                    f"act returned {actions.dtype}{list(actions.shape)}, expected whole numbers [{count}]"
                )
        except _TimeIsUp:
            problem = Problem("stall", f"no action within {self.time_limit:g} s")
            self._largest = min(self._largest, max(1, count // 2))
        except AgentError:
            raise  # the agent says that it is used wrongly, at another table than it was made for
        except Exception as error:
            problem = Problem("crash", f"{type(error).__name__}: {error}"[:500])
        else:
            out[first:last] = actions
            self.seconds += time.perf_counter() - begin
            self.decisions += count
            return
        if count > 1:
            middle = first + count // 2
            self._ask(view, first, middle, out, problems)
            self._ask(view, middle, last, out, problems)
            return
        self.seconds += time.perf_counter() - begin
        self.decisions += 1
        self._stalls += problem.kind == "stall"
        problems[first] = problem

    @staticmethod
    def _check_legal(view: DecisionView, out: NDArray[np.int64], problems: dict[int, Problem]) -> None:
        known = (out >= 0) & (out < view.action_masks.shape[1])
        legal = view.action_masks[np.arange(len(out)), np.where(known, out, 0)] & known
        for row in np.flatnonzero(~legal).tolist():
            problems.setdefault(row, Problem("illegal", str(int(out[row]))))
