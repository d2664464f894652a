"""The innermost step of the search, written as vector instructions.

numba turns loops into vectors only where it can see through them, and has no gather; LLVM has.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 8
"""Ends in a vector: a register of AVX-512. Elsewhere LLVM takes several smaller ones."""

WIDE = 4 * LANES
"""Ends in a wide tile, enough to hide how long a gather takes."""

_BIT, _INT, _LONG, _REAL = ir.IntType(1), ir.IntType(32), ir.IntType(64), ir.DoubleType()
_INTS, _LONGS, _REALS = (ir.VectorType(kind, LANES) for kind in (_INT, _LONG, _REAL))
_POINTERS = ir.VectorType(_REAL.as_pointer(), LANES)
_ALL = ir.Constant(ir.VectorType(_BIT, LANES), [1] * LANES)
_ZEROS = ir.Constant(_REALS, [0.0] * LANES)


class _Addresses(ir.instructions.Instruction):  # type: ignore[misc]
    """The addresses table + index for a vector of indices, which llvmlite has no word for."""

    def __init__(self, parent: Any, table: Any, index: Any) -> None:
        super().__init__(parent, _POINTERS, "getelementptr", [table, index])

    def descr(self, buf: list[str]) -> None:
        """Write the instruction."""
        table, index = (f"{value.type} {value.get_reference()}" for value in self.operands)
        buf.append(f"getelementptr {_REAL}, {table}, {index}\n")


class _Tile:
    """Writes the code for some vectors of ends, from t on, and one start s."""

    def __init__(self, builder: Any, vectors: int, t: Any, s: Any) -> None:
        self.builder, self.vectors, self.t, self.s = builder, vectors, t, s

    def splat(self, value: Any, kind: Any) -> Any:
        """Return a vector of one value."""
        none = ir.Constant(kind, ir.Undefined)
        first = self.builder.insert_element(none, value, ir.Constant(_INT, 0))
        return self.builder.shuffle_vector(first, none, ir.Constant(_INTS, [0] * LANES))

    def at(self, array: Any, row: Any, kind: Any) -> list[Any]:
        """Return where the ends lie in the row of an array that begins at an offset."""
        first = self.builder.add(row, self.t)
        offsets = (ir.Constant(_LONG, i * LANES) for i in range(self.vectors))
        places = (self.builder.gep(array, [self.builder.add(first, o)]) for o in offsets)
        return [self.builder.bitcast(place, kind.as_pointer()) for place in places]

    def gathered(self, cumulative: Any, row: Any, xlogx: Any) -> list[Any]:
        """Return f(C[t] - C[s]) for the row of cumulative counts that begins at an offset."""
        builder = self.builder
        start = builder.load(builder.gep(cumulative, [builder.add(row, self.s)]))
        starts = self.splat(start, _INTS)
        kind = ir.FunctionType(_REALS, [_POINTERS, _INT, _ALL.type, _REALS])
        name = f"llvm.masked.gather.v{LANES}f64.v{LANES}p0"
        gather = cgutils.get_or_insert_function(builder.module, kind, name)
        found = []
        for place in self.at(cumulative, row, _INTS):
            index = builder.sub(builder.load(place, align=4), starts)
            addresses = _Addresses(builder.block, xlogx, builder.sext(index, _LONGS))
            builder._insert(addresses)
            found.append(builder.call(gather, [addresses, ir.Constant(_INT, 8), _ALL, _ZEROS]))
        return found


def _advance(vectors: int) -> Any:
    """Make the step of the programme for one start s and ``vectors * LANES`` ends from t on."""

    @intrinsic  # type: ignore[untyped-decorator]
    def advance(
        context: Any, best: Any, new: Any, low: Any, high: Any, cumulative: Any, columns: Any,
        xlogx: Any, t: Any, s: Any,
    ) -> Any:  # fmt: skip
        """Set best[k, t] = max(best[k, t], best[k - new, s] + w(s, t)) for low <= k < high."""
        signature = types.void(best, new, low, high, cumulative, columns, xlogx, t, s)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            best, cumulative, xlogx = (
                context.make_array(signature.args[i])(context, builder, args[i]) for i in (0, 4, 6)
            )
            new, low, high, columns, t, s = (args[i] for i in (1, 2, 3, 5, 7, 8))
            best_width, width = (builder.extract_value(a.shape, 1) for a in (best, cumulative))
            tile = _Tile(builder, vectors, t, s)

            def gathered(row: Any) -> list[Any]:
                return tile.gathered(cumulative.data, builder.mul(row, width), xlogx.data)

            sums = [cgutils.alloca_once(builder, _REALS) for _ in range(vectors)]
            for place, value in zip(sums, gathered(columns), strict=True):
                builder.store(builder.fsub(_ZEROS, value), place)
            with cgutils.for_range(builder, columns) as loop:
                for place, value in zip(sums, gathered(loop.index), strict=True):
                    builder.store(builder.fadd(builder.load(place), value), place)
            with cgutils.for_range_slice(builder, low, high, ir.Constant(_LONG, 1)) as (k, _):
                begun = builder.add(builder.mul(builder.sub(k, new), best_width), s)
                added = tile.splat(builder.load(builder.gep(best.data, [begun])), _REALS)
                row = builder.mul(k, best_width)
                for place, value in zip(tile.at(best.data, row, _REALS), sums, strict=True):
                    sums_up = builder.fadd(added, builder.load(value))
                    known = builder.load(place, align=8)
                    larger = builder.fcmp_ordered(">", sums_up, known)
                    builder.store(builder.select(larger, sums_up, known), place, align=8)
            return context.get_dummy_value()

        return signature, codegen

    return advance


advance_wide, advance_narrow = _advance(WIDE // LANES), _advance(1)
