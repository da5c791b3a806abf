"""Writes games of a tournament as records (`.p10`) that can be replayed and verified."""

import re
from pathlib import Path

import numpy as np

from phase10_env.records import record_from_actions
from phase10_training.files import write_text
from phase10_training.rules_option import load_rules
from phase10_training.store import ResultStore, StoredGames
from phase10_training.tournament import agent_names

__all__ = ["game_record", "write_records"]


def game_record(store: ResultStore, games: StoredGames, row: int) -> str:
    """Return one game of a store as the text of a record.

    Arguments:
        store: where its actions are.
        games: all games of the store.
        row: the game's place in `games`.
    """
    settings = store.settings
    names = [re.sub(r"[\s\]]", "_", name) for name in agent_names(settings["agents"])]
    return record_from_actions(
        int(games.seeds[row]),
        games.seats.shape[1],
        load_rules(settings["ruleset"]),
        store.actions(int(games.number[row])),
        [names[agent] for agent in games.seats[row]],
        mode=settings["actions"],
    )


def write_records(folder: Path, target: Path) -> int:
    """Write every game of a tournament's folder into `target`, one file a deal; return the number of games.

    Raises:
        StoreError: there are no results in the folder.
    """
    store = ResultStore.open(folder)
    try:
        games = store.games()
        target.mkdir(parents=True, exist_ok=True)
        for deal in np.unique(games.deal).tolist():
            rows = np.flatnonzero(games.deal == deal).tolist()
            text = "".join(game_record(store, games, row) for row in rows)
            write_text(target / f"deal-{deal:06d}.p10", text)
        return len(games.number)
    finally:
        store.close()
