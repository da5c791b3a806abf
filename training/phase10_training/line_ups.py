"""Line-ups: which agents sit where. Rotations of a deal, and the pairings of every tournament format.

A line-up is a tuple of agent indices, one a seat. A deal is played once from every rotation of its line-up,
always with the same cards, so what is left of the luck of the deal is shared by all.
"""

from collections.abc import Sequence
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from phase10_env.game_batch import game_seeds
from phase10_training.errors import UsageError

__all__ = ["LineUp", "deal_seeds", "field", "gauntlet", "rotations", "round_robin", "swiss_round"]

LineUp = tuple[int, ...]

ALL_PERMUTATIONS_UP_TO = 3
MOST_LINE_UPS = 5000


def rotations(line_up: Sequence[int]) -> list[LineUp]:
    """Return the seatings in which one deal is played, without repeats, in a fixed order.

    All permutations up to three players, cyclic rotations for more. Seatings that only exchange copies of one
    agent are the same game, so each is played once: a field of copies has one seating for each seat of the
    single agent.

    >>> rotations((0, 1))
    [(0, 1), (1, 0)]
    >>> rotations((0, 1, 1, 1))
    [(0, 1, 1, 1), (1, 1, 1, 0), (1, 1, 0, 1), (1, 0, 1, 1)]
    >>> len(rotations((0, 1, 2)))
    6
    """
    seats = tuple(line_up)
    if len(seats) <= ALL_PERMUTATIONS_UP_TO:
        return list(dict.fromkeys(permutations(seats)))
    return list(dict.fromkeys(seats[turn:] + seats[:turn] for turn in range(len(seats))))


def deal_seeds(seed: int, first: int, count: int) -> NDArray[np.uint64]:
    """Return the game seeds uint64[count] of the deals `first ... first + count - 1`.

    Every pairing of a tournament plays the same deals; deal k is the same cards whatever else is played.
    """
    return game_seeds(seed, first, count)


def round_robin(agents: int, players: int) -> list[LineUp]:
    """Return every set of `players` different agents.

    Raises:
        UsageError: fewer agents than seats, or more line-ups than can be played.

    >>> round_robin(3, 2)
    [(0, 1), (0, 2), (1, 2)]
    """
    if agents < players:
        raise UsageError(
            f"a round-robin of {players} players expects at least {players} agents, found {agents}; "
            "use format = 'field', in which an agent meets copies of another."
        )
    found = list(combinations(range(agents), players))
    _check_number(len(found))
    return found


def field(agents: int, players: int) -> list[LineUp]:
    """Return each agent once against a table full of copies of each other agent.

    For two players that is a round-robin.

    >>> field(2, 4)
    [(0, 1, 1, 1), (1, 0, 0, 0)]
    """
    if players == 2:
        return round_robin(agents, 2)
    found = [
        (one, *[other] * (players - 1)) for one in range(agents) for other in range(agents) if one != other
    ]
    _check_number(len(found))
    return found


def gauntlet(challengers: Sequence[int], pool: Sequence[int], players: int) -> list[LineUp]:
    """Return each challenger against a table full of copies of each agent of the pool.

    >>> gauntlet([0], [1, 2], 3)
    [(0, 1, 1), (0, 2, 2)]
    """
    found = [(one, *[other] * (players - 1)) for one in challengers for other in pool if one != other]
    _check_number(len(found))
    return found


def swiss_round(
    points: Sequence[float], met: NDArray[np.int64], byes: Sequence[int], players: int
) -> tuple[list[LineUp], list[int]]:
    """Return the tables of one round of a Swiss tournament, and the agents that sit out.

    Agents are ordered by points; those at the end who sat out least often sit out. Each table takes the best
    agent left and then, of the next in order, the ones it has met least often.

    Arguments:
        points: `[agents]` so far.
        met: `[agents, agents]` times two agents have met.
        byes: `[agents]` times an agent has sat out.
        players: seats a table.

    >>> swiss_round([2, 0, 1, 1], np.zeros((4, 4), np.int64), [0] * 4, 2)
    ([(0, 2), (3, 1)], [])
    """
    order = sorted(range(len(points)), key=lambda agent: (-points[agent], agent))
    spare = len(order) % players
    out = sorted(order, key=lambda agent: (byes[agent], -order.index(agent)))[:spare]
    waiting = [agent for agent in order if agent not in out]
    tables: list[LineUp] = []
    while waiting:
        table = [waiting.pop(0)]
        while len(table) < players:
            chosen = min(
                waiting, key=lambda agent: (sum(met[agent, other] for other in table), waiting.index(agent))
            )
            waiting.remove(chosen)
            table.append(chosen)
        tables.append(tuple(table))
    return tables, out


def _check_number(found: int) -> None:
    if found > MOST_LINE_UPS:
        raise UsageError(
            f"this tournament has {found} line-ups, expected at most {MOST_LINE_UPS}; "
            "use format = 'swiss' or fewer agents."
        )
    if not found:
        raise UsageError("expected at least two agents, found no line-up to play; name more agents.")
