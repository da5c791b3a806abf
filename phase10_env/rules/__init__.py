"""The rules of Phase 10: the only code that changes a game."""
