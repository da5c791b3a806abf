"""Labels tell what each action is worth, shards depend on their number alone, and lessons follow the labels."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from phase10_agents.neural.agent import load_checkpoint_agent
from phase10_agents.neural.networks import (
    NetworkError,
    NetworkSettings,
    PolicyValueNet,
    input_scale,
    shortcut_columns,
)
from phase10_env import GameBatch
from phase10_env.actions import DISCARD
from phase10_env.observation import observation_layout
from phase10_env.rules import table
from phase10_training.cli import main
from phase10_training.discards import DiscardLesson, discard_labels, teach_discards, with_discard_head
from phase10_training.distill import Lesson, distill, gain_of_policy
from phase10_training.errors import UsageError
from phase10_training.grown_lessons import (
    LayDownLesson,
    PlaceLesson,
    SkipLesson,
    grown,
    question_labels,
    teach_question,
)
from phase10_training.labels import Labels, LabelSettings, load_labels, make_labels, make_shard, shard_files

SMALL = LabelSettings(shard=64, samples=2)


def test_a_shard_holds_choices_with_a_worth_for_each_legal_action() -> None:
    labels = make_shard(LabelSettings(shard=300, samples=2), 0)
    legal = np.arange(64) < labels.legal_counts[:, None]
    assert len(labels) == 300
    assert (labels.legal_counts > 1).all()
    assert ((labels.legal_actions == labels.chosen[:, None]) & legal).any(axis=1).all()
    assert (labels.values[legal] > -0.2).all()
    assert (labels.values[legal] < 1.2).all()
    assert not labels.values[~legal].any()
    assert ((labels.before > 0) & (labels.before < 1)).all()


def test_labels_prefer_sensible_actions() -> None:
    labels = make_shard(LabelSettings(shard=3000, samples=2), 3)
    rows = np.arange(len(labels))
    legal = np.arange(64) < labels.legal_counts[:, None]
    own = labels.values[rows, ((labels.legal_actions == labels.chosen[:, None]) & legal).argmax(axis=1)]
    mean = np.where(legal, labels.values, 0.0).sum(axis=1) / labels.legal_counts
    assert (own - mean).mean() > 0.01  # the heuristic's action against the average one
    lays = (labels.chosen >= table.LAY) & (labels.chosen < table.NUMBER)
    assert lays.sum() > 30
    assert (own - mean)[lays].mean() > 0.01


def test_a_shard_depends_on_seed_and_number_alone() -> None:
    one, again, other = make_shard(SMALL, 1), make_shard(SMALL, 1), make_shard(SMALL, 2)
    np.testing.assert_array_equal(one.values, again.values)
    np.testing.assert_array_equal(one.observations, again.observations)
    assert (one.values != other.values).any()


def test_missing_shards_are_made_and_others_kept(tmp_path: Path) -> None:
    make_labels(SMALL, tmp_path, 3, workers=2)
    manifest, files = shard_files(tmp_path)
    assert manifest["layout_digest"] == observation_layout(2, "candidates").digest
    before = [path.stat().st_mtime_ns for path in files]
    files[1].unlink()
    make_labels(SMALL, tmp_path, 4)
    _, files = shard_files(tmp_path)
    assert len(files) == 4
    assert [path.stat().st_mtime_ns for path in files][::2][:2] == before[::2]
    assert len(load_labels(files)) == 4 * 64
    assert not list(tmp_path.glob(".*partial"))


def test_labels_of_other_settings_are_refused(tmp_path: Path) -> None:
    make_labels(SMALL, tmp_path, 1)
    with pytest.raises(UsageError, match="made with samples = 2, not 3"):
        make_labels(LabelSettings(shard=64, samples=3), tmp_path, 1)
    manifest = tmp_path / "labels.json"
    found = json.loads(manifest.read_text())
    manifest.write_text(
        json.dumps({k: v for k, v in found.items() if k not in ("skip_share", "place_share")})
    )
    make_labels(SMALL, tmp_path, 1)  # of a time before these shares
    with pytest.raises(UsageError, match="no labels"):
        shard_files(tmp_path / "elsewhere")
    (tmp_path / "shard_00000.npz").write_bytes(b"PK")
    with pytest.raises(UsageError, match="delete it and make it anew"):
        load_labels(shard_files(tmp_path)[1])


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"agent": "champion"}, "compiled heuristic .* found 'champion'"),
        ({"samples": -1}, "samples must be at least 0, found -1"),
        ({"place_share": 1.5}, "place_share must be from 0 to 1, found 1.5"),
        ({"share": 0.0, "lay_share": 0.0}, "some share must be above 0"),
    ],
)
def test_settings_that_cannot_be_labelled_are_refused(settings: dict[str, float], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        LabelSettings(**settings)  # type: ignore[arg-type]


def test_decisions_to_lay_down_may_be_labelled_more_often() -> None:
    def laying(lay_share: float) -> float:
        settings = LabelSettings(shard=512, samples=1, share=0.05, lay_share=lay_share)
        labels = make_shard(settings, 0)
        lay = (labels.legal_actions >= 2) & (labels.legal_actions < 12) & labels.legal
        return float(lay.any(axis=1).mean())

    assert laying(1.0) > 5 * laying(0.05)


def test_decisions_with_a_skip_may_be_labelled_more_often() -> None:
    def skipping(skip_share: float) -> float:
        settings = LabelSettings(shard=512, samples=1, share=0.05, lay_share=0.0, skip_share=skip_share)
        labels = make_shard(settings, 0)
        assert not labels.places(slice(table.LAY, table.BUILD)).any()
        return float(labels.places(slice(table.SKIP, 165)).any(axis=1).mean())

    assert skipping(1.0) > 5 * skipping(0.05)


# ---- lessons -----------------------------------------------------------------------------------------------


def lesson_labels(rng: np.random.Generator, count: int) -> Labels:
    """Two legal actions; which is better stands in the first entry of the observation; labels are noisy."""
    size = observation_layout(2, "candidates").size
    observations = np.zeros((count, size), np.uint8)
    observations[:, 0] = rng.integers(0, 2, count)
    legal = np.zeros((count, 64), np.uint8)
    legal[:, 1] = 1
    values = np.zeros((count, 64), np.float32)
    better = observations[:, 0].astype(int)
    values[np.arange(count), better] = 0.01
    values[:, :2] += rng.normal(0, 0.03, (count, 2)).astype(np.float32)
    return Labels(
        observations,
        legal,
        np.full(count, 2, np.int16),
        values,
        np.zeros(count, np.uint8),
        np.zeros(count, np.float32),
    )


def fresh_net() -> PolicyValueNet:
    settings = NetworkSettings(actor=(8,), critic=(8,), precision="fp32")
    return PolicyValueNet(input_scale(observation_layout(2, "candidates"), settings), settings)


def test_a_lesson_finds_the_better_action_under_noise() -> None:
    rng = np.random.default_rng(0)
    net, held_back = fresh_net(), lesson_labels(rng, 2000)
    lesson = Lesson(epochs=6, temperature=1.0, learning_rate=2e-2, minibatch=64)
    metrics = [m for _, m in distill(net, lesson_labels(rng, 6000), held_back, lesson)]
    gain, error, same = gain_of_policy(net, held_back)
    assert metrics[-1]["distill/gain"] == gain
    assert gain == pytest.approx(0.005, abs=4 * error)  # 0.01 in the half where the heuristic errs
    assert same == pytest.approx(0.5, abs=0.05)
    assert metrics[-1]["distill/value_loss"] < 0.05


def test_the_tether_holds_the_policy_where_it_was() -> None:
    rng = np.random.default_rng(0)
    labels, held_back = lesson_labels(rng, 3000), lesson_labels(rng, 500)
    moved = []
    for tether in (1e-4, 1.0):
        lesson = Lesson(epochs=2, learning_rate=2e-2, minibatch=64, tether=tether)
        *_, found = distill(fresh_net(), labels, held_back, lesson)
        moved.append(found[1]["distill/kl_from_start"])
    assert moved[1] < 0.1 * moved[0]


def test_a_policy_that_is_far_too_sure_can_still_be_moved() -> None:
    rng = np.random.default_rng(0)
    labels, held_back = lesson_labels(rng, 6000), lesson_labels(rng, 500)
    gains = []
    for floor in (4.0, 100.0):
        net = fresh_net()
        with torch.no_grad():
            head = net.actor[-1]
            assert isinstance(head, torch.nn.Linear)
            head.bias[0] += 30.0  # as a clone is of what its teacher always does
        lesson = Lesson(epochs=10, temperature=1.0, learning_rate=5e-2, minibatch=64, floor=floor)
        *_, found = distill(net, labels, held_back, lesson)
        gains.append(found[1]["distill/gain"])
    assert gains[0] == pytest.approx(0.005, abs=0.003)
    assert gains[1] == 0.0


# ---- when to lay down --------------------------------------------------------------------------------------


def laying_labels(rng: np.random.Generator, count: int) -> Labels:
    """A lay-down, at once or card by card, and two discards; when to hold stands in the first entry; with noise."""
    labels = lesson_labels(rng, count)
    labels.legal_actions[:, :4] = (4, 14, 120, 130)
    labels.legal_counts[:] = 4
    labels.values[:, :4] = rng.normal(0, 0.02, (count, 4))
    labels.values[:, 0] += np.where(labels.observations[:, 0] > 0, -0.02, 0.03)
    labels.values[:, 1] = labels.values[:, 0]
    labels.chosen[:] = 4
    return labels


def sure_net(oracle: bool = False) -> PolicyValueNet:
    """A policy that always lays down, as far too sure as a clone."""
    layout = observation_layout(2, "candidates")
    settings = NetworkSettings(
        actor=(16, 8), critic=(8,), precision="fp32", ignored=(), shortcut=("discard_loss",)
    )
    net = PolicyValueNet(
        input_scale(layout, settings),
        settings,
        privileged_scale=torch.ones(3) if oracle else None,
        shortcut=shortcut_columns(layout, settings),
    )
    with torch.no_grad():
        for weight in net.parameters():
            weight += 0.05 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(3))
        head = net.actor[-1]
        assert isinstance(head, torch.nn.Linear)
        head.bias[2:22] += 40.0
    return net


@pytest.mark.parametrize("oracle", [False, True])
def test_a_grown_policy_is_the_same_policy(oracle: bool) -> None:
    net = sure_net(oracle)
    wide = grown(net, 6)
    x = torch.randint(0, 3, (20, len(net.scale)), dtype=torch.uint8)
    hidden = torch.randint(0, 3, (20, 3), dtype=torch.uint8) if oracle else None
    assert wide.settings.actor == (22, 14)
    for found, expected in zip(wide(x, hidden), net(x, hidden), strict=True):
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-5)


def test_a_policy_learns_when_to_hold_its_phase_back_and_nothing_else_changes() -> None:
    rng = np.random.default_rng(0)
    net = sure_net()
    wide = grown(net, 8)
    lesson = LayDownLesson(units=8, epochs=8, minibatch=64, learning_rate=1e-2, weight_decay=0.0)
    errors = [m["distill/regression_error"] for m in teach_question(wide, laying_labels(rng, 4000), lesson)]
    assert errors[-1] < 0.04
    held_back = laying_labels(rng, 1000)
    gain, _, same = gain_of_policy(wide, held_back)
    assert gain > 0.008  # 0.01 is all there is: 0.02 in the half where holding is right
    assert 0.4 < same < 0.6
    x = torch.from_numpy(held_back.observations)
    before, values = net(x)
    after, others = wide(x)
    torch.testing.assert_close(after[:, 12:22], after[:, 2:12] - 1.0)  # never card by card
    kept = [action for action in range(165) if not 2 <= action < 22]
    torch.testing.assert_close(after[:, kept], before[:, kept], atol=1e-4, rtol=1e-5)
    torch.testing.assert_close(others, values)
    with pytest.raises(NetworkError, match="grown"):
        next(teach_question(net, held_back, LayDownLesson(units=64)))


def test_only_decisions_with_a_lay_down_and_something_else_teach_it() -> None:
    labels = laying_labels(np.random.default_rng(0), 4)
    labels.legal_counts[0] = 1  # nothing but the lay-down
    labels.legal_actions[1, :2] = (115, 116)  # no lay-down
    labels.legal_counts[2] = 2  # lays down at once or card by card
    assert len(question_labels(labels, LayDownLesson())) == 1


def skipping_labels(rng: np.random.Generator, count: int) -> Labels:
    """Two discards and a Skip on either of two; on whom, and whether, stands in the first entries; with noise."""
    labels = lesson_labels(rng, count)
    labels.observations[:, 1] = rng.integers(0, 2, count)
    labels.legal_actions[:, :4] = (120, 130, 160, 161)
    labels.legal_counts[:] = 4
    labels.values[:, :4] = rng.normal(0, 0.02, (count, 4))
    for target in range(2):
        wise = (labels.observations[:, 0] > 0) & (labels.observations[:, 1] == target)
        labels.values[:, 2 + target] += np.where(wise, 0.03, -0.03)
    labels.chosen[:] = 160
    return labels


def test_a_policy_learns_whether_and_on_whom_to_skip_and_nothing_else_changes() -> None:
    rng = np.random.default_rng(0)
    net = sure_net()
    wide = grown(net, 8)
    lesson = SkipLesson(units=8, epochs=12, minibatch=64, learning_rate=3e-2, weight_decay=0.0)
    list(teach_question(wide, question_labels(skipping_labels(rng, 4000), lesson), lesson))
    held_back = skipping_labels(rng, 1000)
    gain, _, same = gain_of_policy(wide, held_back)
    assert gain > 0.025  # 0.03 is all there is: 0.06 where the other is to be skipped, 0.03 where nobody is
    assert 0.15 < same < 0.35
    x = torch.from_numpy(held_back.observations)
    torch.testing.assert_close(wide(x)[0][:, :160], net(x)[0][:, :160], atol=1e-4, rtol=1e-5)
    torch.testing.assert_close(wide(x)[1], net(x)[1])


def test_a_policy_imitates_where_a_card_goes_and_nothing_else_changes() -> None:
    rng = np.random.default_rng(0)

    def places(count: int) -> Labels:
        labels = lesson_labels(rng, count)
        labels.legal_actions[:, :3] = (87, 90, 101)
        labels.legal_counts[:] = 3
        labels.chosen[:] = np.where(labels.observations[:, 0] > 0, 101, 90)
        return labels

    net = sure_net()
    wide = grown(net, 8)
    lesson = PlaceLesson(units=8, epochs=8, minibatch=64, learning_rate=3e-2)
    losses = [m["distill/imitation_loss"] for m in teach_question(wide, places(2000), lesson)]
    assert losses[-1] < 0.05 < losses[0]
    held_back = places(300)
    assert gain_of_policy(wide, held_back)[2] == 1.0
    x = torch.from_numpy(held_back.observations)
    kept = [action for action in range(165) if not 87 <= action < 111]
    torch.testing.assert_close(wide(x)[0][:, kept], net(x)[0][:, kept], atol=1e-4, rtol=1e-5)


def test_a_question_is_taught_from_decisions_that_ask_it() -> None:
    labels = skipping_labels(np.random.default_rng(0), 4)
    labels.legal_actions[0, 2:4] = (131, 132)  # no Skip
    labels.legal_actions[1, :2] = (160, 161)  # nothing but Skips
    labels.legal_counts[1] = 2
    labels.legal_actions[2, :4] = (87, 88, 95, 96)  # where a card goes
    assert len(question_labels(labels, SkipLesson())) == 1
    assert len(question_labels(labels, PlaceLesson())) == 1
    labels.legal_counts[2] = 1  # one place is no question
    assert len(question_labels(labels, PlaceLesson())) == 0


def test_label_and_distill_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels, out = tmp_path / "labels", tmp_path / "run"
    assert main(["label", "--out", str(labels), "--decisions", "16384", "--samples", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["shards"] == 2
    words = ["distill", str(labels), "--out", str(out), "--json"]
    assert main(words) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["labels"] == result["held_back"] == 8192
    assert main(words) == 2
    assert "already holds a run" in capsys.readouterr().err
    assert main(["evaluate", f"checkpoint:{out}", "--against", "random", "--deals", "2", "--json"]) == 0
    capsys.readouterr()
    taught = tmp_path / "taught"
    words = ["distill", str(labels), "--start-from", str(out), "--out", str(taught), "--lay-downs", "8"]
    assert main([*words, "--json"]) == 0
    assert 0 < json.loads(capsys.readouterr().out)["labels"] < 8192
    assert main(["evaluate", f"checkpoint:{taught}", "--against", "random", "--deals", "2", "--json"]) == 0
    assert main([*words[:-1], "7", "--out", str(tmp_path / "odd")]) == 2
    assert "even" in capsys.readouterr().err
    assert main(["distill", str(tmp_path), "--out", str(tmp_path / "other")]) == 2
    assert "phase10 label" in capsys.readouterr().err


# ---- what to discard ---------------------------------------------------------------------------------------


def discarding_labels(rng: np.random.Generator, count: int) -> Labels:
    """Three discards of real hands in random states; the card that loses least is the best to throw; with noise."""
    batch = GameBatch(count, 2, seed=int(rng.integers(1000)), actions="compact", observation="candidates")
    batch.play_random(41)
    layout = observation_layout(2, "candidates")
    losses = batch.observations[:, layout.fields["discard_loss"].slice].astype(float) / 100
    values = np.zeros(batch.legal_actions.shape, np.float32)
    values += rng.normal(0, 0.02, values.shape)
    kinds = np.clip(batch.legal_actions.astype(int) - DISCARD, 0, 47)
    values -= 0.1 * np.take_along_axis(losses, kinds, 1)
    first = (batch.legal_actions >= DISCARD).argmax(axis=1)
    return discard_labels(
        Labels(
            batch.observations.copy(),
            batch.legal_actions.copy(),
            batch.legal_counts.copy(),
            values,
            batch.legal_actions[np.arange(count), first].copy(),
            np.zeros(count, np.float32),
        )
    )


def test_a_policy_learns_what_to_discard_and_nothing_else_changes() -> None:
    rng = np.random.default_rng(0)
    layout = observation_layout(2, "candidates")
    before = sure_net()
    net = with_discard_head(before, layout, 16)
    labels, held_back = discarding_labels(rng, 6000), discarding_labels(rng, 2000)
    start, _, _ = gain_of_policy(net, held_back)
    lesson = DiscardLesson(units=16, epochs=4, minibatch=64, learning_rate=5e-3, weight_decay=0.0)
    errors = [m["distill/discard_error"] for m in teach_discards(net, labels, lesson)]
    assert errors[-1] < errors[0]
    gain, error, _ = gain_of_policy(net, held_back)
    assert gain > start + 4 * error
    x = torch.from_numpy(held_back.observations)
    kept = [action for action in range(165) if not DISCARD <= action < DISCARD + 48]
    torch.testing.assert_close(net(x)[0][:, kept], before(x)[0][:, kept], atol=1e-4, rtol=1e-5)
    torch.testing.assert_close(net(x)[1], before(x)[1])


def test_a_share_of_what_the_policy_thought_of_discards_stays_but_nothing_of_a_former_head() -> None:
    layout = observation_layout(2, "candidates")
    before = sure_net()
    x = torch.from_numpy(discarding_labels(np.random.default_rng(2), 50).observations)
    once = with_discard_head(before, layout, 8, kept=0.5)
    torch.testing.assert_close(once(x)[0][:, 111:159], 0.5 * before(x)[0][:, 111:159])
    with torch.no_grad():
        for weight in once.discards.parameters() if once.discards else ():
            weight += 1.0
    again = with_discard_head(once, layout, 8, kept=0.5)
    assert not again(x)[0][:, 111:159].any()


def test_the_same_seed_teaches_the_same_discards() -> None:
    layout = observation_layout(2, "candidates")
    taught = []
    for _ in range(2):
        net = with_discard_head(sure_net(), layout, 8)
        lesson = DiscardLesson(units=8, epochs=1, minibatch=64)
        list(teach_discards(net, discarding_labels(np.random.default_rng(1), 500), lesson, seed=3))
        taught.append(net.state_dict())
    assert all(torch.equal(taught[0][name], taught[1][name]) for name in taught[0])


def test_imitation_holds_a_lesson_to_the_heuristic_where_labels_say_little() -> None:
    layout = observation_layout(2, "candidates")
    same = []
    for imitation in (0.0, 3.0):
        net = with_discard_head(sure_net(), layout, 16, kept=0.0)
        labels = discarding_labels(np.random.default_rng(0), 3000)
        lesson = DiscardLesson(
            units=16, epochs=3, minibatch=64, learning_rate=5e-3, weight_decay=0.0, imitation=imitation
        )
        *_, last = teach_discards(net, labels, lesson)
        assert last["distill/imitation_loss"] > 0
        same.append(gain_of_policy(net, discarding_labels(np.random.default_rng(1), 1000))[2])
    assert same[1] > same[0] + 0.1


def test_both_lessons_follow_one_another_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [str(tmp_path / name) for name in ("one", "two")]
    for seed, folder in enumerate(folders):
        assert (
            main(["label", "--out", folder, "--decisions", "16384", "--samples", "1", "--seed", str(seed)])
            == 0
        )
    clone, out = str(tmp_path / "discards"), str(tmp_path / "both")
    assert main(["distill", *folders, "--out", clone, "--discards", "8", "--epochs", "1"]) == 0
    command = ["distill", *folders, "--start-from", clone, "--epochs", "1", "--lay-downs", "8", "--out"]
    assert main([*command, out]) == 0
    assert "labels held back" in capsys.readouterr().out
    assert load_checkpoint_agent(out).net.settings.discards == 8
    skips = str(tmp_path / "skips")
    more = ["distill", *folders, "--start-from", out, "--epochs", "1", "--skips", "8", "--out", skips]
    assert main(more) == 0
    assert main([*command, str(tmp_path / "third"), "--discards", "8"]) == 2
    assert "two lessons" in capsys.readouterr().err
    wrong = {
        ("--start-from", out, "--discards", "8"): "teach --discards first, then --lay-downs",
        ("--start-from", skips, "--discards", "8"): "teach --discards first, then --lay-downs",
        ("--start-from", skips, "--lay-downs", "8"): "teach --lay-downs first, then --skips",
        ("--kept", "0.5"): "--kept goes with --discards",
        ("--imitation", "0.5", "--skips", "8"): "--imitation goes with --discards",
        ("--skips", "8", "--places", "8"): "teach --skips, then --places",
        ("--places", "7"): "places must be an even number of units",
        ("--discards", "8", "--imitation", "-1"): "imitation must be at least 0",
    }
    for words, sentence in wrong.items():
        assert main(["distill", *folders, "--out", str(tmp_path / "third"), *words]) == 2
        assert sentence in capsys.readouterr().err
    (tmp_path / "killed" / "checkpoints" / ".step_000000000001.partial").mkdir(parents=True)
    (tmp_path / "killed" / "metrics.jsonl").touch()
    assert main([*command, str(tmp_path / "killed")]) == 0  # what a kill left is no run
    assert main([*command, str(tmp_path / "killed")]) == 2
    assert "already holds a run" in capsys.readouterr().err
    assert main(["distill", *folders, "--out", str(tmp_path / "third"), "--config", "four-players"]) == 2
    assert "plays with 4 players, the labels are for 2" in capsys.readouterr().err
    assert main(["distill", folders[0], folders[0], "--out", str(tmp_path / "third")]) == 2
    assert "the same rounds" in capsys.readouterr().err
    assert not (tmp_path / "third").exists()


def test_labels_without_playouts_teach_places_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = tmp_path / "labels", tmp_path / "run"
    make_labels(LabelSettings(shard=400, samples=0, share=0.1, lay_share=0.0, skip_share=0.0), folder, 2)
    labels = load_labels(shard_files(folder)[1])
    assert not labels.values.any()
    assert labels.places(slice(table.ONTO, DISCARD)).any()
    command = ["distill", str(folder), "--out", str(out), "--epochs", "2"]
    assert main([*command, "--skips", "8"]) == 2
    assert "teach --places alone" in capsys.readouterr().err
    assert main([*command, "--places", "8"]) == 0
    assert "as the heuristic does" in capsys.readouterr().out
    assert load_checkpoint_agent(str(out)).net.settings.actor == (392, 264)


@pytest.mark.parametrize("damage", ["cut", "empty", "manifest"])
def test_damaged_labels_are_refused_in_one_sentence(
    damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_labels(SMALL, tmp_path / "labels", 2)
    if damage == "manifest":
        (tmp_path / "labels" / "labels.json").write_text("[]")
    else:
        shard = tmp_path / "labels" / "shard_00000.npz"
        shard.write_bytes(shard.read_bytes()[:1000] if damage == "cut" else b"")
    out = tmp_path / "run"
    assert main(["distill", str(tmp_path / "labels"), "--out", str(out)]) == 2
    assert capsys.readouterr().err.count("error:") == 1
    assert not out.exists()


def test_labels_without_the_decisions_of_a_lesson_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_labels(LabelSettings(shard=16, samples=1, lay_share=0.0), tmp_path / "labels", 2)
    out = tmp_path / "run"
    assert main(["distill", str(tmp_path / "labels"), "--out", str(out), "--lay-downs", "8"]) == 2
    assert "no decision of the kind" in capsys.readouterr().err
    assert not out.exists()
