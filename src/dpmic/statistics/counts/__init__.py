"""Every source of data ends in integer counts on a grid; counts add."""
