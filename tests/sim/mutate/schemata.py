"""Where daemon/sched and daemon/govern can be changed by rule, and their sources with all changes at once.

Rules: each named constant halved and doubled; the condition of each "if" and "?:" forced true and forced false; each
comparison, and each other operand of "&&" and "||", turned into its opposite. Loops and assertions stay.

A place gets a number for each of its mutants, and a call of mutate.h in the text: "if (a < b)" becomes
"if (mutate_if(4, mutate_not(6, a < b)))".
"""

import re

FOLDERS = ("daemon/sched", "daemon/govern")

CONSTANT = re.compile(r"^#define (\w+)[ \t]+((?:\S[^\n]*?)?(?:\\\n[^\n]*?)?)[ \t]*$", re.M)
CONDITION = re.compile(r"\bif \(")
CHOICE = re.compile(r" \? ")
COMPARISON = re.compile(r" (==|!=|<=|>=|<|>) ")
CONNECTIVE = re.compile(r" (&&|\|\|)[ \n]")
FUNCTION = re.compile(r"^\w[^\n;=]*?\b(\w+)\([^;{}]*\)\s*\{", re.M)
OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

# What ends an operand at its own depth; comparisons end those of "==" and "!=" never, since nothing here mixes them.
ENDS = re.compile(r"[,;?:{}]|&&|\|\||(?<![=!<>])=(?!=)|\breturn\b| [&|^] |^#[^\n]*", re.M)


def blank(text):
    """Replaces comments by spaces and strings by underscores, so that places in the text stay."""
    pattern = r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " " if m[0][0] == "/" else "_", m[0]), text, flags=re.S)


def code_of(text):
    """Returns @text without comments, strings, preprocessor lines, heads of loops, and assertions; places stay."""
    bare = blank(text)
    for match in re.finditer(r"\b(?:for|while|assert|static_assert) ?\(", bare):
        end = closing(bare, match.end() - 1)
        bare = bare[:match.end()] + re.sub(r"[^\n]", " ", bare[match.end():end]) + bare[end:]
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", " ", m[0]), bare, flags=re.M)


def closing(text, at):
    """Returns the place of the parenthesis that closes the one at @at."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] in "([") - (text[i] in ")]")
        if depth == 0:
            return i
    return len(text)


def around(code, at):
    """Returns where the innermost parenthesis, or the statement, around @at begins and ends."""
    depth = 0
    begin = at
    while begin > 0 and depth >= 0 and code[begin - 1] not in ";{}":
        begin -= 1
        depth += (code[begin] in ")]") - (code[begin] in "([")
    begin += depth < 0
    depth = 0
    end = at
    while end < len(code) and code[end] not in ";{}":
        depth += (code[end] in "([") - (code[end] in ")]")
        if depth < 0:
            break
        end += 1
    return begin, end


def operand(code, begin, end, at, after):
    """Returns the span of the operand that ends at @at, or begins at @after, within @begin to @end."""
    flat = list(code[begin:end])
    depth = 0
    for i, char in enumerate(flat):
        depth -= char in ")]"
        flat[i] = "_" if depth > 0 else char
        depth += char in "(["
    ends = [m.span() for m in ENDS.finditer("".join(flat))]
    first = max([begin] + [begin + e for _, e in ends if begin + e <= at])
    last = min([end] + [begin + b for b, _ in ends if begin + b >= after])
    while code[first].isspace():
        first += 1
    while code[last - 1].isspace():
        last -= 1
    return first, last


def comparisons(code):
    for match in COMPARISON.finditer(code):
        begin, end = around(code, match.start())
        first, last = operand(code, begin, end, match.start(), match.end())
        yield first, last, "not", [f"{match[1]} to {OPPOSITE[match[1]]}"]


def operands(code):
    found = set()
    for match in CONNECTIVE.finditer(code):
        begin, end = around(code, match.start())
        found.add(operand(code, begin, end, match.start(), match.start()))
        found.add(operand(code, begin, end, match.end() - 1, match.end() - 1))
    for first, last in sorted(found):
        span = code[first:last]
        if not COMPARISON.search(span) and "&&" not in span and "||" not in span:
            yield first, last, "not", [f"\"{span}\" negated"]


def conditions(code):
    for match in CONDITION.finditer(code):
        yield match.end(), closing(code, match.end() - 1), "if", ["if true", "if false"]
    for match in CHOICE.finditer(code):
        begin, end = around(code, match.start())
        depth = 0
        at = match.start()
        while at > begin:
            depth += (code[at - 1] in ")]") - (code[at - 1] in "([")
            rest = code[begin:at]
            if depth == 0 and (code[at - 1] in ",?:" or
                               (code[at] != "=" and re.search(r"(?<![=!<>])=\s?$|\breturn\s$", rest))):
                break
            at -= 1
        while code[at].isspace():
            at += 1
        yield at, match.start(), "if", ["?: true", "?: false"]


def constants(text):
    for match in CONSTANT.finditer(blank(text)):
        value = match[2].replace("\\", " ").strip()
        if re.search(r"\d", value) and "{" not in value:
            yield match.start(2), match.end(2), match[1], value


def function_at(text, at):
    """Returns the name of the function around @at, or of none."""
    return next((m[1] for m in reversed(list(FUNCTION.finditer(text, 0, at)))), "")


class Sources:
    """All places of the sources, and their text with the calls."""

    def __init__(self, root, fixed=()):
        """@fixed: constants that must stay constant expressions."""
        self.root = root
        self.fixed = set(fixed)
        self.mutants = []  # of number 1 and on
        self.texts = {}
        self.baked = []  # (path, name, what, text) of the fixed ones
        for path in sorted(p for folder in FOLDERS for p in (root / folder).glob("*.[ch]")):
            self.add(path)

    def add(self, path):
        text = path.read_text()
        where = str(path.relative_to(self.root))
        inserts = []
        for begin, end, name, value in constants(text):
            whats = [f"{name} halved", f"{name} doubled"]
            if name in self.fixed:
                for what, form in zip(whats, ("((%s) / 2)", "((%s) * 2)")):
                    self.baked.append((where, what, text[:begin] + form % value + text[end:]))
                    self.number(where, text, begin, "", [what])
            else:
                first = self.number(where, text, begin, "", whats)
                inserts.append((begin, -end, f"MUTATE_VALUE({first}, (", "))"))
        if path.suffix == ".c":
            code = code_of(text)
            places = sorted((x for rule in (conditions, comparisons, operands) for x in rule(code)),
                            key=lambda x: (x[0], -x[1], x[2]))
            for begin, end, kind, whats in places:
                first = self.number(where, text, begin, function_at(text, begin), whats)
                inserts.append((begin, -end, f"mutate_{kind}({first}, ", ")"))
        self.texts[where] = weave(text, inserts)

    def number(self, where, text, at, function, whats):
        line = text.count("\n", 0, at) + 1
        source = " ".join(text[text.rfind("\n", 0, at) + 1:text.find("\n", at)].split())
        for what in whats:
            self.mutants.append({"id": len(self.mutants) + 1, "place": f"{where}:{line}", "function": function,
                                 "what": what, "source": source})
        return len(self.mutants) - len(whats) + 1


def weave(text, inserts):
    """Returns @text with each (begin, -end, before, after) of @inserts around its span."""
    points = []
    for order, (begin, end, before, after) in enumerate(sorted(inserts, key=lambda x: x[:2])):
        points.append((begin, 1, order, before))
        points.append((-end, 0, -order, after))
    result = []
    last = 0
    for at, _, _, word in sorted(points):
        result += [text[last:at], word]
        last = at
    return "".join(result) + text[last:]
