"""The picture of the README: `python tools/report.py` writes docs/assets/report.png.

It runs the demo, whose noise differs each time, and needs chromium.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from matplotlib import image

PICTURE = Path(__file__).parents[1] / "docs" / "assets" / "report.png"
WIDTH, HEIGHT = 800, 1200
SHOWN = 2
"""The sections of the page that are shown: what it may show, and the chart."""


def upper_part(page: str) -> str:
    """Return a page with its first sections alone, so that no sentence is cut."""
    starts = [found.start() for found in re.finditer("<section", page)]
    end = page.rindex("</footer>") + len("</footer>")
    return page[: starts[SHOWN]] + page[end:]


def draw() -> None:
    """Run the demo, photograph the upper part of its page, and trim the empty rest."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("chromium was not found")
    with tempfile.TemporaryDirectory() as folder:
        page, photo = Path(folder) / "demo.html", Path(folder) / "photo.png"
        demo = [sys.executable, "-m", "dpmic", "demo", "--report", str(page)]
        subprocess.run(demo, check=True, capture_output=True)
        page.write_text(upper_part(page.read_text()))
        size = [f"--window-size={WIDTH},{HEIGHT}", "--hide-scrollbars", "--headless"]
        subprocess.run(
            [chromium, *size, "--no-sandbox", f"--screenshot={photo}", page.as_uri()],
            check=True,
            stderr=subprocess.DEVNULL,
        )
        pixels = image.imread(photo)
    used = (pixels != pixels[-1, -1]).any(axis=(1, 2)).nonzero()[0]
    image.imsave(PICTURE, pixels[: used[-1] + used[0]])  # as much below as above


if __name__ == "__main__":
    draw()
