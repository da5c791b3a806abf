"""Models of sb3-contrib's MaskablePPO as agents; masks are always passed on."""

from __future__ import annotations

import os
import zipfile
from typing import Any

import numpy as np
import numpy.typing as npt

from phase10_agents.base import AgentError
from phase10_env.decision import DecisionView

__all__ = ["TRAINED_ON", "SB3Agent", "load_sb3_agent", "mark_model"]

TRAINED_ON = "phase10_trained_on"
"""Attribute of a model, saved with it: what it was trained on (`mark_model`)."""


def mark_model(model: Any, layout_digest: str, num_players: int, actions: str) -> None:
    """Note in a model, and so in its file, what it was trained on, so that nothing else is asked of it.

    Args:
        model: of MaskablePPO.
        layout_digest: of the observations (`Layout.digest`).
        num_players: 2-6.
        actions: "full" or "compact"; a compact model also plays games in full mode.
    """
    setattr(model, TRAINED_ON, {"layout": layout_digest, "num_players": num_players, "actions": actions})


class SB3Agent:
    """Play a model of MaskablePPO.

    Weakness: it knows only what its training showed it; other observations than the ones it was trained on are
    refused.

    Args:
        model: with a `predict` that takes action masks.
        name: shown in tables.
        deterministic: take the likeliest action, or draw one.
    """

    def __init__(self, model: Any, name: str = "sb3", deterministic: bool = True) -> None:
        self.model = model
        self.name = name
        self.deterministic = deterministic
        self._trained_on: dict[str, Any] = getattr(model, TRAINED_ON, {})

    def act(self, view: DecisionView) -> npt.NDArray[np.int64]:
        """Return int[n], a legal action for each row.

        Raises:
            AgentError: other observations or players than it was trained for.
        """
        self._check(view)
        compact = self._trained_on.get("actions") == "compact"
        translate = compact and len(view.information) > 0 and not view.information["compact"].all()
        if not translate:
            return self._predict(view, view.action_masks)
        from phase10_agents.neural.compact import compact_choices, full_actions

        seen = compact_choices(view)
        legal, counts = seen.legal_actions, seen.legal_counts
        masks = np.zeros_like(view.action_masks)
        rows, places = np.nonzero(np.arange(legal.shape[1]) < counts[:, None])
        masks[rows, legal[rows, places]] = True
        return full_actions(view, self._predict(seen, masks))

    def _predict(self, view: DecisionView, masks: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        actions, _ = self.model.predict(
            view.observations, action_masks=masks, deterministic=self.deterministic
        )
        return np.asarray(actions).astype(np.int64).reshape(-1)

    def _check(self, view: DecisionView) -> None:
        expected = self.model.observation_space.shape
        if view.observations.shape[1:] != expected:
            raise AgentError(
                f"agent {self.name!r} expects observations of shape {expected}, found "
                f"{view.observations.shape[1:]}; use it with the number of players and the observation level "
                "that it was trained with"
            )
        known = self._trained_on.get("num_players", view.num_players)
        if known != view.num_players:
            raise AgentError(
                f"agent {self.name!r} was trained for {known} players, found {view.num_players}; choose another "
                "agent or --players"
            )
        digest = self._trained_on.get("layout", view.layout.digest)
        if digest != view.layout.digest:
            raise AgentError(
                f"agent {self.name!r} reads observations of layout {digest}, found {view.layout.digest}; train it "
                "anew with this version"
            )


def load_sb3_agent(path: str | os.PathLike[str]) -> SB3Agent:
    """Return a model saved by MaskablePPO as an agent (spec `sb3:FILE`).

    A model file can run any code when it is loaded; load only files whose origin you trust.

    Args:
        path: the .zip file, with or without its ending, or a run folder with `model.zip`.

    Raises:
        AgentError: there is no such file, or it holds no MaskablePPO model.
    """
    from sb3_contrib import MaskablePPO

    text = os.fspath(path)
    candidates = (os.path.join(text, "model.zip"), text, f"{text}.zip")
    found = next((name for name in candidates if os.path.isfile(name)), None)
    if found is None:
        raise AgentError(f"expected a model saved by MaskablePPO, found no file {text!r}; check the path")
    if not zipfile.is_zipfile(found):
        raise AgentError(f"expected a model saved by MaskablePPO, found no zip archive in {found!r}")
    try:
        model = MaskablePPO.load(found, device="cpu")
    except Exception as problem:  # whatever unpickling a damaged or foreign file may raise
        raise AgentError(
            f"{found!r} is no model of MaskablePPO that this installation can read ({problem}); train it anew"
        ) from problem
    return SB3Agent(model, f"sb3:{text}")
