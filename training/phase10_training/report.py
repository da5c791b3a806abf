"""Writes the report of a tournament: one self-contained HTML file, tables as CSV, pictures, replays.

Files in the folder: `report.html` (needs no network and no other file), `table.csv`, `cross.csv`, `games/`
(records and replays of chosen games, to which the report links), and, with matplotlib, `ratings.png` and
`ratings.svg`.
"""

import base64
import csv
import io
import json
from collections.abc import Sequence
from html import escape
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from phase10_env import __version__
from phase10_env.records import replay
from phase10_env.render.replay_page import replay_html
from phase10_training.files import write_text
from phase10_training.guarded import FORFEIT_RULE
from phase10_training.report_charts import Bar, Line, bars, heat_map, line_chart, table
from phase10_training.report_data import ChosenGame, ReportData, read_report_data
from phase10_training.report_style import STYLE
from phase10_training.statistics import FloatArray

__all__ = ["report_html", "write_report"]

FEWEST_ROUNDS = 20
"""Rounds below which a point of a chart is left out."""


def write_report(folder: Path, title: str = "Tournament") -> Path:
    """Write the report of the results in a folder and return the path of the HTML file.

    Raises:
        ValueError: there are no results; one sentence.
    """
    data = read_report_data(folder)
    games = folder / "games"
    games.mkdir(exist_ok=True)
    for game in data.games:
        write_text(games / f"{game.number}.p10", game.record)
        write_text(games / f"{game.number}.html", _replay_page(game))
    write_text(folder / "table.csv", _table_csv(data))
    write_text(folder / "cross.csv", _cross_csv(data))
    if find_spec("matplotlib") is not None:
        from phase10_training.report_pictures import draw_ratings

        draw_ratings(data, [folder / "ratings.png", folder / "ratings.svg"])
    path = folder / "report.html"
    write_text(path, report_html(data, title))
    return path


def _replay_page(game: ChosenGame) -> str:
    (replayed,) = replay(game.record)
    return replay_html(replayed.game, names=game.line_up, title=f"{game.reason}, game {game.number}")


# ---- CSV ---------------------------------------------------------------------------------------------------


def _csv(rows: Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _table_csv(data: ReportData) -> str:
    rows = [row.to_dict() for row in data.standings.rows]
    flat = []
    for row in rows:
        elo, share = row.pop("elo_interval") or [None, None], row.pop("interval")
        row |= {"elo_low": elo[0], "elo_high": elo[1], "win_share_low": share[0], "win_share_high": share[1]}
        flat.append(row)
    return _csv([list(flat[0]), *[list(row.values()) for row in flat]])


def _cross_csv(data: ReportData) -> str:
    cells = data.standings.to_dict()["cross_table"]["cells"]
    head = ["agent", "opponent", "share", "low", "high", "superiority", "deals"]
    return _csv(
        [
            head,
            *[
                [c["agent"], c["opponent"], c["share"], *c["interval"], c["superiority"], c["deals"]]
                for c in cells
            ],
        ]
    )


# ---- HTML --------------------------------------------------------------------------------------------------


def report_html(data: ReportData, title: str = "Tournament") -> str:
    """Return the report as one page of HTML."""
    standings = data.standings
    sections = [
        ("Ratings", _ratings(data)),
        ("Table", _standings_table(data)),
        ("Who beats whom", _cross(data)),
        ("Rounds", _rounds(data)),
        ("Lay-downs by phase", _lay_downs(data)),
        ("Time for one decision", _times(data)),
        ("Luck", _luck(data)),
        ("Games worth a look", _games(data)),
        ("Faults", _faults(data)),
        ("Settings", _settings(data)),
    ]
    body = "\n".join(f"<section><h2>{escape(name)}</h2>\n{html}</section>" for name, html in sections if html)
    rules = f"{data.settings['ruleset']['name']} ({data.settings['ruleset_digest']})"
    facts = [
        f"{data.config.format}, {standings.players} players",
        f"rules {rules}",
        f"{standings.games:,} games on {standings.deals:,} deals, each from every seat",
        f"seed {data.config.seed}",
    ]
    warnings = "".join(f'<p class="warning">{escape(text)}</p>' for text in standings.warnings)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body><header><h1>{escape(title)}</h1>"
        f'<p class="facts">{"".join(f"<span>{escape(fact)}</span>" for fact in facts)}</p>{warnings}</header>\n'
        f"<main>\n{body}\n</main></body></html>\n"
    )


def _ratings(data: ReportData) -> str:
    rows = data.standings.rows
    if data.standings.ratings is None:
        shown = [Bar(r.agent, r.win_share, r.low, r.high, f"{100 * r.win_share:.1f} %") for r in rows]
        return "<p>Win share with 95 % interval.</p>" + bars(shown, data.standings.par)
    found = []
    for row in rows:
        assert row.elo is not None
        assert row.elo_low is not None
        assert row.elo_high is not None
        text = f"{row.elo:+.0f} [{row.elo_low:+.0f}, {row.elo_high:+.0f}]"
        found.append(Bar(row.agent, row.elo, row.elo_low, row.elo_high, text))
    return (
        "<p>Elo points by the Plackett-Luce model (mean 0), with 95 % intervals from resampled deals.</p>"
        + bars(found, 0.0)
        + _nash(data)
    )


def _nash(data: ReportData) -> str:
    nash = data.standings.nash
    if nash is None:
        return ""
    mixture = ", ".join(
        f"{escape(name)} {100 * weight:.0f} %"
        for name, weight in sorted(zip(nash.agents, nash.weights, strict=True), key=lambda pair: -pair[1])
        if weight > 0.005
    )
    chance = "" if nash.chance_share is None else f" (chance alone: about {100 * nash.chance_share:.0f} %)"
    return (
        f"<p>Nash average: {mixture}. Cyclic part of the log odds: {100 * nash.cyclic_share:.0f} %{chance}; "
        "0 % is a perfect ladder.</p>"
    )


def _standings_table(data: ReportData) -> str:
    headings = [
        "",
        "agent",
        "win share",
        "95 % interval",
        "mean rank",
        "phases",
        "points",
        "games",
        "illegal",
    ]
    headings += ["crashes", "stalls"]
    rows = [
        [
            str(row.rank),
            row.agent,
            f"{100 * row.win_share:.1f} %",
            f"{100 * row.low:.1f} - {100 * row.high:.1f}",
            f"{row.mean_rank:.2f}",
            f"{row.phases:.2f}",
            f"{row.score:.0f}",
            f"{row.games:,}",
            str(row.illegal_actions),
            str(row.crashes),
            str(row.stalls),
        ]
        for row in data.standings.rows
    ]
    par = f"{100 * data.standings.par:.1f} %"
    note = f"Par is {par}. Phases and points are means at the end of a game; fewer points are better."
    return f"<p>{note}</p>" + table(headings, rows, 2)


def _cross(data: ReportData) -> str:
    standings, cross = data.standings, data.standings.cross
    order = [standings.agents.index(row.agent) for row in standings.rows]
    names = [standings.agents[index] for index in order]
    values = np.where(cross.deals > 0, cross.mean, np.nan)[np.ix_(order, order)]
    texts = [[f"{100 * value:.1f}" for value in row] for row in values]
    titles = [[_cell_title(data, one, two) for two in order] for one in order]
    legend = (
        f"<p>In %: {escape(standings.cross_meaning)}. Equal agents: {100 * standings.cross_par:.1f} %. "
        "Blue is above, orange below. Point at a cell for its interval.</p>"
    )
    columns = [f"{place} {name}" for place, name in enumerate(names, start=1)]
    par = standings.cross_par
    # Par lies in the middle of the colours, 0 and 100 % at their ends, also where par is not 50 %.
    depth = np.where(values > par, (values - par) / (1.0 - par), (values - par) / par)
    return legend + heat_map(columns, columns, depth, texts, titles, 0.0, 1.0)


def _cell_title(data: ReportData, one: int, two: int) -> str:
    cross, names = data.standings.cross, data.standings.agents
    if not cross.deals[one, two]:
        return ""
    return (
        f"{names[one]} against {names[two]}: {100 * cross.mean[one, two]:.1f} % "
        f"[{100 * cross.low[one, two]:.1f}, {100 * cross.high[one, two]:.1f}], {cross.deals[one, two]} deals, "
        f"better than par with probability {100 * cross.superiority[one, two]:.1f} %"
    )


def _rounds(data: ReportData) -> str:
    rounds = data.rounds
    points, phases = [], []
    for row in data.standings.rows:
        index = data.standings.agents.index(row.agent)
        seen = rounds.rounds[index] >= FEWEST_ROUNDS
        if not seen.any():
            continue
        number = np.asarray(np.flatnonzero(seen) + 1, dtype=np.float64)
        played = rounds.rounds[index, seen]
        points.append(Line(row.agent, number, rounds.points[index, seen] / played))
        phases.append(Line(row.agent, number, rounds.phases[index, seen] / played))
    if not points:
        return ""
    return (
        f"<p>Means over the games that reached the round; rounds played fewer than {FEWEST_ROUNDS} times by an "
        'agent are left out.</p><div class="charts">'
        + line_chart("Penalty points scored in the round", "round", points)
        + line_chart("Phases completed after the round", "round", phases)
        + "</div>"
    )


def _lay_downs(data: ReportData) -> str:
    order = [data.standings.agents.index(row.agent) for row in data.standings.rows]
    tried, laid = data.rounds.tried[order], data.rounds.laid[order]
    used = np.flatnonzero(tried.sum(axis=0) > 0)
    if not used.size:
        return ""
    tried, laid = tried[:, used], laid[:, used]
    rates: FloatArray = np.where(tried > 0, laid / np.maximum(tried, 1.0), np.nan)
    texts = [[f"{100 * rate:.0f}" for rate in row] for row in rates]
    titles = [
        [f"{int(a)} of {int(b)} rounds" for a, b in zip(x, y, strict=True)]
        for x, y in zip(laid, tried, strict=True)
    ]
    names = [data.standings.agents[index] for index in order]
    phases = data.settings["ruleset"]["phases"]
    columns = [f"{phase + 1}: {phases[phase]}" if phase < len(phases) else str(phase + 1) for phase in used]
    return (
        "<p>Of the rounds that an agent began on a phase, the share in which it laid it down, in %.</p>"
        + heat_map(names, columns, rates, texts, titles, 0.5, 0.6)
    )


def _times(data: ReportData) -> str:
    rows = [row for row in data.standings.rows if row.ms_per_decision > 0]
    if not rows:
        return ""
    found = []
    for row in sorted(rows, key=lambda row: row.ms_per_decision):
        exponent = float(np.log10(row.ms_per_decision))
        found.append(Bar(row.agent, exponent, exponent, exponent, _duration(row.ms_per_decision)))
    decade = float(np.floor(min(bar.value for bar in found)))
    note = (
        f"Mean, on a logarithmic scale from {_duration(10.0**decade)}; many decisions are taken in one call."
    )
    return f"<p>{note}</p>" + bars(found, decade)


def _duration(milliseconds: float) -> str:
    if milliseconds < 1.0:
        return f"{1000 * milliseconds:.3g} µs"
    return f"{milliseconds:.3g} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.3g} s"


def _luck(data: ReportData) -> str:
    rows = [
        [
            str(seat.seat),
            f"{100 * seat.share:.1f} %",
            f"{seat.hands:,}",
            f"{seat.wilds_dealt:.3f}",
            f"{seat.wilds_expected:.3f}",
            f"{seat.dealt_p:.3f}",
            f"{seat.wilds_drawn:,.0f}",
            f"{seat.drawn_expected:,.1f}",
            f"{seat.drawn_z:+.2f}",
        ]
        for seat in data.luck
    ]
    headings = [
        "seat",
        "wins",
        "hands",
        "Wilds a hand",
        "expected",
        "p (chi-square)",
        "Wilds drawn",
        "expected",
        "z",
    ]
    tests = "; ".join(f"{name}: p = {p:.3f}" for name, p in data.luck_p.items())
    return (
        "<p>The cards of every deal, counted in its first game only, next to the odds of the deck. Over all "
        f"seats by chi-square: {escape(tests)}. A p below 0.001 would speak against the shuffle. The second "
        "column is what the seat itself won, over all agents.</p>" + table(headings, rows)
    )


def _games(data: ReportData) -> str:
    items = []
    for game in data.games:
        record = base64.b64encode(game.record.encode()).decode()
        items.append(
            f"<li><b>{escape(game.reason)}</b>: {escape(' - '.join(game.line_up))}, {escape(game.result)} "
            f'<a href="games/{game.number}.html">replay</a> '
            f'<a download="{game.number}.p10" href="data:text/plain;charset=utf-8;base64,{record}">record</a></li>'
        )
    return f"<ul>{''.join(items)}</ul>" if items else ""


def _faults(data: ReportData) -> str:
    if not data.faults:
        return ""
    items = [
        f"<details><summary>{escape(data.standings.agents[fault['agent']])}, seat {fault['seat']}: {fault['kind']}, "
        f"{escape(fault['detail'])}</summary><pre>{escape(json.dumps(fault['position']))}</pre></details>"
        for fault in data.faults[:20]
    ]
    more = f"<p>{len(data.faults)} in all; the first 20 are shown.</p>" if len(data.faults) > 20 else ""
    return f"<p>{escape(FORFEIT_RULE)}</p>{more}{''.join(items)}"


def _settings(data: ReportData) -> str:
    settings = {key: value for key, value in data.settings.items() if key != "ruleset"}
    rows = [[key, value if isinstance(value, str) else json.dumps(value)] for key, value in settings.items()]
    rules = escape(json.dumps(data.settings["ruleset"], indent=1))
    made = f"Played with phase10-env {data.settings['version']}, reported with {__version__}."
    return (
        table(["setting", "value"], rows, 2)
        + f"<details><summary>rules {escape(data.settings['ruleset']['name'])}, digest "
        + f"{data.settings['ruleset_digest']}</summary><pre>{rules}</pre></details><p>{escape(made)}</p>"
    )
