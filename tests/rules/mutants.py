"""Changes the rules in one small place at a time and looks whether the tests notice: run by hand, it takes an hour.

From the folder of the tests, 200 changes drawn from all, without compilation:

    NUMBA_DISABLE_JIT=1 python -m rules.mutants 200 --seed 1

Each change is made in the code of a function already loaded, in a forked process of its own. Survivors are printed
with file, line and change; each is to be read: a test is missing, or the change makes no difference.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import inspect
import io
import os
import random
import signal
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import CodeType, FunctionType

import numba
import pytest

HERE = Path(__file__).parent
KERNEL_TESTS = (
    "test_small_kernels.py",
    "test_edge_cases.py",
    "test_edge_cases_endings.py",
    "test_invariants.py::test_i6_an_episode_does_not_depend_on_the_ones_before",
)
TESTS = {
    "batch": ("test_small_kernels.py",),
    "check": ("test_invariants.py",),
    "ruleset": ("test_ruleset.py", "test_validity.py"),
    "validity": ("test_validity.py", "test_ruleset.py"),
    "rulebook": ("test_rulebook.py",),
    "interpreted": ("test_kernels.py",),
    "kernel": ("test_kernels.py",),
}
"""Test files that should notice a change of a module; the others are modules of kernels alone."""
MODULES = ("cards", "deal", "lay_downs", "legal", "melds", "scoring", "step", *TESTS)
DUELS = 40
SECONDS = 120

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATIONS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip


def changes(node: ast.AST) -> Iterator[tuple[str, Callable[[ast.AST], ast.AST]]]:
    """Return the small changes that a node of a syntax tree allows, each with its description."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        new = COMPARISONS[type(node.ops[0])]
        yield f"comparison -> {new.__name__}", lambda n: _with(n, ops=[new(), *n.ops[1:]])
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in OPERATIONS:
        other = OPERATIONS[type(node.op)]
        yield f"operation -> {other.__name__}", lambda n: _with(n, op=other())
    if isinstance(node, ast.BoolOp):
        swapped = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield f"-> {swapped.__name__}", lambda n: _with(n, op=swapped())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not dropped", lambda n: n.operand
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield "constant + 1", lambda n: ast.Constant(n.value + 1)
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield "constant negated", lambda n: ast.Constant(not n.value)
    if isinstance(node, (ast.Assign, ast.AugAssign)) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        yield "statement dropped", lambda _: ast.Pass()
    if isinstance(node, ast.Break):
        yield "break -> continue", lambda _: ast.Continue()


def _with(node: ast.AST, **fields: object) -> ast.AST:
    for name, value in fields.items():
        setattr(node, name, value)
    return node


class _Change(ast.NodeTransformer):
    """Applies change number `which` of a tree."""

    def __init__(self, which: int) -> None:
        self.left = which
        self.done: tuple[int, str] | None = None

    def visit(self, node: ast.AST) -> ast.AST:
        for name, change in changes(node):
            if self.left == 0 and self.done is None:
                self.done = (getattr(node, "lineno", 0), f"{ast.unparse(node)[:60]!r}: {name}")
                return ast.copy_location(change(node), node)
            self.left -= 1
        return self.generic_visit(node)


def functions(module_name: str) -> Iterator[FunctionType]:
    """Return the functions and methods that a module defines, kernels unwrapped."""
    module = importlib.import_module(f"phase10_env.rules.{module_name}")
    for value in vars(module).values():
        members = vars(value).values() if inspect.isclass(value) else [value]
        for member in members:
            found = inspect.unwrap(getattr(member, "fget", None) or getattr(member, "__func__", member))
            if (
                isinstance(found, FunctionType)
                and found.__code__.co_filename == module.__file__
                and not found.__closure__
            ):
                yield found


def tree_of(function: FunctionType) -> ast.Module:
    """Return the syntax tree of a function without decorators, defaults and docstring."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list = []
    definition.args.defaults, definition.args.kw_defaults = [], [None] * len(definition.args.kwonlyargs)
    if ast.get_docstring(definition) is not None:
        definition.body = definition.body[1:] or [ast.Pass()]
    return tree


def mutants(function: FunctionType) -> Iterator[tuple[str, CodeType]]:
    """Return every changed code of a function with a description."""
    tree = tree_of(function)
    first = function.__code__.co_firstlineno
    for which in range(10_000):
        change = _Change(which)
        changed = ast.fix_missing_locations(change.visit(copy.deepcopy(tree)))
        if change.done is None:
            return
        line, name = change.done
        try:
            module = compile(changed, function.__code__.co_filename, "exec")
        except (SyntaxError, ValueError):
            continue
        code = next(constant for constant in module.co_consts if isinstance(constant, CodeType))
        yield (
            f"{Path(function.__code__.co_filename).name}:{first + line - 1} {function.__name__}: {name}",
            code,
        )


def is_noticed(module_name: str) -> bool:
    """Tell whether the tests of a module fail now."""
    from rules.duel import numbered_game, play_duel

    if module_name not in TESTS:
        for number in range(1, DUELS):
            game, style, stream = numbered_game(number + number // 20)
            play_duel(game, style, stream, decisions=80, spot_checks=0.05)
    files = [str(HERE / name) for name in TESTS.get(module_name, KERNEL_TESTS)]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        return pytest.main(["-x", "-q", "-p", "no:cacheprovider", *files]) != 0


def survives(module_name: str, function: FunctionType, code: CodeType) -> bool:
    """Tell whether a change goes unnoticed; a hanging or crashing one is noticed."""
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        function.__code__ = code
        noticed = True
        try:
            noticed = is_noticed(module_name)
        finally:
            os._exit(int(noticed))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def main() -> None:
    """Draw changes, run them and print the survivors."""
    parser = argparse.ArgumentParser(description="Look for changes of the rules that no test notices.")
    parser.add_argument("number", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--modules", nargs="*", default=MODULES)
    options = parser.parse_args()
    if not numba.config.DISABLE_JIT:
        sys.exit("run it with NUMBA_DISABLE_JIT=1: compiled code cannot be changed in place")
    every = [
        (module, function, text, code)
        for module in options.modules
        for function in functions(module)
        for text, code in mutants(function)
    ]
    drawn = random.Random(options.seed).sample(every, min(options.number, len(every)))
    print(f"{len(drawn)} of {len(every)} changes", flush=True)
    assert not is_noticed("scoring"), "the tests must pass before anything is changed"
    begun, survivors = time.perf_counter(), 0
    for done, (module, function, text, code) in enumerate(drawn, 1):
        if survives(module, function, code):
            survivors += 1
            print(f"survived: {text}", flush=True)
        if done % 25 == 0:
            print(f"{done} tried, {survivors} survived, {time.perf_counter() - begun:.0f} s", flush=True)
    print(f"{len(drawn)} tried, {survivors} survived, {time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
