#!/usr/bin/python3
"""`sotto` against a fake daemon: what it sends, shows and returns."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import sotto_pb2 as pb
import tap
from fake_daemon import BUILD, FakeDaemon
from tap import PATIENCE_S, equal, fact, holds


def answering(*words, **model):
    """A script that answers one generate."""
    def script(peer):
        peer.greet()
        peer.models(**model)
        peer.say(peer.read().stream, words)
        peer.read()
    return script


def sotto(*words, **named):
    done = subprocess.run([os.path.join(BUILD, "clients/sotto"), *words], capture_output=True, timeout=PATIENCE_S, **named)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@fact
def text_goes_to_standard_output_and_figures_to_standard_error():
    with FakeDaemon(answering("Hello", " there")) as fake:
        code, out, err = fake.run("generate", "Hi")

        equal(code, 0)
        equal(out, "Hello there")
        holds("5 prompt tokens (2 cached), 2 generated (end)" in err and "tokens/s" in err, err)


@fact
def json_is_one_object_with_the_promised_members():
    with FakeDaemon(answering("Hello", " \u00fc\0\u2192")) as fake:
        code, out, _ = fake.run("generate", "--json", "Hi")

        answer = json.loads(out)
        equal(code, 0)
        equal(answer["text"], "Hello \u00fc\0\u2192")
        equal(answer["tokens"], [100, 101])
        equal(answer["finish_reason"], "end")
        equal(answer["usage"]["prompt_tokens"], 5)
        equal(answer["usage"]["cached_tokens"], 2)
        equal(answer["usage"]["generated_tokens"], 2)
        equal(answer["usage"]["ttft_ms"], 20.0)
        equal(answer["usage"]["tokens_per_second"], 50.0)


@fact
def every_option_arrives_and_none_else():
    with FakeDaemon(answering("x", chat=False)) as fake:
        code, _, err = fake.run(
            "generate", "-m", "tiny", "--temperature", "0", "--top-k", "40", "--top-p=0.5", "--min-p", "0.25", "--seed",
            "18446744073709551615", "--repetition-penalty", "1.5", "--frequency-penalty", "-1", "--presence-penalty",
            "0.5", "--penalty-window", "9", "--bias", "7:-inf", "--bias", "8:2.5", "--max-tokens", "3", "--stop", "a",
            "--stop", "", "--slide", "9", "--class", "realtime", "--ignore-end", "--logprobs", "5", "--key", "k", "Hi")

        equal(code, 0, err)
        ask = fake.peers[0].asked[2].generate
        want = pb.Generate(model="tiny", text=b"Hi", max_tokens=3, stop=[b"a", b""], priority=pb.CLASS_REALTIME,
                           key="k", ignore_end=True, on_full=pb.ON_FULL_SLIDE, keep_tokens=9)
        want.sampling.CopyFrom(pb.Sampling(
            temperature=0, top_k=40, top_p=0.5, min_p=0.25, seed=2**64 - 1, repetition_penalty=1.5,
            frequency_penalty=-1, presence_penalty=0.5, penalty_window=9, logprobs=True, top_logprobs=5,
            bias=[pb.LogitBias(id=7, bias=float("-inf")), pb.LogitBias(id=8, bias=2.5)]))
        equal(ask, want)


@fact
def what_is_not_said_is_not_sent():
    with FakeDaemon(answering("x")) as fake:
        fake.run("generate", "Hi")

        equal(fake.peers[0].asked[2].generate, pb.Generate(text=b"Hi"))


@fact
def a_model_with_a_template_gets_a_message():
    with FakeDaemon(answering("x", chat=True)) as fake:
        fake.run("generate", "Hi")

        chat = fake.peers[0].asked[2].generate.chat
        equal([(m.role, m.content) for m in chat.messages], [("user", b"Hi")])


@fact
def tools_and_variables_go_to_the_template():
    with FakeDaemon(answering("x", chat=True)) as fake, tempfile.NamedTemporaryFile("w", suffix=".json") as tools:
        tools.write('[{"name": "é", "n": 1.0}, 7]')
        tools.flush()
        fake.run("generate", "--tools", tools.name, "--var", "think=false", "--var", 'mode="a=b"', "Hi")

        chat = fake.peers[0].asked[2].generate.chat
        equal([json.loads(tool) for tool in chat.tools], [{"name": "é", "n": 1.0}, 7])
        equal(json.loads(chat.variables), {"think": False, "mode": "a=b"})

        tools.write("x")
        tools.flush()
        for words, said in (["--tools", "/nowhere"], "/nowhere"), (["--tools", tools.name], "end of file expected"), \
                (["--var", "think=maybe"], "is not NAME=JSON"), (["--var", "=1"], "is not NAME=JSON"), \
                (["--var", "x"], "is not NAME=JSON"):
            code, out, err = fake.run("generate", *words, "Hi")
            equal((code, out), (2, ""), words)
            holds(said in err, err)


@fact
def raw_goes_past_the_template():
    with FakeDaemon(answering("x", chat=True)) as fake:
        fake.run("generate", "--raw", "Hi")

        equal(fake.peers[0].asked[2].generate.text, b"Hi")


@fact
def tokens_are_sent_exactly():
    with FakeDaemon(answering("x", chat=True)) as fake:
        fake.run("generate", "--tokens", "1,2,4294967295")

        equal(list(fake.peers[0].asked[2].generate.tokens.ids), [1, 2, 2**32 - 1])


@fact
def an_empty_prompt_is_a_prompt():
    with FakeDaemon(answering("x")) as fake:
        code, out, _ = fake.run("generate", "", stdin=b"not this")

        equal(code, 0)
        equal(fake.peers[0].asked[2].generate.WhichOneof("input"), "text")
        equal(fake.peers[0].asked[2].generate.text, b"")


@fact
def without_a_prompt_standard_input_is_one_as_it_is():
    for words in ["generate"], ["generate", "-"]:
        with FakeDaemon(answering("x")) as fake:
            equal(fake.run(*words, stdin=b"a\0b\n")[0], 0)
            equal(fake.peers[0].asked[2].generate.text, b"a\0b\n")


@fact
def a_refusal_is_a_sentence_and_exit_code_1():
    def script(peer):
        peer.greet()
        peer.models()
        peer.send(peer.read().stream, error=pb.Error(code=pb.CODE_INVALID_ARGUMENT, message="top_p is 0",
                                                     field="generate.sampling.top_p"))
        peer.read()

    with FakeDaemon(script) as fake:
        code, out, err = fake.run("generate", "--top-p", "0", "--json", "Hi")

        equal((code, out), (1, ""))
        equal(err, "sotto: top_p is 0 (generate.sampling.top_p)\n")


@fact
def a_daemon_that_leaves_in_mid_answer_is_a_failure():
    def script(peer):
        peer.greet()
        peer.models()
        peer.send(peer.read().stream, delta=pb.Delta(tokens=[1], text=b"Hel"))

    with FakeDaemon(script) as fake:
        code, out, err = fake.run("generate", "Hi")

        equal((code, out), (1, "Hel"))
        equal(err, "sotto: the daemon has closed the connection\n")


@fact
def a_daemon_that_refuses_the_connection_is_quoted():
    def script(peer):
        peer.send(error=pb.Error(code=pb.CODE_RESOURCE_EXHAUSTED, message="too many connections", fatal=True))

    with FakeDaemon(script) as fake:
        code, _, err = fake.run("status")

        equal((code, err), (1, "sotto: too many connections\n"))


@fact
def no_daemon_is_a_sentence_with_the_path():
    code, _, err = sotto("--socket", "/nonexistent/s", "status")

    equal(code, 1)
    holds("no daemon listens at /nonexistent/s" in err, err)


@fact
def usage_errors_have_exit_code_2_and_say_what_is_wrong():
    for words, said in [
        ([], "usage:"),
        (["genrate"], 'did you mean "generate"'),
        (["generate", "--temperature", "hot", "x"], "--temperature"),
        (["generate", "--top-k", "4294967296", "x"], "4294967295"),
        (["generate", "--class", "best", "x"], "background|interactive|realtime"),
        (["generate", "--nonsense", "x"], "--nonsense"),
        (["generate", "a", "b"], "quotes"),
        (["generate", "--tokens", "1,2", "x"], "exclude each other"),
        (["generate", "--tokens", "1,,2"], "token ids"),
        (["generate", "--tokens", "-1"], "token ids"),
        (["generate", "--tokens", "4294967296"], "token ids"),
        (["generate", "--bias", "7", "x"], "ID:B"),
        (["generate", "--bias", "7:x", "x"], "number"),
        (["generate", "--max-tokens"], "needs a value"),
        (["tokenize"], "TEXT"),
        (["detokenize", "x"], "token ids"),
        (["embed"], "TEXT"),
        (["embed", "--tokens", "x"], "token ids"),
        (["embed", "a", "b"], 'unexpected argument "b"'),
        (["load"], "NAME"),
        (["unload", "a", "b"], 'unexpected argument "b"'),
        (["models", "a"], 'unexpected argument "a"'),
        (["status", "a"], 'unexpected argument "a"'),
        (["completion"], "shell"),
        (["completion", "csh"], "bash"),
        (["chat", "hello"], "no prompt"),
        (["../sotto"], 'unknown command "../sotto"'),
    ]:
        code, out, err = sotto(*words)
        equal((code, out), (2, ""), f"{words}: {err}")
        holds(said in err, f"{words}: {err}")


@fact
def a_terminal_without_a_prompt_is_a_usage_error():
    master, slave = os.openpty()
    code, _, err = sotto("generate", stdin=slave)
    os.close(master)
    os.close(slave)

    equal(code, 2)
    holds("PROMPT" in err, err)


@fact
def every_command_has_a_page():
    commands = [line.split()[0] for line in sotto("--help")[1].splitlines() if line.startswith("  ") and
                not line.strip().startswith("-")]
    holds({"chat", "completion", "detokenize", "embed", "generate", "hint", "load", "models", "reload", "session", "status", "tokenize", "unload",
           "watch", "inspect"} <= set(commands), commands)
    for command in commands:
        for words in [command, "--help"], ["help", command]:
            code, out, _ = sotto(*words)
            equal(code, 0, words)
            holds(out.startswith(f"usage: sotto {command} "), out)


@fact
def the_manual_has_every_command_and_option():
    top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
    with open(os.path.join(top, "docs/man/sotto.1"), encoding="utf-8") as page:
        manual = page.read()
    listed = [line.split()[0] for line in sotto("--help")[1].splitlines() if re.match(r"  [a-z]", line)]
    for command in listed:
        holds(f".It Cm {command}" in manual, command)
        for option in re.findall(r"^ .*--([a-z-]+)", sotto(command, "--help")[1], re.MULTILINE):
            holds(f"Fl -{option}" in manual, f"{command} --{option}")


@fact
def a_command_that_is_a_program_beside_this_one_is_run():
    path = os.path.join(BUILD, "clients/sotto-greetings")
    with open(path, "w") as script:
        script.write('#!/bin/sh\necho "hello $*"\nexit 7\n')
    os.chmod(path, 0o755)
    try:
        code, out, _ = sotto("greetings", "--from", "you")
    finally:
        os.unlink(path)

    equal((code, out), (7, "hello --from you\n"))


def wait_for_output(process):
    return os.read(process.stdout.fileno(), 100)


@fact
def ctrl_c_cancels_tells_the_figures_and_exits_130():
    def script(peer):
        peer.greet()
        peer.models()
        stream = peer.read().stream
        peer.send(stream, delta=pb.Delta(tokens=[1], text=b"Hel"))
        frame = peer.read()
        assert frame.WhichOneof("body") == "cancel" and frame.stream == stream, frame
        usage = pb.Usage(prompt_tokens=5, generated_tokens=1)
        peer.send(stream, done=pb.Done(reason=pb.FINISH_CANCELLED, usage=usage))
        peer.read()

    with FakeDaemon(script) as fake:
        process = fake.start("generate", "Hi")
        equal(wait_for_output(process), b"Hel")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)

        equal(process.returncode, 130)
        holds(b"1 generated (cancelled)" in err, err)


@fact
def a_second_ctrl_c_does_not_wait():
    def script(peer):
        peer.greet()
        peer.models()
        peer.send(peer.read().stream, delta=pb.Delta(tokens=[1], text=b"Hel"))
        peer.read()  # the cancel, never answered
        peer.read()

    with FakeDaemon(script) as fake:
        process = fake.start("generate", "Hi")
        wait_for_output(process)
        process.send_signal(signal.SIGINT)
        tap.within(lambda: len(fake.peers[0].asked) == 4, "the cancel")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)

        equal(process.returncode, 130)


@fact
def a_closed_standard_output_ends_it_quietly():
    def script(peer):
        peer.greet()
        peer.models()
        stream = peer.read().stream
        for i in range(1000):
            try:
                peer.send(stream, delta=pb.Delta(first=i, tokens=[1], text=b"word "))
            except BrokenPipeError:
                break
            time.sleep(0.001)

    with FakeDaemon(script) as fake:
        process = fake.start("generate", "Hi")
        process.stdout.close()
        err = process.stderr.read()

        equal(process.wait(timeout=PATIENCE_S), -signal.SIGPIPE)
        equal(err, b"")


@fact
def a_loading_model_is_waited_for_with_progress():
    def script(peer):
        peer.greet()
        peer.models(state=pb.MODEL_LOADING)
        load = peer.read()
        assert load.load_model.name == "tiny", load
        for phase in "mapping", "checking":
            peer.send(load.stream, load_progress=pb.LoadProgress(fraction=0.5, phase=phase))
        peer.send(load.stream, model_info=pb.ModelInfo(name="tiny", state=pb.MODEL_READY, chat=True))
        frame = peer.read()
        assert frame.generate.WhichOneof("input") == "chat", frame
        peer.say(frame.stream, ["x"])
        peer.read()

    with FakeDaemon(script) as fake:
        code, out, err = fake.run("generate", "Hi")

        equal((code, out), (0, "x"), err)
        holds(err.startswith("loading tiny: mapping\nloading tiny: checking\n"), err)


@fact
def notices_are_shown_to_people():
    def script(peer):
        peer.greet()
        peer.models()
        stream = peer.read().stream
        peer.send(stream, notice=pb.Notice(kind=pb.NOTICE_REBUILDING, detail="signal 9"))
        peer.send(stream, notice=pb.Notice(kind=77))
        peer.say(stream, ["x"])
        peer.read()

    with FakeDaemon(script) as fake:
        code, out, err = fake.run("generate", "Hi")

        equal((code, out), (0, "x"))
        holds("engine was lost" in err, err)


@fact
def text_that_is_not_utf_8_does_no_harm():
    for words in ["generate", "Hi"], ["generate", "--json", "Hi"]:
        with FakeDaemon(answering(b"\xff\xc3")) as fake:
            process = fake.start(*words)
            out, err = process.communicate(timeout=PATIENCE_S)
            equal(process.returncode, 0, err)
            if "--json" in words:
                equal(json.loads(out)["text"], "\ufffd\ufffd")


@fact
def a_conversation_is_sent_whole_each_turn():
    def script(peer):
        peer.greet()
        frame = peer.read()
        if frame.WhichOneof("body") == "list_models":
            model = pb.ModelInfo(name="tiny", state=pb.MODEL_READY, is_default=True, chat=True)
            peer.send(frame.stream, models=pb.Models(models=[model]))
        else:
            peer.say(frame.stream, ["answer ", str(len(frame.generate.chat.messages))])
        peer.read()

    with FakeDaemon(script) as fake:
        code, out, err = fake.run("chat", "--system", "Be brief.", "--temperature", "0",
                                    stdin=b"one\n\n/help\ntwo\n/clear\nthree")

        equal(code, 0, err)
        equal(out, "answer 2answer 4answer 2")
        ask = fake.peers[2].asked[1].generate
        equal([(m.role, m.content) for m in ask.chat.messages],
              [("system", b"Be brief."), ("user", b"one"), ("assistant", b"answer 2"), ("user", b"two")])
        equal(ask.sampling.temperature, 0.0)


@fact
def on_a_terminal_a_failure_in_mid_answer_has_a_line_of_its_own():
    def script(peer):
        peer.greet()
        peer.models()
        stream = peer.read().stream
        peer.send(stream, delta=pb.Delta(first=0, tokens=[1], text=b"Half an"))
        peer.send(stream, error=pb.Error(code=pb.CODE_INTERNAL, message="it is broken"))

    with FakeDaemon(script) as fake:
        master, slave = os.openpty()
        process = subprocess.Popen([os.path.join(BUILD, "clients/sotto"), "--socket", fake.path, "generate", "Hi"],
                                   stdout=slave, stderr=slave, stdin=subprocess.DEVNULL)
        equal(process.wait(timeout=PATIENCE_S), 1)
        os.close(slave)
        equal(os.read(master, 4096), b"Half an\r\nsotto: it is broken\r\n")
        os.close(master)


@fact
def a_model_without_a_template_does_not_chat():
    def script(peer):
        peer.greet()
        peer.models(chat=False, chat_reason="its template is not ChatML")
        peer.read()

    with FakeDaemon(script) as fake:
        code, _, err = fake.run("chat", stdin=b"Hi\n")

        equal(code, 1)
        holds("its template is not ChatML" in err, err)


@fact
def ctrl_c_ends_an_answer_and_not_the_conversation():
    def script(peer):
        peer.greet()
        frame = peer.read()
        if frame.WhichOneof("body") == "list_models":
            model = pb.ModelInfo(name="tiny", state=pb.MODEL_READY, is_default=True, chat=True)
            peer.send(frame.stream, models=pb.Models(models=[model]))
        elif len(frame.generate.chat.messages) == 1:
            peer.send(frame.stream, delta=pb.Delta(tokens=[1], text=b"Hel"))
            assert peer.read().WhichOneof("body") == "cancel"
            peer.send(frame.stream, done=pb.Done(reason=pb.FINISH_CANCELLED))
        else:
            peer.say(frame.stream, ["again"])
        peer.read()

    master, slave = os.openpty()  # a person's terminal: a script would end with the cancelled answer
    with FakeDaemon(script) as fake:
        process = fake.start("chat", stdin=slave)
        os.write(master, b"one\n")
        equal(wait_for_output(process), b"Hel")
        process.send_signal(signal.SIGINT)
        tap.within(lambda: len(fake.peers) == 2 and len(fake.peers[1].asked) > 2, "the cancel")
        os.write(master, b"two\n/quit\n")
        out, _ = process.communicate(timeout=PATIENCE_S)

        equal((process.returncode, out), (0, b"again"))
        equal(fake.peers[2].asked[1].generate.chat.messages[1].content, b"Hel")
    os.close(master)
    os.close(slave)


def once(answer):
    def script(peer):
        peer.greet()
        frame = peer.read()
        peer.send(frame.stream, **answer)
        peer.read()
    return script


@fact
def tokenize_prints_ids_that_generate_takes():
    with FakeDaemon(once({"tokenized": pb.Tokenized(ids=[1, 22, 333])})) as fake:
        equal(fake.run("tokenize", "Hi")[:2], (0, "1,22,333\n"))
        equal(fake.peers[0].asked[1].tokenize, pb.Tokenize(text=b"Hi"))
    with FakeDaemon(once({"tokenized": pb.Tokenized(ids=[1, 22], pieces=[b"a", b"\xc3"])})) as fake:
        code, out, _ = fake.run("tokenize", "--json", "--pieces", "--special", "-m", "tiny", "Hi")
        equal((code, json.loads(out)), (0, {"tokens": [1, 22], "pieces": ["a", "\ufffd"]}))
        equal(fake.peers[0].asked[1].tokenize, pb.Tokenize(model="tiny", text=b"Hi", special=True, pieces=True))


@fact
def embed_prints_values():
    embedding = pb.Embedding(values=[0.5, -0.25, 1e-9], prompt_tokens=2, model="tiny", numerics="n")
    with FakeDaemon(once({"embedding": embedding})) as fake:
        equal(fake.run("embed", "Hi")[:2], (0, "0.5 -0.25 9.99999972e-10\n"))
        equal(fake.peers[0].asked[1].embed, pb.Embed(text=b"Hi"))
    with FakeDaemon(once({"embedding": embedding})) as fake:
        code, out, _ = fake.run("embed", "--json", "--raw", "--tokens", "--class", "background", "-m", "tiny", "7,8")
        reported = json.loads(out)
        equal((code, reported["values"], reported["prompt_tokens"], reported["model"], reported["numerics"]),
              (0, [0.5, -0.25, 9.99999972e-10], 2, "tiny", "n"))
        equal(fake.peers[0].asked[1].embed, pb.Embed(model="tiny", tokens=pb.TokenIds(ids=[7, 8]), raw=True,
                                                       priority="CLASS_BACKGROUND"))


@fact
def detokenize_prints_text():
    with FakeDaemon(once({"detokenized": pb.Detokenized(text=b"Hi")})) as fake:
        equal(fake.run("detokenize", "1,2")[:2], (0, "Hi\n"))
        equal(fake.peers[0].asked[1].detokenize, pb.Detokenize(ids=[1, 2]))
    with FakeDaemon(once({"detokenized": pb.Detokenized(text=b"Hi")})) as fake:
        equal(json.loads(fake.run("detokenize", "--json", "1,2")[1]), {"text": "Hi"})


@fact
def models_are_listed_for_people_scripts_and_shells():
    def script(peer):
        peer.greet()
        peer.models(reason="", context_tokens=512)
        peer.read()

    with FakeDaemon(script) as fake:
        holds("ready" in fake.run("models")[1], "state")
        equal(json.loads(fake.run("models", "--json")[1])["models"][0]["context_tokens"], 512)
        equal(fake.run("models", "--names")[1], "tiny\n")


@fact
def load_and_unload_say_what_they_did():
    def script(peer):
        peer.greet()
        frame = peer.read()
        if frame.WhichOneof("body") == "load_model":
            peer.send(frame.stream, load_progress=pb.LoadProgress(phase="mapping"))
            peer.send(frame.stream, model_info=pb.ModelInfo(name="tiny", state=pb.MODEL_READY))
        else:
            peer.send(frame.stream, unloaded=pb.Unloaded())
        peer.read()

    with FakeDaemon(script) as fake:
        code, out, err = fake.run("load", "--json", "--file", "/m.gguf", "tiny")
        equal((code, json.loads(out)["state"], err), (0, "ready", "loading tiny: mapping\n"))
        equal(fake.peers[0].asked[1].load_model, pb.LoadModel(name="tiny", file="/m.gguf"))
        equal(fake.run("unload", "--now", "tiny")[:2], (0, ""))
        equal(fake.peers[1].asked[1].unload_model, pb.UnloadModel(name="tiny", now=True))


REPORT = pb.StatusReport(
    instance="0123", server="sottod/0", uptime_ms=5000, config_file="/etc/sotto/sotto.json", config_generation=3,
    memory=[pb.MemoryKind(kind="kv", holder="tiny", bytes=2048, peak_bytes=4096)], rss_bytes=1 << 20, descriptors=9,
    connections=2, classes=[pb.ClassCounts(priority=pb.CLASS_INTERACTIVE, queued=1, running=2, parked=3)],
    models=[pb.ModelInfo(name="tiny", state=pb.MODEL_FAILED, reason="no such file")],
    engines=[pb.EngineInfo(model="tiny", pid=77, starts=2, last_exit="signal 9 (killed) after 12.3 s", steps=4,
                           pages_free=5, pages_cached=6, pages_held=7, pages_evicted=8)],
    counters=[pb.Counter(name="sotto_tokens_total", value=2**53)],
    devices=[pb.DeviceInfo(node="/dev/dri/renderD128", driver="powervr 1.0.0", chip="AXE-1-16M", chosen=True,
                           why="it draws", load_source="fdinfo")],
    sensors=[pb.SensorInfo(quantity="temperature", name="zone gpu", unit="m°C", state=pb.SENSOR_STALE, value=61500,
                           age_ms=2500, in_use=True, why="it hangs", history=[60000, 61500]),
             pb.SensorInfo(quantity="graphics load", name="fdinfo", unit="permille", state=pb.SENSOR_OK, value=123,
                           blind_permille=45)],
    governor=[pb.GovernorInfo(processor="cores", mode="shared", cause="heat", slice_us=2000, duty_permille=456, rows=8,
                              class_gate=pb.CLASS_INTERACTIVE, since_ms=1500, changes=3)],
    accounts=[pb.AccountInfo(uid=1000, tokens=77, energy_uj=2500000, energy_source=pb.ENERGY_MEASURED, requests=2,
                             refused=1)], sessions=3)


@fact
def status_in_json_has_the_names_of_the_protocol():
    with FakeDaemon(once({"status_report": REPORT})) as fake:
        status = json.loads(fake.run("status", "--json")[1])

        equal(set(status), {field.name for field in pb.StatusReport.DESCRIPTOR.fields})
        for name in "memory", "classes", "engines", "counters", "models", "devices", "sensors", "governor", "accounts":
            kind = pb.StatusReport.DESCRIPTOR.fields_by_name[name].message_type
            equal(set(status[name][0]), {field.name for field in kind.fields}, name)
        equal(status["engines"][0]["pid"], 77)
        equal(status["models"][0]["state"], "failed")
        equal(status["classes"][0]["priority"], "interactive")
        equal(status["counters"][0]["value"], 2**53)
        equal(status["sensors"][0]["state"], "stale")
        equal(status["sensors"][0]["history"], [60000, 61500])
        equal(status["governor"][0]["class_gate"], "interactive")
        equal(status["accounts"][0]["energy_source"], "measured")


@fact
def status_for_people_names_what_failed():
    with FakeDaemon(once({"status_report": REPORT})) as fake:
        out = fake.run("status")[1]

        for words in "model tiny: failed: no such file", "signal 9 (killed)", "2 running, 1 queued", "2.0 KiB", \
                "7 held, 6 cached, 5 free; 8 evicted", "device /dev/dri/renderD128: powervr 1.0.0, AXE-1-16M, chosen", \
                "load from fdinfo: it draws", "zone gpu (in use): stale, last 61.5 °C 2.5 s ago: it hangs", \
                "fdinfo: 12.3 %, 4.5 % of it not seen", \
                "cores: shared for 1.5 s, because of the temperature; 45.6 % of the time, 2.0 ms at a stretch, " \
                "8 rows a step, only interactive and above", "user 1000: 2 requests, 77 tokens, 1 refused, 2.5 J measured", "sessions: 3":
            holds(words in out, out)


@fact
def status_for_people_is_silent_about_what_is_not_there():
    with FakeDaemon(once({"status_report": pb.StatusReport(instance="0123", server="sottod/0")})) as fake:
        out = fake.run("status")[1]

        for words in "device", "sensor", "governor", "user", "session":
            holds(words not in out, out)


@fact
def status_for_people_leaves_out_counters_that_are_0_unless_all_are_asked_for():
    report = pb.StatusReport(instance="0123", server="sottod/0", counters=[{"name": "one_total", "value": 1}, {"name": "none_total"}])
    for words, is_shown in (("status",), False), (("status", "--all"), True):
        with FakeDaemon(once({"status_report": report})) as fake:
            out = fake.run(*words)[1]
            holds("one_total 1\n" in out, out)
            equal(("none_total 0\n" in out, "counters that are 0" in out), (is_shown, not is_shown), out)


@fact
def reload_tells_what_takes_effect():
    reloaded = pb.Reloaded(config_generation=4, applied=["models.a"], needs_restart=["socket"])
    with FakeDaemon(once({"reloaded": reloaded})) as fake:
        holds("after a restart: socket" in fake.run("reload")[1], "needs_restart")
    with FakeDaemon(once({"reloaded": reloaded})) as fake:
        equal(json.loads(fake.run("reload", "--json")[1]),
              {"config_generation": 4, "applied": ["models.a"], "needs_restart": ["socket"]})


@fact
def watch_shows_events_until_ctrl_c():
    def script(peer):
        peer.greet()
        frame = peer.read()
        peer.send(frame.stream, event=pb.Event(at_us=10**15, topic="engine", name="engine-lost", dropped=2,
                                               pairs=[pb.Pair(key="model", value="tiny")]))
        assert peer.read().WhichOneof("body") == "cancel"
        peer.send(frame.stream, done=pb.Done(reason=pb.FINISH_CANCELLED))
        peer.read()

    for words in ["watch", "engine", "model"], ["watch", "--json"]:
        with FakeDaemon(script) as fake:
            process = fake.start(*words)
            line = process.stdout.readline().decode()
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE_S)
            equal(process.returncode, 130)
            if "--json" in words:
                equal(json.loads(line)["pairs"], {"model": "tiny"})
            else:
                holds("engine engine-lost model=tiny (2 events were lost" in line, line)
                equal(list(fake.peers[0].asked[1].watch.topics), ["engine", "model"])


@fact
def the_bash_completion_knows_commands_options_values_and_models():
    script = os.path.join(BUILD, "clients/completion/sotto")
    lines = [("sotto ge", "generate"), ("sotto generate --te", "--temperature"), ("sotto --socket /x un", "unload"),
             ("sotto generate --class r", "realtime"), ("sotto generate --model t", "tiny"), ("sotto load ti", "tiny"),
             ("sotto completion f", "fish"), ("sotto generate --seed 1", "")]
    with FakeDaemon(lambda peer: (peer.greet(), peer.models(), peer.read())) as fake:
        for line, want in lines:
            words = line.split(" ")
            program = (f"sotto() {{ {BUILD}/clients/sotto --socket {fake.path} \"${{@/#--socket/--json}}\"; }}; "
                       f". {script}; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _sotto; "
                       'echo "${COMPREPLY[*]}"')
            got = subprocess.run(["bash", "-c", program], capture_output=True, timeout=PATIENCE_S)
            equal(got.stdout.decode().strip(), want, f"{line} {got.stderr.decode()}")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    tap.main()
