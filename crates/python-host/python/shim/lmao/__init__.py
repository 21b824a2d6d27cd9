"""The modules that plugins for LMAO import. They call no model and decide no permission."""

__version__ = "0.1.0"
