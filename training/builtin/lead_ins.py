"""What people say to an answer before they ask on: "Good. And", "Thanks, one more:".

Put before later turns by the corpus; `wordings.py` takes them off again for the honesty test.
"""

from __future__ import annotations

import re
from random import Random

from .grammar import expand
from .tables import load

T = load("lead_ins")

LEAD_INS = [
    T._REACTION + "[.|!|,|...]",
    T._REACTION + "[.|!|,|.|.] " + T._ONWARD + "[,|:||]",
    T._ONWARD + "[,|:||]",
]


_LOWERED = re.compile(
    r"(?:What|Which|How|Where|Who|When|Why|Is|Are|Was|Can|Could|Would|Should|Will|Do|Does|Did|Tell|"
    r"Give|Show|Say|Explain|Describe|Name|Add|Please|Any|In|On|For|My|The|If|Of|By|With)\b"
)


def led_in(text: str, rng: Random) -> str:
    """The text behind a lead-in; it goes on in small letters where the lead-in is no sentence."""
    lead = expand(rng.choices(LEAD_INS, [3, 5, 2])[0], rng)
    stops = lead[-1] in ".!"
    if rng.random() < 0.75:
        lead = lead[:1].upper() + lead[1:]
        lead = re.sub(r"([.!] )([a-z])", lambda m: m[1] + m[2].upper(), lead)
    if not stops and _LOWERED.match(text) and rng.random() < 0.8:
        text = text[:1].lower() + text[1:]
    return f"{lead} {text}"
