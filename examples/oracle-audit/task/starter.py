def may_release(build):
    """Whether a build may be released."""
