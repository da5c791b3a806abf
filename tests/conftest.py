"""What every test stands on: Ctrl-C works in child processes, however the tests themselves were started."""

from __future__ import annotations

import signal


def pytest_sessionstart() -> None:
    """Stop ignoring SIGINT: a run in the background inherits that, and would hand it on to its children."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
