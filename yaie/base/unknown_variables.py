"""Unknown variables: `YAIE_*` variables that no setting reads, and warnings about them."""

from __future__ import annotations

import os

from yaie.base.errors import nearest_name_hint
from yaie.base.renamed_settings import advice_on, old_variables
from yaie.base.setting_field import (
    CLIENT_VARIABLES,
    ENV_PREFIX,
    LIBRARY_VARIABLES,
    is_service_link,
)
from yaie.base.settings import SETTINGS


def unknown_variables(environment: dict[str, str] | None = None) -> list[str]:
    """Return a warning for each ignored `YAIE_*` variable, with the nearest name.

    Settings in another case, such as `yaie_port`, are ignored too. Service variables set by
    Kubernetes cause no warning.
    """
    environment = dict(os.environ) if environment is None else environment
    known = {each.variable for each in SETTINGS.values()} | CLIENT_VARIABLES | LIBRARY_VARIABLES
    warnings = []
    for name, value in sorted(environment.items()):
        if name in known or is_service_link(name, value):
            continue
        if name.upper() in known:
            warnings.append(f"{name} was ignored; write {name.upper()}")
        elif name.startswith(ENV_PREFIX):
            hint = f"; {advice}" if (advice := advice_on(name)) else nearest_name_hint(name, known)
            warnings.append(f"{name} is not a setting and was ignored{hint}")
    return warnings + old_variables(environment)
