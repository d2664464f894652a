"""Results to figures. Sees results, and for a scatter the points it is handed; computes nothing."""
