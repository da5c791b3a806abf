"""Training, evaluation and the command line of the Phase 10 kit."""
