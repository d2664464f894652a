"""The paper's evaluation, done again and extended. Its noise is seeded and simulated."""
