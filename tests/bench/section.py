"""Sections of a page that different programs write: each lies between two marks, and no program touches another's."""


def marks(name):
    return f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"


def kept(path, name):
    """The section @name of the page at @path with its marks, or nothing."""
    begin, end = marks(name)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        return ""
    if begin not in text:
        return ""
    return "\n" + begin + text.split(begin, 1)[1].split(end, 1)[0] + end


def put(path, name, section):
    """Puts @section in place of the one of that name, or at the end of the page."""
    begin, end = marks(name)
    old = kept(path, name)
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        text = ""
    new = "\n" + begin + section + end
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(old, new) if old else text + new)
