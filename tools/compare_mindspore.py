"""Compares this project's device with MindSpore, operator by operator, and writes ``docs/reference/mindspore.md``.

python tools/compare_mindspore.py --python /path/to/env/with/mindspore/bin/python

MindSpore (pip install mindspore==2.10.0) lives in an environment of its own; this script runs itself there as a worker.
It is a second opinion beside the float64 reference: NNRt's operators are those of MindSpore Lite, a sister of it.
"""

from __future__ import annotations

import argparse
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from mindspore_moves import CASES, NONE, Case

PAGE = Path(__file__).resolve().parents[1] / "docs/reference/mindspore.md"

_HEAD = """\
# Compared with MindSpore

<!-- made by tools/compare_mindspore.py; do not edit -->

NNRt's operators are those of MindSpore Lite. MindSpore {version}, its sister for training, has most of them too,
computed by other code: a second opinion beside the float64 reference. Each line is one node run on the device of this
project and the operator of MindSpore on the same inputs; «max abs» is the largest difference. What agrees is within
10⁻⁵ + 10⁻⁵ · |value|, cubic interpolation within 200 times that: MindSpore rounds its coordinates to a grid there.

{summary}
"""


# -- the worker, in MindSpore's environment


def worker(target: Path) -> None:
    """Runs every case in MindSpore; answers are lists of arrays, or the text of an error."""
    import mindspore
    import numpy as np
    from mindspore import ops

    mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
    mindspore.set_device("CPU")
    ops.T = mindspore.Tensor
    ops.int32, ops.bool_, ops.float32 = mindspore.int32, mindspore.bool_, mindspore.float32
    answers: list[Any] = []
    for case in CASES:
        try:
            result = case.ms(ops, *case.inputs)
            parts = result if isinstance(result, (list, tuple)) else [result]
            answers.append([np.asarray(part.asnumpy() if hasattr(part, "asnumpy") else part) for part in parts])
        except Exception as error:
            answers.append(f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}")
    target.write_bytes(pickle.dumps((mindspore.__version__, answers)))


# -- this project


def device(case: Case) -> list[Any]:
    """The outputs of one node on the device."""
    import numpy as np

    from pippin.nnrt import attributes
    from pippin.nnrt.authoring import GraphBuilder
    from pippin.nnrt.device import Device

    g = GraphBuilder()
    refs, feeds = [], []
    for place, item in enumerate(case.inputs):
        array = np.asarray(item)
        if place in case.constants:
            refs.append(g.constant(array, array.dtype))
        else:
            refs.append(g.input(f"x{place}", array.shape, array.dtype))
            feeds.append(array)
    struct = getattr(attributes, case.node)(**case.attributes)
    made = g.node(struct, *refs, outputs=case.outputs, dtype=case.dtype)
    model = g.finish(*(made if case.outputs > 1 else (made,)))
    return list(Device().prepare(model).predict(feeds).values())


def verdict(case: Case, wanted: Any) -> tuple[bool, str, str]:
    """Whether the case is as it should be, the largest difference, and the verdict."""
    import numpy as np

    if isinstance(wanted, str):
        return not case.differs, "-", f"MindSpore has no kernel for it here: {wanted[:120]}"
    worst, same = 0.0, True
    for got, want in zip(device(case), wanted, strict=True):
        if got.shape != want.shape:
            return bool(case.differs), "-", f"dims {list(got.shape)} and {list(want.shape)}"
        a, b = got.astype(np.float64), want.astype(np.float64)
        equal = (a == b) | (np.isnan(a) & np.isnan(b))
        with np.errstate(invalid="ignore"):
            gap = np.where(equal, 0.0, np.abs(a - b))
        worst = max(worst, float(gap.max(initial=0.0)))
        same = same and bool((equal | (gap <= case.tolerance * (1 + np.abs(b)))).all())
    if case.differs:
        return not same, f"{worst:.1e}", f"differs: {case.differs}"
    return same, f"{worst:.1e}", "agrees" if same else "differs, unexplained"


def page(version: str, rows: list[tuple[Case, str, str]]) -> str:
    """The text of the page."""
    told = [text for *_, text in rows]
    agree, differ = told.count("agrees"), sum(text.startswith("differs") for text in told)
    kinds = len({case.node for case, *_ in rows})
    summary = f"{agree} of {len(rows)} comparisons over {kinds} node types agree; {differ} differ for the reasons given"
    without = len(rows) - agree - differ
    summary += f"; for {without} MindSpore has no kernel on a CPU." if without else "."
    lines = [
        _HEAD.format(version=version, summary=summary),
        "| node type | what | max abs | verdict |",
        "|---|---|---|---|",
    ]
    lines += [f"| {case.node} | {case.note} | {gap} | {text} |" for case, gap, text in rows]
    lines += ["", "Not compared:", ""]
    lines += [f"- {kind}: {reason}" for kind, reason in NONE.items()]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Runs both and writes the page; 1 if a difference is not explained."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", help="the interpreter that has MindSpore")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(options.worker)
        return 0
    if not options.python:
        parser.error("--python is required")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "answers"
        subprocess.run([options.python, __file__, "--worker", str(target)], check=True)
        version, answers = pickle.loads(target.read_bytes())
    rows, bad = [], []
    for case, wanted in zip(CASES, answers, strict=True):
        good, gap, text = verdict(case, wanted)
        rows.append((case, gap, text))
        if not good:
            bad.append(f"{case.node}, {case.note}: {gap} {text}")
    PAGE.write_text(page(version, rows), encoding="utf-8")
    print("\n".join(bad) or f"{len(rows)} comparisons, all as they should be")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
