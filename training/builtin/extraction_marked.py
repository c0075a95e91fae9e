"""Nearly 1,300 texts with marked values and field names.

Field names hardly repeat from text to text, so the model learns to read them in the prompt, find
their meaning and copy both. Files of `data/texts_to_read/` hold one text a line: `{recipient/to:
<person>}` is a field with two names and a person as its value, `{fruit: figs; ripe pears}` a field
with listed values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from random import Random

from . import extraction_everyday
from .extraction_everyday import shown, without_article
from .grammar import articles, to_regex
from .recipes import Recipes
from .values import values

Value = str | int | float
FOLDER = Path(__file__).resolve().parent / "data" / "texts_to_read"
_MARK = re.compile(r"\{([a-z0-9_/]+): ([^{}]+)\}")

DRAWERS = Recipes("extraction_marked", extraction_everyday.DRAW)


@dataclass(frozen=True)
class Field:
    """A place in a text: the names of the field, and the source of its value."""

    names: tuple[str, ...]
    drawer: str
    listed: tuple[str, ...]

    def drawn(self, rng: Random) -> tuple[Value, str]:
        """Return a value, and its form in the text."""
        if self.drawer:
            value = DRAWERS[self.drawer](rng)
            return value, shown(value, "money" if self.drawer == "price" else "", rng)
        text = rng.choice(self.listed)
        if re.fullmatch(r"0|[1-9]\d*", text):
            return int(text), text
        if re.fullmatch(r"\d+\.\d+", text):
            return float(text), text
        if re.fullmatch(r"[a-z]+", text) and rng.random() < 0.1:
            text = values.word(rng)
        return without_article(text), text


@dataclass(frozen=True)
class Marked:
    """A text: literal pieces, and the fields between them."""

    pieces: tuple[str, ...]
    fields: tuple[Field, ...]

    @property
    def known(self) -> dict[str, str]:
        """All names of each field, by its first."""
        return {field.names[0]: " ".join(field.names) for field in self.fields}

    def stated(self, rng: Random) -> tuple[str, dict[str, Value]]:
        """Return the text with values, and the values; each occurs once in the text."""
        for _ in range(20):
            drawn = [field.drawn(rng) for field in self.fields]
            text = self.pieces[0]
            for (_, said), piece in zip(drawn, self.pieces[1:], strict=True):
                text += said + piece
            text = articles(text)
            if all(len(re.findall(rf"(?<!\w){re.escape(s)}(?!\w)", text)) == 1 for _, s in drawn):
                break
        return text, {f.names[0]: v for f, (v, _) in zip(self.fields, drawn, strict=True)}

    def regex(self) -> str:
        """Return a regular expression for the normalised text with any values."""
        literal = [to_regex(re.sub(r"[\[\]|]", " ", piece)) for piece in self.pieces]
        return r"\b" + r"\w+(?: \w+){0,4}".join(literal).strip(" ?") + r"\b"


def _parsed(line: str) -> Marked:
    pieces, fields, at = [], [], 0
    for found in _MARK.finditer(line):
        pieces.append(line[at : found.start()])
        at = found.end()
        drawer = re.fullmatch(r"<(\w+)>", found[2])
        listed = () if drawer else tuple(part.strip() for part in found[2].split(";"))
        fields.append(Field(tuple(found[1].split("/")), drawer[1] if drawer else "", listed))
    return Marked((*pieces, line[at:]), tuple(fields))


TEXTS = [
    _parsed(line.replace("\\n", "\n"))
    for file in sorted(FOLDER.glob("*.txt"))
    for line in file.read_text(encoding="utf-8").splitlines()
    if line
]
