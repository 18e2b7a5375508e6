#!/usr/bin/python3
"""The stream of text: stop strings, whole characters, templates, and contexts that are just full."""

import maker
import sotto_pb2 as pb
import tap
from client import generate
from daemon import Daemon, serving
from tap import equal, fact, holds

CHATML = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' "
          "+ '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")


def playing(pieces, **named):
    """A daemon that begins each answer with these pieces, each a token (bytes: byte tokens)."""
    words = [piece.replace(" ", "\u2581") for piece in pieces if isinstance(piece, str)]
    ids = []
    for piece in pieces:
        if isinstance(piece, str):
            ids.append(maker.N_WORDS + words.index(piece.replace(" ", "\u2581")))
        else:
            ids += [maker.N_BYTES + byte for byte in piece]
    return Daemon(words=words, script="always do tokens " + ",".join(map(str, ids)) + "\n", **named)


def said(pieces, stop, max_tokens=None, **named):
    with playing(pieces, **named) as daemon, daemon.client() as client:
        daemon.wait_ready()
        return client.generate("go", stop=stop, max_tokens=max_tokens or len(pieces))


@fact
def a_stop_string_over_several_tokens_ends_the_answer_before_it():
    answer = said(["A", " B", " O", " P", " Q", " R"], [" O P Q"])

    equal((answer.text, answer.reason, answer.done.stop), ("A B", "FINISH_STOP", b" O P Q"))
    holds(len(answer.tokens) <= 5, answer.tokens)


@fact
def a_near_miss_is_shown_whole_and_once():
    answer = said(["A", " O", " P", " X", " Y"], [" O P Q"])

    equal((answer.text, answer.reason), ("A O P X Y", "FINISH_LENGTH"))
    equal(len(answer.tokens), 5)


@fact
def a_match_falls_back_into_itself():
    answer = said(["A", "a", "aa", "ab", "c"], ["aab"])

    equal((answer.text, answer.reason), ("Aaa", "FINISH_STOP"))


@fact
def of_two_stops_the_one_that_is_complete_first_counts():
    answer = said(["A", "x", "y", "z"], ["xyz", "xy"])

    equal((answer.text, answer.done.stop), ("A", b"xy"))


@fact
def a_stop_in_the_middle_of_a_piece_cuts_its_text():
    answer = said(["A", "onSTOPafter", "B"], ["STOP"])

    equal((answer.text, answer.reason), ("Aon", "FINISH_STOP"))


@fact
def empty_and_too_many_and_too_long_stops_are_refused():
    with serving() as (daemon, client):
        for stops in [""], ["x"] * 17, ["y" * 257]:
            answer = client.generate("x", stop=stops, max_tokens=2)
            equal(answer.reason, "CODE_INVALID_ARGUMENT", stops)
            holds(answer.error.field.startswith("generate.stop"), answer.error)


@fact
def characters_come_whole_and_a_cut_one_becomes_one_replacement():
    smile = "\U0001f600".encode()
    for n, text in (1, "\ufffd"), (2, "\ufffd"), (3, "\ufffd"), (4, "\U0001f600"), (5, "\U0001f600!"):
        with playing([smile, "!"]) as daemon, daemon.client() as client:
            daemon.wait_ready()
            answer = client.generate("go", max_tokens=n)
            equal((answer.text, len(answer.tokens)), (text, n), f"{n} tokens")
            equal(client.generate("go", max_tokens=n, credit=n).text, text)


@fact
def a_cancel_within_a_character_ends_in_valid_text():
    with playing(["A", "\U0001f600".encode()]) as daemon, daemon.client() as client:
        daemon.wait_ready()
        stream = client.ask(generate("go", max_tokens=20, credit=3))
        client.answer(stream, 1)
        client.send(stream, pb.Cancel())
        equal(client.answer(stream).reason, "FINISH_CANCELLED")  # each piece is decoded when it comes


@fact
def the_end_token_ends_an_answer_and_is_not_shown():
    with playing(["A", "B"]) as daemon, daemon.client() as client:
        daemon.set_script(f"always do tokens {maker.N_WORDS},2,{maker.N_WORDS + 1}\n")
        client.one(pb.UnloadModel(name="tiny"))
        client.one(pb.LoadModel(name="tiny"))
        answer = client.generate("go", max_tokens=10)
        equal((answer.text, answer.reason, len(answer.tokens)), ("A", "FINISH_END", 1))
        ask = generate("go", max_tokens=3)
        ask.ignore_end = True
        answer = client.answer(client.ask(ask))
        equal((answer.reason, answer.tokens[1]), ("FINISH_LENGTH", 2))


@fact
def contexts_that_are_just_full_end_as_they_should():
    with Daemon(models={"tiny": {"context": 64}}) as daemon, daemon.client() as client, daemon.client() as beside:
        daemon.wait_ready()
        other = beside.ask(generate("beside it", max_tokens=40))
        for n, reason, n_tokens in ((1, "FINISH_CONTEXT", 63), (62, "FINISH_CONTEXT", 2), (63, "FINISH_CONTEXT", 1),
                                    (64, "CODE_OUT_OF_RANGE", 0), (65, "CODE_OUT_OF_RANGE", 0)):
            answer = client.generate(tokens=[5] * n, max_tokens=200)
            equal((answer.reason, len(answer.tokens)), (reason, n_tokens), f"a prompt of {n}")
            if answer.error:
                holds("64" in answer.error.message and str(n) in answer.error.message, answer.error.message)
        answer = client.generate(tokens=[], max_tokens=5)
        holds(answer.error, "a prompt without tokens")
        equal(len(client.generate("", max_tokens=5).tokens), 5, "BOS alone is a prompt")
        equal(len(client.generate(tokens=[5] * 10, max_tokens=1).tokens), 1)
        equal(beside.answer(other).reason, "FINISH_LENGTH")


@fact
def a_conversation_over_the_context_is_refused_with_its_numbers():
    with Daemon(template=CHATML, models={"tiny": {"context": 256}},
                words=["<|im_start|>", "<|im_end|>"]) as daemon, daemon.client() as client:
        info = daemon.wait_ready()
        equal(info.chat, True, info.chat_reason)
        turns = [("user", "a" * 60)]
        for _ in range(2):
            answer = client.answer(client.ask(generate(messages=turns, max_tokens=8)))
            equal(answer.reason, "FINISH_LENGTH")
            turns += [("assistant", answer.text[:10]), ("user", "a" * 60)]
        turns.append(("user", "a" * 300))
        equal(client.answer(client.ask(generate(messages=turns, max_tokens=8))).reason, "CODE_OUT_OF_RANGE")
        equal(client.generate("still here", max_tokens=3).reason, "FINISH_LENGTH")


@fact
def a_model_without_a_template_that_is_understood_refuses_a_chat():
    for template in None, "{% strange %}":
        with Daemon(template=template) as daemon, daemon.client() as client:
            info = daemon.wait_ready()
            equal(info.chat, False)
            holds(info.chat_reason, "the reason")
            answer = client.answer(client.ask(generate(messages=[("user", "x")], max_tokens=3)))
            equal(answer.reason, "CODE_FAILED_PRECONDITION")
            equal(daemon.sotto("generate", "--max-tokens", "3", "x")[0], 0, "sotto continues the text")


@fact
def tokens_come_with_their_logprobs():
    with serving() as (daemon, client):
        answer = client.generate("x", max_tokens=5, logprobs=True, top_logprobs=4)
        equal(len(answer.logprobs), 5)
        equal(len(answer.logprobs[0].top_ids), 4)
        equal(client.generate("x", max_tokens=5).logprobs, [])


if __name__ == "__main__":
    tap.main()
