"""From counts to characteristic matrix to score: pure functions of their arguments."""
