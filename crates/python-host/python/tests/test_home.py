"""The home of a worker."""
import os
import tempfile

from harness import PluginCase


class TheHome(PluginCase):
    def test_it_is_the_directory_that_was_named_and_links_lead_to_what_is_mounted(self):
        self.tool(
            "home",
            """
            import os
            path = os.path.expanduser("~")
            names = sorted(os.listdir(path))
            return ToolResult(True, "%s %s %s" % (path, names, os.environ.get("XDG_CACHE_HOME")))
            """,
        )
        seen = tempfile.mkdtemp(dir=self.root)
        home = os.path.join(self.root, "data", "home")
        os.makedirs(os.path.join(seen, "directory", "below"))
        os.symlink("/usr", os.path.join(seen, "directory", "link"))
        os.symlink("/nowhere/gone", os.path.join(seen, "gone"))
        environment = {"HOME": seen, "XDG_CACHE_HOME": "/elsewhere"}
        for _ in range(2):
            worker = self.start(home=home, environment=environment)
            self.assertEqual(worker.call("home")["output"], "%s ['directory', 'gone'] None" % home)
            self.assertEqual(os.readlink(os.path.join(home, "directory", "link")), "/usr")
            self.assertTrue(os.path.isdir(os.path.join(home, "directory", "below")))
        os.unlink(os.path.join(seen, "gone"))
        worker = self.start(home=home, environment=environment)
        self.assertEqual(worker.call("home")["output"], "%s ['directory'] None" % home)

    def test_a_home_that_cannot_be_made_leaves_the_other(self):
        self.tool("home", 'import os\nreturn ToolResult(True, os.environ["HOME"])')
        self.write("file", "")
        worker = self.start(home=os.path.join(self.root, "file", "home"), environment={"HOME": "/tmp"})
        self.assertEqual(worker.call("home")["output"], "/tmp")
