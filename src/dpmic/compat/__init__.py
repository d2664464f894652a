"""Interfaces of other libraries, computed by ours."""
