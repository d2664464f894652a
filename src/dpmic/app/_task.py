"""Long work in a thread of its own: it goes on after a tab is closed, and can be stopped."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Literal

from dpmic._progress import listening
from dpmic.errors import DpmicError

State = Literal["running", "done", "failed", "stopped"]

FAULT = "This is a bug in dpmic ({kind}); please report it. This message contains no data."


class Stopped(BaseException):
    """Somebody has pressed Stop; raised before the next piece of work."""


class Task:
    """One piece of work, its progress and what came of it.

    Attributes
    ----------
    what : str
        What is being done.
    about : object
        What the work belongs to, such as the text of a job file.
    stoppable : bool
        Whether it may be given up: not once it has begun to spend.
    result : object
        What the work returned, once ``state`` is "done".
    error : str
        What went wrong in a sentence, once ``state`` is "failed".
    """

    def __init__(
        self,
        what: str,
        about: Any,
        work: Callable[[Task], Any],
        spell: Callable[[str], str] = str,
        *,
        stoppable: bool = True,
    ) -> None:
        self.what, self.about, self.stoppable = what, about, stoppable
        self.state: State = "running"
        self.result: Any = None
        self.error = ""
        self.done: tuple[str, int, int | None] | None = None
        self._work, self._spell = work, spell
        self._begun, self._took = time.monotonic(), 0.0
        self._lock = threading.Lock()
        # A daemon, so that Ctrl-C ends the process: what was charged is finished for nothing.
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def seconds(self) -> float:
        """How long it has been running, or ran."""
        return self._took or time.monotonic() - self._begun

    def tell(self, what: str, done: int, total: int | None) -> None:
        """Note how far the work is; raise :class:`Stopped` if it is no longer wanted."""
        self.done = what, done, total
        self.refuse_stopped()

    def refuse_stopped(self) -> None:
        """Raise :class:`Stopped` if the work is no longer wanted."""
        if self.state == "stopped":
            raise Stopped

    def stop(self) -> None:
        """Give the work up, if it may be: it ends before its next piece, its result is dropped."""
        if self.stoppable:
            self._end("stopped")

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the thread has ended."""
        self._thread.join(seconds)

    def _run(self) -> None:
        try:
            with listening(self.tell):
                self.result = self._work(self)
        except Stopped:
            self._end("stopped")
        except DpmicError as error:
            self._end("failed", error.spelled(self._spell))
        except MemoryError:
            self._end("failed", "There is not enough memory; close other programs.")
        except BaseException as error:  # its words may hold data
            kind = type(error).__name__
            print(f"dpmic: {kind} while {self.what}", file=sys.stderr)
            self._end("failed", FAULT.format(kind=kind))
        else:
            self._end("done")
        del self._work  # and with it the records

    def _end(self, state: State, error: str = "") -> None:
        """Note how it ended; the first end counts."""
        with self._lock:
            if self.state == "running":
                self._took = time.monotonic() - self._begun
                self.error, self.state = error, state
