"""Work that can be stopped and taken up again, and whose numbers do not depend on the workers.

The key of a task and the seed alone determine its random numbers. Its result is one file, named
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
"""To be raised when results of earlier versions no longer hold: none of them is then used."""


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
        """Name the result's file after all that it depends on."""
        return f"{_digest(seed, self.key)[:16]}-{_digest(FORMAT, repr(self.arguments))[:16]}.npz"


@dataclass(frozen=True)
class Run:
    """Where results are kept, with which seed, and by how many workers they are computed.

    ``tell(stage, done, total)`` is called after every task.
    """

    folder: Path
    seed: int = 0
    workers: int = 1
    tell: Callable[[str, int, int], None] = field(default=lambda stage, done, total: None)

    def results(self, stage: str, tasks: Sequence[Task]) -> list[Arrays]:
        """Return the result of every task, in order; what is on disk is not computed again."""
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
        """Yield results as they come; each is on disk before it is yielded."""
        if self.workers == 1 or len(tasks) < 2:
            for task in tasks:
                yield _one(self.folder, self.seed, task)
            return
        from joblib import Parallel, delayed

        parallel = Parallel(n_jobs=self.workers, return_as="generator_unordered")
        yield from parallel(delayed(_one)(self.folder, self.seed, task) for task in tasks)

    def _load(self, task: Task) -> Arrays | None:
        """Read a result; one that is damaged is computed again."""
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
