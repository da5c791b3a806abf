"""Agents that play Phase 10: baselines, search, neural networks, people."""
