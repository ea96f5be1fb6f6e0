"""Contrast as WCAG 2 counts it, from the colours of the style sheet: 4.5 for text, 3 for what is drawn."""

import re
from importlib.resources import files

import pytest

CSS = (files("kip848_records.report.page") / "templates" / "page.css").read_text(encoding="utf-8")
TEXT = ("text", "muted", "link", "bad", "warn", "good")
MARKS = ("reconciled", "waiting", "revoking", "behind", "away", "rebalance", "bad", "edge")


def colours(rule):
    body = re.search(re.escape(rule) + r" \{(.*?)\}", CSS, re.DOTALL)[1]
    return dict(re.findall(r"--(\w+): (#\w+);", body))


LIGHT = colours(":root")
THEMES = {"light": LIGHT, "dark": LIGHT | colours(':root[data-theme="dark"]'), "print": LIGHT | {"muted": "#444"}}


def luminance(colour):
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    channels = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("ground", ["ground", "raised"])
def test_text_is_readable_and_marks_are_seen(theme, ground):
    known = THEMES[theme]
    faint = {name: contrast(known[name], known[ground]) for name in TEXT}
    assert {name: ratio for name, ratio in faint.items() if ratio < 4.5} == {}
    pale = {name: contrast(known[name], known[ground]) for name in MARKS}
    assert {name: ratio for name, ratio in pale.items() if ratio < 3} == {}


def test_every_colour_of_one_theme_is_in_the_other():
    assert set(colours(':root[data-theme="dark"]')) == set(LIGHT)


def test_the_ratios_are_those_of_wcag():
    assert contrast("#fff", "#000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
