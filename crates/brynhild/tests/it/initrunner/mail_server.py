"""An IMAP and an SMTP server on loopback for one account. Arguments: a log, and a certificate with its key for TLS."""

import base64
import socketserver
import ssl
import sys
import threading

LOG = open(sys.argv[1], "a", buffering=1)
CONTEXT = None
if len(sys.argv) > 2:
    CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    CONTEXT.load_cert_chain(sys.argv[2])

PLAIN = b"""Message-ID: <one@example.com>\r
From: =?utf-8?q?Ad=C3=A0?= <ada@example.com>\r
To: me@example.com\r
Subject: First\r
Date: Mon, 1 Jun 2026 10:00:00 +0000\r
\r
Hello,\r
it is me.\r
"""
HTML = b"""Message-ID: <two@example.com>\r
From: bob@example.com\r
To: me@example.com\r
Cc: Ada <ada@example.com>\r
Subject: =?utf-8?b?R3LDvMOfZQ==?=\r
Date: Tue, 2 Jun 2026 10:00:00 +0000\r
Content-Type: text/html; charset=utf-8\r
\r
<h1>News</h1><p>All is <b>well</b>.</p>\r
"""
MESSAGES = {3: PLAIN, 7: HTML}


class Lines(socketserver.StreamRequestHandler):
    def say(self, text):
        self.wfile.write(text if isinstance(text, bytes) else (text + "\r\n").encode())

    def secure(self):
        self.request = CONTEXT.wrap_socket(self.request, server_side=True)
        self.setup()

    def commands(self):
        for line in iter(lambda: self.rfile.readline(), b""):
            line = line.decode().rstrip("\r\n")
            LOG.write(line + "\n")
            yield line


class Imap(Lines):
    def handle(self):
        if CONTEXT:
            self.secure()
        self.say("* OK ready")
        for line in self.commands():
            tag, command = line.split(" ", 1)
            if command == 'LOGIN "me@example.com" "s3c\\"ret"' or command.startswith('EXAMINE "INBOX"'):
                pass
            elif command.startswith("EXAMINE"):
                self.say(tag + " NO no such folder")
                continue
            elif command.startswith("UID SEARCH"):
                found = [7] if "two@example.com" in command else [] if "@" in command or "NEW" in command else [3, 7]
                self.say("* SEARCH" + "".join(f" {it}" for it in found))
            elif command.startswith("UID FETCH") and "BODY.PEEK[" in command:
                uid = int(command.split()[2])
                content = MESSAGES[uid]
                if "HEADER" in command:
                    content = content.split(b"\r\n\r\n")[0] + b"\r\n\r\n"
                self.say(b"* 1 FETCH (UID %d BODY[] {%d}\r\n" % (uid, len(content)) + content + b")\r\n")
            elif command.startswith("LIST"):
                self.say('* LIST (\\HasNoChildren) "/" "Sent \\"it\\""')
                self.say("* LIST (\\HasNoChildren) NIL INBOX")
            elif command == "LOGOUT":
                self.say("* BYE")
            else:
                self.say(tag + " NO not allowed")
                continue
            self.say(tag + " OK done")


class Smtp(Lines):
    def handle(self):
        self.say("220 ready")
        data = False
        for line in self.commands():
            if data:
                data = line != "."
                if not data:
                    self.say("250 taken")
            elif line.startswith("EHLO"):
                offers_tls = CONTEXT and not isinstance(self.request, ssl.SSLSocket)
                self.say("250-localhost")
                self.say("250 STARTTLS" if offers_tls else "250 AUTH LOGIN PLAIN")
            elif line == "STARTTLS":
                self.say("220 go")
                self.secure()
            elif line.startswith("AUTH PLAIN"):
                is_known = base64.b64decode(line.split()[2]) == b'\0me@example.com\0s3c"ret'
                self.say("235 welcome" if is_known else "535 unknown")
            elif line == "RCPT TO:<nobody@example.com>":
                self.say("550 no such user")
            elif line == "DATA":
                self.say("354 go")
                data = True
            else:
                self.say("250 ok")


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


servers = [Server(("127.0.0.1", 0), handler) for handler in (Imap, Smtp)]
for server in servers:
    threading.Thread(target=server.serve_forever, daemon=True).start()
print(*[server.server_address[1] for server in servers], flush=True)
sys.stdin.read()
