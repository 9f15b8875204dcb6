"""``python -m pippin``."""

from .cli import main

main()
