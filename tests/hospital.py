"""A hospital's table, as an analyst gets it: semicolons, decimal commas, gaps, several visits."""

import numpy as np
import pandas as pd

WARDS = ("geriatrics", "medicine", "surgery", "paediatrics")
DIAGNOSES = ("I10", "E11", "J18", "S72", "K35", "N39", "F32", "other")
GAPS = 0.12

COLUMNS = {
    "patient": '"ignore"',
    "visit": '"ignore"',
    "admitted": "{ bounds = [2023-01-01, 2024-12-31] }",
    "age": "{ bounds = [0, 120] }",
    "sex": '{ categories = ["f", "m"] }',
    "ward": f"{{ categories = {list(WARDS)} }}".replace("'", '"'),
    "diagnosis": f"{{ categories = {list(DIAGNOSES)} }}".replace("'", '"'),
    "smoker": '{ categories = ["yes", "no"] }',
    "weight": "{ bounds = [0, 400] }",
    "height": "{ bounds = [0, 250] }",
    "systolic": "{ bounds = [0, 300] }",
    "diastolic": "{ bounds = [0, 200] }",
    "creatinine": "{ bounds = [0, 2000] }",
    "note": '"ignore"',
}
"""What a steward knows of each column, as a job file has it."""


def made(visits, people, seed):
    """Return a table of visits of people, with 12% of gaps; two columns lack values together."""
    rng = np.random.default_rng(seed)
    patient = np.concatenate((np.arange(people), rng.integers(0, people, visits - people)))
    rng.shuffle(patient)
    age = np.clip(rng.normal(55, 22, people), 0, 105)[patient]
    sex = rng.random(people)[patient] < 0.5
    height = 162 + 13 * sex + rng.normal(0, 7, people)[patient]
    weight = 0.9 * (height - 100) + rng.normal(8, 12, visits)
    systolic = 100 + 0.6 * age + rng.normal(0, 8, visits)
    ward = np.where(age > 75, 0, np.where(age < 18, 3, rng.integers(1, 3, visits)))
    table = pd.DataFrame(
        {
            "patient": [f"P{number:06d}" for number in patient],
            "visit": np.arange(1, visits + 1),
            "admitted": pd.Timestamp("2023-01-01")
            + pd.to_timedelta(rng.integers(0, 731, visits), "D"),
            "age": age.round(1),
            "sex": np.where(sex, "m", "f"),
            "ward": np.array(WARDS)[ward],
            "diagnosis": np.array(DIAGNOSES)[(ward * 2 + rng.integers(0, 3, visits)) % 8],
            "smoker": np.where(rng.random(visits) < 0.25, "yes", "no"),
            "weight": weight.round(1),
            "height": height.round(),
            "systolic": systolic.round(),
            "diastolic": (40 + 0.35 * systolic + rng.normal(0, 4, visits)).round(),
            "creatinine": np.exp(4.4 + age / 250 + sex / 5 + rng.normal(0, 0.3, visits)).round(1),
            "note": [f"seen by Dr. Müller, case {case}" for case in rng.integers(0, 10**9, visits)],
        }
    )
    together = rng.random(visits) < GAPS
    for name in table.columns.drop(["patient", "visit", "admitted", "note"]):
        lost = together if name in ("systolic", "diastolic") else rng.random(visits) < GAPS
        table[name] = table[name].astype(object).where(~lost, None)
    return table


def write(table, path):
    """Write it as a spreadsheet program in Germany does."""
    typed = table.infer_objects()  # a decimal comma is for columns of numbers
    typed.to_csv(
        path,
        sep=";",
        decimal=",",
        index=False,
        encoding="cp1252",
        lineterminator="\r\n",
        date_format="%Y-%m-%d",
    )


def filled_in(text, *, people, rows, top=5):
    """Fill in a job file as a steward would."""
    for name, domain in COLUMNS.items():
        start = next(line for line in text.splitlines() if line.split("=")[0].strip() == name)
        text = text.replace(start, f"{name} = {domain}")
    changes = {
        'dataset = "?"': 'dataset = "visits 2024"',
        'person = "?"': f'person = "patient"\nrows_per_person = {rows}',
        "# people = 5000": f"people = {people}",
        'rule = "?"': 'rule = "drop"\ncomplete = 0.7',
        "top = 5": f"top = {top}",
    }
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new, 1)
    return text
