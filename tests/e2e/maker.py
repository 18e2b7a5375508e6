"""Small GGUF files: a SentencePiece vocabulary of chosen pieces, and no more weights than a reader asks for."""
import struct

U32, F32, STRING, ARRAY, BOOL, I32 = 4, 6, 8, 9, 7, 5
UNKNOWN, CONTROL, BYTE, NORMAL = 2, 3, 6, 1

N_BYTES = 3  # id of the first byte token; a byte b has the id N_BYTES + b
N_WORDS = N_BYTES + 256  # id of the first of the chosen pieces
N_VOCABULARY = 512
N_WIDTH = 32


def string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def key(name, kind, payload):
    return string(name) + struct.pack("<I", kind) + payload


def array(kind, items):
    return struct.pack("<IQ", kind, len(items)) + b"".join(items)


def vocabulary(words):
    """[(text, type)]: control tokens, bytes, @words (<|like_this|>: control), fillers that no text needs, a blank."""
    tokens = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)]
    tokens += [(f"<0x{b:02X}>", BYTE) for b in range(256)]
    tokens += [(word, CONTROL if word.startswith("<|") else NORMAL) for word in words]
    tokens += [(f"\u2581w{i}", NORMAL) for i in range(len(tokens), N_VOCABULARY - 1)]
    return tokens + [("\u2581", NORMAL)]


def keys(words, template):
    tokens = vocabulary(words)
    found = [key("general.architecture", STRING, string("llama")), key("general.name", STRING, string("made"))]
    for name, value in [("context_length", 2048), ("embedding_length", N_WIDTH), ("block_count", 1),
                        ("feed_forward_length", 32), ("attention.head_count", 4), ("attention.head_count_kv", 4),
                        ("rope.dimension_count", 8), ("vocab_size", len(tokens))]:
        found.append(key("llama." + name, U32, struct.pack("<I", value)))
    found.append(key("llama.attention.layer_norm_rms_epsilon", F32, struct.pack("<f", 1e-5)))
    found.append(key("tokenizer.ggml.model", STRING, string("llama")))
    found.append(key("tokenizer.ggml.tokens", ARRAY, array(STRING, [string(text) for text, _ in tokens])))
    found.append(key("tokenizer.ggml.scores", ARRAY,
                     array(F32, [struct.pack("<f", -i) for i in range(len(tokens))])))
    found.append(key("tokenizer.ggml.token_type", ARRAY,
                     array(I32, [struct.pack("<i", kind) for _, kind in tokens])))
    for name, value in ("bos_token_id", 1), ("eos_token_id", 2), ("unknown_token_id", 0):
        found.append(key("tokenizer.ggml." + name, U32, struct.pack("<I", value)))
    found.append(key("tokenizer.ggml.add_bos_token", BOOL, b"\1"))
    if template:
        found.append(key("tokenizer.chat_template", STRING, string(template)))
    return found


def write_model(path, words=(), template=None):
    """For the fake engine: a head with one tensor behind it."""
    found = keys(words, template)
    tensor = string("token_embd.weight") + struct.pack("<IQQIQ", 2, N_WIDTH, N_VOCABULARY, 0, 0)
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, len(found)) + b"".join(found) + tensor
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % 32) + bytes(4 * N_WIDTH * N_VOCABULARY))
    return path
