"""The page of a replay in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import DESKTOP, PHONE, open_browser
from render_games import advice_of, played_game

from phase10_env import Game
from phase10_env.render import game_steps, move_in_words, replay_html, table_facts

NAMES = ["Ann", "Bo", "Cy"]


@pytest.fixture(scope="module")
def game() -> Game:
    return played_game(seed=8, players=3)


@pytest.fixture
def address(game: Game, tmp_path: Path) -> str:
    page = tmp_path / "replay.html"
    page.write_text(replay_html(game, names=NAMES, advice=advice_of(game), adviser="low"), encoding="utf-8")
    return page.as_uri()


HANDS = """[...document.querySelectorAll('[data-hand]')].map(hand =>
    [...hand.querySelectorAll('.card')].map(card => card.textContent).join(' '))"""


def shown_hands(game: Game, place: int) -> list[str]:
    """Return the hands as the page writes them: number before letter, nothing but a letter for W and S."""
    first, steps = game_steps(game)
    record = [first, *(step.after for step in steps)][place]
    facts = table_facts(record, game.ruleset)
    return [" ".join(f"{card[1:]}{card[0]}" for card in seat.hand or ()) for seat in facts.seats]


def test_a_whole_replay_is_stepped_through_with_the_keyboard(game: Game, address: str) -> None:
    _, steps = game_steps(game)
    last = len(steps)
    with open_browser() as browser:
        page = browser.new_page(DESKTOP)
        page.open(address)
        assert page.text("#words") == f"{NAMES[int(steps[0].before['dealer'][0])]} deals round 1."
        for place, step in enumerate(steps, 1):
            page.press("ArrowRight")
            if place % 40 == 0 or place == last:
                expected = move_in_words(step.before, step.after, game.ruleset, step.action, None, NAMES)
                assert page.text("#words") == expected
                assert page.text("#count") == f"Move {place} of {last}"
                assert page.run(HANDS) == shown_hands(game, place)
        assert page.run("document.querySelector('#next').disabled")
        assert page.run("document.querySelectorAll('#scores tbody tr').length") == game.round + 1
        page.press("ArrowRight")
        assert page.text("#count") == f"Move {last} of {last}"
        page.press("Home")
        assert page.run(HANDS) == shown_hands(game, 0)
        page.press("PageDown")
        ends = [place for place, step in enumerate(steps, 1) if step.after["round_over"][0]]
        assert page.text("#count") == f"Move {ends[0]} of {last}"
        page.press("PageDown")
        page.press("PageUp")
        assert page.text("#count") == f"Move {ends[0]} of {last}"
        page.press("ArrowUp")
        page.press("ArrowDown")
        assert page.text("#count") == f"Move {ends[0]} of {last}"
        page.press("End")
        page.press("ArrowLeft")
        assert page.text("#count") == f"Move {last - 1} of {last}"
        page.press("Home")
        page.press(" ")
        page.wait_for("document.querySelector('#count').textContent.startsWith('Move 2 ')")
        page.press(" ")
        assert page.run("document.querySelector('#play').getAttribute('aria-label')") == "Play"
        assert page.errors == []


def test_every_control_is_reached_by_tab_and_works_with_enter(address: str) -> None:
    with open_browser() as browser:
        page = browser.new_page(DESKTOP)
        page.open(address)
        reached = []
        for _ in range(20):
            page.press("Tab")
            reached.append(page.run("document.activeElement.id || document.activeElement.tagName"))
            if reached[-1] == "next":
                page.press("Enter")
                assert page.text("#count").startswith("Move 1 ")
        for control in ("viewer", "play", "next", "turn-next", "round-next", "slider"):
            assert control in reached


def test_values_and_hidden_hands_follow_the_choice_of_the_reader(game: Game, address: str) -> None:
    with open_browser() as browser:
        page = browser.new_page(DESKTOP)
        page.open(address)
        assert page.text("#values .choice td") == "★ draw from the stock"
        assert page.run("document.querySelectorAll('.card.back').length") == 1
        seat = int(game_steps(game)[0]["to_act"][0])
        page.run(
            f"(e => {{ e.value = '{(seat + 1) % 3}'; e.dispatchEvent(new Event('change')); }})"
            "(document.querySelector('#viewer'))"
        )
        assert page.run("document.querySelectorAll('.card.back').length") == 21
        assert page.text("#values") == "No values for this decision."
        assert page.errors == []


def test_a_phone_shows_the_page_without_sideways_scrolling_and_takes_touches(address: str) -> None:
    with open_browser() as browser:
        page = browser.new_page(PHONE)
        page.open(address)
        for _ in range(3):
            page.press("PageDown")
            assert page.overflow() == 0
        page.press("Home")
        page.tap("#next")
        assert page.text("#count").startswith("Move 1 ")
        page.swipe("[data-seat='0']", -150)
        assert page.text("#count").startswith("Move 2 ")
        page.swipe("[data-seat='0']", 150)
        assert page.text("#count").startswith("Move 1 ")
        sizes = page.run(
            "[...document.querySelectorAll('.controls button')]"
            ".map(button => Math.min(button.offsetHeight, button.offsetWidth))"
        )
        assert min(sizes) >= 40
        assert page.errors == []


def test_the_address_leads_back_to_a_move(address: str) -> None:
    with open_browser() as browser:
        page = browser.new_page(DESKTOP)
        page.open(f"{address}#move=7")
        assert page.text("#count").startswith("Move 7 ")
        page.press("ArrowRight")
        assert page.run("location.hash") == "#move=8"
