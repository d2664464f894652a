"""Examples that show what one run printed: their decimals are compared up to the noise.

Readers should see digits as they are printed, not ``0.8...``. An example with the comment
``# one run`` is marked so.
"""

import doctest
import re

COMMENT = "# one run"
NOISE = doctest.register_optionflag("NOISE")
MOST = 0.125
"""No noise in the documentation exceeds it more than once in 1,000,000 runs."""

DECIMAL = re.compile(r"\d\.\d+")


def same_but_for_noise(want, got):
    """Return whether a text is the wanted one, but for small differences of its decimals."""
    parts = [re.escape(" ".join(part.split())) for part in want.split("...")]
    pattern = ".*?".join(parts).replace(r"\.", ".")  # an ellipsis stands for any text
    found = re.fullmatch(DECIMAL.sub(r"(\\d\\.\\d+)", pattern), " ".join(got.split()))
    return found is not None and all(
        abs(float(one) - float(other)) <= MOST
        for one, other in zip(DECIMAL.findall(want), found.groups(), strict=True)
    )


def mark(examples):
    """Compare the marked examples up to noise."""
    for example in examples:
        if COMMENT in example.source:
            example.options[NOISE] = True


class Checker(doctest.OutputChecker):
    """Another checker, with a second opinion on marked examples."""

    def __init__(self, checker):
        self.checker = checker

    def check_output(self, want, got, optionflags):
        if self.checker.check_output(want, got, optionflags):
            return True
        return bool(optionflags & NOISE) and same_but_for_noise(want, got)

    def output_difference(self, example, got, optionflags):
        return self.checker.output_difference(example, got, optionflags)
