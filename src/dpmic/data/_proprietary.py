"""Files of Excel, SPSS, Stata and SAS, read with packages made for them.

The cells of a sheet are written out as text and then read like a text file. Files of statistics
packages have declared types, as Parquet files do.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cached_property, partial
from itertools import islice
from typing import Any

from dpmic.data._dialect import Dialect, option_of
from dpmic.data._streams import ROWS, Batch, Damage, LocalStream, attempted, damaged, guarded
from dpmic.data._tables import Unlisted, position
from dpmic.data._text import is_record
from dpmic.errors import DependencyError, InputError, UnreadableError, safe_repr

READERS = {
    ".sav": "read_sav",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
"""File endings of SPSS, Stata and SAS, and the pyreadstat functions that read them."""


def _not_installed(path: str, package: str) -> DependencyError:
    # In a folder, what a file is called can be a value.
    kind = f"{os.path.splitext(path)[1]} files"
    reason = f"reading them needs the package {package}, which is not installed"
    return DependencyError(kind, reason, "pip install 'dpmic[files]'")


def workbook(path: str) -> AbstractContextManager[Any]:
    """Open an Excel workbook."""
    try:
        from python_calamine import CalamineWorkbook
    except ImportError:
        raise _not_installed(path, "python-calamine") from None
    opened: AbstractContextManager[Any] = CalamineWorkbook.from_path(path)
    return opened


class Sheet:
    """One sheet of a workbook, whose header has been read; made and used like a text file.

    Every row below the header is a record, even an empty one: a sheet does not show whether a
    record is missing or only its values are.
    """

    consumed = 0

    def __init__(
        self,
        source: Any,
        place: str,
        dialect: Dialect,
        *,
        usual: str,
        public: bool,
        several: bool,
    ) -> None:
        self.dialect, self.declared = dialect, None
        self._place = place
        self._public = public
        self._kind = UnreadableError if several else InputError
        sheet = source.get_sheet_by_name(self._name(source))
        if sheet.start is None:
            raise self._kind(place, "the sheet is empty", "check which sheet has the table")
        self._rows = islice(sheet.iter_rows(), sheet.start[0], None)
        names = tuple(_written(cell, ".") for cell in next(self._rows))
        if is_record(names):
            shown = f", {safe_repr(names)}," if public else ""
            reason, remedy = f"its first line{shown} has no names", "write a header above it"
            raise self._kind(place, reason, remedy)
        self.names = names if public else Unlisted(names)

    def decimal(self, columns: Sequence[str]) -> str:
        """Return the decimal mark of numbers that are stored as text."""
        return self.dialect.decimal or "."

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield record batches of some columns as text; without columns, of the first column."""
        import pyarrow as pa

        places = [position(name, self.names, "column") for name in columns] or [0]
        mark = self.decimal(columns)
        while rows := list(islice(self._rows, ROWS)):
            texts = ([_written(row[place], mark) for row in rows] for place in places)
            arrays = [pa.array(values, pa.string()) for values in texts]
            yield pa.record_batch(arrays, names=list(columns) or [self.names[0]])

    def _name(self, source: Any) -> str:
        """Return the name of the requested sheet, or of the only visible one."""
        sheets = [sheet for sheet in source.sheets_metadata if "WorkSheet" in str(sheet.typ)]
        names = [sheet.name for sheet in sheets]
        wanted = self.dialect.sheet
        shown = f": {', '.join(map(safe_repr, names[:10]))}" if self._public else ""
        if wanted is not None and wanted not in names:
            remedy = f"check its name{shown}"
            raise self._kind(self._place, f"it has no sheet {safe_repr(wanted)}", remedy)
        visible = [sheet.name for sheet in sheets if str(sheet.visible).endswith(".Visible")]
        if wanted is None and len(visible) != 1:
            remedy = "say which: pass " + option_of("sheet", visible[0] if self._public else "NAME")
            raise self._kind(self._place, f"it has several sheets{shown}", remedy)
        return wanted or str(visible[0])


def _written(cell: Any, mark: str) -> str:
    """Return a cell as text: dates as ``2026-01-31``, an empty cell as an empty text."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else _number(cell, mark)
    return str(cell)


def _number(value: float, mark: str) -> str:
    return repr(value).replace(".", mark)


class StatisticalFiles(LocalStream):
    """Files of SPSS, Stata or SAS, read one after the other, with the columns of the first.

    Values that SPSS marks as missing are missing. Codes with labels stay codes.
    """

    def __init__(self, paths: Sequence[str], kind: str, encoding: str | None) -> None:
        self._paths = paths
        self._kind = kind
        self._encoding = encoding and codecs.lookup(encoding).name
        self.expected: int | None = None  # rows, for a progress bar

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names in the first file."""
        return tuple(self._described(self._paths[0]).column_names)

    def count(self) -> int:
        """Return the number of rows, from the files' headers or else by reading them."""
        known = [self._described(path).number_rows for path in self._paths]
        if all(rows is not None and rows >= 0 for rows in known):
            return sum(known)
        return sum(len(batch.data) for batch in self._batches(self.names[:1]))

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        import pyarrow as pa

        done = 0
        for path in self._paths:
            found = self._described(path).column_names
            for name in columns:
                if found.count(name) != 1:
                    raise self._refused(path, name)
            for part in guarded(self._parts(path, columns), *self._context(path)):
                arrays = [pa.array(part[name], from_pandas=True) for name in columns]
                batch = pa.record_batch(arrays, names=list(columns))
                done += len(batch)
                self.tell(done, self.expected)
                yield Batch(batch, path)

    def _parts(self, path: str, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield the values of one file, a number of rows at a time."""
        rows, done = ROWS, 0
        while rows == ROWS:
            part, _ = self._call(path, usecols=list(columns), row_offset=done, row_limit=ROWS)
            rows = len(part[columns[0]])
            done += rows
            if rows:
                yield part

    def _described(self, path: str) -> Any:
        """Return a file's description, without reading its rows."""
        call = partial(self._call, path, metadataonly=True)
        return attempted(call, *self._context(path))[1]

    def _call(self, path: str, **options: Any) -> Any:
        try:
            import pyreadstat
        except ImportError:
            raise _not_installed(path, "pyreadstat") from None
        read = getattr(pyreadstat, READERS[self._kind])
        if self._encoding:
            options["encoding"] = self._encoding
        return read(path, output_format="dict", **options)

    def _context(self, path: str) -> Damage:
        return damaged(path, self._kind)
