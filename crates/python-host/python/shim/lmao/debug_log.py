"""A log for debugging."""
import json
import time


class DebugLogger:
    """Writes a log file with one JSON object per line."""

    def __init__(self, path):
        self.path = path

    def log(self, event, detail="", **more):
        """Add a line. An error of the log is ignored."""
        from lmao.hooks import LoggingHookContext, get_global_hook_registry

        hooks = get_global_hook_registry()
        for type in ("on_log_message", "pre_log_write"):
            hooks.execute(type, LoggingHookContext(type, log_event=event, log_message=detail))
        self.write(event, detail)
        hooks.execute("post_log_write", LoggingHookContext("post_log_write", log_event=event, log_message=detail))

    def write(self, event, detail):
        """Write a line to the file."""
        line = {"ts": time.time(), "level": "debug", "event": str(event), "message": str(detail)}
        try:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError:
            return
