"""The reader of YAML for interpreters without PyYAML."""
import unittest

import harness  # noqa: F401

from brynhild import _yaml


class Yaml(unittest.TestCase):
    CASES = {
        "a: 1\nb: [x, 'y z', {k: v}]\nc:\n  - d: e\n    f: g\n  - h\n": {"a": 1, "b": ["x", "y z", {"k": "v"}], "c": [{"d": "e", "f": "g"}, "h"]},
        "t: |\n  one\n   two\n\n  three\nn: >-\n  a\n  b\n": {"t": "one\n two\n\nthree\n", "n": "a b"},
        "q: \"a\\nb # no\" # yes\nu: it's # c\nurl: http://x:1/y\n": {"q": "a\nb # no", "u": "it's", "url": "http://x:1/y"},
        "a: true\nb: no\nc: ~\nd: 1.5\ne: '1'\nf: 1.0.0\ng:\n": {"a": True, "b": False, "c": None, "d": 1.5, "e": "1", "f": "1.0.0", "g": None},
        "l:\n- a\n- b: 1\n  c: 2\nm: {}\nn: []\n": {"l": ["a", {"b": 1, "c": 2}], "m": {}, "n": []},
        "# head\n\nname: x   # tail\n\ndescription: long text\n  goes on\n": {"name": "x", "description": "long text goes on"},
        "hooks:\n  pre_tool_use:\n    - name: a\n      match:\n        tool: \"Bash\"\n      timeout:\n        seconds: 30\n": {"hooks": {"pre_tool_use": [{"name": "a", "match": {"tool": "Bash"}, "timeout": {"seconds": 30}}]}},
        "args: \"[environment]\"\nlist: [\n  a,\n  b\n]\n": {"args": "[environment]", "list": ["a", "b"]},
    }

    def test_the_common_subset_is_read(self):
        for text, expected in self.CASES.items():
            self.assertEqual(_yaml.load(text), expected, text)

    def test_it_agrees_with_pyyaml(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("PyYAML is not installed here")
        for text, expected in self.CASES.items():
            self.assertEqual(yaml.safe_load(text), expected, text)

    def test_nonsense_is_refused_with_its_line(self):
        for text in ("a: 1\n   b: 2\n", "a: [1, 2\n", "just\n  - x: 1\ny\n", "a: 1\nnonsense\n"):
            with self.assertRaises(ValueError, msg=text):
                _yaml.load(text)


if __name__ == "__main__":
    unittest.main()
