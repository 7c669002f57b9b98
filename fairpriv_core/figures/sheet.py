"""The sheet that an image is drawn on: how wide and high it is, how large its text, with or without caption and ground.

A drawing is made in pixels for a text of 12 pixels; the sheet says how many of them fit, and how large one comes out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from fairpriv_core.errors import BadInput
from fairpriv_core.figures.draw import Place

PIXELS_AN_INCH, POINTS_AN_INCH = 96, 72
#: the smallest text of a drawing, in its own pixels, but for subscripts
TEXT_PIXELS = 12
#: no image has smaller text, in points
LEAST_POINTS = 8.0
_LARGER = 1.5  # how far a text may be enlarged: with more there is no room left for what is drawn


@dataclass(frozen=True)
class Sheet:
    """What an image is made for.

    Attributes:
        title: as a list names it.
        width: in inches.
        height: in inches; None where the figure has a height of its own.
        points: size of the smallest text, in points of 1/72 inch.
        dots: an inch, of a PNG.
        across: whether two panels stand beside each other: it is wide and low.
        legend: where names of lines stand; None where they do on screen.
        caption: whether the figure's caption stands below it, in the picture.
        transparent: whether the ground is left out.
    """

    title: str
    width: float
    height: float | None = None
    points: float = 9.0
    dots: int = 192
    across: bool = False
    legend: Place | None = None
    caption: bool = False
    transparent: bool = False

    @property
    def zoom(self) -> float:
        """How large one pixel of the drawing comes out, in pixels of 1/96 inch."""
        return self.points / POINTS_AN_INCH * PIXELS_AN_INCH / TEXT_PIXELS

    @property
    def pixels(self) -> tuple[int, int | None]:
        """Width and height of the drawing, in its own pixels; the height None where the figure has one of its own."""
        an_inch = PIXELS_AN_INCH / self.zoom
        return round(self.width * an_inch), None if self.height is None else round(self.height * an_inch)

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest size of text that a person may ask for, in points."""
        return LEAST_POINTS, float(round(_LARGER * self.points))


#: what images are made for, by name; the first one is as on screen
SHEETS = {
    "screen": Sheet("As on screen", 9.375, caption=True),
    "paper": Sheet("Paper column (3.3 in)", 3.3, points=8.0, dots=300),
    "slide": Sheet("Slide 16:9", 40 / 3, 7.5, points=16.0, across=True),
}


def make_room(sheet: Sheet, pixels_high: int) -> Sheet:
    """Return the sheet with text so small that a drawing `pixels_high` pixels high fits on it; itself where it fits.

    BadInput where that text could not be read.
    """
    _, height = sheet.pixels
    if height is None or pixels_high <= height:
        return sheet
    points = sheet.points * height / pixels_high
    if points < LEAST_POINTS:
        raise BadInput(
            f"this figure is too tall for '{sheet.title}': its text would have {points:.1f} points, and "
            f"{LEAST_POINTS:g} can be read; take one that has a height of its own, such as '{SHEETS['screen'].title}'.",
            field="sheet",
        )
    return replace(sheet, points=points)
