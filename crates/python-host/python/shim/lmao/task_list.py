"""The task list, which older plugins get as an argument."""


class Task:
    """One task."""

    def __init__(self, id, text, done=False):
        self.id = id
        self.text = text
        self.done = done

    def to_payload(self):
        """The task as JSON data."""
        return {"id": self.id, "text": self.text, "done": self.done}


class TaskListManager:
    """The tasks of a session."""

    def __init__(self):
        self.tasks = []
        self.active = False
        self._next = 1

    def has_list(self):
        """True if there is a list."""
        return self.active

    def new_list(self):
        """Start an empty list."""
        self.tasks = []
        self.active = True
        self._next = 1

    def add_task(self, text):
        """Add a task, and start a list if there is none."""
        from lmao.plugin_helpers import normalize_task_text

        self.active = True
        task = Task(self._next, normalize_task_text(text))
        self._next += 1
        self.tasks.append(task)
        return task

    def complete_task(self, task_id):
        """Mark a task as done, and return a message."""
        task = self._find(task_id)
        if task is None:
            return "task %s not found" % task_id
        task.done = True
        return "completed task %s" % task.id

    def delete_task(self, task_id):
        """Remove a task, and return a message."""
        task = self._find(task_id)
        if task is None:
            return "task %s not found" % task_id
        self.tasks.remove(task)
        return "deleted task %s" % task.id

    def to_payload(self):
        """The list as JSON data."""
        return {"active": self.active, "tasks": [task.to_payload() for task in self.tasks]}

    def render_tasks(self):
        """The list as text, one task per line."""
        if not self.tasks:
            return "no tasks"
        return "\n".join("[%s] %s. %s" % ("x" if task.done else " ", task.id, task.text) for task in self.tasks)

    def _find(self, task_id):
        wanted = str(task_id).strip()
        for task in self.tasks:
            if str(task.id) == wanted:
                return task
        return None


current = TaskListManager()
