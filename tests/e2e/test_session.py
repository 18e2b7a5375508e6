#!/usr/bin/python3
"""Sessions: a conversation that outlives its connections, and says what one request with all of it would say."""
import os
import re
import signal
import subprocess
import time

import sotto_pb2 as pb
import tap
from client import generate
from daemon import Daemon, calm, program, serving, settle, stories
from tap import PATIENCE_S, equal, fact, holds, note, within

CHATML = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' "
          "+ '\n'}}{% endfor %}{% if add_generation_prompt %}{{'<|im_start|>assistant\n'}}{% endif %}")
CHAT = {"template": CHATML, "words": ["<|im_start|>", "<|im_end|>"]}


def opened(client, **named):
    answer = client.one(pb.OpenSession(**named))
    holds(isinstance(answer, pb.SessionOpened), answer)
    return answer


def ask(session, tokens=None, messages=None, max_tokens=8, prompt=None, **named):
    body = generate(prompt, tokens=tokens, messages=messages, max_tokens=max_tokens, seed=7, temperature=0.8, **named)
    body.session = session
    body.ignore_end = True
    return body


def turn(client, session, tokens=None, **named):
    answer = client.answer(client.ask(ask(session, tokens, **named)))
    holds(answer.done, answer.error)
    return answer


def cold(client, tokens, n, **named):
    answer = client.answer(client.ask(ask(0, tokens, max_tokens=n, **named)))
    holds(answer.done, answer.error)
    return answer


def cut_after(client, stream, n):
    """The answer, cancelled when @n tokens of it have come; its credit must end before its tokens do."""
    client.answer(stream, n)
    client.send(stream, pb.Cancel())
    answer = client.answer(stream)
    equal(answer.reason, "FINISH_CANCELLED")
    return answer


def code(error):
    holds(isinstance(error, pb.Error), error)
    return pb.Code.Name(error.code)


def kill_engine(daemon):
    daemon.wait_ready()
    pid = daemon.engine_of().pid
    holds(pid > 1, pid)
    os.kill(pid, signal.SIGKILL)


def prompt_of(i):
    return [300 + (7 * i + k) % 100 for k in range(3)]


@fact
def twenty_turns_over_two_connections_say_what_cold_requests_do():
    with Daemon(engine="real", models={"tiny": stories()}) as daemon, daemon.client() as one, daemon.client() as two:
        daemon.wait_ready()
        session = opened(one).session
        said = []
        for i in range(20):
            answer = turn((one, two)[i % 2], session, prompt_of(i))
            holds(answer.done.usage.cached_tokens >= len(said) - 1, answer.done.usage)
            said += prompt_of(i)
            equal(answer.tokens, cold(one, said, 8).tokens, f"turn {i}")
            said += answer.tokens
        equal(two.one(pb.CloseSession(session=session)).tokens, len(said))


@fact
def barge_in_keeps_the_keys_and_values_and_what_was_heard():
    with serving(engine="real", models={"tiny": stories(share_prefixes=False)}) as (daemon, client):
        session = opened(client).session
        said = []
        for i in range(5):
            stream = client.ask(ask(session, prompt_of(i), max_tokens=200, credit=60))
            answer = cut_after(client, stream, 6 + i)
            said += prompt_of(i) + answer.tokens
        answer = turn(client, session, [310, 311])
        note(f"{answer.done.usage.cached_tokens} of {answer.done.usage.prompt_tokens} tokens were computed before")
        holds(answer.done.usage.cached_tokens >= len(said) - 1, answer.done.usage)
        equal(answer.tokens, cold(client, said + [310, 311], 8).tokens)


@fact
def a_session_that_lost_its_slot_says_the_same():
    """Four conversations at two places: each turn takes one from another."""
    with serving(engine="real", models={"tiny": stories(sequences=2)}) as (daemon, client):
        sessions = [opened(client).session for _ in range(4)]
        said = [[] for _ in sessions]
        for i in range(12):
            k = i % 4
            answer = turn(client, sessions[k], prompt_of(i))
            said[k] += prompt_of(i)
            equal(answer.tokens, cold(client, said[k], 8).tokens, f"turn {i}")
            said[k] += answer.tokens
        holds(daemon.counter("sotto_session_sequences_given_up_total") >= 8, "no slot was given up")
        equal(daemon.counter("sotto_preemptions_total"), 0)


@fact
def an_engine_that_is_killed_changes_no_token():
    with serving(engine="real", models={"tiny": stories()}) as (daemon, client):
        session = opened(client).session
        said = []
        for i in range(6):
            stream = client.ask(ask(session, prompt_of(i), max_tokens=12))
            if i % 2:
                kill_engine(daemon)
            answer = client.answer(stream)
            said += prompt_of(i) + answer.tokens
            if i == 2:
                kill_engine(daemon)
        equal(said[-12:], cold(client, said[:-12], 12).tokens, "the last answer")
        first = cold(client, prompt_of(0), 12).tokens
        equal(said[3:15], first, "the first answer")


@fact
def a_conversation_of_messages_says_what_the_whole_of_it_says():
    with serving(**CHAT) as (daemon, client):
        whole = [("system", "Be brief.")]
        chat = pb.Chat(messages=[pb.ChatMessage(role="system", content=b"Be brief.")])
        session = opened(client, chat=chat)
        holds(session.tokens > 0, session)
        for i in range(6):
            whole.append(("user", f"say {i}"))
            cut = {"credit": 5} if i == 2 else {}
            stream = client.ask(ask(session.session, messages=[whole[-1]], max_tokens=30, **cut))
            answer = cut_after(client, stream, 3) if cut else client.answer(stream)
            n = len(answer.tokens)
            other = client.answer(client.ask(ask(0, messages=whole, max_tokens=30)))
            equal(answer.tokens, other.tokens[:n], f"turn {i}")
            equal(answer.done.usage.prompt_tokens, other.done.usage.prompt_tokens)
            holds(answer.done.usage.cached_tokens > 0, answer.done.usage)
            whole.append(("assistant", answer.text))


@fact
def messages_that_no_longer_fit_are_forgotten_from_the_oldest_on():
    with serving(**CHAT, models={"tiny": {"context": 400}}) as (daemon, client):
        chat = pb.Chat(messages=[pb.ChatMessage(role="system", content=b"Be brief.")])
        session = opened(client, chat=chat, on_full=pb.ON_FULL_SLIDE).session
        whole, n_slid = [], 0
        for i in range(24):
            whole.append(("user", f"tell {i} " * 3))
            answer = client.answer(client.ask(ask(session, messages=[whole[-1]], max_tokens=6)))
            holds(answer.done, answer.error)
            for notice in answer.notices:
                gone = re.search(r"its (\d+) oldest messages", notice.detail)
                if gone:
                    cut, n_slid = int(gone[1]), n_slid + 1
            if any("oldest messages" in notice.detail for notice in answer.notices):
                whole = whole[cut:]
                equal(whole[0][0], "user")
            other = client.answer(client.ask(ask(0, messages=[("system", "Be brief."), *whole], max_tokens=6)))
            equal(answer.tokens, other.tokens, f"turn {i}")
            whole.append(("assistant", answer.text))
        holds(n_slid >= 2, n_slid)


@fact
def text_follows_text_without_another_beginning():
    with serving(engine="real", models={"tiny": stories()}) as (daemon, client):
        begin = client.one(pb.Tokenize(text=b"Once upon a time", special=True)).ids
        session = opened(client, text=b"Once upon a time")
        equal(session.tokens, len(begin))
        answer = turn(client, session.session, [310])
        equal(answer.tokens, cold(client, list(begin) + [310], 8).tokens)
        holds(answer.done.usage.cached_tokens >= len(begin) - 1, answer.done.usage)
        after = turn(client, session.session, prompt="she")
        holds(after.done.usage.prompt_tokens <= len(begin) + 9 + 3, after.done.usage)


@fact
def a_connection_that_dies_in_mid_turn_leaves_what_it_was_given():
    with serving(script="when 301 do slow 5\n") as (daemon, client):
        session = opened(client).session
        with daemon.client() as other:
            stream = other.ask(ask(session, [301, 302], max_tokens=500))
            other.answer(stream, 1)
        within(lambda: all(row.running + row.queued == 0 for row in daemon.status().classes), "it has ended")
        answer = turn(client, session, [303])
        holds(answer.done.usage.prompt_tokens >= 4, answer.done.usage)
        holds(answer.done.usage.cached_tokens >= answer.done.usage.prompt_tokens - 2, answer.done.usage)


@fact
def one_without_requests_ends_and_the_policy_caps_how_long_it_is_kept():
    policy = [{"anyone": True, "observe": True, "admin": True, "sessions": 2, "session_idle": "5s"}]
    with Daemon(policy=policy) as daemon, daemon.client() as client, daemon.client() as watcher:
        daemon.wait_ready()
        watch = watcher.ask(pb.Watch(topics=["session"]))
        begun = time.monotonic()
        equal(opened(client, idle_ms=5000000).idle_ms, 5000)
        session = opened(client, idle_ms=4000)
        equal(session.idle_ms, 4000)
        n_sessions, third = daemon.status().sessions, code(client.one(pb.OpenSession()))
        if time.monotonic() - begun < 4:  # on a busy machine one may have ended meanwhile
            equal((n_sessions, third), (2, "CODE_RESOURCE_EXHAUSTED"))
        names = []
        while names.count("session-ended") < 2:
            event = watcher.read_of(watch).event
            names.append(event.name)
            if event.name == "session-ended":
                equal({pair.key: pair.value for pair in event.pairs}["how"], "idle")
        equal(code(client.one(ask(session.session, [1]))), "CODE_NOT_FOUND")
        equal(daemon.status().sessions, 0)


@fact
def what_makes_no_sense_is_refused_and_does_no_harm():
    with serving(script="when 301 do slow 5\n") as (daemon, client):
        session = opened(client).session
        holds("sessions" in client.welcome.capabilities, client.welcome.capabilities)
        for strange in (session + 1, 2**63, 2**64 - 1):
            equal(code(client.one(ask(strange, [1]))), "CODE_NOT_FOUND")
            equal(code(client.one(pb.CloseSession(session=strange))), "CODE_NOT_FOUND")
        equal(code(client.one(pb.CloseSession())), "CODE_INVALID_ARGUMENT")
        equal(code(client.one(pb.OpenSession(model="none"))), "CODE_NOT_FOUND")
        equal(code(client.one(pb.OpenSession(text=b"\xff"))), "CODE_INVALID_ARGUMENT")
        equal(code(client.one(pb.OpenSession(idle_ms=0))), "CODE_INVALID_ARGUMENT")
        stream = client.ask(ask(session, [301], max_tokens=500))
        equal(code(client.one(ask(session, [1]))), "CODE_FAILED_PRECONDITION")
        close = client.ask(pb.CloseSession(session=session))
        equal(code(client.one(ask(session, [1]))), "CODE_NOT_FOUND")
        equal(client.answer(stream).reason, "FINISH_CANCELLED")
        equal(client.read_of(close).WhichOneof("body"), "session_closed")
        equal(code(client.one(pb.CloseSession(session=session))), "CODE_NOT_FOUND")
        holds(opened(client).session > session, "an id was used again")


@fact
def a_third_turn_that_crosses_the_limit_is_refused_with_the_count():
    """O18: with a second request beside it; what was said stays, and a turn that fits goes on."""
    with Daemon(models={"tiny": {"context": 64}}, script="when 301 do slow 3\n") as daemon, \
            daemon.client() as client, daemon.client() as other:
        daemon.wait_ready()
        session, said = opened(client).session, []
        beside = other.ask(generate(tokens=[301], max_tokens=60))
        for first in 10, 40:
            prompt = list(range(first, first + 15))
            answer = client.answer(client.ask(ask(session, prompt, max_tokens=10)))
            said += prompt + answer.tokens
        equal(len(said), 50, "tokens of two turns")
        error = client.one(ask(session, [5] * 14))
        equal(code(error), "CODE_OUT_OF_RANGE")
        holds("64 tokens" in error.message and "context 64" in error.message, error.message)
        want = cold(client, said + [5] * 13, 1)
        answer = client.answer(client.ask(ask(session, [5] * 13, max_tokens=5)))
        equal((answer.reason, answer.tokens), ("FINISH_CONTEXT", want.tokens), "one less fits, with one token behind it")
        equal(other.answer(beside).reason, "FINISH_LENGTH", "the one beside")


@fact
def sessions_of_apps_that_died_keep_no_app_out():
    with Daemon() as daemon, daemon.client() as keeper:
        daemon.wait_ready()
        held = opened(keeper).session
        left = []
        for _ in range(3):
            with daemon.client() as crashing:
                left += [opened(crashing).session for _ in range(5)]
        opened(keeper)
        equal(code(keeper.one(pb.CloseSession(session=left[0]))), "CODE_NOT_FOUND")
        for i in range(14):
            opened(keeper)
        equal(code(keeper.one(pb.OpenSession())), "CODE_RESOURCE_EXHAUSTED", "sixteen that are all held")
        holds(turn(keeper, held, [5, 6]).done, "the one that was there first")


@fact
def all_that_it_held_comes_back():
    with Daemon(**CHAT) as daemon:
        daemon.wait_ready()

        def use():
            with daemon.client() as client:
                for kind in ({"tokens": pb.TokenIds(ids=[5, 6])}, {"text": b"so it was"}, {}):
                    session = opened(client, **kind).session
                    turn(client, session, [300, 301])
                    cut_after(client, client.ask(ask(session, [302], max_tokens=400, credit=60)), 2)
                    client.one(pb.CloseSession(session=session))
                session = opened(client, model="tiny").session
                turn(client, session, messages=[("user", "say")])
                client.one(ask(session, [1]))
                client.one(pb.CloseSession(session=session))
        use()
        before = calm(daemon)
        for _ in range(5):
            use()
        settle(daemon, before)


@fact
def it_ends_with_its_model():
    with serving() as (daemon, client):
        session = opened(client).session
        turn(client, session, [5])
        client.one(pb.UnloadModel(name="tiny"))
        equal(daemon.status().sessions, 0)
        client.one(pb.LoadModel(name="tiny"))
        equal(code(client.one(ask(session, [1]))), "CODE_NOT_FOUND")


@fact
def the_command_line_opens_one_goes_on_in_it_and_closes_it():
    with Daemon(**CHAT) as daemon:
        daemon.wait_ready()
        done, out, err = daemon.sotto("session", "open", "--system", "Be brief.", "--idle", "60")
        equal(done, 0, err)
        number = out.strip()
        for i in range(2):
            done, _, err = daemon.sotto("generate", "--session", number, "--max-tokens", "5", f"say {i}")
            equal(done, 0, err)
        holds(int(re.search(r"\((\d+) cached\)", err)[1]) > 20, err)
        holds("sessions: 1" in daemon.sotto("status")[1], "status")
        done, out, err = daemon.sotto("session", "close", "--json", number)
        equal(done, 0, err)
        holds('"tokens"' in out, out)
        done, _, err = daemon.sotto("session", "close", number)
        equal(done, 1)
        holds("no session" in err, err)
        for words in (["session"], ["session", "shut"], ["session", "close"], ["session", "close", "x"],
                      ["session", "open", "1"], ["session", "open", "--idle", "0"]):
            equal(daemon.sotto(*words)[0], 2, words)


@fact
def chat_goes_on_in_a_session_through_ctrl_c_and_a_daemon_that_was_restarted():
    with Daemon(**CHAT, script="always do slow 3\n") as daemon:
        daemon.wait_ready()
        master, slave = os.openpty()
        chat = subprocess.Popen([program("sotto"), "--socket", daemon.socket, "chat", "--system", "Be brief.", "-n", "400"],
                                stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        os.write(master, b"one\n")
        holds(os.read(chat.stdout.fileno(), 1), "the answer begins")
        chat.send_signal(signal.SIGINT)
        within(lambda: daemon.counter("sotto_session_turns_total") == 1, "the first turn")
        equal(daemon.status().sessions, 1)
        os.write(master, b"two\n")
        within(lambda: daemon.counter("sotto_session_kept_tokens_total") > 20, "the second goes on in it")
        chat.send_signal(signal.SIGINT)
        within(lambda: daemon.counter("sotto_session_turns_total") == 2, "the second turn")
        daemon.stop()
        daemon.start()
        daemon.wait_ready()
        os.write(master, b"three\n")
        within(lambda: daemon.counter("sotto_sessions_opened_total") == 1, "another session")
        chat.send_signal(signal.SIGINT)
        within(lambda: daemon.counter("sotto_session_turns_total") == 1, "the third turn")
        os.write(master, b"/quit\n")
        _, err = chat.communicate(timeout=PATIENCE_S)
        equal(chat.returncode, 0, err)
        holds(b"no session" not in err, err)
        equal(daemon.status().sessions, 0)
        os.close(master)
        os.close(slave)


if __name__ == "__main__":
    tap.main()
