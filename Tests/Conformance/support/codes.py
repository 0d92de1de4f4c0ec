"""Which code a bad value is refused with."""


def code_for(value, kind):
    """The code for a bad value where one of `kind` belongs: another JSON kind is a bad request, and else it is out of bounds."""
    return "validation_failed" if type(value) is kind else "bad_request"
