"""`uvicorn server.api:app`: the application, configured by `YAIE_*`.

Importing this loads no torch and starts nothing; the lifespan does.
"""

from __future__ import annotations

import sys

from server.app import create_app
from yaie.errors import ConfigError

try:
    app = create_app()
except ConfigError as error:  # one line is worth more than a traceback through uvicorn
    code = (error.code or "").replace("_", "-")  # as `yaie serve` writes it
    sys.stderr.write(f"error[{code}]: {error.message}\n")
    sys.exit(error.exit_code)
