"""What plugins written for LMAO import, served by Brynhild. Nothing here talks to a model or decides what may run."""

__version__ = "0.1.0"
