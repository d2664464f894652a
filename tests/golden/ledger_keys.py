"""Write ledger_keys.json: what a ledger stores for every kind of private call.

Each entry is written once, with the version whose ledgers must be read for ever:
``python tests/golden/ledger_keys.py`` adds those that are not there.
"""

import json
import sys
import tempfile
import warnings
from pathlib import Path

import dpmic

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from private_calls import QUERIES, TABLE  # noqa: E402


def main():
    file = HERE / "ledger_keys.json"
    entries = json.loads(file.read_text())
    for name, ask in QUERIES.items():
        if name in entries:
            continue
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ledger = dpmic.Ledger(f"{folder}/l", epsilon=50, delta=1e-3)
            ask(TABLE, ledger=ledger, dataset="visits")
            (entry,) = ledger.history()
        kept = ("question", "epsilon", "delta", "answer")
        entries[name] = {field: getattr(entry, field) for field in kept}
    file.write_text(json.dumps(entries, indent=1) + "\n")


if __name__ == "__main__":
    main()
