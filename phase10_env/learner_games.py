"""LearnerGames: many games in which one seat is the learner's and the others are played by agents inside.

Shapes: B games, P players, D observation entries. Between calls every running game waits for its learner, so
that the buffers of the batch show the learners' decisions. A game that is over stays so until dealt anew.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from functools import partial
from importlib.metadata import entry_points
from typing import Any, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from phase10_env.decision import Agent
from phase10_env.errors import IllegalActionError
from phase10_env.game_batch import GameBatch
from phase10_env.observation import encode_row
from phase10_env.row_steps import CUT, ENDED, ILLEGAL, REWARDED, step_rows
from phase10_env.rules.batch import explain_row
from phase10_env.rules.legal import REASONS
from phase10_env.rules.phases import ADVANCE_PICK, OPTION_VALUES
from phase10_env.rules.ruleset import RuleSet
from phase10_env.single import step_arguments

__all__ = ["ILLEGAL_REWARD", "LearnerGames", "LearnerOptions", "Opponents", "load_opponent"]

ILLEGAL_REWARD = -1.0
"""What a learner is paid for an illegal action, which also ends its episode."""

AGENT_GROUP = "phase10_env.agents"
"""Entry point group under which packages offer a function from specification to agent."""

Opponents = str | Agent | Sequence[str | Agent]
"""Who sits at the other seats: one agent or spec for all, or one for each place to the left."""


class LearnerOptions(TypedDict, total=False):
    """The arguments of every environment with one learner; `LearnerGames` says what they mean."""

    opponents: Opponents
    learner_seat: int | str
    on_illegal: str
    num_players: int
    ruleset: str | RuleSet | dict[str, Any]
    actions: str
    observation: str
    pad_seats: bool
    episode: str
    reward: str | None
    start: str | dict[str, npt.ArrayLike]


def load_opponent(spec: str | Agent) -> Agent:
    """Return an agent, looking a specification such as 'greedy' up among the installed packages.

    Raises:
        ValueError: no package offers agents, or the specification names none.
    """
    if not isinstance(spec, str):
        if not callable(getattr(spec, "act", None)):
            raise ValueError(f"expected an agent with a method act(view) or its name, found {spec!r}")
        return spec
    problem: ValueError | None = None
    for entry in entry_points(group=AGENT_GROUP):
        try:
            return entry.load()(spec)  # type: ignore[no-any-return]
        except ValueError as error:
            problem = problem or error
    raise problem or ValueError(
        f"no installed package offers agents, so that {spec!r} cannot be found; install phase10_agents or "
        "pass an agent object"
    )


class LearnerGames:
    """B games, each with a learner at one seat and agents at the others.

    Args:
        num_games: B.
        opponents: an agent or its name, for all other seats; or a list of P - 1, from the learner's left.
        learner_seat: a fixed seat, or "rotate": (seed of the game + episode) mod P.
        on_illegal: "lose": an illegal action of the learner ends its episode with -1; "raise": an error.
        num_players, ruleset, actions, observation, pad_seats, episode, reward: as in GameBatch.
        start: as in GameBatch, for all games alike.

    Attributes:
        batch: the games; `observations`, `action_masks` and `seats` show the learners' decisions.
        learner_seats: int64[B].
        rewards: float64[B], of each learner, over the last call of `step`.
        terminated, truncated: bool[B], the episode is over, and how.
        illegal: bool[B], it ended by an illegal action of the learner.

    >>> class First:
    ...     name = "first"
    ...
    ...     def act(self, view):
    ...         return view.legal_actions[:, 0]
    >>> games = LearnerGames(4, opponents=First(), num_players=3)
    >>> games.deal(seeds=[1, 2, 3, 4])
    >>> games.step(games.batch.legal_actions[:, 0])
    >>> bool((games.batch.seats == games.learner_seats).all())
    True
    """

    def __init__(self, num_games: int = 1, **options: Unpack[LearnerOptions]) -> None:
        given: dict[str, Any] = dict(options)
        opponents = given.pop("opponents", "greedy")
        learner_seat = given.pop("learner_seat", "rotate")
        self.on_illegal: str = given.pop("on_illegal", "lose")
        if self.on_illegal not in ("lose", "raise"):
            raise ValueError(f"on_illegal must be 'lose' or 'raise', found {self.on_illegal!r}")
        if given.get("observation", "full") is None:
            raise ValueError("observation must be one of basic, full, candidates, found None")
        seeds = np.random.SeedSequence(secrets.randbits(128)).generate_state(num_games, np.uint64)
        self.batch = GameBatch(num_games, seeds=seeds, auto_reset=False, **given)
        self._dealing = GameBatch(1, seeds=[0], auto_reset=False, **given)
        self.num_players = self.batch.num_players
        self._fixed_seat = _checked_seat(learner_seat, self.num_players)
        self._seat_opponents(opponents)
        self._bind()
        self.learner_seats = np.zeros(num_games, np.int64)
        self.rewards = np.zeros(num_games, np.float64)
        self._carried = np.zeros(num_games, np.float64)  # paid before the learner's first decision
        self.terminated = np.zeros(num_games, np.bool_)
        self.truncated = np.zeros(num_games, np.bool_)
        self.illegal = np.zeros(num_games, np.bool_)

    def _bind(self) -> None:
        arguments = step_arguments(self.batch)
        self._blocks = (arguments[-2], bool(arguments[-1]))
        compiled: Any = step_rows
        self._step_rows = partial(compiled, *arguments, self.batch.seats)

    def __getstate__(self) -> dict[str, Any]:
        """Leave what is bound to this batch's memory out of copies and pickles."""
        return {key: value for key, value in self.__dict__.items() if key != "_step_rows"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Bind the copy to its own batch."""
        self.__dict__.update(state)
        self._bind()

    def _seat_opponents(self, opponents: Opponents) -> None:
        """Load the agents, each name once, and note who sits at which place to the learner's left."""
        others = self.num_players - 1
        listed: Sequence[str | Agent]
        if isinstance(opponents, str) or not isinstance(opponents, Sequence):
            listed = [opponents] * others
        else:
            listed = opponents
        if len(listed) != others:
            raise ValueError(
                f"expected one opponent for all, or a list of {others} for {self.num_players} players, found "
                f"{len(listed)}"
            )
        self.opponents: list[Agent] = []
        self._agent_at = np.zeros(self.num_players, np.int64)
        seen: dict[Any, int] = {}
        for place, spec in enumerate(listed, 1):
            key = spec if isinstance(spec, str) else id(spec)
            if key not in seen:
                seen[key] = len(self.opponents)
                self.opponents.append(load_opponent(spec))
            self._agent_at[place] = seen[key]

    @property
    def ended(self) -> npt.NDArray[np.bool_]:
        """Return bool[B]: the episode is over."""
        return self.terminated | self.truncated

    def deal(self, rows: npt.ArrayLike | None = None, seeds: Sequence[int] | None = None) -> None:
        """Deal the next episode of some rows and play on to the learners' first decisions.

        Args:
            rows: int[n] (default: all).
            seeds: int[n]; these games start the first episode of a seed of their own.
        """
        games = self.batch.games
        chosen = np.arange(len(games)) if rows is None else np.asarray(rows, np.int64)
        if seeds is not None:
            games["seed"][chosen] = np.array([int(seed) % (1 << 64) for seed in seeds], np.uint64)
            games["episode"][chosen] = -1
        self.illegal[chosen] = False
        dealt = chosen
        while len(chosen):
            for row in chosen.tolist():
                self._dealing.games[0] = games[row]
                self._dealing.reset()
                games[row] = self._dealing.games[0]
                self.batch.equities[row] = self._dealing.equities[0]
            self.batch.refresh(chosen)
            self.terminated[chosen] = False
            self.truncated[chosen] = False
            self.rewards[chosen] = 0.0
            if self._fixed_seat is None:
                numbers = games["seed"][chosen] + games["episode"][chosen].astype(np.uint64)
                self.learner_seats[chosen] = (numbers % np.uint64(self.num_players)).astype(np.int64)
            else:
                self.learner_seats[chosen] = self._fixed_seat
            self._play_on(chosen)
            chosen = chosen[self.ended[chosen]]  # over before the learner's first turn: nothing to learn from
        self._carried[dealt] = self.rewards[dealt]
        self.rewards[:] = 0.0

    def step(self, actions: npt.ArrayLike, rows: npt.ArrayLike | None = None) -> None:
        """Take the learners' actions and play on to their next decisions.

        Args:
            actions: int[n].
            rows: int[n], running games (default: all).

        Raises:
            IllegalActionError: of a learner under on_illegal="raise" (nothing has changed) or an opponent.
        """
        chosen = np.arange(len(self.batch.games)) if rows is None else np.asarray(rows, np.int64)
        taken = np.asarray(actions).astype(np.int64).reshape(-1)
        if taken.shape != chosen.shape:
            raise ValueError(f"expected {len(chosen)} actions, found {len(taken)}")
        legal = self._are_legal(chosen, taken)
        if not legal.all() and self.on_illegal == "raise":
            place = int(np.flatnonzero(~legal)[0])
            raise self._refusal(int(chosen[place]), int(taken[place]))
        self.rewards[:] = 0.0
        self.rewards[chosen] = self._carried[chosen]
        self._carried[chosen] = 0.0
        if not legal.all():
            offenders = chosen[~legal]
            self.rewards[offenders] = ILLEGAL_REWARD
            self.illegal[offenders] = True
            self._end(offenders, self.terminated)
            chosen, taken = chosen[legal], taken[legal]
        self._take(chosen, taken)
        self._play_on(chosen)

    def _are_legal(
        self, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.bool_]:
        inside = (actions >= 0) & (actions < self.batch.action_masks.shape[1])
        legal: npt.NDArray[np.bool_] = inside & self.batch.action_masks[rows, np.where(inside, actions, 0)]
        return legal

    def _refusal(self, row: int, action: int, name: str = "") -> IllegalActionError:
        reason = REASONS[explain_row(self.batch.games, self.batch.ruleset.record, row, action)][1]
        by = f"; it was chosen by the opponent {name!r}" if name else ""
        return IllegalActionError(int(self.batch.seats[row]), action, reason + by, row=row)

    def _take(self, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]) -> None:
        """Take legal actions and note rewards and ends."""
        results = np.empty(len(rows), np.int64)
        self._step_rows(rows, actions, results)
        self.batch.write_candidates(rows)
        assert not (results == ILLEGAL).any()
        paid = rows[results & REWARDED != 0]
        if len(paid):
            self.rewards[paid] += self.batch.rewards[paid, self.learner_seats[paid]]
            cut = results & CUT != 0
            self._end(rows[(results & ENDED != 0) & ~cut], self.terminated)
            self._end(rows[cut], self.truncated)

    def _end(self, rows: npt.NDArray[np.int64], how: npt.NDArray[np.bool_]) -> None:
        """Mark games as over; no action is legal there, and the observation is the learner's."""
        how[rows] = True
        batch = self.batch
        batch.action_masks[rows] = False
        batch.legal_counts[rows] = 0
        for row in rows.tolist():
            seat = int(self.learner_seats[row])
            encode_row(batch.games, batch.ruleset.record, row, seat, batch.observations, row, *self._blocks)

    def _play_on(self, rows: npt.NDArray[np.int64]) -> None:
        """Let the opponents play until every row waits for its learner or is over, each asked in batches."""
        batch = self.batch
        while True:
            seats = batch.seats[rows]
            rows = rows[(seats != self.learner_seats[rows]) & ~self.ended[rows]]
            if not len(rows):
                return
            places = (batch.seats[rows] - self.learner_seats[rows]) % self.num_players
            actor = self._agent_at[places]
            actions = np.empty(len(rows), np.int64)
            for number, agent in enumerate(self.opponents):
                mine = np.flatnonzero(actor == number)
                if len(mine):
                    actions[mine] = self._ask(agent, rows[mine])
            self._take(rows, actions)

    def _ask(self, agent: Agent, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        actions = np.asarray(agent.act(self.batch.view(rows))).astype(np.int64)
        if actions.shape != rows.shape:
            raise ValueError(
                f"opponent {agent.name!r} must return {len(rows)} actions, found {actions.shape}"
            )
        legal = self._are_legal(rows, actions)
        if not legal.all():
            place = int(np.flatnonzero(~legal)[0])
            raise self._refusal(int(rows[place]), int(actions[place]), agent.name)
        return actions

    def standings(self, rows: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[np.int64]]:
        """Return how learners came off: rank (0: none), score and phases completed, int64[n] each."""
        games, seats = self.batch.games, self.learner_seats[rows]
        phases = games["phase"][rows, seats].astype(np.int64)
        if self.batch.ruleset.advance == OPTION_VALUES["advance"][ADVANCE_PICK]:
            phases = np.bitwise_count(games["done"][rows, seats]).astype(np.int64)
        return {
            "rank": games["rank"][rows, seats].astype(np.int64),
            "score": games["score"][rows, seats].astype(np.int64),
            "phases": phases,
        }


def _checked_seat(learner_seat: int | str, num_players: int) -> int | None:
    """Return the fixed seat of the learner, or None where it rotates."""
    if learner_seat == "rotate":
        return None
    if not isinstance(learner_seat, int) or not 0 <= learner_seat < num_players:
        raise ValueError(f"learner_seat must be 'rotate' or 0-{num_players - 1}, found {learner_seat!r}")
    return learner_seat
