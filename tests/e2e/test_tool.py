#!/usr/bin/python3
"""The commands on model files, as users run them: `sotto COMMAND`, and sotto-tool by its own name."""
import json
import math
import os
import subprocess
import tempfile

import tap
from tap import PATIENCE_S, LeftOut, equal, fact, holds

BUILD = os.environ["SOTTO_BUILD"]
TRUTH = os.environ["SOTTO_TRUTH_DIR"]


def run(program, *words):
    done = subprocess.run([os.path.join(BUILD, program), *words], capture_output=True, timeout=PATIENCE_S, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def sotto(*words):
    return run("clients/sotto", *words)


def truth(name):
    path = os.path.join(TRUTH, name)
    if not os.path.exists(path):
        if os.environ.get("CI"):
            raise AssertionError(f"truth data missing under CI: {path}")
        raise LeftOut(f"{path} is not here")
    return path


def answer(*words):
    code, out, err = sotto(*words, "--json")
    equal(code, 0, err)
    equal(out.count("\n"), 1, "lines")
    return json.loads(out)


@fact
def the_list_of_sotto_is_that_of_the_program():
    code, out, _ = run("daemon/tool/sotto-tool", "--list")
    equal(code, 0)
    tools = dict(line.split(None, 1) for line in out.splitlines())
    shown = sotto("--help")[1].split("without a daemon", 1)[1].split("\n\n")[1]
    shown = dict(line.split(None, 1) for line in shown.splitlines())

    del tools["tokenize"]  # stands in the daemon's list as well
    equal(shown, tools)


@fact
def shells_complete_commands_options_and_files():
    script = sotto("completion", "bash")[1] + """
        complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sotto; echo "${COMPREPLY[@]}"; }
        complete_words sotto quan; complete_words sotto logits --back; complete_words sotto inspect ./sotto-insp
        """
    folder = os.path.join(BUILD, "clients")
    done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=PATIENCE_S, check=True, cwd=folder,
                          env={**os.environ, "PATH": folder + ":" + os.environ["PATH"]})

    equal(done.stdout.decode().split("\n")[:3], ["quantize", "--backend", "./sotto-inspect"])


@fact
def the_program_answers_to_its_own_name_too():
    file = truth("models/stories260K-f32.gguf")

    equal(run("daemon/tool/sotto-tool", "tokenize", "--file", file, "Once"), (0, "403\n", ""))
    equal(run("clients/sotto-tokenize", "--file", file, "Once"), (0, "403\n", ""))
    code, _, err = run("daemon/tool/sotto-tool", "nothing")
    equal(code, 2)
    holds('unknown command "nothing"' in err, err)


@fact
def each_command_reports_errors_in_its_arguments():
    for words, said in [
            (["bench"], "FILE is missing"),
            (["bench", "a", "--threads", "0"], '"0" is not a list'),
            (["bench", "a", "--batch", "1,65"], "numbers of 1 to 64"),
            (["bench", "a", "--batch", "1,"], "such as 1,4,8"),
            (["bench", "a", "--context", "1,2,3,4,5,6,7,8,9"], "at most 8 numbers"),
            (["bench", "a", "--kv-format", "f16,f8"], '"f16,f8" is not a list of f16, f32, q8 and q4'),
            (["bench", "a", "--repeat", "33"], "1 to 32 samples"),
            (["bench", "a", "--prompt", "0"], "1 to 1000000 tokens"),
            (["bench", "a", "--seconds", "0"], "1 to 86400"),
            (["bench", "--beside", "65"], "at most 64 answers"),
            (["inspect"], "FILE is missing"),
            (["inspect", "a", "b"], 'unexpected argument "b"'),
            (["inspect", "--nothing"], "unknown option --nothing"),
            (["logits", "--file", "a"], "--tokens is missing"),
            (["logits", "--file", "a", "--tokens", "1,x"], '"x" is not a token id'),
            (["logits", "--file", "a", "--tokens", ""], "not a token id"),
            (["logits", "--file", "a", "--tokens", "1", "--backend", "gpu"], "not one of cpu|truth"),
            (["tokenize", "--file", "a", "--hex", "abc"], "two hexadecimal digits"),
            (["tokenize", "--file", "a", "--socket", "b", "c"], "needs no daemon"),
            (["plan", "a", "--bandwidth", "34GB/s"], "--memory is missing"),
            (["plan", "--bandwidth", "34GB/s", "--memory", "4GB"], "FILE is missing"),
            (["plan", "a", "--bandwidth", "fast", "--memory", "4GB"], '"fast" is not a number of bytes'),
            (["plan", "a", "--memory", "0GB", "--bandwidth", "34GB/s"], "such as 4GB or 3.5GiB"),
            (["quantize", "a", "b"], "TYPE is missing"),
            (["quantize", "a", "b", "Q9"], '"Q9" is not one of F32'),
            (["render", "--template", "a"], "--input is missing"),
            (["render", "--input", "a"], "--template is missing"),
            (["render", "a"], 'unexpected argument "a"'),
            (["perplexity", "--file", "a"], "TEXTFILE is missing"),
            (["perplexity", "b"], "--file is missing"),
            (["perplexity", "--file", "a", "--chunk", "7", "b"], "at least 8"),
            (["tokenize", "--hex", "00"], "--hex goes with --file"),
    ]:
        code, out, err = sotto(*words)
        equal((code, out), (2, ""), words)
        holds(said in err, f"{words}: {err}")


@fact
def files_that_are_none_are_refused_with_their_name():
    for words in ["inspect", "/nowhere"], ["inspect", "/dev/null"], ["inspect", __file__], ["inspect", "/"], \
            ["logits", "--file", __file__, "--tokens", "1"], ["quantize", __file__, "/nowhere/x", "F16"], \
            ["plan", __file__, "--bandwidth", "1", "--memory", "1"], ["bench", "/nowhere"], ["bench", __file__], ["perplexity", "--file", __file__, __file__], \
            ["tokenize", "--file", __file__, "x"], ["render", "--template", __file__, "--input", "/nowhere/i.json"], \
            ["render", "--template", "/nowhere/t.jinja", "--input", __file__]:
        code, out, err = sotto(*words)
        equal((code, out), (1, ""), words)
        holds(any(err.count(word) == 1 for word in words[1:]), err)


@fact
def a_conversation_that_is_none_is_named_and_not_its_template():
    with tempfile.TemporaryDirectory() as folder:
        template = put(folder, "t.jinja", "{{ x }}")
        for text in "", "[]", "{", "\xe4":
            talk = put(folder, "i.json", text)
            code, out, err = sotto("render", "--template", template, "--input", talk)
            equal((code, out), (1, ""))
            holds(err.startswith(f"sotto render: {talk}: JSON: "), err)


def put(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    return path


@fact
def a_conversation_is_put_through_a_template():
    with tempfile.TemporaryDirectory() as folder:
        template = put(folder, "t.jinja", "{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}"
                       "{% if tools %}{{ tools | tojson }}{% endif %}{{ think }}")
        talk = {"messages": [{"role": "user", "content": "Wärmer"}], "tools": [{"a": 1}], "bos_token": "<s>",
                "extra": {"think": True}}
        wanted = '<s>[user] Wärmer\n[{"a": 1}]True'
        words = ["render", "--template", template, "--input", put(folder, "i.json", json.dumps(talk))]

        equal(sotto(*words), (0, wanted, ""))
        equal(answer(*words), {"text": wanted})
        stern = put(folder, "stern.jinja", "{{ raise_exception('no ' + messages[0].role) }}")
        words[2] = stern
        equal(sotto(*words), (1, "", f"sotto render: {stern}: TemplateError: no user\n"))
        code, out, _ = sotto(*words, "--json")
        equal((code, json.loads(out)), (1, {"error": "TemplateError: no user"}))
        words[2] = put(folder, "broken.jinja", "{% if %}")
        holds("TemplateSyntaxError: line 1" in sotto(*words)[2], words)
        words[4] = put(folder, "none.json", "[1]")
        words[2] = template
        holds("JSON: expected an object" in sotto(*words)[2], sotto(*words)[2])
        words[4] = os.path.join(folder, "nowhere")
        holds("no such file" in sotto(*words)[2], sotto(*words)[2])


@fact
def published_templates_are_rendered_as_published():
    folder = truth("templates")
    for name in "SmolLM2-Instruct", "Qwen3-0.6B", "Hermes-2-Pro-Llama-3-8B-tool_use":
        with open(os.path.join(folder, "expected", name + ".json"), encoding="utf-8") as file:
            expected = json.load(file)
        with open(os.path.join(folder, "conversations.json"), encoding="utf-8") as file:
            talk = next(row for row in json.load(file) if row["id"] == "tool-call-and-result")
        with open(os.path.join(folder, "tokens.json"), encoding="utf-8") as file:
            talk.update(json.load(file)[name])
        with tempfile.TemporaryDirectory() as place:
            code, out, err = sotto("render", "--template", os.path.join(folder, name + ".jinja"), "--input",
                                   put(place, "i.json", json.dumps(talk)))
        equal((code, out), (0, expected[talk["id"]]["text"]), err)


@fact
def a_file_is_reported_with_all_its_tensors():
    shown = answer("inspect", truth("models/stories260K-wide-q4_k_m.gguf"))

    equal(shown["verdict"], {"runs": True, "backend": shown["verdict"]["backend"], "refusals": []})
    equal(shown["model"]["layers"], 5)
    equal(shown["model"]["context_tokens"], 512)
    kv = shown["model"]["kv_bytes_per_token"]
    equal(kv["f32"], 5 * 2 * shown["model"]["kv_heads"] * shown["model"]["head_size"] * 4)
    equal(kv["f16"] * 2, kv["f32"])
    equal({tensor["use"] for tensor in shown["tensors"]}, {"used"})
    equal(sum(format["bytes"] for format in shown["formats"].values()), shown["tensor_bytes"])
    equal(sum(tensor["bytes"] for tensor in shown["tensors"]), shown["tensor_bytes"])
    equal(set(shown["formats"]), {tensor["type"] for tensor in shown["tensors"]})
    equal(shown["vocabulary"]["kind"], "sentencepiece")
    equal(shown["vocabulary"]["bos"], {"id": 1, "text": "<s>"})
    equal(shown["template"], {"present": False, "understood": False})
    keys = {key["key"]: key for key in shown["keys"]}
    equal(keys["llama.block_count"]["value"], 5)
    equal(keys["tokenizer.ggml.tokens"]["length"], 512)


@fact
def a_vocabulary_alone_is_reported_and_does_not_run():
    shown = answer("inspect", truth("tokenizers/ggml-vocab-gpt-2.gguf"))

    equal(shown["verdict"]["runs"], False)
    holds(shown["verdict"]["refusals"], "reasons")
    equal(shown["vocabulary"]["kind"], "byte-level-bpe")
    equal(shown["vocabulary"]["tokens"], 50257)
    code, out, _ = sotto("inspect", truth("tokenizers/ggml-vocab-gpt-2.gguf"))
    equal(code, 0)
    holds("sotto does not run it:" in out, out[-300:])


@fact
def text_becomes_the_ids_of_the_truth():
    with open(truth("tokenizers/strings.json"), encoding="utf-8") as file:
        strings = {row["n"]: row for row in json.load(file)}
    with open(truth("tokenizers/ids/llama-spm.json"), encoding="utf-8") as file:
        rows = json.load(file)["cases"]
    model = truth("tokenizers/ggml-vocab-llama-spm.gguf")
    for row in rows[::12]:
        text = strings[row["n"]]
        if text["text"] is None:
            continue
        equal(answer("tokenize", "--file", model, "--hex", text["hex"])["tokens"], row["plain"], text)
        equal(answer("tokenize", "--file", model, "--special", "--hex", text["hex"])["tokens"], row["special"], text)


@fact
def text_that_is_no_utf8_is_refused():
    code, _, err = sotto("tokenize", "--file", truth("models/stories260K-f32.gguf"), "--hex", "41ff")

    equal(code, 1)
    holds("UTF-8" in err, err)


def cases(name):
    with open(truth(f"models/{name}.expected.json"), encoding="utf-8") as file:
        return json.load(file)["cases"]


@fact
def logits_are_those_of_the_truth():
    case = cases("stories260K-f32")[0]
    tokens = case["prompt_ids"]
    wanted = case["first_logits"]
    shown = answer("logits", "--file", truth("models/stories260K-f32.gguf"), "--backend", "truth", "--kv-format", "f32",
                   "--tokens", ",".join(map(str, tokens)))

    equal(shown["tokens"], tokens)
    equal(len(shown["logits"]), len(wanted))
    worst = max(abs(a - b) for a, b in zip(shown["logits"], wanted))
    holds(worst < 1e-4, f"largest difference {worst}")


@fact
def a_token_above_the_vocabulary_is_refused():
    code, _, err = sotto("logits", "--file", truth("models/stories260K-f32.gguf"), "--tokens", "1,512")

    equal(code, 1)
    holds("above 511, the last of the vocabulary" in err, err)


@fact
def a_bench_has_each_case_with_its_samples_and_what_was_left_out():
    with tempfile.TemporaryDirectory() as folder:
        picture = os.path.join(folder, "bench.svg")
        words = ["bench", truth("models/stories260K-q4_0.gguf"), "--threads", "1", "--batch", "1,3", "--context", "8,2000",
                 "--kv-format", "f16,q8", "--prompt", "16", "--decode", "2", "--repeat", "2", "--plot", picture]
        model, = answer(*words)["models"]

        with open(picture, encoding="utf-8") as file:
            holds(file.read().endswith("</svg>\n"), "a whole picture")
        code, _, err = sotto(*words)
        equal(code, 1)
        holds("exists already; --force replaces it" in err, err)
    equal([(row["work"], row["batch"], row["context_tokens"], row["kv_format"]) for row in model["rows"]],
          [("prompt", 1, 16, "f16"), ("decode", 1, 8, "f16"), ("decode", 3, 8, "f16")])
    for row in model["rows"]:
        equal(len(row["samples"]), 2)
        holds(row["tokens_per_second_min"] <= row["tokens_per_second"] <= row["tokens_per_second_max"], row)
        holds(row["samples"][0]["limits"]["memory_bytes_per_second"] > 0, row)
    equal([(gap["context_tokens"], gap["kv_format"]) for gap in model["left_out"]], [(2000, "f16"), (2000, "q8")])
    holds("trained for 512 tokens" in model["left_out"][0]["why"], model["left_out"])
    equal((model["architecture"], model["format"]), ("llama", "Q4_0"))
    holds(model["resident_bytes"] > 0 and model["ready_seconds"] > 0, model)


@fact
def a_bench_that_fails_leaves_the_old_picture():
    with tempfile.TemporaryDirectory() as folder:
        picture, link = os.path.join(folder, "bench.svg"), os.path.join(folder, "link.svg")
        os.symlink(picture, link)
        with open(picture, "w", encoding="utf-8") as file:
            file.write("old")
        equal(sotto("bench", os.path.join(folder, "none.gguf"), "--plot", picture, "--force")[0], 1)
        code, _, err = sotto("bench", os.path.join(folder, "none.gguf"), "--plot", link, "--force")
        equal(code, 1)
        holds("not a plain file" in err, err)
        equal(sorted(os.listdir(folder)), ["bench.svg", "link.svg"])
        with open(picture, encoding="utf-8") as file:
            equal(file.read(), "old")


@fact
def a_bench_of_a_model_that_does_not_run_says_why():
    code, _, err = sotto("bench", truth("tokenizers/ggml-vocab-gpt-2.gguf"))

    equal(code, 1)
    holds("gpt2" in err, err)


@fact
def a_plan_divides_what_a_token_reads_by_the_bandwidth():
    file = truth("models/stories260K-f16.gguf")
    shown = answer("inspect", file)
    plan = answer("plan", file, "--bandwidth", "2MB/s", "--memory", "64MiB")

    equal(plan["weight_bytes_per_token"], shown["model"]["weight_bytes_per_token"])
    holds(abs(plan["floor_ms_per_token"] - plan["weight_bytes_per_token"] / 2000) < 1e-9, plan)
    equal({line["format"]: line["bytes_per_token"] for line in plan["kv"]}, shown["model"]["kv_bytes_per_token"])
    equal({(line["limit"], line["context_tokens"]) for line in plan["kv"]}, {("trained", 512)})


@fact
def a_plan_in_little_memory_has_the_context_that_fits():
    file = truth("models/stories260K-f16.gguf")
    taken = answer("plan", file, "--bandwidth", "1GB/s", "--memory", "1GB")
    taken = taken["weight_bytes"] + taken["working_bytes"]
    plan = answer("plan", file, "--bandwidth", "1GB/s", "--memory", str(taken + 640 * 100))
    line = [line for line in plan["kv"] if line["format"] == "f16"][0]

    equal((line["bytes_per_token"], line["limit"], line["context_tokens"]), (640, "memory", 96))
    plan = answer("plan", file, "--bandwidth", "1GB/s", "--memory", str(taken - 1))
    equal(plan["fits"], False)
    equal({line["context_tokens"] for line in plan["kv"]}, {0})


@fact
def a_plan_for_a_family_that_is_not_there_is_refused():
    code, _, err = sotto("plan", truth("tokenizers/ggml-vocab-gpt-2.gguf"), "--bandwidth", "1GB/s", "--memory", "1GB")

    equal(code, 1)
    holds("gpt2" in err, err)


def quantised(folder, source, kind):
    """The reported facts, the file's inspection, and its path."""
    path = os.path.join(folder, "out.gguf")
    reported = answer("quantize", "--force", source, path, kind)
    shown = answer("inspect", path)
    equal(shown["verdict"]["runs"], True, shown["verdict"])
    equal(reported["tensor_bytes"], shown["tensor_bytes"])
    equal(os.listdir(folder), ["out.gguf"])
    return reported, shown, path


@fact
def each_type_makes_a_file_that_runs_and_says_what_it_lost():
    source = truth("models/stories260K-f32.gguf")
    with tempfile.TemporaryDirectory() as folder:
        for kind, most, loss in [("F32", "F32", 0), ("F16", "F16", 0.001), ("BF16", "BF16", 0.005), ("Q8_0", "Q8_0", 0.01),
                                 ("Q5_1", "Q5_1", 0.04), ("Q4_0", "Q4_0", 0.08), ("IQ4_NL", "IQ4_NL", 0.08)]:
            reported, shown, _ = quantised(folder, source, kind)

            holds(reported["relative_error"] <= loss, reported)
            formats = {name: one["elements"] for name, one in shown["formats"].items()}
            equal(max(formats, key=formats.get), most)
            equal([t["type"] for t in shown["tensors"] if "norm" in t["name"]], ["F32"] * 11)
            if kind.startswith(("Q", "I")):  # rows of 172 are no whole blocks
                equal({t["type"] for t in shown["tensors"] if "ffn_down" in t["name"]}, {"F16"})


@fact
def a_mix_has_finer_matrices_where_it_hurts():
    with tempfile.TemporaryDirectory() as folder:
        source = truth("models/stories260K-wide-q5_k.gguf")
        reported, shown, _ = quantised(folder, source, "Q4_K_M")
        types = {t["name"]: t["type"] for t in shown["tensors"]}

        equal(types["token_embd.weight"], "Q6_K" if "output.weight" not in types else "Q4_K")
        equal({types[f"blk.{i}.attn_q.weight"] for i in range(5)}, {"Q4_K"})
        values = [types[f"blk.{i}.attn_v.weight"] for i in range(5)]
        equal(values, ["Q4_K", "Q4_K", "Q6_K", "Q4_K", "Q6_K"])
        keys = {key["key"]: key.get("value") for key in shown["keys"]}
        equal((keys["general.file_type"], keys["general.quantization_version"]), (15, 2))
        equal(reported["tensors"], len(types))


@fact
def a_copy_in_f32_gives_the_same_logits():
    source = truth("models/stories260K-f32.gguf")
    words = ["--tokens", "1,403,407", "--kv-format", "f32", "--file"]
    with tempfile.TemporaryDirectory() as folder:
        _, _, path = quantised(folder, source, "F32")

        equal(answer("logits", *words, path), answer("logits", *words, source))


@fact
def a_packed_file_is_as_large_and_gives_the_same_logits_by_both_backends():
    for name in ["stories260K-q4_0", "stories260K-q8_0", "stories260K-wide-q4_k_m", "stories260K-wide-q5_k"]:
        source = truth(f"models/{name}.gguf")
        words = ["--tokens", "1,403,407,261,378", "--file"]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "packed.gguf")
            reported = answer("pack", source, path)
            shown, before = answer("inspect", path), answer("inspect", source)

            equal(shown["verdict"]["runs"], True, shown["verdict"])
            equal(shown["tensor_bytes"], before["tensor_bytes"])
            equal(shown["formats"], before["formats"])
            equal(sum(t["in_panels"] for t in shown["tensors"]), reported["tensors_packed"])
            holds(reported["tensors_packed"] > 5, reported)
            for backend in ["cpu", "truth"]:
                equal(answer("logits", "--backend", backend, *words, path),
                      answer("logits", "--backend", backend, *words, source))
            code, _, err = sotto("quantize", path, os.path.join(folder, "out.gguf"), "Q4_0")
            equal((code, "quantize the file that it was made of" in err), (1, True), err)
            code, _, err = sotto("pack", source, path)
            equal((code, "exists already; --force replaces it" in err), (1, True), err)


@fact
def a_file_that_is_there_is_replaced_with_force_only():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "out.gguf")
        with open(path, "w", encoding="utf-8") as file:
            file.write("mine")
        code, _, err = sotto("quantize", truth("models/stories260K-f32.gguf"), path, "F16")

        equal(code, 1)
        holds("exists already; --force replaces it" in err, err)
        with open(path, encoding="utf-8") as file:
            equal(file.read(), "mine")
        code, _, err = sotto("quantize", truth("models/stories260K-f32.gguf"), os.path.join(folder, "no/out.gguf"), "F16")
        equal(code, 1)
        holds("No such file" in err, err)


@fact
def perplexity_is_that_of_the_truth():
    with open(truth("models/stories260K-long.json"), encoding="utf-8") as file:
        forced = json.load(file)["teacher_forced"]
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as text:
        for name, cases_of in forced.items():
            for case in cases_of:
                text.seek(0)
                text.truncate()
                text.write(case["text"])
                text.flush()
                reported = answer("perplexity", "--file", truth("models/" + name), "--backend", "truth", "--kv-format", "f32",
                              text.name)

                equal(reported["scored_tokens"], len(case["ids"]) - 1)
                holds(abs(math.log(reported["perplexity"]) - case["mean_nll"]) < 1e-5, (reported, case["mean_nll"]))
                holds(0 <= reported["kl_divergence"] < 1e-4, reported)


@fact
def a_model_against_itself_diverges_by_nothing_and_against_a_coarser_one_by_more():
    fine, coarse = truth("models/stories260K-f32.gguf"), truth("models/stories260K-q4_0.gguf")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as text:
        text.write("Once upon a time, there was a little girl named Lily. She loved to play outside in the park. " * 8)
        text.flush()
        same = answer("perplexity", "--file", fine, "--against", fine, "--chunk", "64", text.name)
        other = answer("perplexity", "--file", coarse, "--against", fine, "--chunk", "64", text.name)

    equal((same["kl_divergence"], same["same_best"]), (0.0, 1.0))
    equal(same["perplexity"], same["reference"]["perplexity"])
    equal(other["reference"]["perplexity"], same["perplexity"])
    holds(other["kl_divergence"] > 0.001, other)
    # Chunks of 64 with BOS: of each whole one the tokens from its middle on.
    equal(same["scored_tokens"], same["text_tokens"] // 63 * 32)


@fact
def a_text_of_one_token_is_refused():
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as text:
        text.write("Once")
        text.flush()
        code, _, err = sotto("perplexity", "--file", truth("models/stories260K-f32.gguf"), text.name)
        equal(code, 1)
        holds("it needs at least 2" in err, err)


if __name__ == "__main__":
    tap.main()
