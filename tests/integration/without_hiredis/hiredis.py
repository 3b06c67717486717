"""With this folder in PYTHONPATH, redis-py finds no hiredis, whether python3-hiredis is installed or not, and parses
replies itself."""

raise ImportError("hidden from redis-py")
