#!/usr/bin/python3
"""Pins: beginnings of prompts that policy has computed ahead. What they save is counted in rows, never in time."""
import os
import signal
import subprocess
import sys

import sotto_pb2 as pb
import tap
from client import PATIENCE_S, generate
from daemon import Daemon, stories
from tap import LeftOut, equal, fact, holds, note, within

TEXT = "Once upon a time there was a little girl who lived in a house by the sea. " * 4
HELD, REFUSED = 3, 4
OTHER_UID = 12345
END = 4  # tokens: where more follows a text may end otherwise, and fewer rows of a page are not worth a copy


def pin(name="story", text=TEXT, **named):
    return {"name": name, "text": text, **named}


def pins_of(daemon):
    return {row.name: row for row in daemon.status().models[0].pins}


def wait_held(daemon, *names):
    daemon.wait_ready()
    within(lambda: all(name in pins_of(daemon) and pins_of(daemon)[name].state == HELD for name in names),
           f"{names} are held")


def rows(daemon):
    return daemon.engine_of().rows


def ask(client, text, max_tokens=8, **named):
    answer = client.answer(client.ask(generate(text, max_tokens=max_tokens, seed=7, **named)))
    holds(answer.done, answer.error)
    return answer


def reload(daemon, pins):
    daemon.models["tiny"]["pin"] = pins
    daemon.configure()
    with daemon.client() as client:
        answer = client.one(pb.Reload())
    holds(isinstance(answer, pb.Reloaded), answer)
    return answer


@fact
def each_first_request_of_a_user_computes_only_what_follows_the_pin():
    behind = TEXT + "She had a dog. And the dog said"
    with Daemon(engine="real", models={"tiny": stories()}) as plain, plain.client() as client:
        plain.wait_ready()
        cold = ask(client, behind)
        cold_rows = rows(plain)
    with Daemon(engine="real", models={"tiny": stories(pin=[pin()])}) as daemon, daemon.client() as client:
        wait_held(daemon, "story")
        before = rows(daemon)
        warm = ask(client, behind)
        equal(warm.tokens, cold.tokens)
        tokens = pins_of(daemon)["story"].tokens
        saved = cold_rows - (rows(daemon) - before)
        note(f"the pin has {tokens} tokens; {cold_rows} rows without it, {rows(daemon) - before} with it")
        equal(saved, warm.done.usage.cached_tokens)
        holds(tokens - END <= saved <= tokens, (saved, tokens))
        equal(pins_of(daemon)["story"].hits, 1)
        equal(pins_of(daemon)["story"].hit_tokens, saved)
        equal(daemon.counter("sotto_pinned_tokens_total"), saved)


@fact
def the_answer_is_the_same_in_every_format():
    behind = TEXT + "She had a cat."
    for kv_format in ("f32", "f16", "q8", "q4"):
        said = []
        for pins in ([], [pin()]):
            with Daemon(engine="real", models={"tiny": stories(kv_format=kv_format, pin=pins)}) as daemon, \
                    daemon.client() as client:
                wait_held(daemon, *[row["name"] for row in pins])
                answer = ask(client, behind, max_tokens=24, temperature=0.8, logprobs=True)
                said.append((answer.tokens, [row.logprob for row in answer.logprobs]))
                equal(answer.done.usage.cached_tokens > 0, bool(pins))
        equal(said[0], said[1], kv_format)


@fact
def a_killed_engine_s_pins_come_back():
    with Daemon(engine="real", models={"tiny": stories(pin=[pin(), pin("other", "A man and his boat. " * 8)])}) as daemon, \
            daemon.client() as client:
        wait_held(daemon, "story", "other")
        first = ask(client, TEXT + "The end")
        os.kill(daemon.engine_of().pid, signal.SIGKILL)
        within(lambda: daemon.engine_of().starts == 2, "another engine")
        wait_held(daemon, "story", "other")
        again = ask(client, TEXT + "The end")
        equal(again.tokens, first.tokens)
        equal(again.done.usage.cached_tokens, first.done.usage.cached_tokens)


@fact
def a_reload_adds_and_drops_pins_of_a_model_that_serves():
    with Daemon(engine="real", models={"tiny": stories(pin=[pin()])}) as daemon, daemon.client() as client:
        wait_held(daemon, "story")
        before = rows(daemon)
        answer = reload(daemon, [pin(), pin("other", "A man and his boat. " * 8)])
        holds("models.tiny.pin" in answer.applied, answer)
        equal(list(answer.needs_restart), [])
        wait_held(daemon, "story", "other")
        equal(rows(daemon) - before, pins_of(daemon)["other"].tokens, "what stayed was computed again")
        reload(daemon, [])
        equal(pins_of(daemon), {})
        equal(ask(client, TEXT + "The end").done.usage.cached_tokens, 0)
        within(lambda: daemon.status().models[0].kv_pages_used == 0, "all pages are back")
        equal(daemon.engine_of().starts, 1)


@fact
def a_pin_stays_in_a_pool_that_is_full_and_everybody_is_served():
    """40 pages of 16 tokens; each request needs eight, and the pin holds a tenth."""
    model = stories(context=256, kv_bytes=f"{400}KiB", pin=[pin(text=TEXT[:180])])
    with Daemon(engine="real", models={"tiny": model}) as daemon, daemon.client() as client:
        wait_held(daemon, "story")
        pages = daemon.status().models[0].kv_pages
        streams = [client.ask(generate(tokens=[300 + (i * 7 + k) % 200 for k in range(90)], max_tokens=30, seed=i,
                                       temperature=1.0)) for i in range(30)]
        for stream in streams:
            answer = client.answer(stream)
            holds(answer.done, answer.error)
        engine = daemon.engine_of()
        note(f"{pages} pages; {engine.pages_evicted} evicted")
        holds(engine.pages_evicted > pages, engine)
        equal(pins_of(daemon)["story"].state, HELD)
        before = rows(daemon)
        answer = ask(client, TEXT[:180] + "She had a dog.", max_tokens=1)
        equal(rows(daemon) - before, answer.done.usage.prompt_tokens - answer.done.usage.cached_tokens)
        holds(answer.done.usage.cached_tokens >= pins_of(daemon)["story"].tokens - END, answer.done.usage)


@fact
def what_does_not_fit_is_refused_with_a_sentence_and_the_model_serves():
    model = stories(context=128, kv_bytes=f"{120}KiB", pin=[pin(text=TEXT[:60]), pin("long", TEXT * 2), pin("more", TEXT[:150])])
    with Daemon(engine="real", models={"tiny": model}) as daemon, daemon.client() as client:
        wait_held(daemon, "story")
        within(lambda: pins_of(daemon)["more"].state == REFUSED, "the last one is refused")
        holds("nothing could follow it" in pins_of(daemon)["long"].reason, pins_of(daemon)["long"])
        holds("raise kv_bytes" in pins_of(daemon)["more"].reason, pins_of(daemon)["more"])
        holds("pin-refused" in daemon.log(), daemon.log())
        # A whole context beside them, as if there were none.
        answer = client.answer(client.ask(generate(tokens=list(range(300, 400)), max_tokens=28, seed=1)))
        equal((answer.reason, len(answer.tokens)), ("FINISH_LENGTH", 28))
        code, out, _ = daemon.sotto("models")
        equal(code, 0)
        holds("    pin story: held, " in out and "    pin long: refused: it has " in out, out)
        holds("    pin story: held, " in daemon.sotto("status")[1], "sotto status shows pins")


OTHER = """
import os, sys
sys.path[:0] = {path!r}
os.setresgid({uid}, {uid}, {uid})
os.setresuid({uid}, {uid}, {uid})
from client import Client, generate
with Client({socket!r}) as client:
    for text in {texts!r}:
        answer = client.answer(client.ask(generate(text, max_tokens=4, seed=7)))
        print(answer.done.usage.cached_tokens if answer.done else answer.error)
    print([row.name for row in client.status().models[0].pins])
"""


def as_another(daemon, *texts):
    """What another user's requests of @texts find, and which pins it sees."""
    if os.geteuid() != 0:
        raise LeftOut("only root can be another user")
    os.chmod(daemon.folder, 0o755)
    os.chmod(daemon.socket, 0o666)
    script = OTHER.format(path=sys.path, uid=OTHER_UID, socket=daemon.socket, texts=texts)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=PATIENCE_S, check=False)
    holds(done.returncode == 0, done.stderr.decode())
    *found, names = done.stdout.decode().splitlines()
    return [int(n) for n in found], names


@fact
def all_find_what_is_pinned_and_none_what_another_says_behind_it():
    secret = TEXT + "My secret word is rhubarb, and I shall not tell it."
    model = stories(pin=[pin(), pin("hers", "The queen of the hill. " * 8, users=[0])])
    policy = [{"uid": 0, "admin": True, "observe": True, "streams": 256}, {"anyone": True}]
    with Daemon(engine="real", models={"tiny": model}, policy=policy) as daemon, daemon.client() as client:
        wait_held(daemon, "story", "hers")
        ask(client, secret)
        mine = ask(client, secret).done.usage
        equal(mine.cached_tokens, mine.prompt_tokens - 1, "one's own is found whole")
        found, names = as_another(daemon, secret, "The queen of the hill. " * 8)
        tokens = pins_of(daemon)["story"].tokens
        note(f"the pin has {tokens} tokens; another user finds {found[0]} of a prompt that was asked before, whole")
        holds(tokens - END <= found[0] <= tokens, (found, tokens))
        holds(found[1] <= 1, found)
        equal(names, "['story']")
        equal(pins_of(daemon)["hers"].users, [0])


@fact
def a_system_prompt_is_pinned_as_messages():
    chatml = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
              "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{'<|im_start|>assistant\n'}}{% endif %}")
    system = "You are the voice of a car. Be brief."
    model = {"pin": [{"name": "voice", "messages": [{"role": "system", "content": system}]}]}
    with Daemon(models={"tiny": model}, template=chatml, words=["<|im_start|>", "<|im_end|>"]) as daemon, \
            daemon.client() as client:
        wait_held(daemon, "voice")
        answer = ask(client, None, messages=[("system", system), ("user", "Is it cold?")])
        equal(answer.done.usage.cached_tokens, pins_of(daemon)["voice"].tokens)
        session = client.one(pb.OpenSession(chat=pb.Chat(messages=[pb.ChatMessage(role="system", content=system.encode())])))
        body = generate(messages=[("user", "And now?")], max_tokens=4, seed=7)
        body.session = session.session
        equal(client.answer(client.ask(body)).done.usage.cached_tokens > 0, True)


@fact
def a_template_that_refuses_says_so_in_status():
    model = {"pin": [{"name": "voice", "messages": [{"role": "system", "content": "Be brief."}]}, pin("text")]}
    with Daemon(models={"tiny": model}, template="{{ raise_exception('no systems here') }}") as daemon:
        wait_held(daemon, "text")
        equal(pins_of(daemon)["voice"].state, REFUSED)
        holds("no systems here" in pins_of(daemon)["voice"].reason, pins_of(daemon)["voice"])


if __name__ == "__main__":
    tap.main()
