"""What a browser sends: forms, and one uploaded file, in memory and never larger than allowed."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl

from starlette.requests import Request

from dpmic.data import Uploaded
from dpmic.errors import InputError

MOST_FORM = 4 * 2**20
"""Bytes of a form; a job file of thousands of columns is smaller."""

MOST_UPLOAD = 200 * 2**20
"""Bytes of an uploaded file, which stays in memory."""

NAME = re.compile(rb'filename="((?:[^"\\]|\\.)*)"', re.IGNORECASE)


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form."""
    body = await _read(request, MOST_FORM, "the form")
    fields = parse_qsl(bytes(body).decode("utf-8", "replace"), keep_blank_values=True)
    return {name: value.replace("\r\n", "\n") for name, value in fields}


async def read_upload(request: Request) -> Uploaded:
    """Return the one file of a form. It is not written to the disk."""
    kind = request.headers.get("content-type", "")
    mark = re.search(r"boundary=(?:\"([^\"]+)\"|([^;]+))", kind)
    if mark is None:
        raise _no_file()
    body = await _read(request, MOST_UPLOAD, "the file")
    head, separator, _ = body[:4096].partition(b"\r\n\r\n")
    named = NAME.search(head)
    end = body.rfind(b"\r\n--" + (mark[1] or mark[2]).strip().encode())
    if named is None or not separator or end < len(head) or not named[1]:
        raise _no_file()
    name = named[1].decode("utf-8", "replace").replace("%22", '"')
    content = bytes(memoryview(body)[len(head) + 4 : end])
    return Uploaded(re.split(r"[/\\]", name)[-1], content)


async def _read(request: Request, most: int, what: str) -> bytearray:
    """Read a body that is not too large; of one that says that it is, nothing."""
    size = request.headers.get("content-length", "")
    if size.isdecimal() and int(size) > most:
        raise too_large(what, int(size), most)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise too_large(what, len(body), most)
    return body


class TooLargeError(InputError):
    """A body is larger than allowed."""


def too_large(what: str, size: int, most: int) -> TooLargeError:
    """Return the refusal of a body."""
    reason = f"it has {size / 2**20:,.0f} MiB, and at most {most / 2**20:,.0f} MiB can be uploaded"
    remedy = "give the path of the file on this computer instead, which has no limit"
    return TooLargeError(what, reason, remedy)


def _no_file() -> InputError:
    return InputError("the upload", "no file was chosen", "choose one")
