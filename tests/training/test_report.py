"""The report of a tournament: one self-contained page that shows what the results say."""

import csv
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phase10_agents import catalog
from phase10_env.records import verify
from phase10_training.cli import main
from phase10_training.report import report_html, write_report
from phase10_training.report_charts import Bar, Line, bars, heat_colour, line_chart, table, ticks
from phase10_training.report_data import read_report_data
from phase10_training.store import StoreError
from phase10_training.tournament import TournamentConfig, run_tournament

VOID = {"meta", "line", "br", "link"}


class Checker(HTMLParser):
    """Collects text and addresses, and complains of tags that are not closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.text = ""
        self.feed(page)
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


class Crashing:
    """Fails at one decision in two hundred."""

    name = "<crashing> & co"

    def __init__(self) -> None:
        self.greedy = catalog.load_agent("greedy")

    def act(self, view: Any) -> np.ndarray:
        if (view.random % np.uint64(200) == 0).any():
            raise RuntimeError("<script>alert(1)</script>")
        return self.greedy.act(view)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(catalog.AGENTS, "<crashing>", catalog.Entry(lambda parameters: Crashing()))
        config = TournamentConfig(
            agents=("melder", "greedy", "<crashing>"), rules="short-5", deals=30, resamples=50
        )
        run_tournament(config, target)
        write_report(target, "A & B")
    return target


def test_the_page_needs_nothing_but_itself(folder: Path) -> None:
    page = Checker((folder / "report.html").read_text(encoding="utf-8"))
    outside = [address for address in page.addresses if not address.startswith(("data:", "games/"))]
    assert outside == []
    assert "http" not in (folder / "report.html").read_text(encoding="utf-8")
    for address in page.addresses:
        if address.startswith("games/"):
            assert (folder / address).is_file()
    assert {file.suffix for file in folder.iterdir()} == {".html", ".csv", ".png", ".svg", ".sqlite", ""}


def test_texts_of_agents_cannot_become_markup(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<h1>A &amp; B</h1>" in page


def test_every_part_is_there(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    headings = re.findall("<h2>(.*?)</h2>", page)
    assert headings == [
        "Ratings",
        "Table",
        "Who beats whom",
        "Rounds",
        "Lay-downs by phase",
        "Time for one decision",
        "Luck",
        "Games worth a look",
        "Faults",
        "Settings",
    ]
    data = read_report_data(folder)
    assert data.settings["ruleset_digest"] in page
    assert f"{100 * data.standings.rows[0].win_share:.1f} %" in page
    assert page.count("<svg") == 2


def test_chosen_games_are_records_that_replay(folder: Path) -> None:
    data = read_report_data(folder)
    assert {game.reason for game in data.games} >= {"the longest game", "the first game lost by a fault"}
    for game in data.games:
        assert verify(folder / "games" / f"{game.number}.p10") == 1
        assert "<!doctype html>" in (folder / "games" / f"{game.number}.html").read_text(encoding="utf-8")


def test_the_cards_agree_with_the_odds_and_loaded_cards_would_not(folder: Path) -> None:
    data = read_report_data(folder)
    assert min(data.luck_p.values()) > 1e-4
    assert data.luck[0].hands == data.luck[1].hands
    assert 30 * 5 <= data.luck[0].hands <= 30 * 25, "the rounds of one game a deal"
    assert set(data.luck_p) == {"Wilds dealt", "Skips dealt", "Wilds drawn", "Skips drawn"}
    from phase10_training.report_data import luck_of_seats
    from phase10_training.store import ResultStore

    store = ResultStore.open(folder)
    games = store.games()
    store.close()
    loaded = data.rounds
    loaded.dealt_wilds[0] = np.roll(loaded.dealt_wilds[0], 1)
    assert luck_of_seats(loaded, games, data.settings)[1]["Wilds dealt"] < 1e-4


def test_tables_are_also_csv(folder: Path) -> None:
    with (folder / "table.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    data = read_report_data(folder)
    assert [row["agent"] for row in rows] == [row.agent for row in data.standings.rows]
    assert float(rows[0]["win_share_low"]) == data.standings.rows[0].low
    with (folder / "cross.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 6


def test_a_table_of_four_without_ratings_can_be_shown(tmp_path: Path) -> None:
    config = TournamentConfig(
        agents=("greedy", "melder") * 4, format="swiss", players=4, rounds=1, deals=1, rules="short-5"
    )
    run_tournament(config, tmp_path)
    page = Checker(report_html(read_report_data(tmp_path)))
    assert "Win share with 95 % interval." in page.text
    assert "no ratings" in page.text


def test_the_command_writes_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = f"tournament melder greedy --deals 3 --rules short-5 --out {tmp_path / 't'}"
    assert main(words.split()) == 0
    assert str(tmp_path / "t" / "report.html") in capsys.readouterr().out
    assert (tmp_path / "t" / "report.html").is_file()


def test_a_folder_without_results_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="found none; name the folder of a tournament"):
        write_report(tmp_path)


# ---- charts


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_are_round_and_inside(low: float, span: float) -> None:
    found = ticks(low, low + span)
    assert 1 <= len(found) <= 8
    assert all(low - 0.01 * span <= tick <= low + 1.01 * span for tick in found)


@given(st.floats(0, 1))
def test_ink_can_be_read_on_its_paper(value: float) -> None:
    paper, ink = heat_colour(value, 0.5, 0.5)
    red, green, blue = map(int, re.findall(r"\d+", paper))
    bright = 0.299 * red + 0.587 * green + 0.114 * blue
    assert (ink == "#111") == (bright > 140)


def test_bars_reach_from_zero_to_their_value() -> None:
    html = bars([Bar("a", 10.0, 5.0, 15.0, "10"), Bar("b", -10.0, -15.0, -5.0, "-10")], zero=0.0)
    spans = [
        tuple(map(float, pair)) for pair in re.findall(r'"bar" style="left:([\d.]+)%;width:([\d.]+)%', html)
    ]
    assert spans[0][0] == pytest.approx(50.0)
    assert spans[1][0] + spans[1][1] == pytest.approx(50.0)
    assert spans[0][1] == pytest.approx(spans[1][1])


def test_lines_skip_gaps_and_rise_with_their_values() -> None:
    svg = line_chart("t", "x", [Line("a", np.array([1.0, 2.0, 3.0]), np.array([0.0, np.nan, 4.0]))])
    points = [tuple(map(float, pair.split(","))) for pair in re.findall(r'points="([^"]*)"', svg)[0].split()]
    assert len(points) == 2
    assert points[1][0] > points[0][0]
    assert points[1][1] < points[0][1]


def test_tables_refuse_rows_of_another_width() -> None:
    with pytest.raises(ValueError, match="zip"):
        table(["a", "b"], [["1"]])
