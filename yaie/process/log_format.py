"""Format of log lines, the same in the server and in the engine process."""

from __future__ import annotations

LOG_FORMAT = "%(asctime)s %(levelname)s [%(process)d] %(name)s: %(message)s"
