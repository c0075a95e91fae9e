"""Output of Ray in this process: lines of engines are shown, Ray's own lines are debug logs.

Ray's lines would bury the server's first lines, and are no JSON in a log of JSON objects.
"""

from __future__ import annotations

import logging
import re
import sys
from typing import Any

logger = logging.getLogger(__name__)

_NATIVE = re.compile(r"[IWE]\d{4} ")  # of gRPC's library, in any process


def replace_output() -> None:
    """Show Ray's lines as this module does; call it after `ray.init`."""
    from ray._private import worker
    from ray._private.ray_logging import global_worker_stdstream_dispatcher as streams

    worker._worker_logs_enabled = False  # for errors of Ray's processes, with their stacks
    streams.remove_handler("ray_print_logs")
    streams.add_handler("yaie", show_lines)


def show_lines(lines: dict[str, Any]) -> None:
    """Show lines of one process of the cluster, as Ray's log reader has them."""
    source = lines.get("actor_name") or lines.get("pid")
    is_engine = str(source).startswith("ServeReplica:")
    for line in lines["lines"]:
        if is_engine and not _NATIVE.match(line):
            print(line, file=sys.stderr, flush=True)
        else:
            logger.debug("%s: %s", source, line)
