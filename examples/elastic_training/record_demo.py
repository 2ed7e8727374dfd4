#!/usr/bin/env python3
"""Records the demo as an animated SVG, for README.md.

Runs demo.sh under a pseudo-terminal, records the time of each line, and
writes a terminal that shows the lines at those times, in a loop. The picture is
plain SVG with CSS animations: no script and no font of its own. Where
animations are off it shows the end of the demo.

usage: record_demo.py [BIN_FOLDER [SVG_FILE]]

BIN_FOLDER holds actorrun and elastic_training (default: build/release/bin);
SVG_FILE is written only if the demo succeeds (default: docs/demo.svg). Both
defaults are relative to the root of the repository.
"""

import fcntl
import html
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

COLUMNS = 100  # A README shows about 830 pixels: 8 for each character.
ROWS = 26
CHARACTER_WIDTH = 8  # Of 13 px text in the widest common fonts.
LINE_HEIGHT = 18
FONT_SIZE = 13
MARGIN = 16
TITLE_HEIGHT = 36
CHAPTERS_HEIGHT = 40
END_PAUSE = 6  # Seconds; pause on the last screen.
DEMO_LIMIT = 120  # Seconds.

TITLE = "cmake --workflow --preset demo"

# Colours of the terminal, readable on a white and on a dark page.
BACKGROUND = "#0d1117"
FRAME = "#30363d"
TEXT = "#d0d7de"
FAINT = "#8b949e"
ACCENT = "#3fb950"
COLOURS = {31: "#ff7b72", 32: ACCENT, 33: "#e3b341"}

# The style of a character: its colour, and whether it is bold.
PLAIN = (TEXT, False)


def record(command):
    """Runs a command on a terminal; returns [(seconds, text)], exit code."""
    main, worker = pty.openpty()
    size = struct.pack("HHHH", ROWS, 500, 0, 0)  # Lines are folded below.
    fcntl.ioctl(worker, termios.TIOCSWINSZ, size)
    environment = dict(os.environ, TERM="xterm-256color")
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=worker, stderr=worker,
        env=environment, start_new_session=True)
    os.close(worker)
    start = time.monotonic()
    chunks = []
    while True:
        try:
            data = os.read(main, 65536)
        except OSError:  # All writers have gone.
            break
        if not data:
            break
        chunks.append((time.monotonic() - start, data))
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        if time.monotonic() - start > DEMO_LIMIT:
            process.terminate()
            break
    os.close(main)
    return chunks, process.wait()


def lines_of(chunks):
    """Joins chunks to lines: [(seconds at which it was complete, text)]."""
    out, rest = [], b""
    for seconds, data in chunks:
        *complete, rest = (rest + data).split(b"\n")
        out += [(seconds, x.decode(errors="replace").rstrip("\r"))
                for x in complete]
    return out


def styled(text):
    """Splits a line at its escape sequences: [(character, style)]."""
    out, style = [], PLAIN
    for part in re.split(r"(\x1b\[[0-9;]*m)", text):
        if not part.startswith("\x1b["):
            out += [(x, style) for x in part]
            continue
        for code in (int(x or 0) for x in part[2:-1].split(";")):
            if code == 0:
                style = PLAIN
            elif code == 1:
                style = (style[0], True)
            elif code in COLOURS:
                style = (COLOURS[code], style[1])
    return out


def folded(characters):
    """Folds a long line between words; what follows is indented."""
    indent = [(" ", PLAIN)] * 10
    out = []
    while len(characters) > COLUMNS:
        blanks = [i for i in range(20, COLUMNS + 1) if characters[i][0] == " "]
        cut = blanks[-1] if blanks else COLUMNS
        out.append(characters[:cut])
        characters = indent + characters[cut + (1 if blanks else 0):]
    return out + [characters]


def spans(characters):
    """Joins neighbours of one style: [(text, style)]."""
    out = []
    for character, style in characters:
        if out and (out[-1][1] == style or character == " "):
            out[-1][0].append(character)
        else:
            out.append(([character], style))
    return [("".join(text), style) for text, style in out]


def number(x):
    """Formats a number as short as possible."""
    return f"{x:.3f}".rstrip("0").rstrip(".")


def tspan(text, style):
    """A run of characters of one style."""
    colour, is_bold = style
    text = html.escape(text, quote=False)
    fill = f' fill="{colour}"' if colour != TEXT else ""
    weight = ' class="b"' if is_bold else ""
    return f"<tspan{fill}{weight}>{text}</tspan>" if fill or weight else text


class Picture:
    """The rows of a terminal, their times, and the chapters."""

    def __init__(self, lines):
        self.rows = []  # [[(text, style)]]
        self.times = []  # Of each row, in seconds.
        self.chapters = []  # [(seconds, title)]
        for seconds, text in lines:
            heading = re.match(r"=== \d+\. ([^:]*):", re.sub(r"\x1b.*?m", "", text))
            if heading:
                self.chapters.append((seconds, heading.group(1)))
            for row in folded(styled(text)):
                if row or self.rows:  # No blank rows on top.
                    self.rows.append(spans(row))
                    self.times.append(seconds)
        self.end = self.times[-1]
        self.duration = self.end + END_PAUSE

    def keyframes(self, name, values):
        """CSS for values that jump: values = [(seconds, declaration)]."""
        steps, last = [], None
        for seconds, declaration in values:
            percent = number(100 * seconds / self.duration)
            if steps and steps[-1][0] == percent:
                steps.pop()  # Only the last one would be visible.
            if not steps or steps[-1][1] != declaration:
                steps.append((percent, declaration))
        text = "".join(f"{p}%{{{d}}}" for p, d in steps)
        return f"@keyframes {name}{{{text}}}"

    def scrolling(self):
        """Moves the rows up when the screen is full."""
        values = [(0, "transform:none")]
        for i, seconds in enumerate(self.times):
            above = max(0, i + 1 - ROWS)
            values.append((seconds, f"transform:translateY({-above * LINE_HEIGHT}px)"
                           if above else "transform:none"))
        return self.keyframes("scroll", values)

    def uncovering(self):
        """Hides later rows with a cover until the screen is full."""
        values = [(0, "transform:none")]
        for i, seconds in enumerate(self.times[:ROWS]):
            values.append(
                (seconds, f"transform:translateY({(i + 1) * LINE_HEIGHT}px)"))
        return self.keyframes("uncover", values)

    def row_elements(self):
        for i, row in enumerate(self.rows):
            if not any(text for text, _ in row):
                continue
            y = (i + 1) * LINE_HEIGHT - 5
            yield f'<text y="{y}">{"".join(tspan(*x) for x in row)}</text>'

    def chapter_elements(self, width):
        """Draws a time bar with the acts of the demo."""
        css, out = [], []
        scale = width / self.end
        ends = [seconds for seconds, _ in self.chapters[1:]] + [self.end]
        for i, ((begin, title), end) in enumerate(zip(self.chapters, ends)):
            x = number(MARGIN + begin * scale)
            length = number((end - begin) * scale - 4)
            seconds = self.duration
            css.append(self.keyframes(f"c{i}", [
                (0, f"fill:{FAINT}"), (begin, f"fill:{TEXT}"),
                (end, f"fill:{TEXT}" if i + 1 == len(ends) else f"fill:{FAINT}")]))
            css.append(f"@keyframes p{i}{{0%,{number(100 * begin / seconds)}%"
                       "{transform:scaleX(0)}"
                       f"{number(100 * end / seconds)}%,100%{{transform:none}}}}")
            css.append(f"#c{i}{{animation-name:c{i}}}#p{i}{{animation-name:p{i};"
                       f"transform-origin:{x}px 0}}")
            out.append(f'<text id="c{i}" class="c" x="{x}" y="15">{i + 1} '
                       f"{html.escape(title)}</text>"
                       f'<rect x="{x}" y="22" width="{length}" height="4" rx="2"'
                       f' fill="{FRAME}"/>'
                       f'<rect id="p{i}" class="p" x="{x}" y="22" width="{length}"'
                       f' height="4" rx="2" fill="{ACCENT}"/>')
        return css, out

    def svg(self):
        inner = COLUMNS * CHARACTER_WIDTH
        width = inner + 2 * MARGIN
        screen = ROWS * LINE_HEIGHT
        height = TITLE_HEIGHT + screen + CHAPTERS_HEIGHT + 14
        last = max(0, len(self.rows) - ROWS)
        chapter_css, chapters = self.chapter_elements(inner)
        css = [
            "text{white-space:pre}",
            ".b{font-weight:700}", f".c{{fill:{FAINT}}}",
            f"#rows,#cover,.c,.p{{animation:{number(self.duration)}s step-end infinite}}",
            ".p{animation-timing-function:linear}",
            "#rows{animation-name:scroll}#cover{animation-name:uncover}",
            # Without animations, show the end.
            f"#rows{{transform:translateY({-last * LINE_HEIGHT}px)}}",
            f"#cover{{transform:translateY({screen}px)}}",
            self.scrolling(), self.uncovering(), *chapter_css,
            "@media(prefers-reduced-motion:reduce){*{animation:none!important}}",
        ]
        dots = "".join(f'<circle cx="{MARGIN + 6 + 18 * i}" cy="18" r="5.5" fill="{x}"/>'
                       for i, x in enumerate(("#ff5f57", "#febc2e", "#28c840")))
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
            f' width="{width}" height="{height}" xml:space="preserve" role="img"'
            ' aria-label="Recording of the demo: a training job loses a worker and a'
            ' node, gains a node and finishes">',
            "<!-- Made by examples/elastic_training/record_demo.py -->",
            "<style>" + "\n".join(css) + "</style>",
            f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="10"'
            f' fill="{BACKGROUND}" stroke="{FRAME}"/>',
            dots,
            f'<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans'
            f' Mono,Liberation Mono,monospace" font-size="{FONT_SIZE}" fill="{TEXT}">',
            f'<text x="{width / 2:g}" y="22" text-anchor="middle" fill="{FAINT}">'
            f"{TITLE}</text>",
            f'<text x="{width - MARGIN}" y="22" text-anchor="end" fill="{FAINT}">'
            f"real time, {self.end:.0f} s</text>",
            f'<svg x="2" y="{TITLE_HEIGHT}" width="{width - 4}" height="{screen}"'
            f' overflow="hidden"><g id="rows"><g transform="translate({MARGIN - 2})">',
            *self.row_elements(),
            f'</g></g><rect id="cover" width="{width}" height="{screen}"'
            f' fill="{BACKGROUND}"/></svg>',
            f'<g transform="translate(0 {TITLE_HEIGHT + screen + 10})" font-size="12">',
            *chapters,
            "</g></g></svg>",
            ""])


def main():
    if len(sys.argv) > 3 or sys.argv[1:2] in (["-h"], ["--help"]):
        sys.exit(__doc__)
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/bin")
    target = Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "docs/demo.svg")
    programs = [folder / "actorrun", folder / "elastic_training"]
    for program in programs:
        if not os.access(program, os.X_OK):
            sys.exit(f"record_demo.py: {program} is missing; build it with"
                     " cmake --workflow --preset demo, or name the folder")
    chunks, code = record([str(HERE / "demo.sh"), *map(str, programs)])
    if code != 0:
        sys.exit(f"record_demo.py: the demo failed with exit status {code};"
                 f" {target} is unchanged")
    picture = Picture(lines_of(chunks)).svg()
    target.write_text(picture, encoding="utf-8")
    print(f"wrote {target}, {len(picture.encode()) / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
