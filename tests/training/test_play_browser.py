"""The pages of play in a real browser: whole rounds by touch and by keys, a second client, a server that dies."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import DESKTOP, PATIENCE, PHONE, Browser, Page, open_browser
from play_clients import Client, running_server, wait_for_people
from render_games import played_game

from phase10_env import Game
from phase10_training.play_web import PlayServer


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as started:
        yield started


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PlayServer]:
    with running_server(tmp_path, hints=("random", "greedy")) as running:
        yield running


def sit_down(server: PlayServer, page: Page, *others: str, seed: int = 5, rules: str = "official") -> str:
    """Open a table whose seat 0 this page takes by its link; return the table's id."""
    table = server.tables.create(["human", *others], rules, seed, "Ann")
    page.open(server.link(table, 0))
    until_shown(page, server, table.name)
    return table.name


def state_of(server: PlayServer, name: str) -> tuple[int, str, bool]:
    """Return round, stage and whether the person is to act."""
    table = server.tables.get(name)
    wait_for_people(table)
    with table.changed:
        game = table.session.game
        return game.round, game.stage, not game.over and game.to_act == 0


def until_shown(page: Page, server: PlayServer, name: str) -> None:
    """Wait until the agents have played and the page shows the table as it is now."""
    table = server.tables.get(name)
    wait_for_people(table)
    page.wait_for(f"document.body.dataset.version === '{table.version}'")


def test_a_whole_round_is_played_with_a_finger_on_a_phone(server: PlayServer, browser: Browser) -> None:
    page = browser.new_page(PHONE)
    name = sit_down(server, page, "greedy", "random")
    laid = hits = 0
    while state_of(server, name)[0] == 1:
        _, stage, own = state_of(server, name)
        assert own
        until_shown(page, server, name)
        assert page.overflow() == 0
        version = server.tables.get(name).version
        legal = server.tables.get(name).session.game.legal_actions()
        if stage == "draw":
            page.tap("button.pile[data-pile=stock]")
        elif any(text.startswith("lay") for text in legal):
            page.tap("[data-action^=lay]")
            laid += 1
        elif stage == "onto":
            page.tap("#actions button")
        elif hit := [text for text in legal if text.startswith("play")]:
            page.tap(f"[data-hand='0'] button[data-card='{hit[0].split()[1]}']")
            page.tap(f"[data-action='{hit[0]}']")
            hits += 1
        else:
            text = next(text for text in legal if text.startswith(("discard", "skip")))
            card = "S" if text.startswith("skip") else text.split()[1]
            page.tap(f"[data-hand='0'] button[data-card='{card}']")
            page.tap(f"[data-action='{text}']")
        changed(server, name, version)
    assert laid >= 1
    assert page.errors == []
    page.close()


def changed(server: PlayServer, name: str, version: int) -> None:
    """Wait until the server has taken a move."""
    table = server.tables.get(name)
    deadline = time.monotonic() + PATIENCE
    with table.changed:
        while table.version == version:
            assert table.changed.wait(max(0.0, deadline - time.monotonic())), "the page sent no move"


def test_a_whole_round_is_played_with_the_keyboard_alone(server: PlayServer, browser: Browser) -> None:
    page = browser.new_page(DESKTOP)
    name = sit_down(server, page, "random", seed=11)
    while state_of(server, name)[0] == 1:
        _, stage, _ = state_of(server, name)
        until_shown(page, server, name)
        version = server.tables.get(name).version
        legal = server.tables.get(name).session.game.legal_actions()
        if stage == "draw":
            page.press("w")
        elif any(text.startswith("lay") for text in legal):
            page.press("l")
        elif stage == "onto":
            page.press("1")
        else:
            hand = list(dict.fromkeys(server.tables.get(name).view(0)["facts"]["seats"][0]["hand"]))
            hit = next((text for text in legal if text.startswith("play")), None)
            text = hit or next(text for text in legal if text.startswith(("discard", "skip")))
            card = "S" if text.startswith("skip") else text.split()[1]
            for _ in range(hand.index(card) + 1):
                page.press("ArrowRight")
            if text.startswith("skip"):
                place = page.run(
                    "[...document.querySelectorAll('#actions button')]"
                    f".findIndex(button => button.dataset.action === '{text}')"
                )
                page.press(str(place + 1))
            else:
                page.press("h" if hit else "d")
        changed(server, name, version)
    assert page.errors == []
    page.close()


def test_every_part_of_the_page_is_reached_by_tab(server: PlayServer, browser: Browser) -> None:
    page = browser.new_page(DESKTOP)
    sit_down(server, page, "random")
    reached = set()
    for _ in range(30):
        page.press("Tab")
        reached.add(
            page.run(
                "(e => e.dataset.card ? 'card' : e.dataset.pile || e.dataset.action || e.id)(document.activeElement)"
            )
        )
    assert {"stock", "discard", "card", "draw", "take", "hint"} <= reached
    page.close()


def test_illegal_moves_are_explained_on_the_page(server: PlayServer, browser: Browser) -> None:
    page = browser.new_page(PHONE)
    name = sit_down(server, page, "random")
    page.press("w")
    page.wait_for("document.querySelector('[data-action=\"draw\"]') === null")
    page.tap("[data-hand='0'] button[data-card]")
    version = server.tables.get(name).version
    page.wait_for("document.querySelector('[data-action^=\"play\"].off') !== null")
    page.tap("[data-action^='play'].off")
    page.wait_for("document.querySelector('#message').textContent.startsWith('You may not hit')")
    assert page.text("#message").endswith("cards are hit only once the own phase is down (R11).")
    assert server.tables.get(name).version == version
    assert page.run("document.querySelector('#message').getAttribute('role')") == "alert"
    page.close()


def test_hints_and_taking_back_work_on_the_page(server: PlayServer, browser: Browser) -> None:
    page = browser.new_page(DESKTOP)
    name = sit_down(server, page, "random")
    before = server.tables.get(name).session.game.position()
    page.click("#hint")
    page.wait_for("document.querySelectorAll('#hints tr').length === 2")
    page.run(
        "(e => { e.value = 'greedy'; e.dispatchEvent(new Event('change')); })(document.querySelector('#hint-agent'))"
    )
    page.wait_for("[...document.querySelectorAll('#hints td:last-child')].some(td => td.textContent !== '–')")
    choice = page.run("document.querySelector('#hints .choice').dataset.action")
    assert choice in ("draw", "take")
    page.click("#hints .choice button")
    page.wait_for("document.querySelector('#undo').hidden === false")
    assert server.tables.get(name).session.game.stage == "play"
    page.click("#undo")
    page.wait_for("document.querySelector('[data-action=\"draw\"]') !== null")
    assert server.tables.get(name).session.game.position() == before
    assert page.errors == []
    page.close()


LAYABLE = {
    "ruleset": "official", "players": 2, "dealer": 1, "to_act": 0, "stage": "play", "round": 1, "turn": 4,
    "discard": "Y12",
    "seats": [
        {"hand": "R5 B5 G5 Y5 R9 B9 G9 W R7 B1", "phase": 1, "laid": False, "score": 0, "skipped": False},
        {"hand": "R2 R3 R4", "phase": 1, "laid": True, "score": 0, "skipped": False},
    ],
    "table": [
        {"seat": 1, "group": 0, "kind": "set", "number": 7, "cards": "B7 G7 Y7"},
        {"seat": 1, "group": 1, "kind": "set", "number": 8, "cards": "R8 B8 G8"},
    ],
}  # fmt: skip


def place_position(server: PlayServer, name: str) -> None:
    """Put the position above on a table; all other cards lie in the stock."""
    deck = [f"{c}{n}" for c in "RBGY" for n in range(1, 13) for _ in range(2)] + ["W"] * 8 + ["S"] * 4
    used = [seat["hand"] for seat in LAYABLE["seats"]] + [meld["cards"] for meld in LAYABLE["table"]]  # type: ignore[index,attr-defined]
    for card in " ".join([*used, "Y12"]).split():
        deck.remove(card)
    table = server.tables.get(name)
    with table.changed:
        table.session.game = Game.from_position({**LAYABLE, "stock": " ".join(deck)})
        table.session.moves.clear()
        table._keep()


def test_cards_of_a_lay_down_are_chosen_one_by_one_and_hits_go_where_they_are_tapped(
    server: PlayServer, browser: Browser
) -> None:
    page = browser.new_page(PHONE)
    name = sit_down(server, page, "random")
    place_position(server, name)
    page.wait_for("document.querySelector('[data-action=\"build 1\"]') !== null")
    page.tap("[data-action='build 1']")
    page.wait_for("document.querySelector('.building') !== null")
    game = server.tables.get(name).session.game
    while game.stage == "build":
        legal = game.legal_actions()
        text = "play W" if legal == ["play Y5", "play W"] else legal[0]
        version = server.tables.get(name).version
        page.wait_for(f"document.querySelector('[data-action=\"{text}\"]') !== null")
        page.tap(f"[data-action='{text}']")
        changed(server, name, version)
    page.wait_for("document.querySelectorAll('[data-meld]').length === 4")
    page.tap("[data-hand='0'] button[data-card='R7']")
    page.wait_for("document.querySelector('button[data-meld=\"1.0\"]') !== null")
    page.tap("button[data-meld='1.0']")
    page.wait_for("document.querySelectorAll('[data-meld=\"1.0\"] .card').length === 4")
    if game.legal_actions().count("play W"):
        page.tap("[data-hand='0'] button[data-card='W']")
        page.wait_for("document.querySelector('button[data-meld=\"0.1\"]') !== null")
        page.tap("button[data-meld='0.1']")
        page.wait_for("document.querySelectorAll('[data-meld=\"0.1\"] .card').length === 4")
    assert page.errors == []
    page.close()


def test_a_second_client_sees_no_hand_and_can_do_nothing(server: PlayServer, browser: Browser) -> None:
    ann = browser.new_page(DESKTOP)
    name = sit_down(server, ann, "human")
    stranger = browser.new_page(DESKTOP)
    stranger.open(f"{server.address}/t/{name}")
    stranger.wait_for("!document.querySelector('#join').hidden")
    assert stranger.run("document.querySelectorAll('.card').length") == 0
    told = stranger.run(f"fetch('/api/tables/{name}/state').then(answer => answer.text())")
    assert "hand" not in json.loads(told)
    refused = stranger.run(
        f"fetch('/api/tables/{name}/play', {{method: 'POST', headers: {{'Content-Type': 'application/json'}},"
        " body: JSON.stringify({action: 'draw', version: 1})}).then(answer => answer.status)"
    )
    assert refused == 403
    stranger.run("document.querySelector('#name').value = 'Bo'")
    stranger.click("#join button")
    stranger.wait_for("document.querySelectorAll('[data-hand]').length === 2")
    for page, own in ((ann, 0), (stranger, 1)):
        page.wait_for(f"document.querySelectorAll('[data-hand=\"{own}\"] .card:not(.back)').length > 0")
        assert (
            page.run(f"document.querySelectorAll('[data-hand=\"{1 - own}\"] .card:not(.back)').length") == 0
        )
        state = json.loads(page.run(f"fetch('/api/tables/{name}/state').then(answer => answer.text())"))
        assert state["facts"]["seats"][1 - own]["hand"] is None
    assert stranger.run("document.cookie") == ""
    ann.close()
    stranger.close()


def test_the_page_goes_on_when_the_server_comes_back(tmp_path: Path, browser: Browser) -> None:
    page = browser.new_page(PHONE)
    with running_server(tmp_path) as first:
        port = first.port
        name = sit_down(first, page, "random")
        page.press("w")
        page.wait_for("document.querySelector('[data-action=\"draw\"]') === null")
        hand = page.text("[data-hand='0']")
    page.wait_for("!document.querySelector('#connection').hidden")
    page.run("document.querySelector('[data-action^=\"lay\"]').click()")
    page.wait_for("document.querySelector('#message').textContent.includes('does not answer')")
    with running_server(tmp_path, port) as second:
        page.wait_for("document.querySelector('#connection').hidden")
        assert page.text("[data-hand='0']") == hand
        card = page.run("document.querySelector('[data-hand=\"0\"] button').dataset.card")
        page.tap("[data-hand='0'] button")
        version = second.tables.get(name).version
        page.tap(f"[data-action='discard {card}']")
        changed(second, name, version)
        page.close()
        again = browser.new_page(PHONE)
        again.open(second.link(second.tables.get(name), 0))
        again.wait_for("document.querySelectorAll('[data-hand]').length === 2")
        again.close()


def test_a_table_is_opened_in_the_lobby_and_found_again(server: PlayServer, browser: Browser) -> None:
    page = browser.new_page(PHONE)
    page.open(f"{server.address}/")
    page.wait_for("document.querySelectorAll('#others select').length === 1")
    assert page.overflow() == 0
    page.tap("#add")
    page.run(
        "[...document.querySelectorAll('#others select')].forEach(select => { select.value = 'random'; })"
    )
    page.run("document.querySelector('#name').value = 'Zoë <b>'")
    page.tap("#form button[type=submit]")
    page.wait_for("document.querySelectorAll('[data-hand]').length === 3")
    assert page.text("[data-seat='0'] strong") == "Zoë <b> (you)"
    page.open(f"{server.address}/")
    page.wait_for("document.querySelector('#tables a') !== null")
    assert page.text("#tables a") == "Go on"
    other = browser.new_page(PHONE)
    other.open(f"{server.address}/")
    other.wait_for("document.querySelector('#tables a') !== null")
    assert other.text("#tables a") == "Look"
    assert page.errors == other.errors == []
    page.close()
    other.close()


def test_a_finished_game_offers_its_replay_and_record(server: PlayServer, browser: Browser) -> None:
    page = browser.new_page(DESKTOP)
    name = sit_down(server, page, "random")
    table = server.tables.get(name)
    finished = played_game(seed=3)
    with table.changed:
        table.session.game = finished
        table._keep()
    page.wait_for("document.querySelectorAll('#actions a').length === 3")
    assert "over" in page.text("#turn")
    page.click("#actions a")
    page.wait_for("document.querySelector('#slider') !== null")
    assert page.errors == []
    page.close()
    assert Client(server).request("GET", f"/api/tables/{name}/record")[0] == 200
