"""Draft support: which engines draft, and a log line where drafts are wanted in vain."""

from __future__ import annotations

import logging

from yaie.base.settings import EngineConfig

log = logging.getLogger(__name__)


def supported_speculation(config: EngineConfig, device_type: str, *, is_recurrent: bool) -> str:
    """Return the setting `speculate`, or "off", with a warning, where drafts are not supported."""
    if not config.max_draft_tokens:
        return "off"
    if is_recurrent:
        reason = "recurrent layers cannot take a token back"
    elif device_type != "cpu":
        reason = f"speculative decoding runs on CPUs only, and the device is {device_type}"
    else:
        return str(config.speculate)
    log.warning("--speculate %s has no effect: %s", config.speculate, reason)
    return "off"
