"""The file of a report: whole or not there, and in nobody's place."""

import os

import pytest
from report_kinds import built

from dpmic.errors import ParameterError
from dpmic.report import refuse_unwritable, save


def test_a_page_is_saved_whole(tmp_path):
    path = tmp_path / "report.html"
    refuse_unwritable(path)
    source = built("score")
    assert save(source, path) == path
    assert path.read_bytes() == source.encode()
    another = built("screening")
    save(another, str(path), overwrite=True)
    assert path.read_text() == another
    assert os.listdir(tmp_path) == ["report.html"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch, step):
    path = tmp_path / "report.html"
    before = built("score")
    save(before, path)

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    for name, overwrite in (("report.html", True), ("other.html", False)):
        with pytest.raises(ParameterError, match="cannot be written .No space left on device"):
            save("after", tmp_path / name, overwrite=overwrite)
    assert path.read_text() == before
    assert os.listdir(tmp_path) == ["report.html"]


def test_only_a_page_of_ours_is_replaced(tmp_path):
    """Whatever else stands there may be somebody's data."""
    path = tmp_path / "report.html"
    for content in (b"a,b\n1,2\n", b"", b"\xff\xfe", b"<!doctype html>\n<p>another's page"):
        path.write_bytes(content)
        with pytest.raises(ParameterError, match="not a page of dpmic; choose another"):
            refuse_unwritable(path, overwrite=True)
        with pytest.raises(ParameterError, match="not a page of dpmic; choose another"):
            save(built("score"), path, overwrite=True)
        assert path.read_bytes() == content


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_file_that_appears_meanwhile_stays(tmp_path, monkeypatch, overwrite):
    """Between the last look and the writing, too."""
    path = tmp_path / "report.html"

    def appears(_):
        path.write_text("somebody's")

    monkeypatch.setattr(os, "fsync", appears)
    with pytest.raises(ParameterError, match="this file exists"):
        save(built("score"), path, overwrite=overwrite)
    assert path.read_text() == "somebody's"
    assert os.listdir(tmp_path) == ["report.html"]


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes")
@pytest.mark.parametrize(("kind", "mode"), [("score", 0o600), ("screening", 0o644)])
def test_records_are_not_for_everybody(tmp_path, kind, mode):
    path = tmp_path / "report.html"
    before = os.umask(0o022)
    try:
        save(built(kind), path)
        assert path.stat().st_mode & 0o777 == mode
        path.chmod(0o640)  # somebody's wish
        save(built(kind), path, overwrite=True)
        assert path.stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(before)


def test_unwritable_places_are_refused_before(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    save(built("score"), path)
    with pytest.raises(ParameterError, match="exists; choose another name"):
        refuse_unwritable(path)
    refuse_unwritable(path, overwrite=True)
    with pytest.raises(ParameterError, match="a folder"):
        refuse_unwritable(tmp_path, overwrite=True)
    with pytest.raises(ParameterError, match="no folder"):
        refuse_unwritable(tmp_path / "absent" / "report.html")
    with pytest.raises(ParameterError, match="not a path"):
        refuse_unwritable(None)
    monkeypatch.setattr(type(path), "touch", lambda *_, **__: (_ for _ in ()).throw(_refusal()))
    with pytest.raises(ParameterError, match="Permission denied"):
        refuse_unwritable(tmp_path / "other.html")
    assert os.listdir(tmp_path) == ["report.html"]


def _refusal():
    return PermissionError(13, "Permission denied")


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="no devices here")
def test_a_device_is_never_replaced():
    for call in (lambda: save("x", "/dev/null"), lambda: refuse_unwritable("/dev/null")):
        with pytest.raises(ParameterError, match="not an ordinary file"):
            call()


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link.html").symlink_to(tmp_path / "report.html")
    save("text", tmp_path / "link.html")
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "report.html").read_text() == "text"
