"""GGUF files read and changed without our own reader, and family llama computed from them in float64."""
import math
import struct

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, ARRAY = 8, 9
ALIGNMENT = 32


class File:
    """One with F32 tensors alone."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        magic, _, n_tensors, n_keys = struct.unpack_from("<4sIQQ", self.data)
        assert magic == b"GGUF"
        self.at = 24
        self.keys = {}
        self.raw = {}  # as they stand in the file
        for _ in range(n_keys):
            at = self.at
            name = self.string()
            self.keys[name] = self.value(self.number("<I"))
            self.raw[name] = self.data[at:self.at]
        self.infos = self.at
        infos = [self.info() for _ in range(n_tensors)]
        self.end = self.at
        begin = -(-self.at // ALIGNMENT) * ALIGNMENT
        self.tensors = {name: self.rows(dims, begin + offset) for name, dims, offset in infos}
        self.body = begin

    def number(self, form):
        value, = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return value

    def string(self):
        n = self.number("<Q")
        self.at += n
        return self.data[self.at - n:self.at].decode(errors="replace")

    def value(self, kind):
        if kind == STRING:
            return self.string()
        if kind == ARRAY:
            elem, n = self.number("<I"), self.number("<Q")
            return [self.value(elem) for _ in range(n)]
        return self.number({4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q"}[kind])

    def info(self):
        name = self.string()
        dims = [self.number("<Q") for _ in range(self.number("<I"))]
        assert self.number("<I") == 0, f"{name} is not F32"
        return name, dims, self.number("<Q")

    def rows(self, dims, at):
        n_rows = math.prod(dims[1:])
        flat = struct.unpack_from(f"<{dims[0] * n_rows}f", self.data, at)
        return [flat[i * dims[0]:(i + 1) * dims[0]] for i in range(n_rows)]

    def write_with(self, path, *keys):
        """The same file with @keys (name, maker.key()), also in place of those of that name."""
        raw = {**self.raw, **dict(keys)}
        head = struct.pack("<4sIQQ", b"GGUF", 3, len(self.tensors), len(raw)) + b"".join(raw.values())
        head += self.data[self.infos:self.end]
        with open(path, "wb") as file:
            file.write(head + bytes(-len(head) % ALIGNMENT) + self.data[self.body:])
        return path


def multiply(rows, x):
    return [math.fsum(map(float.__mul__, row, x)) for row in rows]


def norm(x, weight, eps):
    scale = 1 / math.sqrt(math.fsum(v * v for v in x) / len(x) + eps)
    return [v * scale * w for v, w in zip(x, weight)]


def turn(x, n_heads, position, base):
    size = len(x) // n_heads
    out = []
    for i in range(0, len(x), 2):
        angle = position * base ** (-(i % size) / size)
        out += [x[i] * math.cos(angle) - x[i + 1] * math.sin(angle),
                x[i] * math.sin(angle) + x[i + 1] * math.cos(angle)]
    return out


def hidden_states(file, tokens):
    """Family llama: the states behind the last norm, one for each token."""
    key = {name.removeprefix("llama."): value for name, value in file.keys.items()}
    n_heads, n_kv = key["attention.head_count"], key["attention.head_count_kv"]
    eps, base = key["attention.layer_norm_rms_epsilon"], key.get("rope.freq_base", 10000.0)
    stream = [list(file.tensors["token_embd.weight"][token]) for token in tokens]
    for layer in range(key["block_count"]):
        def weight(name):
            return file.tensors[f"blk.{layer}.{name}.weight"]
        keys, values = [], []
        for position, x in enumerate(stream):
            read = norm(x, weight("attn_norm")[0], eps)
            q = turn(multiply(weight("attn_q"), read), n_heads, position, base)
            keys.append(turn(multiply(weight("attn_k"), read), n_kv, position, base))
            values.append(multiply(weight("attn_v"), read))
            size = len(q) // n_heads
            heads = []
            for head in range(n_heads):
                mine = q[head * size:(head + 1) * size]
                theirs = slice(head * n_kv // n_heads * size, (head * n_kv // n_heads + 1) * size)
                scores = [math.fsum(map(float.__mul__, mine, k[theirs])) / math.sqrt(size) for k in keys]
                parts = [math.exp(score - max(scores)) for score in scores]
                heads += [math.fsum(p * v for p, v in zip(parts, column)) / math.fsum(parts)
                          for column in zip(*[v[theirs] for v in values])]
            x[:] = map(float.__add__, x, multiply(weight("attn_output"), heads))
        for x in stream:
            read = norm(x, weight("ffn_norm")[0], eps)
            gate, up = multiply(weight("ffn_gate"), read), multiply(weight("ffn_up"), read)
            x[:] = map(float.__add__, x,
                       multiply(weight("ffn_down"), [g / (1 + math.exp(-g)) * u for g, u in zip(gate, up)]))
    return [norm(x, file.tensors["output_norm.weight"][0], eps) for x in stream]
