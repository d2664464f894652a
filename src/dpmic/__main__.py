"""Let ``python -m dpmic`` be the command."""

from dpmic.cli import main

main()
