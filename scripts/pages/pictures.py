"""The four pictures of docs/pictures. `make docs` writes them; a test compares the files with this."""

from __future__ import annotations

from pathlib import Path

from .drawing import Drawing

FOLDER = Path(__file__).resolve().parents[2] / "docs/pictures"


def run() -> Drawing:
    """Run, block, trial, round and slice, each a part of the one before."""
    picture = Drawing(760, 330, "From a run to a slice", "A run has blocks, a block has one trial of each variant, a trial has rounds, and a round has one slice "
                      "of load for each variant, in random order. Each row shows one part of the row above.")
    rows = [
        (30, "run", "one answer", [("block 1", "accent"), ("block 2", "box"), ("block 3", "box"), ("…", "box"), ("block 20", "box")]),
        (90, "block", "one trial of each variant", [("trial of A: start, data, warm-up, load, stop", "a"), ("trial of B: the same, up at the same time", "b")]),
        (150, "trial", "one start of one server", [("start", "box"), ("warm-up", "box"), ("round 1", "accent"), ("round 2", "box"), ("…", "box"), ("round n", "box"), ("stop", "box")]),
        (210, "round", "each variant once, in random order", [("slice of B", "b"), ("slice of A", "a")]),
    ]
    for y, name, about, parts in rows:
        picture.text(10, y + 16, name, "bold")
        picture.text(10, y + 32, about, "soft small")
        width = 520 / len(parts)
        for at, (text, kind) in enumerate(parts):
            x = 225 + at * width
            picture.box(x, y, width - 6, 36, kind)
            picture.text(x + width / 2 - 3, y + 23, text, "on small" if kind in ("a", "b") else "small", "middle")
    picture.text(10, 286, "slice", "bold")
    picture.text(10, 302, "load on one server, often 50 ms", "soft small")
    picture.box(225, 270, 514, 36, "b")
    for at in range(60):
        picture.line([(231 + at * 8.5, 276), (231 + at * 8.5, 300)], "thin", 1)
    picture.text(482, 324, "operations, each timed by itself", "soft small", "middle")
    return picture


def verdicts() -> Drawing:
    """Five intervals of a ratio, and the verdict of each."""
    picture = Drawing(760, 300, "What an interval of the ratio means", "Five confidence intervals of the ratio of A to B. One that lies outside plus or minus 0.5 percent "
                      "is a difference. Another one that stays within plus or minus 10 percent is no difference shown. A wider one is inconclusive.")
    middle, percent = 420, 16
    picture.box(middle - 10 * percent, 30, 20 * percent, 215, "accent", 0)
    picture.box(middle - 0.5 * percent, 24, percent, 226, "line", 0)
    for value in (-10, 0, 10):
        picture.text(middle + value * percent, 20, "equal" if value == 0 else f"{value:+d} %".replace("-", "−"), "soft small", "middle")
    cases = [
        ("A is better", 3.0, 9.0, "a"), ("B is better", -18.0, -13.0, "b"), ("no difference shown: within ±4 %", -4.0, 3.0, "good"),
        ("no difference shown, just", -9.5, 8.0, "good"), ("inconclusive: measure longer", -6.0, 17.0, "bad"),
    ]
    for row, (text, low, high, kind) in enumerate(cases):
        y = 56 + row * 42
        picture.text(10, y + 4, text, "bold" if kind in ("a", "b") else "")
        picture.box(middle + low * percent, y - 5, (high - low) * percent, 10, kind, 5)
    picture.text(middle, 272, "the ratio A to B with its interval; the shaded zone is ±10 %, the line in its middle ±0.5 %", "soft small", "middle")
    picture.text(middle, 290, "a gate that needs less asks for it: --within 2%", "soft small", "middle")
    return picture


def capacity() -> Drawing:
    """The search for a capacity: rates, late operations, and the budget."""
    picture = Drawing(760, 330, "How a capacity is found", "The share of late operations over the offered rate. At low rates few operations are late. The share rises, and crosses the budget of one percent "
                      "at the capacity. Slices at rates near the capacity are repeated in random order.")
    left, bottom, width, height = 70, 270, 640, 220
    picture.line([(left, bottom - height), (left, bottom), (left + width, bottom)])
    picture.text(left + width, bottom + 36, "offered rate, operations a second", "soft small", "end")
    picture.text(10, 24, "share of operations that are late or fail", "soft small")
    budget = bottom - 90
    picture.line([(left, budget), (left + width, budget)], "sbad dash", 1.5)
    picture.text(left + 6, budget - 8, "budget of p99 < 5 ms: 1 % of all operations that fall due", "bad small")
    curve = [(0, 2), (120, 4), (220, 10), (300, 28), (360, 58), (404, 90), (450, 132), (500, 178), (540, 205)]
    picture.line([(left + x, bottom - y) for x, y in curve], "sa", 2.5)
    marks = [(150, 5), (230, 14), (290, 22), (330, 46), (350, 50), (372, 70), (390, 74), (396, 96), (414, 88), (428, 118), (436, 110), (470, 150), (520, 190)]
    for x, y in marks:
        picture.dot(left + x, bottom - y, "good" if y <= 90 else "bad")
    picture.line([(left + 404, bottom), (left + 404, bottom - height)], "line dash", 1.5)
    picture.text(left + 398, bottom + 18, "capacity", "bold", "middle")
    picture.text(left + 20, bottom - height + 16, "each mark: slices of load at one rate", "soft small")
    picture.text(left + 20, bottom - height + 34, "green: within the budget, red: beyond it", "soft small")
    picture.text(left + 420, bottom - 30, "here operations queue,", "soft small")
    picture.text(left + 420, bottom - 14, "and late ones grow fast", "soft small")
    return picture


def request() -> Drawing:
    """The life of a request, and the times that are told of it."""
    picture = Drawing(760, 270, "The life of a request", "A request falls due, is sent, the server works, its reply arrives in the kernel, and the client reads it. Response time runs from due to "
                      "the last byte in the kernel; service time from the send. Lag and pickup are the client's own delays.")
    moments = [(60, "due"), (150, "sent"), (430, "first byte"), (580, "last byte, in the kernel"), (700, "read")]
    picture.arrow(30, 70, 745)
    for x, name in moments:
        picture.line([(x, 60), (x, 80)], "line", 2)
        picture.text(x, 50, name, "bold small", "middle")
    picture.box(168, 86, 246, 26, "accent")
    picture.text(291, 104, "network and server", "small", "middle")
    picture.span(60, 150, 136, "lag (client)")
    picture.span(580, 700, 136, "pickup (client)")
    picture.span(150, 430, 136, "first byte")
    picture.span(150, 580, 180, "service time")
    picture.span(60, 580, 224, "response time: what a user waits", "bold small")
    picture.text(700, 180, "not in the times", "soft small", "middle")
    return picture


PICTURES = {"run": run, "verdicts": verdicts, "capacity": capacity, "request": request}


def main() -> None:
    """Writes the files."""
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(draw().svg())


if __name__ == "__main__":
    main()
