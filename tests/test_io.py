"""Files that are complete or not there."""

import os

import pytest

from dpmic._io import atomic_write


def write(path, content=b"new", **options):
    with atomic_write(path, **options) as file:
        file.write(content)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, OSError])
@pytest.mark.parametrize("before", [None, b"old"])
def test_a_write_that_stops_changes_nothing(tmp_path, error, before):
    path = tmp_path / "file"
    if before is not None:
        path.write_bytes(before)

    def stopped():
        with atomic_write(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        stopped()
    assert [p.read_bytes() for p in tmp_path.iterdir()] == [before] * (before is not None)


def test_a_name_that_is_taken_last(tmp_path):
    """Whether a file may be replaced is asked when the new one is complete."""
    path = tmp_path / "file"
    write(path, may_replace=lambda: False)
    with pytest.raises(FileExistsError):
        write(path, b"newer", may_replace=lambda: False)
    assert path.read_bytes() == b"new"
    write(path, b"newer", may_replace=lambda: path.read_bytes() == b"new")
    assert path.read_bytes() == b"newer"
    assert list(tmp_path.iterdir()) == [path]


def test_a_rename_that_fails_leaves_no_empty_file(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="cross-device"):
        write(tmp_path / "file", may_replace=lambda: False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes")
def test_modes(tmp_path):
    path = tmp_path / "file"
    before = os.umask(0o022)
    try:
        write(path, mode=0o600)
        assert path.stat().st_mode & 0o777 == 0o600
        path.chmod(0o640)
        write(path)
        assert path.stat().st_mode & 0o777 == 0o640
        write(tmp_path / "other")
        assert (tmp_path / "other").stat().st_mode & 0o777 == 0o644
    finally:
        os.umask(before)


def test_the_temporary_file_may_lie_elsewhere(tmp_path):
    (tmp_path / "parts").mkdir()
    with atomic_write(tmp_path / "file", folder=tmp_path / "parts") as file:
        file.write(b"new")
        assert [p.name for p in tmp_path.iterdir()] == ["parts"]
    assert list((tmp_path / "parts").iterdir()) == []
    assert (tmp_path / "file").read_bytes() == b"new"
