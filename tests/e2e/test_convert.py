#!/usr/bin/python3
"""sotto convert, as users run it: a folder in, a file out that sotto itself runs, or a sentence and no file."""
import json
import os
import random
import struct
import subprocess
import tempfile

import tap
from tap import PATIENCE_S, equal, fact, holds

BUILD = os.environ["SOTTO_BUILD"]

CONFIG = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
          "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128, "rms_norm_eps": 1e-5,
          "rope_theta": 10000.0, "eos_token_id": 257, "hidden_act": "silu", "tie_word_embeddings": False}


def letters():
    """How byte-level vocabularies write each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + i) for i, byte in enumerate(rest)}


def tokenizer():
    vocab = {letter: byte for byte, letter in letters().items()} | {"th": 256}
    return {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
            "added_tokens": [{"id": 257, "content": "<end>", "special": True}],
            "model": {"type": "BPE", "vocab": vocab, "merges": ["t h"]}}


def tensors():
    shapes = {"model.embed_tokens.weight": [258, 64], "model.norm.weight": [64], "lm_head.weight": [258, 64]}
    for layer in range(2):
        name = f"model.layers.{layer}."
        shapes |= {name + "input_layernorm.weight": [64], name + "post_attention_layernorm.weight": [64],
                   name + "self_attn.q_proj.weight": [64, 64], name + "self_attn.k_proj.weight": [32, 64],
                   name + "self_attn.v_proj.weight": [32, 64], name + "self_attn.o_proj.weight": [64, 64],
                   name + "mlp.gate_proj.weight": [96, 64], name + "mlp.up_proj.weight": [96, 64],
                   name + "mlp.down_proj.weight": [64, 96]}
    return shapes


def write_folder(folder, leave_out=None):
    draw, head, data = random.Random(1), {}, b""
    for name, shape in tensors().items():
        if name == leave_out:
            continue
        n = shape[0] * (shape[1] if len(shape) > 1 else 1)
        values = struct.pack(f"<{n}f", *(draw.gauss(0, 0.2) for _ in range(n)))
        head[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(head).encode()
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    for name, thing in ("config.json", CONFIG), ("tokenizer.json", tokenizer()):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(thing, file)


def sotto(*words):
    done = subprocess.run([os.path.join(BUILD, "clients/sotto"), *words], capture_output=True, timeout=PATIENCE_S, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def answer(*words):
    code, out, err = sotto(*words, "--json")
    equal(code, 0, err)
    return json.loads(out)


@fact
def what_was_converted_is_run():
    with tempfile.TemporaryDirectory() as folder:
        write_folder(folder)
        path = os.path.join(folder, "out.gguf")
        reported = answer("convert", folder, path)
        shown = answer("inspect", path)
        logits = answer("logits", "--file", path, "--tokens", "116,104,256")["logits"]

        equal((reported["family"], reported["format"], reported["tensors"]), ("llama", "F32", 21))
        equal(shown["verdict"]["runs"], True)
        equal({tensor["use"] for tensor in shown["tensors"]}, {"used"})
        equal(len(logits), 258)
        equal(sotto("tokenize", "--file", path, "the")[1], "256,101\n")


@fact
def a_format_that_is_asked_for_is_written():
    with tempfile.TemporaryDirectory() as folder:
        write_folder(folder)
        path = os.path.join(folder, "out.gguf")
        answer("convert", "--type", "q8_0", folder, path)
        types = {tensor["name"]: tensor["type"] for tensor in answer("inspect", path)["tensors"]}

        equal(types["blk.0.attn_q.weight"], "Q8_0")
        equal(types["blk.0.attn_norm.weight"], "F32")
        reported = answer("convert", "--force", "--type", "Q4_K", folder, path)
        equal(reported["f16_instead"], 16)


@fact
def a_file_that_is_there_stays_unless_forced():
    with tempfile.TemporaryDirectory() as folder:
        write_folder(folder)
        path = os.path.join(folder, "out.gguf")
        with open(path, "w", encoding="utf-8") as file:
            file.write("mine")
        code, _, err = sotto("convert", folder, path)

        equal(code, 1, err)
        with open(path, encoding="utf-8") as file:
            equal(file.read(), "mine")
        equal(sotto("convert", "--force", folder, path)[0], 0)


@fact
def what_is_refused_leaves_no_file():
    with tempfile.TemporaryDirectory() as folder:
        write_folder(folder, leave_out="model.layers.1.mlp.up_proj.weight")
        path = os.path.join(folder, "out.gguf")
        code, out, err = sotto("convert", folder, path)

        equal((code, out), (1, ""))
        holds("lacks tensor model.layers.1.mlp.up_proj.weight" in err, err)
        equal(sorted(os.listdir(folder)), ["config.json", "model.safetensors", "tokenizer.json"])


@fact
def a_file_that_would_not_run_is_reported():
    with tempfile.TemporaryDirectory() as folder:
        write_folder(folder)
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
            json.dump({**CONFIG, "num_key_value_heads": 3}, file)
        path = os.path.join(folder, "out.gguf")
        code, out, err = sotto("convert", folder, path)

        equal((code, out), (1, ""))
        holds(f"{path}: sotto would not run the new file: 4 heads cannot share 3 heads of keys" in err, err)


@fact
def wrong_words_are_reported():
    for words, said in [([], "DIR is missing"), (["a"], "OUT.gguf is missing"),
                        (["a", "b", "c"], 'unexpected argument "c"'),
                        (["--type", "Q9", "a", "b"], '"Q9" is not a format that can be written')]:
        code, out, err = sotto("convert", *words)
        equal((code, out), (2, ""), words)
        holds(said in err, err)


if __name__ == "__main__":
    tap.main()
