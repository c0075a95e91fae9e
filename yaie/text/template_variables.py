"""Variables of chat templates: the names that a template reads and does not set itself."""

from __future__ import annotations

import re
from functools import lru_cache

from jinja2 import Environment, TemplateError, meta
from jinja2.ext import loopcontrols

_TRAINING_MARK = re.compile(r"\{%-?\s*(end)?generation\s*-?%\}")  # transformers' own tag


@lru_cache(maxsize=16)  # parsed for every request otherwise
def free_variables(template: str) -> frozenset[str]:
    """Return the variables that a template reads and does not set; none for a broken one."""
    environment = Environment(extensions=[loopcontrols])
    try:
        tree = environment.parse(_TRAINING_MARK.sub("", template))
    except TemplateError:
        return frozenset()
    return frozenset(meta.find_undeclared_variables(tree))
