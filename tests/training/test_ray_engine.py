"""A tournament on a Ray cluster has the table of one process, even where a node dies half-way."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from phase10_training.errors import UsageError
from phase10_training.ray_engine import play_on_ray
from phase10_training.store import ResultStore
from phase10_training.tournament import TournamentConfig, run_tournament

CONFIG = TournamentConfig(
    agents=("melder", "greedy", "aware"), rules="short-5", deals=60, resamples=50, block_games=12
)


def test_a_missing_ray_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match="--engine ray needs Ray, which is not installed"):
        play_on_ray()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_two_nodes_one_killed_half_way_give_the_table_of_one_process(tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    utilities = pytest.importorskip("ray.cluster_utils")
    small = {"num_cpus": 1, "object_store_memory": 100 * 1024 * 1024}
    cluster = utilities.Cluster(initialize_head=True, head_node_args={**small, "include_dashboard": False})
    node = cluster.add_node(**small)
    ray.init(address=cluster.address, log_to_driver=False)
    try:
        engine = play_on_ray()
        seen: list[int] = []

        def killing(plan: Any, blocks: Any, specs: Any) -> Iterator[Any]:
            for block, results in engine(plan, blocks, specs):
                seen.append(block)
                yield block, results
                if len(seen) == 8:
                    cluster.remove_node(node, allow_graceful=False)

        spread = run_tournament(CONFIG, tmp_path / "ray", play=killing)
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert sorted(seen) == list(range(30))
    alone = run_tournament(CONFIG, tmp_path / "alone")
    tables = [standings.to_dict() for standings in (spread, alone)]
    for found in tables:
        for row in found["agents"]:
            del row["ms_per_decision"]
    assert tables[0] == tables[1]
    stored = []
    for name in ("ray", "alone"):
        store = ResultStore.open(tmp_path / name)
        games = store.games()
        stored.append(
            (games.number.tolist(), games.rank.tolist(), [store.actions(n) for n in games.number.tolist()])
        )
        store.close()
    assert stored[0] == stored[1]
