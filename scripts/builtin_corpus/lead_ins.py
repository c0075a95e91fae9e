"""What people say to an answer before they ask on: "Good. And", "Thanks, one more:".

Put before later turns by the corpus; `wordings.py` takes them off again for the honesty test.
"""

from __future__ import annotations

import re
from random import Random

from .grammar import expand

_REACTION = (
    "[thanks|thank you|thanks a lot|good|perfect|ok|okay|right|alright|all right|cool|"
    "fine|got it|i see|understood|makes sense|wonderful|excellent|super|very good|sounds good|"
    "noted|clear|good to know|interesting|lovely|fair enough|that helps|that is clear|sure|yes|"
    "hm|hmm|ah|aha|oh|well|wow|correct|exactly|true|never mind|no problem|very helpful|brilliant|"
    "that worked|it works|done|i thought so|as i thought|well done|too bad|what a pity|pity]"
)
_ONWARD = (
    "[and|next|next question|one more|one more thing|another one|also|so|but|now then|and now|"
    "something else|a different question|another question|one last question|last one|finally|"
    "on another topic|back to work|while we are at it|another thing|by the way|besides|"
    "just one more question|let me ask something else|then tell me|in that case|so then|and also]"
)
LEAD_INS = [
    _REACTION + "[.|!|,|...]",
    _REACTION + "[.|!|,|.|.] " + _ONWARD + "[,|:||]",
    _ONWARD + "[,|:||]",
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
