"""Authored variants: other implementations written by hand, each with a recorded kind, and what they say of a grader.

Killing a variant shows that the tests tell it from the reference, not that the task asks for the reference. ``reading``
and ``checking`` are for a process of their own or the command line; nothing here is loaded by a process under test but
``model`` and ``fetching``.
"""
