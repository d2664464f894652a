"""Tables in files: the columns that are needed, batch by batch, by way of pyarrow."""

from dpmic.files.reading import Asked, read

__all__ = ["Asked", "read"]
