"""Counter-based random streams, keyed by (game seed, episode, round, purpose) (I6).

A stream is a 64-bit key; its n-th value is a hash of key and n (splitmix64, Steele et al. 2014). Nothing
depends on where a game is stored, on the batch or on the thread that plays it.
"""

from __future__ import annotations

import numpy as np

from phase10_env.rules.kernel import kernel

__all__ = ["AGENT", "DEAL", "DEALER", "RESHUFFLE", "random_below", "random_bits", "stream_key"]

DEALER = 1
DEAL = 2
AGENT = 3
RESHUFFLE = 16  # plus the reshuffles of the round so far

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_S30 = np.uint64(30)
_S27 = np.uint64(27)
_S31 = np.uint64(31)
_S32 = np.uint64(32)


@kernel
def _mixed(value):  # type: ignore[no-untyped-def]
    """Return the splitmix64 finaliser of a 64-bit value."""
    x = value
    x = (x ^ (x >> _S30)) * _MIX_A
    x = (x ^ (x >> _S27)) * _MIX_B
    return x ^ (x >> _S31)


@kernel
def random_bits(key, counter):  # type: ignore[no-untyped-def]
    """Return the 64 random bits number `counter` of a stream."""
    return _mixed(np.uint64(key) + (np.uint64(counter) + np.uint64(1)) * _GOLDEN)


@kernel
def stream_key(seed, episode, round_number, purpose):  # type: ignore[no-untyped-def]
    """Return the key of a stream of its own for each (seed, episode, round, purpose)."""
    key = _mixed(np.uint64(seed) + _GOLDEN)
    key = _mixed(key ^ (np.uint64(episode) * _MIX_A + np.uint64(round_number)))
    return _mixed(key + np.uint64(purpose) * _GOLDEN)


@kernel
def random_below(key, counter, bound):  # type: ignore[no-untyped-def]
    """Return a random integer in [0, bound), bound < 2**31 (multiply-shift, bias below 2**-24)."""
    return np.int64(((random_bits(key, counter) >> _S32) * np.uint64(bound)) >> _S32)
