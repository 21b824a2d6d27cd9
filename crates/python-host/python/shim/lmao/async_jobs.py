"""Background jobs: files that are followed and commands that run. They end with the process of the plugin."""
import codecs
import os
import signal
import subprocess
import threading
from pathlib import Path

_CUT = "...[truncated]"


class AsyncJob:
    """One job with the events it has produced."""

    def __init__(self, id, kind, limits):
        self.id = id
        self.kind = kind
        self.status = "running"
        self.error = None
        self.events = []
        self.next_seq = 1
        self._limits = limits
        self.lock = threading.RLock()

    def add(self, stream, text):
        """Add an event. The oldest events are removed if there are too many."""
        most, longest = self._limits
        if len(text) > longest:
            text = text[:longest] + _CUT
        with self.lock:
            self.events.append({"seq": self.next_seq, "stream": stream, "text": text})
            self.next_seq += 1
            del self.events[:-most]

    def look(self):
        """Read new input, for jobs that read only when they are polled."""

    def stop(self):
        """Stop the job."""


class TailJob(AsyncJob):
    """A file that is followed, one event per line; it is read when the job is polled."""

    def __init__(self, id, limits, path, start_at, encoding):
        super().__init__(id, "tail", limits)
        self.path = Path(path)
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._unfinished = ""
        self._position = os.path.getsize(str(path)) if start_at == "end" else 0

    def look(self):
        """Read the lines that were added to the file."""
        if self.status != "running":
            return
        try:
            with open(str(self.path), "rb") as file:
                if os.fstat(file.fileno()).st_size < self._position:
                    self._position, self._unfinished = 0, ""
                    self._decoder.reset()
                file.seek(self._position)
                for data in iter(lambda: file.read(1 << 16), b""):
                    self._take(self._decoder.decode(data))
                has_grown = file.tell() > self._position
                self._position = file.tell()
        except OSError as error:
            self.status, self.error = "error", str(error)
            return
        if self._unfinished and not has_grown:
            self._take("", flush=True)

    def _take(self, text, flush=False):
        """Add the complete lines; an unfinished one waits for its end, or for a poll without news."""
        lines = (self._unfinished + text).split("\n")
        self._unfinished = lines.pop()
        for line in lines:
            self.add("tail", line + "\n")
        if flush or len(self._unfinished) > self._limits[1]:
            self.add("tail", self._unfinished)
            self._unfinished = ""


class BashJob(AsyncJob):
    """A shell command whose output is read as it comes."""

    def __init__(self, id, limits, command, cwd):
        super().__init__(id, "bash", limits)
        self.command = command
        self._process = subprocess.Popen(
            command,
            shell=True,
            cwd=str(cwd) if cwd is not None else None,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        streams = (("stdout", self._process.stdout), ("stderr", self._process.stderr))
        self._readers = [threading.Thread(target=self._read, args=pair, daemon=True) for pair in streams]
        for reader in self._readers:
            reader.start()
        threading.Thread(target=self._wait, daemon=True).start()

    def stop(self):
        """Stop the command and all that it started."""
        with self.lock:
            if self.status != "running":
                return
            self.status = "canceled"
        try:
            os.killpg(self._process.pid, signal.SIGTERM)
        except OSError:
            return

    def _read(self, stream, pipe):
        with pipe:
            for line in pipe:
                self.add(stream, line.decode("utf-8", "replace"))

    def _wait(self):
        code = self._process.wait()
        for reader in self._readers:
            reader.join()
        with self.lock:
            self.add("meta", "process exited with code %d" % code)
            if self.status == "running":
                self.status = "done"


class AsyncJobManager:
    """All background jobs of this process."""

    def __init__(self, max_events=500, max_event_chars=50000):
        self._limits = (max_events, max_event_chars)
        self._jobs = {}
        self._count = 0
        self._lock = threading.Lock()

    def start_tail(self, path, start_at="end", encoding="utf-8"):
        """Follow a file; returns the job's id."""
        return self._begin(lambda id: TailJob(id, self._limits, path, start_at, encoding))

    def start_bash(self, command, cwd=None):
        """Run a shell command; returns the job's id."""
        return self._begin(lambda id: BashJob(id, self._limits, command, cwd))

    def stop(self, job_id):
        """Stop a job; false if there is none with this id."""
        job = self._jobs.get(job_id)
        if job is None:
            return False
        job.stop()
        if job.status == "running":
            job.status = "canceled"
        return True

    def poll(self, job_id, since_seq=0):
        """The state of a job and its events after `since_seq`; None if there is no such job."""
        job = self._jobs.get(job_id)
        if job is None:
            return None
        job.look()
        with job.lock:
            events = [dict(event) for event in job.events if event["seq"] > since_seq]
            return {
                "id": job.id,
                "kind": job.kind,
                "status": job.status,
                "error": job.error,
                "since_seq": since_seq,
                "next_seq": job.next_seq,
                "events": events,
            }

    def list_jobs(self):
        """All jobs, in the order of their start."""
        return [{"id": job.id, "kind": job.kind, "status": job.status, "error": job.error} for job in self._jobs.values()]

    def get_job(self, job_id):
        """The job with this id, or None."""
        return self._jobs.get(job_id)

    def _begin(self, make):
        with self._lock:
            self._count += 1
            id = "job_%d" % self._count
        job = make(id)
        self._jobs[id] = job
        return id


_jobs = None


def get_async_job_manager():
    """The jobs of this process."""
    global _jobs
    if _jobs is None:
        _jobs = AsyncJobManager()
    return _jobs
