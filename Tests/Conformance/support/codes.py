"""The code with which a bad value is rejected."""


def code_for(value, kind):
    """The code for a bad value in place of one of `kind`: another JSON kind is a bad request, otherwise the value is out
    of range."""
    return "validation_failed" if type(value) is kind else "bad_request"
