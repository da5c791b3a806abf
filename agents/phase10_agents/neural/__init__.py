"""Learned policies: the network, its fast input layer, choosing actions, checkpoints, and agents that play them.

The only part of the agents that needs torch.
"""

from phase10_agents.neural.agent import Champion, PolicyAgent, load_champion, load_checkpoint_agent, policy_of
from phase10_agents.neural.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from phase10_agents.neural.networks import NetworkSettings, PolicyValueNet

__all__ = [
    "Champion",
    "CheckpointError",
    "NetworkSettings",
    "PolicyAgent",
    "PolicyValueNet",
    "load_champion",
    "load_checkpoint",
    "load_checkpoint_agent",
    "policy_of",
    "save_checkpoint",
]
