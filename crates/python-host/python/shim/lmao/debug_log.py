"""A log for people who look for a mistake."""
import json
import time


class DebugLogger:
    """Writes one JSON object a line into a file."""

    def __init__(self, path):
        self.path = path

    def log(self, event, detail="", **more):
        """Add a line; a log that cannot be written stops nothing."""
        from lmao.hooks import LoggingHookContext, get_global_hook_registry

        hooks = get_global_hook_registry()
        for type in ("on_log_message", "pre_log_write"):
            hooks.execute(type, LoggingHookContext(type, log_event=event, log_message=detail))
        self.write(event, detail)
        hooks.execute("post_log_write", LoggingHookContext("post_log_write", log_event=event, log_message=detail))

    def write(self, event, detail):
        """Where a line goes."""
        line = {"ts": time.time(), "level": "debug", "event": str(event), "message": str(detail)}
        try:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError:
            return
