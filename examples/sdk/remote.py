"""Runs a prompt on a server, and shows the work as it arrives.

    brynhild serve --listen unix:/tmp/brynhild.sock
    python3 examples/sdk/remote.py unix:/tmp/brynhild.sock "How many words has notes.txt?"
"""

import os
import sys

from brynhild_sdk import Answer, Brynhild

url, prompt = sys.argv[1:]


def decide(question):
    return Answer.once() if question.is_read_only else Answer.deny("this program only reads")


with Brynhild(url=url, token=os.environ.get("TOKEN"), mode="ask", on_question=decide) as b:
    stream = b.stream(prompt)
    for event in stream:
        if event["type"] == "tool_called":
            print("calls", event["call"]["name"])
    print(stream.result.text)
