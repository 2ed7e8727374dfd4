"""Answers as the metadata services of three clouds do.

    metadata_service.py FOLDER

FOLDER/port        gets the port, on loopback
FOLDER/aws-action  the answer of EC2 about the spot instance; missing: 404
FOLDER/aws-expire  the next question finds its token run out, once
FOLDER/preempted   Compute Engine preempts the machine
FOLDER/maintenance its maintenance event; missing: NONE
FOLDER/azure       the answer of Azure; missing: no events
FOLDER/refused     a line for each question that lacks what it must have
"""
import http.server
import os
import socketserver
import sys
import threading
import time
import urllib.parse

FOLDER = sys.argv[1]
TOKENS = set()
LOCK = threading.Lock()


def text_of(name):
    try:
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def wait_for(name, seconds):
    until = time.monotonic() + seconds
    while text_of(name) is None and time.monotonic() < until:
        time.sleep(0.02)


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, code, text="", headers=()):
        body = text.encode()
        self.send_response(code)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, code):
        with LOCK, open(os.path.join(FOLDER, "refused"), "a", encoding="utf-8") as file:
            file.write(f"{code} {self.command} {self.path}\n")
        self.answer(code, "refused")

    def do_PUT(self):
        if self.path != "/latest/api/token":
            return self.refuse(404)
        if not self.headers.get("X-aws-ec2-metadata-token-ttl-seconds", "").isdigit():
            return self.refuse(400)
        token = f"token-{len(TOKENS)}=="
        TOKENS.add(token)
        return self.answer(200, token)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if url.path == "/latest/meta-data/spot/instance-action":
            return self.aws()
        if url.path.startswith("/computeMetadata/v1/instance/"):
            return self.google(url.path.rsplit("/", 1)[1], query)
        if url.path.startswith("/metadata/"):
            return self.azure(url.path, query)
        return self.refuse(404)

    def aws(self):
        if self.headers.get("X-aws-ec2-metadata-token") not in TOKENS:
            return self.refuse(401)
        if text_of("aws-expire") is not None:
            os.remove(os.path.join(FOLDER, "aws-expire"))
            TOKENS.clear()
            return self.answer(401)
        action = text_of("aws-action")
        return self.answer(404, "<html>\n404\n</html>") if action is None else self.answer(200, action)

    def google(self, name, query):
        if self.headers.get("Metadata-Flavor") != "Google":
            return self.refuse(403)
        if name == "maintenance-event":
            value = text_of("maintenance") or "NONE"
            return self.answer(200, value, [("ETag", "m1"), ("Metadata-Flavor", "Google")])
        if name != "preempted":
            return self.refuse(404)
        if query.get("wait_for_change") == "true" and query.get("last_etag") == "e0":
            wait_for("preempted", float(query.get("timeout_sec", "60")))
        value, tag = ("TRUE", "e1") if text_of("preempted") is not None else ("FALSE", "e0")
        return self.answer(200, value, [("ETag", tag), ("Metadata-Flavor", "Google")])

    def azure(self, path, query):
        if self.headers.get("Metadata") != "true" or "api-version" not in query:
            return self.refuse(400)
        if path == "/metadata/instance/compute/name" and query.get("format") == "text":
            return self.answer(200, "vm_0")
        if path == "/metadata/scheduledevents":
            return self.answer(200, text_of("azure") or '{"DocumentIncarnation":1,"Events":[]}')
        return self.refuse(404)


# That of http.server asks for the host's full name, which may take long.
SERVER = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Service)
SERVER.daemon_threads = True
with open(os.path.join(FOLDER, "port~"), "w", encoding="utf-8") as out:
    out.write(str(SERVER.server_address[1]))
os.rename(os.path.join(FOLDER, "port~"), os.path.join(FOLDER, "port"))
SERVER.serve_forever()
