"""Application for `uvicorn yaie.server.api:app`, configured by `YAIE_*` variables.

The import is light: the lifespan starts the engine, in its own process.
"""

from __future__ import annotations

import sys

from yaie.base.errors import ConfigError
from yaie.process.log_writer import queued
from yaie.server.app import check_no_tls, create_app
from yaie.server.http.log_setup import configure_logs

try:
    app = create_app()
    check_no_tls(app.state.service.settings)
except ConfigError as error:  # one line instead of a traceback through uvicorn
    code = (error.code or "").replace("_", "-")  # as `yaie serve` writes it
    sys.stderr.write(f"error[{code}]: {error.message}\n")
    sys.exit(error.exit_code)
sys.stderr = queued(sys.stderr)
settings = app.state.service.settings
configure_logs(settings.log_level, settings.log_format)  # for lines before the lifespan
