"""An S3-compatible server of our own: says where it listens, and ends when its standard input does."""

import sys

from moto.server import ThreadedMotoServer

server = ThreadedMotoServer("127.0.0.1", port=0)
server.start()
sys.stdout.write("AT http://{}:{}\n".format(*server.get_host_and_port()))
sys.stdout.flush()
sys.stdin.read()
server.stop()
