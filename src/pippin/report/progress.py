"""A progress bar on a terminal, nothing in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(total: int, what: str, *, beside: bool = False) -> Iterator[Callable[[int], None]]:
    """Yields a function to call with the number of steps done. The bar is drawn on stderr, and only on a terminal.

    ``beside``: lines are printed on stdout meanwhile. On the same terminal the two would mix, so there is no bar then.
    """
    if not sys.stderr.isatty() or total < 2 or (beside and sys.stdout.isatty()):
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as bar:
        task = bar.add_task(what, total=total)
        yield lambda steps: bar.advance(task, steps)
