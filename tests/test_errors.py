"""Errors that two readers understand: who calls Python, and who types a command."""

import ast
import copy
import pickle
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpmic
from dpmic.cli._application import command
from dpmic.cli._shell import for_the_shell
from dpmic.errors import DpmicError, ParameterError, spell, with_code

SOURCE = Path(dpmic.__file__).parent
PYTHON_ONLY = ("compat", "evaluation", "feature_selection", "results", "cli")
REMEDY = with_code("pass `allow_noisy=True` or `dataset='visits 2024'`, see `dpmic.plan`")


def test_python_reads_code_as_it_is():
    error = ParameterError("epsilon = 20", "it is large", REMEDY)
    assert str(error) == (
        "epsilon = 20: it is large; pass allow_noisy=True or dataset='visits 2024', see dpmic.plan."
    )
    assert repr(error) == f"ParameterError('epsilon = 20', 'it is large', {str(REMEDY)!r})"


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy]
    + [lambda error, p=p: pickle.loads(pickle.dumps(error, p)) for p in range(6)],
)
def test_copies_keep_the_code(copied):
    error = copied(ParameterError("n", "it is small", REMEDY))
    assert type(error) is ParameterError
    assert error.spelled(len_of_code) == "n: it is small; pass <16> or <21>, see <10>."


def len_of_code(text):
    return f"<{len(text)}>"


@given(st.text(), st.text())
def test_what_users_have_named_is_never_code(name, other):
    text = name + with_code("; pass `top=5` for ") + other
    assert text == f"{name}; pass top=5 for {other}"
    assert for_the_shell(text) == f"{name}; pass --top 5 for {other}"
    assert spell(name, str.upper) == name
    assert for_the_shell(text + text) == for_the_shell(text) * 2


def literals(tree):
    """Yield the texts in calls that make errors and warnings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if called.endswith("Error") or called == "warn":
                inside = (n.value for n in ast.walk(node) if isinstance(n, ast.Constant))
                yield from (text for text in inside if isinstance(text, str))


def test_errors_mark_every_option_that_a_command_has():
    """Else somebody at a shell reads ``top=5`` instead of ``--top 5``."""
    commands = command().commands.values()
    params = [param for single in commands for param in single.params]
    names = {option.lstrip("-").replace("-", "_") for param in params for option in param.opts}
    option = re.compile(rf"(?<![(`\w])(?:{'|'.join(sorted(names))})=[\w.'\"]")
    for path in SOURCE.rglob("*.py"):
        part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if part in PYTHON_ONLY:
            continue
        for text in literals(ast.parse(path.read_text())):
            assert not option.search(text.split("dpmic.Ledger(")[0]), f"{path}: {text}"


def test_every_error_is_one_of_ours():
    for name in dpmic.errors.__all__:
        kind = getattr(dpmic.errors, name)
        if isinstance(kind, type) and issubclass(kind, Exception) and name.endswith("Error"):
            assert issubclass(kind, DpmicError)
