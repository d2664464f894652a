"""Sweeps: many cases in one test.

Hundreds of tests of a millisecond each cost more to collect and to set up than to run.
``@sweep("seed", range(150))`` calls a test with every case, as ``pytest.mark.parametrize`` does,
but as one test. Whatever a case raises names the case.
"""

import contextlib
import copy
import functools
import inspect
from pathlib import Path

import pytest


def sweep(names, cases, ids=repr):
    """Call the decorated test with each case in turn; arguments and stacking are parametrize's.

    A case that skips is left out; if all do, the test is skipped.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    cases = list(cases)
    labels = list(map(ids, cases) if callable(ids) else ids)
    assert cases, "a sweep without cases"

    def decorate(test):
        assert not hasattr(test, "hypothesis"), "Hypothesis and sweeps do not mix: parametrize it"
        parameters = inspect.signature(test).parameters
        assert set(names) <= set(parameters), f"{test.__name__} does not take {names}"

        @functools.wraps(test)
        def swept(*args, **fixtures):
            skipped = []
            for i, (label, case) in enumerate(zip(labels, cases, strict=True)):
                values = case if len(names) > 1 else (case,)
                given = dict(zip(names, values, strict=True))
                try:
                    with fresh(fixtures, i) as own:
                        test(*args, **own, **given)
                except pytest.skip.Exception as reason:
                    skipped.append(reason)
                except BaseException as error:
                    case = f"case {i + 1} of {len(cases)}"
                    error.add_note(f"{case}: {', '.join(names)} = {label}")
                    raise
            if len(skipped) == len(cases):
                raise skipped[0]

        kept = [parameter for name, parameter in parameters.items() if name not in names]
        swept.__signature__ = inspect.Signature(kept)
        return swept

    return decorate


@contextlib.contextmanager
def fresh(fixtures, i):
    """Give each case the fixtures that it would have alone.

    That is a generator in its first state, an empty folder, and patches that end with the case;
    what an earlier case printed or logged is gone.
    """
    own = dict(fixtures)
    if "rng" in own:
        own["rng"] = copy.deepcopy(own["rng"])
    if "tmp_path" in own:
        shared = own["tmp_path"]
        alone = Path.cwd() != shared and all(p.name.startswith("case") for p in shared.iterdir())
        assert alone, "other fixtures use tmp_path: parametrize the test"
        own["tmp_path"] = shared / f"case{i}"
        own["tmp_path"].mkdir()
    if "capsys" in own:
        own["capsys"].readouterr()
    if "caplog" in own:
        own["caplog"].clear()
    with pytest.MonkeyPatch.context() as patch:
        if "monkeypatch" in own:
            own["monkeypatch"] = patch
        yield own
