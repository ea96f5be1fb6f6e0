"""Answers of 80 columns as tests compare them."""


def flat(text):
    """The words of a text, wherever its lines end."""
    return " ".join(text.split())


def entries(text, title):
    """The rows of the table under a title, each as one line of words: its cells, then what had no room beside them."""
    lines = text[text.index(title) :].split("\n\n")[0].splitlines()[2:]
    found = []
    for line in lines:
        if line.startswith("      "):
            found[-1] = flat(f"{found[-1]} {line}")
        else:
            found.append(flat(line))
    return found


def lines_of(group, section, incarnation=None, kind="consumer"):
    """The lines of a section of a group in the terminal."""
    rows = [row | {"kind": kind, "clients": {}} for row in group.section(section, incarnation)]
    return [line for part in section.terminal(rows, kind) for line in part.plain.split("\n")]
