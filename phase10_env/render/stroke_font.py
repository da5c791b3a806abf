"""A font of strokes for pictures made of pixels: each letter as polylines on a small grid.

A point is two digits, x 0-4 and y 0-8: capitals stand between y 0 and the baseline y 6, small letters begin
at y 2, descenders reach y 8. Strokes are separated by blanks. One grid unit is a sixth of the height of a
capital.
"""

from __future__ import annotations

from functools import cache

__all__ = ["BASELINE", "Stroke", "advance", "strokes"]

Stroke = tuple[tuple[float, float], ...]
"""A line through points (x, y), in units of the font."""

BASELINE = 6
"""Units from the top of a letter to its foot."""
_SPACE = 2.2
_GAP = 1.7

_GLYPHS: dict[str, str] = {
    "A": "062046 1434", "B": "06003041423303 3344453606", "C": "4130100105163645", "D": "00062644422000",
    "E": "40000646 0333", "F": "400006 0333", "G": "41301001051636454323", "H": "0006 4046 0343",
    "I": "1030 2026 1636", "J": "4045361605", "K": "0006 400346", "L": "000646", "M": "0600234046",
    "N": "06004640", "O": "103041453616050110", "P": "06003041423303", "Q": "103041453616050110 2446",
    "R": "06003041423303 2346", "S": "413010010213334445361605", "T": "0040 2026", "U": "000516364540",
    "V": "002640", "W": "0016233640", "X": "0046 4006", "Y": "002340 2326", "Z": "00400646",
    "a": "12324346 44140516 1645", "b": "0006 0312324345361605", "c": "4332120305163645",
    "d": "4046 4332120305163645", "e": "044443321203051636", "f": "40302126 1232",
    "g": "4247381807 4332120305163645", "h": "0006 0312324346", "i": "2226 2020", "j": "32372818 3030",
    "k": "0006 4204 1446", "l": "2026", "m": "0206 03122326 23324346", "n": "0206 0312324346",
    "o": "123243453616050312", "p": "0208 0312324345361605", "q": "4248 4332120305163645",
    "r": "0206 031232", "s": "4332120314344536 361605", "t": "20253646 0242", "u": "0205163645 4246",
    "v": "022642", "w": "0216243642", "x": "0246 4206", "y": "0226 4218", "z": "02420646",
    "0": "102031352616050110", "1": "112026 1636", "2": "0110304142060646",
    "3": "01103041423313 334445361605", "4": "36300444", "5": "40000333444536 3616 1605",
    "6": "4130100105163645443303", "7": "004016", "8": "13020110304142331304051636454433",
    "9": "43130201103041453616 1605", ".": "2626", ",": "2617", ":": "2323 2626", ";": "2323 2617",
    "-": "1333", "–": "0343", "(": "30111536", ")": "10313516", "/": "0640", "+": "2125 0343",
    "?": "01103041422324 2626", "!": "2024 2626", "'": "2022", "\"": "1012 3032", "_": "0646",
    "…": "0606 2626 4646", "=": "0242 0444", ">": "014305", "<": "410345", "*": "1335 3315 2125",
    "#": "1016 3036 0242 0444", "[": "30101636", "]": "10303616", "|": "2026",
}  # fmt: skip


@cache
def strokes(letter: str) -> tuple[Stroke, ...]:
    """Return the strokes of a letter, moved so that they begin at x = 0; an unknown one looks like "?".

    >>> strokes("L")
    (((0.0, 0.0), (0.0, 6.0), (4.0, 6.0)),)
    """
    if letter == " ":
        return ()
    text = _GLYPHS.get(letter, _GLYPHS["?"])
    left = min(int(word[k]) for word in text.split() for k in range(0, len(word), 2))
    return tuple(
        tuple((float(int(word[k]) - left), float(word[k + 1])) for k in range(0, len(word), 2))
        for word in text.split()
    )


@cache
def advance(letter: str) -> float:
    """Return how far the next letter is to the right, in grid units.

    >>> advance("l") < advance("m")
    True
    """
    lines = strokes(letter)
    return (max(x for line in lines for x, _ in line) if lines else _SPACE) + _GAP
