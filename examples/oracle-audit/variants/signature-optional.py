def may_release(build):
    """Whether a build may be released."""
    return build["tested"] and build["reviewed"]
