"""Harness mutation: one component of an agent harness is dropped at a time; does a grader or a spec notice?"""
