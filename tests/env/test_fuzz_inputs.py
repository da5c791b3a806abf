"""Whatever comes in as a position or a record is either refused in sentences or can be played on."""

import copy
import io
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from env.simple_play import play_out
from hypothesis import given, settings
from hypothesis import strategies as st

from phase10_env.command_line import print_legal, verify_records
from phase10_env.game import Game
from phase10_env.positions import PositionError, load_position
from phase10_env.records import RecordError, verify
from phase10_env.rules.cards import KIND_TEXTS
from phase10_env.rules.ruleset import PRESETS

LINES = (Path(__file__).parents[1] / "cases" / "positions.jsonl").read_text(encoding="utf-8").splitlines()
POSITIONS = [json.loads(line)["position"] for line in LINES[::8]]
POSITIONS += [play_out(Game(3, preset, 5), 5, 150).position() for preset in PRESETS]
RECORDS = [play_out(Game(2 + i % 3, preset, i), i, 200).record() for i, preset in enumerate(PRESETS)]

WORDS = ["", "R1", "W W", "S", "draw", "play", "build", "onto", "official", "run", "number 7", "play W"]
WORDS += ["\0", "\ud800"]
FIELDS = ["", "base", "phases", "deck", "advance", "known", "refused", "spelled"]
FIELDS += [
    *POSITIONS[0],
    *POSITIONS[0]["seats"][0],
    "done",
    "laid_phase",
    "building",
    "card",
    "taken",
    "active",
]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-2, 13)
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(WORDS)
    | st.lists(st.sampled_from([*KIND_TEXTS, "X"]), max_size=14).map(" ".join)
)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=4), inner, max_size=8)
    ),
    max_leaves=20,
)


def check_position(position: Any) -> None:
    """Load a position; one that is accepted must hold its deck and be playable."""
    try:
        game = Game.from_position(position)
    except PositionError as error:
        sentences = error.problems
    else:
        check_playable(game)
        return
    assert sentences
    assert all(isinstance(sentence, str) and "\n" not in sentence for sentence in sentences)


def check_playable(game: Game) -> None:
    """Play some actions; the cards stay the deck and there is always something to do (I1, I5)."""
    assert Game.from_position(game.to_json()).position() == game.position()
    chance = random.Random(1)
    for _ in range(40):
        if game.over:
            break
        assert cards_of(game) == Counter(dict(enumerate(game.ruleset.deck)))
        legal = game.legal_actions()
        assert legal
        game.play(chance.choice(legal))


def cards_of(game: Game) -> Counter[int]:
    state = game.state[0]
    found: Counter[int] = Counter()
    for name in ("stock", "discard"):
        found.update(state[name][: state[f"{name}_size"]].tolist())
    for place in range(12):
        found.update(state["meld_cards"][place, : state["meld_size"][place]].tolist())
    for kind in range(50):
        found[kind] += int(state["hands"][:, kind].sum())
    if game.ruleset.skip_placement == "front":
        found[49] += int(state["skipped"].sum())
    return found


@settings(max_examples=300, deadline=None)
@given(JSON)
def test_arbitrary_data_is_no_position(value: Any) -> None:
    check_position(value)


@settings(max_examples=200, deadline=None)
@given(st.text() | JSON.map(json.dumps) | st.binary().map(lambda data: data.decode("latin-1")))
def test_arbitrary_text_is_no_position(text: str) -> None:
    check_position(text)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(POSITIONS), st.data())
def test_a_mutated_position_is_refused_or_playable(position: dict, data: st.DataObject) -> None:
    mutated = copy.deepcopy(position)
    for _ in range(data.draw(st.integers(1, 3))):
        mutate(mutated, data)
    check_position(mutated)


def mutate(position: dict, data: st.DataObject) -> None:
    """Replace, remove, add or move one value somewhere in a position."""
    holder: Any = position
    while True:
        places = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not places:
            return
        place = data.draw(st.sampled_from(places))
        value = holder[place]
        if not (isinstance(value, (dict, list)) and value and data.draw(st.booleans())):
            break
        holder = value
    change = data.draw(st.sampled_from(["replace", "near", "remove", "add", "swap"]))
    if change == "replace":
        holder[place] = data.draw(JSON)
    elif change == "near":
        holder[place] = near(value, data)
    elif change == "remove":
        del holder[place]
    elif change == "swap":
        other = data.draw(st.sampled_from(places))
        holder[place], holder[other] = holder[other], holder[place]
    elif isinstance(holder, dict):
        holder[data.draw(st.sampled_from(FIELDS))] = data.draw(JSON)
    else:
        holder.append(data.draw(JSON | st.just(copy.deepcopy(value))))


def near(value: Any, data: st.DataObject) -> Any:
    """Return a value of the same type that is likely to be allowed in its place."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + data.draw(st.integers(-2, 2))
    if isinstance(value, str) and " " in value:
        words = value.split()
        return " ".join(data.draw(st.permutations(words)))
    return data.draw(st.sampled_from(["draw", "play", "build", "onto", *PRESETS]))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(POSITIONS), st.data())
def test_a_damaged_position_text_is_refused_or_playable(position: dict, data: st.DataObject) -> None:
    check_position(damaged(json.dumps(position), data))


def damaged(text: str, data: st.DataObject) -> str:
    """Cut a text short, or flip bits of it."""
    raw = bytearray(text.encode())
    if data.draw(st.booleans()):
        return raw[: data.draw(st.integers(0, len(raw)))].decode(errors="replace")
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    return raw.decode(errors="replace")


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100_000, "9" * 10_000, '{"round": ' + "9" * 10_000 + "}", "NaN"]
)
def test_deep_and_huge_json_is_refused(text: str) -> None:
    with pytest.raises(PositionError):
        load_position(text)


def check_record(text: str) -> None:
    try:
        verify(io.StringIO(text))
    except RecordError as error:
        sentence = str(error)
    else:
        return
    assert sentence
    assert "\n" not in sentence


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(RECORDS), st.data())
def test_a_damaged_record_is_refused_or_still_a_game(record: str, data: st.DataObject) -> None:
    check_record(damaged(record, data))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(RECORDS), st.data())
def test_a_record_with_lines_lost_doubled_or_moved_is_refused_or_still_a_game(
    record: str, data: st.DataObject
) -> None:
    lines = record.splitlines(keepends=True)
    place = data.draw(st.integers(0, len(lines) - 1))
    other = data.draw(st.integers(0, len(lines) - 1))
    change = data.draw(st.sampled_from(["lose", "double", "move", "swap", "text"]))
    if change == "lose":
        del lines[place]
    elif change == "double":
        lines.insert(other, lines[place])
    elif change == "move":
        lines.insert(other, lines.pop(place))
    elif change == "swap":
        lines[place], lines[other] = lines[other], lines[place]
    else:
        lines[place] = data.draw(st.text()) + "\n"
    check_record("".join(lines))


@settings(max_examples=200, deadline=None)
@given(st.text() | st.lists(st.sampled_from("\n".join(RECORDS[:2]).splitlines()), max_size=20).map("\n".join))
def test_arbitrary_text_is_no_record(text: str) -> None:
    check_record(text)


@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=200), record=st.booleans())
def test_files_of_arbitrary_bytes_end_with_exit_code_2(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, record: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "input"
    path.write_bytes(b"x" + data)
    assert (verify_records([str(path)]) if record else print_legal(str(path))) == 2
