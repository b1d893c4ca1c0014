"""Shards of one run become one run: whether they belong together (``checking``), and writing it (``writing``)."""
