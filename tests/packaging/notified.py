"""Writes each line that comes to a socket of a service manager to a file.   notified.py SOCKET FILE"""
import os
import socket
import sys

with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, open(sys.argv[2], "w", encoding="utf-8") as file:
    os.umask(0)
    manager.bind(sys.argv[1])
    while True:
        file.write(manager.recv(4096).decode() + "\n")
        file.flush()
