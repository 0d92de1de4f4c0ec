"""What Schemathesis is told beside its options."""

import schemathesis


@schemathesis.hook
def filter_path_parameters(context, path_parameters):
    """Left out are ids with a %: Schemathesis 4.32.5 does not encode it, so what follows it would be an escape, of other bytes."""
    return not any("%" in str(value) for value in (path_parameters or {}).values())
