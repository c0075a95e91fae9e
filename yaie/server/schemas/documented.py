"""Base of the schemas of answers: they describe, and are checked against real answers by tests."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Documented(BaseModel):
    """Answer whose attribute docstrings are the descriptions of its fields."""

    model_config = ConfigDict(use_attribute_docstrings=True, protected_namespaces=())
