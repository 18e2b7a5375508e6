"""Draws a run of drive.py: panels above each other over the same seconds."""
from plant import processor

LEFT, WIDE, RIGHT, TOP, GAP = 90, 1060, 150, 60, 34
COLOURS = {"full": "#d8efd8", "shared": "#fdf3c4", "thin": "#f9d9b0", "cpu": "#dde6f7", "paused": "#f3c1c1"}
CAUSES = {"free": "#eeeeee", "graphics": "#9ec5e8", "hint": "#7aa0d8", "heat": "#e8a07a", "trip": "#c94f3d",
          "blind-heat": "#b08fd0", "blind-graphics": "#8f8fd0", "power": "#d0c08f", "pressure": "#8fd0b8", "sleep": "#aaaaaa"}


class Paper:
    def __init__(self, seconds):
        self.seconds, self.y, self.parts = seconds, TOP, []

    def x(self, second):
        return LEFT + WIDE * second / self.seconds

    def add(self, name, text=None, **attributes):
        words = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in attributes.items())
        self.parts.append(f"<{name}{words}/>" if text is None else f"<{name}{words}>{text}</{name}>")

    def text(self, x, y, words, size=12, **more):
        self.add("text", words, x=f"{x:.1f}", y=f"{y:.1f}", font_size=size, **more)

    def panel(self, title, height, low, high, unit, marks=True):
        panel = Panel(self, self.y, height, low, high)
        self.text(LEFT, self.y - 6, title, font_weight="bold")
        self.add("rect", x=LEFT, y=self.y, width=WIDE, height=height, fill="none", stroke="#888888")
        for value in (low, (low + high) / 2, high) if marks else ():
            self.text(LEFT - 6, panel.at(value) + 4, f"{value:g} {unit}", 11, text_anchor="end")
        self.y += height + GAP
        return panel


class Panel:
    def __init__(self, paper, top, height, low, high):
        self.paper, self.top, self.height, self.low, self.high = paper, top, height, low, high
        self.names = 0

    def at(self, value):
        value = min(max(value, self.low), self.high)
        return self.top + self.height * (1 - (value - self.low) / (self.high - self.low))

    def name(self, words, colour):
        y = self.top + 14 + 16 * self.names
        self.names += 1
        self.paper.add("rect", x=LEFT + WIDE + 8, y=y - 9, width=10, height=10, fill=colour)
        self.paper.text(LEFT + WIDE + 22, y, words, 11)

    def line(self, words, colour, points, **more):
        path = " ".join(f"{self.paper.x(x):.1f},{self.at(y):.1f}" for x, y in points)
        self.paper.add("polyline", points=path, fill="none", stroke=colour, stroke_width=1.4, **more)
        self.name(words, colour)

    def dots(self, words, colour, points, size=1.2):
        for x, y in points:
            self.paper.add("circle", cx=f"{self.paper.x(x):.1f}", cy=f"{self.at(y):.1f}", r=size, fill=colour)
        self.name(words, colour)

    def bands(self, spans, colours):
        """@spans: (from, to, word)"""
        for begin, end, word in spans:
            width = self.paper.x(end) - self.paper.x(begin)
            self.paper.add("rect", x=f"{self.paper.x(begin):.1f}", y=self.top, width=f"{width:.1f}", height=self.height,
                           fill=colours.get(word, "#ffffff"))
        for word in dict.fromkeys(span[2] for span in spans):
            self.name(word, colours.get(word, "#ffffff"))


def spans(rows, word_of, end):
    found = []
    for row in rows:
        word = word_of(row)
        if not found or found[-1][2] != word:
            if found:
                found[-1][1] = row[0]
            found.append([row[0], end, word])
    return found


def thin_out(points, n=1200):
    return points[::max(1, len(points) // n)]


def longest_by_fifth(run):
    """The longest slice of each fifth of a second, in milliseconds."""
    most = {}
    for at, took in run.slices.items():
        column = int((at - run.begun) * 5)
        if 0 <= column <= run.end * 5:
            most[column] = max(most.get(column, 0), took * 1000)
    return [(column / 5, took) for column, took in sorted(most.items())]


def draw(run, path, target, names):
    rows, paper = run.heat.rows, Paper(run.end)
    top = paper.y - 34
    heat = paper.panel("Temperature of the chip", 210, 30, 90, "°C")
    heat.line("chip", "#b3261e", thin_out([(row[0], row[1]) for row in rows]))
    heat.line("without us past target", "#888888", thin_out([(row[0], cold) for row, cold in zip(rows, run.cold)]),
              stroke_dasharray="2 3")
    heat.line("target", "#1b6e3c", [(0, target), (run.end, target)], stroke_dasharray="6 4")
    heat.line("others' heat (scaled)", "#c9a227", thin_out([(row[0], 30 + 50 * row[3]) for row in rows]))
    mode = paper.panel("Mode of the governor", 22, 0, 1, "", marks=False)
    mode.bands(spans(rows, lambda row: processor(row[4]).mode, run.end), COLOURS)
    paper.y += 40
    cause = paper.panel("Cause of the limits", 22, 0, 1, "", marks=False)
    cause.bands(spans(rows, lambda row: processor(row[4]).cause, run.end), CAUSES)
    paper.y += 56
    shares = run.shares_by_second()
    duty = paper.panel("Share of the processor's time that is ours", 130, 0, 1, "")
    duty.line("duty (the limit)", "#333333", thin_out([(row[0], processor(row[4]).duty_permille / 1000) for row in rows]))
    duty.line("held (1 s mean)", "#2a6fb0", [(i + 0.5, share[0]) for i, share in enumerate(shares)])
    tokens = run.tokens_by_second()
    speed = paper.panel("Tokens a second (background and interactive)", 130, 0, max(tokens) or 1, "")
    speed.line("tokens/s", "#2a6fb0", [(i + 0.5, n) for i, n in enumerate(tokens)])
    longest = longest_by_fifth(run)
    slices = paper.panel("Longest slice in each 0.2 s, and the bound of slices", 150, 0, 40, "ms")
    slices.dots("slice", "#2a6fb0", longest)
    slices.line("bound", "#1b6e3c", thin_out([(row[0], processor(row[4]).slice_us / 1000) for row in rows]))
    slices.dots("late frame", "#b3261e", [(at - run.begun, 39) for at in run.late], 2.5)
    bottom = paper.y - GAP
    for begin, number in zip(run.begins, range(len(names))):
        paper.add("line", x1=f"{paper.x(begin):.1f}", x2=f"{paper.x(begin):.1f}", y1=top, y2=bottom, stroke="#bbbbbb",
                  stroke_dasharray="3 3")
        paper.text(paper.x(begin) + 3, top + 4, number + 1, 11)
    for second in range(0, int(run.end), 20):
        paper.text(paper.x(second), bottom + 16, f"{second} s", 11, text_anchor="middle")
    for number, name in enumerate(names):
        paper.text(LEFT + 360 * (number % 3), bottom + 40 + 16 * (number // 3), f"{number + 1}: {name}", 11)
    height = bottom + 90
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDE + RIGHT}" height="{height}" '
                   f'font-family="sans-serif">\n<rect width="100%" height="100%" fill="#ffffff"/>\n')
        file.write("\n".join(paper.parts) + "\n</svg>\n")
