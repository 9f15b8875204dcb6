"""A profile for people: a table, and one page of HTML that needs nothing else, with a picture of where time goes."""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING, Any

from . import text

if TYPE_CHECKING:
    from ..analysis.profile import Profile, Row

TOP = 20
COLORS = (
    "#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#ff8ab7", "#a463f2", "#97bbf5", "#9c6b4e", "#9498a0",
)  # fmt: skip


def number(count: float) -> str:
    """A large number short: 12.3 M."""
    for unit in ("", " k", " M", " G", " T"):
        if abs(count) < 1000 or unit == " T":
            return f"{count:.0f}{unit}" if unit == "" or count >= 100 else f"{count:.3g}{unit}"
        count /= 1000
    return ""


def operations(count: float) -> str:
    """Operations: 12.3 MFLOPs, 50 FLOPs."""
    short = number(count)
    return f"{short}FLOPs" if " " in short else f"{short} FLOPs"


def as_text(found: Profile, top: int = TOP, by_time: bool = False) -> str:
    """Totals, layers (all in order, or the ``top`` slowest) and kinds."""
    lines = [f"{found.name}: {found.run_ms:.3g} ms a run (median of {found.runs}, fastest {found.fastest_ms:.3g} ms)"]
    lines += [f"  {line}" for line in _totals(found)]
    rows = sorted(found.rows, key=lambda row: -row.ms)[:top] if by_time else found.rows
    cells = [_cells(row) for row in rows]
    header = ("layer", "ms", "share", "FLOPs", "parameters", "bytes", "")
    lines += ["", text.table(cells, header, right="12345")]
    if len(rows) < len(found.rows):
        lines.append(f"the slowest {len(rows)} of {len(found.rows)} layers; without --top all of them in order")
    kinds = [(kind, count, f"{ms:.3g}", number(work)) for kind, count, ms, work in found.by_kind() if ms or work]
    lines += ["", text.table(kinds, ("kind", "layers", "ms", "FLOPs"), right="123")]
    lines += [f"note: {note}" for note in found.notes]
    return "\n".join(lines)


def _totals(found: Profile) -> list[str]:
    lines = [
        f"{operations(found.total('flops'))}, {number(found.total('parameters'))} parameters,"
        f" {text.size(found.total('bytes'))} read and written, {text.plural(found.operators, 'operator')} run"
    ]
    if found.run_ms:
        lines[0] += f", {operations(found.total('flops') / found.fastest_ms * 1e3)} a second"
    fresh = found.fresh
    if fresh:
        lines.append(
            f"in a new process: load {fresh['load'] * 1e3:.0f} ms, first answer {fresh['first'] * 1e3:.0f} ms;"
            f" memory {fresh['mb_before']:.0f} MB before, {fresh['mb_loaded']:.0f} loaded,"
            f" {fresh['mb_answered']:.0f} after the first answer, {fresh['mb_peak']:.0f} at most"
        )
    return lines


def _cells(row: Row) -> tuple[str, ...]:
    return (
        "  " * row.depth + _short(row),
        f"{row.ms:.4f}" if row.ms else "",
        f"{row.share:.1%}" if row.ms else "",
        number(row.flops) if row.flops else "",
        number(row.parameters) if row.parameters else "",
        text.size(row.bytes) if row.bytes else "",
        f"inside of {row.inside}" if row.inside else "",
    )


def _short(row: Row) -> str:
    """A place without the layers around it."""
    return row.place.rpartition(": layer ")[2] if row.depth and ": layer " in row.place else row.place


# -- one page ----------------------------------------------------------------------------------------------------------


def as_html(found: Profile) -> str:
    """The page: totals, a strip of the run from its first layer to its last, the slowest layers, kinds, every layer."""
    colors = _colors(found)
    parts = [
        f"<h1>{_safe(found.name)}</h1>",
        f"<div class=tiles>{''.join(_tile(*tile) for tile in _tiles(found))}</div>",
        "<h2>The run, first layer to last</h2>",
        "<p class=hint>Width is time. Point at a piece for its name.</p>",
        _strip(found, colors),
        _legend(found, colors),
        "<h2>The slowest layers</h2>",
        _bars(found, colors),
        "<h2>By kind</h2>",
        _kinds(found, colors),
        "<h2>Every layer</h2>",
        "<p class=hint>Click on a heading to sort.</p>",
        _table(found, colors),
        "".join(f"<p class=hint>{_safe(note)}</p>" for note in found.notes),
    ]
    # no "<": neither "</script>" ends the element, nor does "<!-- <script>" hide its end
    data = json.dumps(found.to_dict()).replace("<", "\\u003c")
    return (
        "<!doctype html><html lang=en><head><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width, initial-scale=1">'
        f"<title>{_safe(found.name)}: where time goes</title><style>{_STYLE}</style></head><body><main>"
        + "\n".join(parts)
        + f"</main><script id=profile type=application/json>{data}</script><script>{_SCRIPT}</script></body></html>\n"
    )


def _safe(value: Any) -> str:
    return html.escape(str(value), quote=True)


def _colors(found: Profile) -> dict[str, str]:
    kinds = [kind for kind, _, ms, _ in found.by_kind() if ms]
    return {kind: COLORS[min(index, len(COLORS) - 1)] for index, kind in enumerate(kinds)}


def _tiles(found: Profile) -> list[tuple[str, str]]:
    tiles = [
        ("a run", f"{found.run_ms:.3g} ms"),
        ("FLOPs", number(found.total("flops"))),
        ("parameters", number(found.total("parameters"))),
        ("read and written", text.size(found.total("bytes"))),
        ("operators run", str(found.operators)),
    ]
    if found.fresh:
        tiles[1:1] = [
            ("load", f"{found.fresh['load'] * 1e3:.0f} ms"),
            ("first answer", f"{found.fresh['first'] * 1e3:.0f} ms"),
        ]
        tiles.append(("memory, peak", f"{found.fresh['mb_peak']:.0f} MB"))
    return tiles


def _tile(label: str, value: str) -> str:
    return f"<div class=tile><b>{_safe(value)}</b><span>{_safe(label)}</span></div>"


def _tip(row: Row) -> str:
    parts = [row.place, f"{row.ms:.4f} ms, {row.share:.1%}"]
    if row.flops:
        parts.append(operations(row.flops))
    return _safe("\n".join(parts))


def _strip(found: Profile, colors: dict[str, str]) -> str:
    at, pieces = 0.0, list[str]()
    for row in found.rows:
        if not row.ms:
            continue
        width = 1000 * row.share
        label = ""
        if width > 60:
            name = _label(row)[: int(width / 7)]
            label = f'<text x="{at + 4:.2f}" y="36" class=in>{_safe(name)}</text>'
        pieces.append(
            f'<g><title>{_tip(row)}</title><rect x="{at:.3f}" y="0" width="{width:.3f}" height="60"'
            f' fill="{colors.get(row.kind, COLORS[-1])}" fill-opacity="{(1, 0.8)[len(pieces) % 2]}"/>{label}</g>'
        )
        at += width
    return f'<svg class=strip viewBox="0 0 1000 60" role=img aria-label="time of each layer">{"".join(pieces)}</svg>'


def _label(row: Row) -> str:
    """The name in a place: layer 'conv1' (convolution) → conv1."""
    short = _short(row)
    begin, end = short.find("'"), short.rfind("'")
    return short[begin + 1 : end] if 0 <= begin < end else short


def _legend(found: Profile, colors: dict[str, str]) -> str:
    items = [
        f'<span><i style="background:{color}"></i>{_safe(kind)}</span>' for kind, color in list(colors.items())[:10]
    ]
    return f"<div class=legend>{''.join(items)}</div>"


def _bars(found: Profile, colors: dict[str, str]) -> str:
    rows = sorted((row for row in found.rows if row.ms), key=lambda row: -row.ms)[:TOP]
    most = rows[0].ms if rows else 1.0
    lines = []
    for row in rows:
        fill = f"width:{100 * row.ms / most:.2f}%;background:{colors.get(row.kind, COLORS[-1])}"
        lines.append(
            f'<div class=bar title="{_tip(row)}"><span class=name>{_safe(_label(row))}</span>'
            f'<span class=track><i style="{fill}"></i></span>'
            f"<span class=num>{row.ms:.3f} ms</span><span class=num>{row.share:.1%}</span></div>"
        )
    return f"<div class=bars>{''.join(lines)}</div>"


def _kinds(found: Profile, colors: dict[str, str]) -> str:
    total = found.total("ms") or 1.0
    lines = [
        f'<tr><td><i style="background:{colors.get(kind, "none")}"></i>{_safe(kind)}</td><td>{count}</td>'
        f"<td>{ms:.3f}</td><td>{ms / total:.1%}</td><td>{number(work) if work else ''}</td></tr>"
        for kind, count, ms, work in found.by_kind()
        if ms or work
    ]
    head = "<tr><th>kind<th>layers<th>ms<th>share<th>FLOPs</tr>"
    return f"<table class=small><thead>{head}</thead><tbody>{''.join(lines)}</tbody></table>"


def _table(found: Profile, colors: dict[str, str]) -> str:
    def cell(value: float, shown: str) -> str:
        return f"<td data-v={value:.6g}>{shown}</td>"

    lines = []
    for index, row in enumerate(found.rows):
        inside = f"<small>inside of {_safe(row.inside)}</small>" if row.inside else ""
        indent = f' style="padding-left:{0.6 + 1.2 * row.depth:.1f}rem"' if row.depth else ""
        mark = f'<i style="background:{colors[row.kind]}"></i>' if row.ms and row.kind in colors else "<i></i>"
        lines.append(
            f"<tr><td data-v={index}>{index}</td><td{indent}>{mark}{_safe(_short(row))} {inside}</td>"
            + cell(row.ms, f"{row.ms:.4f}" if row.ms else "")
            + cell(row.share, f"{row.share:.1%}" if row.ms else "")
            + cell(row.flops, number(row.flops) if row.flops else "")
            + cell(row.parameters, number(row.parameters) if row.parameters else "")
            + cell(row.bytes, text.size(row.bytes) if row.bytes else "")
            + "</tr>"
        )
    head = "<tr><th>#<th>layer<th>ms<th>share<th>FLOPs<th>parameters<th>bytes</tr>"
    return f"<table class=all><thead>{head}</thead><tbody>{''.join(lines)}</tbody></table>"


_STYLE = """
:root{color-scheme:light dark;--fg:#1b1e23;--dim:#69707d;--bg:#fff;--line:#e3e6ea;--soft:#f5f6f8}
@media(prefers-color-scheme:dark){:root{--fg:#e8eaed;--dim:#9aa1ac;--bg:#17191d;--line:#31353c;--soft:#21242a}}
body{font:15px/1.45 system-ui,sans-serif;color:var(--fg);background:var(--bg);margin:0}
main{max-width:1060px;margin:0 auto;padding:1.5rem}
h1{font-size:1.5rem;margin:0 0 1rem;overflow-wrap:anywhere}
h2{font-size:1.05rem;margin:2rem 0 .6rem}
.hint{color:var(--dim);margin:.2rem 0 .5rem}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(112px,1fr));gap:.6rem}
.tile{background:var(--soft);border-radius:8px;padding:.7rem .8rem}
.tile b{display:block;font-size:1.1rem;white-space:nowrap}
.tile span{color:var(--dim);font-size:.85rem}
.strip{width:100%;display:block;border-radius:6px}
.strip rect{stroke:var(--bg);stroke-width:.6}
.strip g:hover rect{opacity:.75}
.in{font-size:12px;fill:#fff;paint-order:stroke;stroke:#0006;stroke-width:2px;pointer-events:none}
.legend{display:flex;flex-wrap:wrap;gap:.3rem 1rem;margin-top:.6rem;font-size:.85rem}
i{display:inline-block;width:.75rem;height:.75rem;border-radius:2px;margin-right:.4rem;vertical-align:-1px}
.bar{display:grid;grid-template-columns:minmax(90px,24%) 1fr 84px 58px;gap:.6rem;align-items:center;padding:2px 0}
.name{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.track{background:var(--soft);border-radius:3px;height:14px;overflow:hidden}
.track i{height:100%;margin:0;border-radius:3px;vertical-align:top}
.num{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
table{border-collapse:collapse;width:100%;font-size:.9rem}
table.small{width:auto;min-width:50%}
th{text-align:left;color:var(--dim);font-weight:600;border-bottom:1px solid var(--line);padding:.35rem .6rem}
.all th{cursor:pointer;position:sticky;top:0;background:var(--bg)}
td{border-bottom:1px solid var(--line);padding:.3rem .6rem;overflow-wrap:anywhere}
td:nth-child(n+3),th:nth-child(n+3),.small td:nth-child(2),.small th:nth-child(2){text-align:right}
td:nth-child(n+3){font-variant-numeric:tabular-nums;white-space:nowrap}
small{color:var(--dim)}
"""
_SCRIPT = """
document.querySelectorAll('.all th').forEach((head, column) => head.addEventListener('click', () => {
  const body = document.querySelector('.all tbody'), rows = [...body.rows];
  const key = row => { const cell = row.cells[column];
    return cell.dataset.v === undefined ? cell.textContent.trim() : +cell.dataset.v; };
  const down = head.dataset.order !== 'down' && column > 1 || head.dataset.order === 'up';
  rows.sort((a, b) => { const x = key(a), y = key(b);
    return (typeof x === 'number' ? x - y : x.localeCompare(y)) * (down ? -1 : 1); });
  document.querySelectorAll('.all th').forEach(other => delete other.dataset.order);
  head.dataset.order = down ? 'down' : 'up';
  body.append(...rows);
}));
"""
