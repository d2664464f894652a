"""Tables of (B, c) with where they come from."""
