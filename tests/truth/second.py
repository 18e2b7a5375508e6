#!/usr/bin/env python3
"""The second implementation: tiny random models of every family, made by the transformers library, converted by
`sotto convert`, and computed by both. With --keep the tables go into docs/truth.md.

    families   every tensor lies under the name that the PyPI package gguf gives it, and holds every number;
               logits in float32 on both sides of every window and page edge
    formats    the file in each format, against the library with the weights that gguf's own code reads from that file
    awq        4-bit weights with zero points, packed by the published rule
    words      ids of texts by the converted vocabulary
    writer     the same files, written by gguf's own writer
"""
import argparse
import json
import os
import sys
import tempfile
import warnings

import gguf
import numpy
import torch
from safetensors.torch import load_file, save_file

import sotto
import tiny

F32_BOUND = 1e-4  # of the largest logit
LENGTHS = (1, 2, 15, 16, 17, 32, 33, 34, 35, 63, 64, 65, 66, 100, 128, 129, 200)
# Activations of 8 bits: a rounding of half a step in 127, carried through the layers of a random model.
BITS8_BOUND = 1e-1

ARCHS = {"llama": "LLAMA", "smollm3": "SMOLLM3", "qwen2": "QWEN2", "qwen3": "QWEN3", "gemma": "GEMMA",
         "gemma2": "GEMMA2", "gemma3": "GEMMA3", "phi3": "PHI3", "qwen35": "QWEN35"}


LESS_ONE = ("gemma", "gemma2", "gemma3", "qwen35")


def ids_of(n):
    return torch.randint(3, 260, (n,), generator=torch.Generator().manual_seed(5)).tolist()


def library_logits(model, ids):
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0, -1].double().numpy()


def to_neighbours(rows, n_heads):
    """Orders rows like GGUF files of family llama."""
    return rows.reshape(n_heads, 2, rows.shape[0] // n_heads // 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def values_first(lines, settings, n_unit):
    """From one head of keys after the other to the first value of each head: the order of linear layers in GGUF."""
    n_keys, n_values = settings.linear_num_key_heads, settings.linear_num_value_heads
    return lines.reshape(n_keys, n_values // n_keys, n_unit, *lines.shape[1:]).swapaxes(0, 1).reshape(lines.shape)


def expected_linear(name, values, settings):
    n_unit = settings.linear_value_head_dim
    n_kept = 2 * settings.linear_num_key_heads * settings.linear_key_head_dim
    part = name.split("linear_attn.")[1].split(".")[0]
    if part == "norm":
        return values
    if part in ("in_proj_qkv", "conv1d"):
        values = values.reshape(values.shape[0], -1)
        return numpy.concatenate([values[:n_kept], values_first(values[n_kept:], settings, n_unit)])
    if part == "out_proj":
        return values_first(values.T, settings, n_unit).T
    if part == "in_proj_z":
        return values_first(values, settings, n_unit)
    values = values_first(values, settings, 1)
    return -numpy.exp(values) if part == "A_log" else values


def expected(name, values, model, arch):
    """The values that GGUF has in place of the library's `values`."""
    settings = model.config
    if arch in ("llama", "smollm3") and ".q_proj." in name:
        return to_neighbours(values, settings.num_attention_heads)
    if arch in ("llama", "smollm3") and ".k_proj." in name:
        return to_neighbours(values, settings.num_key_value_heads)
    if ".linear_attn." in name:
        return expected_linear(name, values, settings)
    return values + numpy.float32(1) if arch in LESS_ONE and name.endswith("norm.weight") else values


def read(path):
    """The tensors of a file by name, as floats, read by gguf's own code; and its architecture."""
    reader = gguf.GGUFReader(path)
    tensors = {}
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        tensors[tensor.name] = values.reshape(list(reversed(tensor.shape.tolist())))
    return tensors, reader.fields["general.architecture"].contents()


def check_names(model, path):
    """Counts the tensors of the library that are in the file under gguf's name with equal numbers, and those that are
    not."""
    tensors, arch = read(path)
    names = gguf.get_tensor_name_map(getattr(gguf.MODEL_ARCH, ARCHS[arch]), model.config.num_hidden_layers)
    left = set(tensors)
    n_good = n_bad = 0
    for name, parameter in model.named_parameters():
        # The one name that gguf's writers change before they look it up.
        to = names.get_name(name.replace(".dt_bias", ".dt_proj.bias"), try_suffixes=(".weight", ".bias"))
        want = expected(name, parameter.detach().numpy(), model, arch)
        # An exponential function is rounded in its own way by each library.
        good = to in tensors and (numpy.allclose(tensors[to], want, rtol=3e-7, atol=0) if name.endswith("A_log")
                                  else numpy.array_equal(tensors[to], want))
        left.discard(to)
        n_good += good
        n_bad += not good
    left -= {"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"}
    return n_good, n_bad + len(left)


def is_run(path):
    return not any(tensor["use"] == "unknown" for tensor in json.loads(sotto.tool("inspect", "--json", path))["tensors"])


def families(folder):
    names = sotto.Table("Names and numbers", "model", "tensors named as by gguf", "others")
    table = sotto.Table("Families, F32", "model", "lengths", "truth", "cpu", "worst at")
    for name, (_, _, _, longest) in tiny.MODELS.items():
        place, path = os.path.join(folder, name), os.path.join(folder, name + ".gguf")
        model = tiny.make(name, place)
        sotto.convert(place, path)
        n_good, n_bad = check_names(model, path)
        names.row(n_bad == 0 and n_good > 0, name, n_good, n_bad)
        if not is_run(path):
            print(f"        {name}: left out, this build has no such family", flush=True)
            continue
        if name == "phi3-longrope":
            # The library changes its factors when a context grows past the first one, and with them keys that are
            # stored already; sotto gives a model one set. So short contexts are compared with the long factors.
            model = long_only(name, place)
        worst = {"truth": (0.0, 0), "cpu": (0.0, 0)}
        lengths = [n for n in LENGTHS if n <= longest]
        for n in lengths:
            ids = ids_of(n)
            want = library_logits(model, ids)
            for backend in worst:
                worst[backend] = max(worst[backend], (sotto.relative(sotto.logits(path, ids, backend), want), n))
        table.row(max(worst.values())[0] < F32_BOUND, name, f"{len(lengths)}, up to {lengths[-1]}", worst["truth"][0],
                  worst["cpu"][0], f"{max(worst.values())[1]} tokens")
    return [names, table]


def long_only(name, place):
    """The model with its long factors in both places."""
    path = os.path.join(place, "config.json")
    with open(path, encoding="utf-8") as file:
        settings = json.load(file)
    settings["rope_parameters"]["short_factor"] = settings["rope_parameters"]["long_factor"]
    other = place + "-long"
    os.makedirs(other, exist_ok=True)
    with open(os.path.join(other, "config.json"), "w", encoding="utf-8") as file:
        json.dump(settings, file)
    save_file(load_file(os.path.join(place, "model.safetensors")), os.path.join(other, "model.safetensors"),
              {"format": "pt"})
    model = tiny.MODELS[name][0]
    return getattr(tiny.transformers, model + "ForCausalLM").from_pretrained(
        other, attn_implementation="eager", dtype=torch.float32).eval()


def with_weights_of(model, path):
    """Fills `model` with the numbers that gguf's own code reads from the file."""
    tensors, arch = read(path)
    names = gguf.get_tensor_name_map(getattr(gguf.MODEL_ARCH, ARCHS[arch]), model.config.num_hidden_layers)
    for name, parameter in model.named_parameters():
        values = tensors[names.get_name(name, try_suffixes=(".weight", ".bias"))]
        if arch == "llama" and (".q_proj." in name or ".k_proj." in name):
            heads = model.config.num_attention_heads if ".q_proj." in name else model.config.num_key_value_heads
            order = to_neighbours(numpy.arange(values.shape[0]), heads)
            back = numpy.empty_like(values)
            back[order] = values
            values = back
        parameter.data.copy_(torch.from_numpy(values.copy()))


def formats(folder):
    table = sotto.Table("Formats", "format", "truth", "cpu", "what the format costs")
    place = os.path.join(folder, "wide")
    model = tiny.make("wide", place)
    lengths = (17, 33, 40)
    exact = [library_logits(model, ids_of(n)) for n in lengths]
    for kind in ("F32", "F16", "BF16", "Q8_0", "Q5_1", "Q5_0", "Q4_1", "Q4_0", "Q6_K", "Q5_K", "Q4_K", "Q3_K", "Q2_K",
                 "IQ4_NL", "IQ4_XS"):
        path = os.path.join(folder, f"wide-{kind}.gguf")
        sotto.convert(place, path, kind)
        with_weights_of(model, path)
        truth = cpu = cost = 0.0
        for n, before in zip(lengths, exact):
            want = library_logits(model, ids_of(n))
            truth = max(truth, sotto.relative(sotto.logits(path, ids_of(n), "truth"), want))
            cpu = max(cpu, sotto.relative(sotto.logits(path, ids_of(n), "cpu"), want))
            cost = max(cost, sotto.relative(want, before))
        bound = BITS8_BOUND if kind[0] in "QI" else F32_BOUND
        table.row(truth < F32_BOUND and cpu < bound, kind, truth, cpu, cost)
    return [table]


def pack_awq(weight, group, generator, zero=None):
    """4-bit weights of one matrix [n_rows, n_cols] by the rule of the public tools; returns the parts and the exact
    values."""
    columns = weight.T.reshape(weight.shape[1] // group, group, weight.shape[0])
    low, high = columns.amin(1), columns.amax(1)
    scales = ((high - low).clamp(min=1e-5) / 15).half()
    zeros = torch.full_like(low, zero) if zero is not None else (-low / scales.float()).round().clamp(0, 15)
    ints = (columns / scales.float()[:, None] + zeros[:, None]).round().clamp(0, 15)
    exact = ((ints - zeros[:, None]) * scales.float()[:, None]).reshape(weight.shape[1], weight.shape[0]).T

    def pack(lines):
        words = lines.to(torch.int64).reshape(lines.shape[0], -1, 8)[:, :, [0, 2, 4, 6, 1, 3, 5, 7]]
        packed = sum(words[:, :, i] << (4 * i) for i in range(8))
        return torch.where(packed >= 2**31, packed - 2**32, packed).to(torch.int32).contiguous()

    return (pack(ints.reshape(-1, weight.shape[0])), pack(zeros), scales.contiguous()), exact.contiguous()


def make_awq(folder, zero):
    """Rewrites the saved model with packed matrices; returns the model with their exact values."""
    model = tiny.make("wide-llama", folder, torch.float16)
    tensors = load_file(os.path.join(folder, "model.safetensors"))
    for name in [name for name in tensors if name.endswith("_proj.weight")]:
        parts, exact = pack_awq(tensors.pop(name).float(), 128, None, zero)
        for part, values in zip(("qweight", "qzeros", "scales"), parts):
            tensors[name[:-len("weight")] + part] = values
        model.get_parameter(name).data.copy_(exact)
    save_file(tensors, os.path.join(folder, "model.safetensors"), {"format": "pt"})
    path = os.path.join(folder, "config.json")
    with open(path, encoding="utf-8") as file:
        settings = json.load(file)
    settings["quantization_config"] = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True,
                                       "version": "gemm"}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(settings, file)
    return model


def awq(folder):
    table = sotto.Table("AWQ", "zero points", "format in GGUF", "tensors equal to the bit", "others", "truth", "cpu")
    for title, zero in (("their own", None), ("all 8", 8.0)):
        place = os.path.join(folder, "awq" + title.replace(" ", "-"))
        path = place + ".gguf"
        model = make_awq(place, zero)
        told = sotto.convert(place, path)
        n_good, n_bad = check_names(model, path)
        ids = ids_of(33)
        want = library_logits(model, ids)
        truth = sotto.relative(sotto.logits(path, ids, "truth"), want)
        cpu = sotto.relative(sotto.logits(path, ids, "cpu"), want)
        good = n_bad == 0 and truth < F32_BOUND and cpu < BITS8_BOUND
        table.row(good, title, told["format"], n_good, n_bad, truth, cpu)
    return [table]


def rewrite(source, target):
    """The same model, written by gguf's own writer."""
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, reader.fields["general.architecture"].contents())
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        kind = field.types[0]
        if kind == gguf.GGUFValueType.ARRAY:
            writer.add_key_value(field.name, field.contents(), kind, sub_type=field.types[-1])
        else:
            writer.add_key_value(field.name, field.contents(), kind)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def writer(folder):
    table = sotto.Table("Written by gguf", "model", "tensors used", "others", "logits")
    for name in ("llama3-scaled", "smollm3", "qwen2", "qwen3", "gemma", "gemma2", "gemma3", "phi3-longrope", "qwen35"):
        place, path = os.path.join(folder, name), os.path.join(folder, name + ".gguf")
        tiny.make(name, place)
        sotto.convert(place, path)
        if not is_run(path):
            print(f"        {name}: left out, this build has no such family", flush=True)
            continue
        rewrite(path, path + ".again")
        uses = [tensor["use"] for tensor in json.loads(sotto.tool("inspect", "--json", path + ".again"))["tensors"]]
        same = numpy.array_equal(sotto.logits(path, ids_of(33)), sotto.logits(path + ".again", ids_of(33)))
        good = same and all(use == "used" for use in uses)
        table.row(good, name, uses.count("used"), len(uses) - uses.count("used"), "the same" if same else "others")
    return [table]


TEXTS = ["the one", " the on", "  two  blanks ", "Turn the heating up to 21.5 degrees, please!", "it's WE'LL they've", "\n\n\tthe\r\n",
         "naïve café Ærøskøbing", "日本語のテキスト", "Привет, мир 123456", "😀👩‍👩‍👧 ok", "a\u0301 e\u0302", "x" * 70, "1234567890", "",
         "¡Hola! ¿Qué?", "if (x<=10) { return y_1; } // the", "\u200bzero\ufeff", "ไทย हिन्दी العربية"]


def words(folder):
    """Compares ids of the tokenizers library with those of the converted vocabulary."""
    from tokenizers import Tokenizer
    table = sotto.Table("Vocabularies", "model", "texts with equal ids", "others")
    for name in ("llama", "gemma", "llama3-scaled", "qwen2", "qwen35"):
        place, path = os.path.join(folder, name), os.path.join(folder, name + ".gguf")
        tiny.make(name, place)
        sotto.convert(place, path)
        library = Tokenizer.from_file(os.path.join(place, "tokenizer.json"))
        n_good = n_bad = 0
        for text in TEXTS:
            want = library.encode(text).ids
            got = json.loads(sotto.tool("tokenize", "--file", path, "--special", "--json", "--", text))["tokens"]
            if got != want:
                print(f"        {name}: {text!r}: {got}, and the library gives {want}", flush=True)
            n_good += got == want
            n_bad += got != want
        table.row(n_bad == 0, name, n_good, n_bad)
    return [table]


ABOUT = f"""\
## The second implementation

Tiny models with random weights are made by transformers {tiny.transformers.__version__} (torch {torch.__version__}, eager attention,
float32), saved, converted by `sotto convert`, and computed by both programs. Each figure is the largest difference of a logit,
divided by the largest logit. The backend `truth` multiplies weights as floats; `cpu` is the backend that serves requests. Keys and
values are kept as F32.

The bound is {F32_BOUND:g} wherever weights are floats, and for the backend `truth` in every format. It is {BITS8_BOUND:g} for the
backend `cpu` where weights in blocks are multiplied by activations of 8 bits. The lengths are {", ".join(map(str, LENGTHS))}:
on both sides of every window (33), page (16) and first context (64).
"""


def main():
    parts = {"families": families, "formats": formats, "awq": awq, "words": words, "writer": writer}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*parts, []], help="some of: " + ", ".join(parts))
    parser.add_argument("--keep", action="store_true", help="put the tables into docs/truth.md")
    asked = parser.parse_args()
    warnings.filterwarnings("ignore")
    tiny.transformers.logging.set_verbosity_error()
    tiny.transformers.logging.disable_progress_bar()
    tables = []
    with tempfile.TemporaryDirectory() as folder:
        for name in asked.parts or parts:
            tables += parts[name](folder)
    if asked.keep:
        sotto.keep("second", tables, ABOUT)
    n_failed = sum(table.n_failed for table in tables)
    n = sum(len(table.lines) - 2 for table in tables)
    print(f"{n - n_failed} passed, {n_failed} failed")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
