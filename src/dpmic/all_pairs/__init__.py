"""Scores of whole tables: all pairs of columns, saved to a file as they are finished."""
