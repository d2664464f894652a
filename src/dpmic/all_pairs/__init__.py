"""Scores of tables: every pair of columns, streamed to a file and resumed from it."""
