"""Work that can be interrupted and resumed, and whose numbers do not depend on the workers.

Only the key of a task and the seed determine its random numbers. Its result is one file, named
after key, seed and arguments, and written completely or not at all.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmic._io import atomic_write

Arrays = Mapping[str, NDArray[Any]]

FORMAT = 1
"""Raise it when results of earlier versions are no longer valid; they are then ignored."""


@dataclass(frozen=True)
class Task:
    """One piece of work: ``function(rng, *arguments)`` returns named arrays."""

    key: str
    function: Callable[..., Arrays]
    arguments: tuple[Any, ...] = ()

    def run(self, seed: int) -> Arrays:
        """Do the work with the task's own random numbers."""
        rng = np.random.default_rng(int(_digest(seed, self.key), 16))
        return self.function(rng, *self.arguments)

    def file(self, seed: int) -> str:
        """Return the name of the result's file, from everything it depends on."""
        return f"{_digest(seed, self.key)[:16]}-{_digest(FORMAT, repr(self.arguments))[:16]}.npz"


@dataclass(frozen=True)
class Run:
    """Where results are kept, the seed, and the number of workers.

    ``tell(stage, done, total)`` is called after every task.
    """

    folder: Path
    seed: int = 0
    workers: int = 1
    tell: Callable[[str, int, int], None] = field(default=lambda stage, done, total: None)

    def results(self, stage: str, tasks: Sequence[Task]) -> list[Arrays]:
        """Return the result of every task, in order; those on disk are not computed again."""
        self.folder.mkdir(parents=True, exist_ok=True)
        known: dict[str, Arrays] = {}
        for task in tasks:
            result = self._load(task)
            if result is not None:
                known[task.key] = result
        left = [task for task in tasks if task.key not in known]
        self.tell(stage, len(known), len(tasks))
        for task, result in self._compute(left):
            known[task.key] = result
            self.tell(stage, len(known), len(tasks))
        return [known[task.key] for task in tasks]

    def _compute(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Arrays]]:
        """Yield results as they are finished; each is on disk before it is yielded."""
        if self.workers == 1 or len(tasks) < 2:
            for task in tasks:
                yield _one(self.folder, self.seed, task)
            return
        from joblib import Parallel, delayed

        parallel = Parallel(n_jobs=self.workers, return_as="generator_unordered")
        yield from parallel(delayed(_one)(self.folder, self.seed, task) for task in tasks)

    def _load(self, task: Task) -> Arrays | None:
        """Read a result; a damaged one is computed again."""
        try:
            with (self.folder / task.file(self.seed)).open("rb") as file, np.load(file) as stored:
                return dict(stored)
        except (FileNotFoundError, EOFError, ValueError, zipfile.BadZipFile):
            return None


def _digest(number: int, text: str) -> str:
    return hashlib.sha256(f"{number}|{text}".encode()).hexdigest()[:32]


def _one(folder: Path, seed: int, task: Task) -> tuple[Task, Arrays]:
    """Do one task and write its result."""
    result = task.run(seed)
    with atomic_write(folder / task.file(seed)) as file:
        np.savez(file, **result)  # type: ignore[arg-type]
    return task, result
