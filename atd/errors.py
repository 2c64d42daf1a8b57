"""The one exception that reaches a user as a single line."""


class AtdError(Exception):
    """A problem the user can mend: the message is one line that names the file or key and the fix."""
