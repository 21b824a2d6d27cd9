"""Profiles of models."""
from brynhild._lazy import attach

_NAMES = {"ModelProfile": "types", "ProfileManager": "manager", "ProfileCollisionError": "manager"}

__all__ = sorted(_NAMES)

__getattr__, __dir__ = attach(__name__, _NAMES, ("manager", "types"))
