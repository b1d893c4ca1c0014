"""The reference: what the author of the task had in mind."""


def may_release(build):
    """Whether a build may be released."""
    return build["tested"] and build["reviewed"] and build["signed"]
