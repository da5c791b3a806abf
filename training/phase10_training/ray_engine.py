"""Plays the blocks of a tournament on a Ray cluster; the table is the same as that of one process.

A block is one task: it depends on the plan and its number alone, so a task lost with its node is run again
anywhere and gives the same games. The driver alone writes the store, and a block is stored once, so nothing is
lost and nothing counted twice. At most three tasks for each processor are under way, so the driver never holds
more than that many results.

Numbers for 1,000 nodes of 16 processors (measured on one: a game of two is about 570 bytes on the wire and as
many in the store, where it takes 0.2 ms):

- wire: 16,000 tasks of 512 games are 4.7 GB in flight at most if all ended at once; the object stores of the
  nodes hold them (4.7 MB a node), the driver fetches one block (290 kB) at a time.
- driver: 5,000 games a second are stored, 2.9 MB/s. That feeds 16,000 processors where a game takes 3 s or more
  (7 ms a decision: search, large networks). Hand-written agents play 150 games a second and processor: 33
  processors saturate the store, and a cluster is of no use to them.
- scheduler: 512 games of 3 s are a task of 26 minutes; 16,000 of them make 10 tasks a second, far below what one
  Ray driver schedules. Smaller blocks lose less with a node: block_games = 32 makes 160 tasks a second.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from phase10_training.blocks import BlockPlan
from phase10_training.errors import UsageError
from phase10_training.matches import GameResults
from phase10_training.tournament import Play, play_alone

__all__ = ["play_on_ray"]

TASKS_PER_PROCESSOR = 3


def play_on_ray(address: str = "auto") -> Play:
    """Return a function that plays blocks on the Ray cluster at an address ("auto": the one running here).

    Raises:
        UsageError: Ray is not installed, or no cluster is running.
    """
    try:
        import ray
    except ImportError:
        raise UsageError(
            "--engine ray needs Ray, which is not installed; pip install 'phase10-env[rllib]'."
        ) from None
    if not ray.is_initialized():
        try:
            ray.init(address=address, log_to_driver=False)
        except ConnectionError:
            raise UsageError(
                "--engine ray needs a running cluster, found none; start one with 'ray start --head'."
            ) from None

    def play(
        plan: BlockPlan, blocks: Sequence[int], specs: tuple[str, ...]
    ) -> Iterator[tuple[int, GameResults]]:
        yield from _play(ray, plan, blocks, specs)

    return play


def _play(
    ray: Any, plan: BlockPlan, blocks: Sequence[int], specs: tuple[str, ...]
) -> Iterator[tuple[int, GameResults]]:
    task = ray.remote(num_cpus=1, max_retries=-1)(play_alone)
    waiting: dict[Any, int] = {}
    left = iter(blocks)
    while True:
        room = TASKS_PER_PROCESSOR * max(1, int(ray.cluster_resources().get("CPU", 1))) - len(waiting)
        for _, block in zip(range(room), left, strict=False):
            waiting[task.remote(plan, block, specs)] = block
        if not waiting:
            return
        done, _ = ray.wait(list(waiting), num_returns=1)
        for reference in done:
            yield waiting.pop(reference), ray.get(reference)
