"""The card game Phase 10 for reinforcement learning: rules, games and environments."""
