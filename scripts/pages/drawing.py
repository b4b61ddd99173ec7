"""Shapes and texts of an SVG. Colours follow the reader's scheme, light or dark, and a description is in the file."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

STYLE = """
    text { font: 13px system-ui, sans-serif; fill: #1c1f24 }
    .soft { fill: #5b636e } .bold { font-weight: 650 } .small { font-size: 11.5px }
    .line { stroke: #5b636e; fill: none } .thin { stroke: #c9cdd3 } .dash { stroke-dasharray: 5 4 }
    .ground { fill: #ffffff } .box { fill: #f1f3f5; stroke: #c9cdd3 }
    .a { fill: #0b74b5 } .b { fill: #cf5a00 } .good { fill: #2c7a3f } .bad { fill: #b3261e } .accent { fill: #d7e8f5 }
    .sa { stroke: #0b74b5; fill: none } .sb { stroke: #cf5a00; fill: none } .sbad { stroke: #b3261e; fill: none }
    .on { fill: #ffffff }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6e8eb } .soft { fill: #a3abb5 } .line { stroke: #a3abb5 } .thin { stroke: #3c434c }
      .ground { fill: #101317 } .box { fill: #1b2027; stroke: #3c434c } .accent { fill: #1d3447 }
      .a { fill: #58b4ec } .b { fill: #f2904a } .good { fill: #6cc283 } .bad { fill: #ff8a80 }
      .sa { stroke: #58b4ec } .sb { stroke: #f2904a } .sbad { stroke: #ff8a80 } .on { fill: #101317 }
    }"""


@dataclass
class Drawing:
    """A picture with a title and a description for readers who cannot see it."""

    width: int
    height: int
    title: str
    description: str
    parts: list[str] = field(default_factory=list)

    def box(self, x: float, y: float, width: float, height: float, kind: str = "box", radius: float = 4) -> None:
        """A rectangle."""
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius:g}" class="{kind}"/>')

    def text(self, x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> None:
        """A text. `anchor` is start, middle or end."""
        self.parts.append(f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{escape(text)}</text>')

    def line(self, points: list[tuple[float, float]], kind: str = "line", width: float = 1.5) -> None:
        """A line through points."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        self.parts.append(f'<polyline points="{path}" class="{kind}" stroke-width="{width:g}"/>')

    def dot(self, x: float, y: float, kind: str, radius: float = 4) -> None:
        """A filled circle."""
        self.parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" class="{kind}"/>')

    def arrow(self, x: float, y: float, to: float) -> None:
        """A horizontal arrow."""
        self.line([(x, y), (to, y)])
        back = -6 if to > x else 6
        self.line([(to + back, y - 4), (to, y), (to + back, y + 4)])

    def span(self, x: float, to: float, y: float, text: str, kind: str = "soft small") -> None:
        """A measure from one place to another, with its name below."""
        self.line([(x, y - 4), (x, y + 4)])
        self.line([(to, y - 4), (to, y + 4)])
        self.line([(x, y), (to, y)])
        self.text((x + to) / 2, y + 17, text, kind, "middle")

    def svg(self) -> str:
        """The file."""
        parts = "\n  ".join(self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}" '
            f'role="img" aria-labelledby="title description">\n'
            f'  <title id="title">{escape(self.title)}</title>\n  <desc id="description">{escape(self.description)}</desc>\n'
            f"  <style>{STYLE}\n  </style>\n"
            f'  <rect width="{self.width}" height="{self.height}" class="ground"/>\n  {parts}\n</svg>\n'
        )
