#!/usr/bin/python3
"""Drafts: tokens guessed from the text before them. With the real engine, no answer differs from one without; how many
steps they save depends on the machine's costs, and is only noted."""
import sotto_pb2 as pb
import tap
from client import generate
from daemon import Daemon, stories
from tap import equal, fact, holds, note

TALE = "Lily had a red ball. She liked to play with the red ball. "
PROMPTS = (TALE * 4 + "Lily had a", "Once upon a time", "One, two, three. One, two, three. One, two")


def bodies():
    """Requests of which each ends in its own way: at its length, at a stop string, by the model's end."""
    for seed, prompt in enumerate(PROMPTS):
        for temperature in 0.0, 0.4, 1.1:
            for n, stop in (1, ()), (2, ()), (90, ()), (90, ("ball",)):
                yield generate(prompt, temperature=temperature, seed=seed, max_tokens=n, stop=stop)


def read(client, body):
    answer = client.answer(client.ask(body))
    holds(answer.done, answer.error)
    return answer


def what(answer):
    return answer.tokens, answer.bytes, answer.reason, answer.done.usage.generated_tokens


def daemons(**settings):
    return (Daemon(engine="real", models={"tiny": stories(**settings, **drafts)}) for drafts in ({"drafts": False}, {}))


def figures(daemon):
    engine = daemon.engine_of()
    return engine.steps, engine.tokens, engine.draft_tokens, engine.draft_tokens_accepted


@fact
def no_answer_differs_and_each_ends_where_it_would_have():
    off, on = daemons()
    with off, on, off.client() as plain, on.client() as drafting:
        off.wait_ready(), on.wait_ready()
        for body in bodies():
            equal(what(read(drafting, body)), what(read(plain, body)))
        steps, tokens, drafts, accepted = figures(on)
        equal(figures(off)[2:], (0, 0))
        holds(accepted <= drafts, (accepted, drafts))
        note(f"{tokens} tokens in {steps} steps, without drafts in {figures(off)[0]}; {accepted} of {drafts} accepted")


@fact
def many_at_once_and_a_context_that_slides():
    off, on = daemons(context=128)
    with off, on, off.client() as plain, on.client() as drafting:
        off.wait_ready(), on.wait_ready()
        asked = [generate(prompt, temperature=0.3 * seed, seed=seed, max_tokens=200) for seed in range(4)
                 for prompt in PROMPTS]
        for body in asked:
            body.on_full = pb.ON_FULL_SLIDE
        streams = [drafting.ask(body) for body in asked]
        for body, stream in zip(asked, streams):
            equal(what(drafting.answer(stream)), what(read(plain, body)))


@fact
def credit_is_never_exceeded():
    off, on = daemons()
    with off, on, off.client() as plain, on.client() as drafting:
        off.wait_ready(), on.wait_ready()
        wanted = read(plain, generate(PROMPTS[0], temperature=0.0, max_tokens=60))
        stream = drafting.ask(generate(PROMPTS[0], temperature=0.0, max_tokens=60, credit=3))
        given = 3
        while True:
            answer = drafting.answer(stream, n_tokens=given)
            holds(len(answer.tokens) <= given, (len(answer.tokens), given))
            if answer.done:
                break
            given += 5
            drafting.send(stream, pb.Credit(tokens=5))
        equal(what(answer), what(wanted))


@fact
def logprobs_come_with_each_token():
    off, on = daemons()
    with off, on, off.client() as plain, on.client() as drafting:
        off.wait_ready(), on.wait_ready()
        body = generate(PROMPTS[0], temperature=0.0, max_tokens=30, logprobs=True)
        answer, wanted = read(drafting, body), read(plain, body)
        equal(what(answer), what(wanted))
        equal([row.logprob for row in answer.logprobs], [row.logprob for row in wanted.logprobs])
        holds(len(answer.logprobs) == 30 and all(row.logprob < 0 for row in answer.logprobs), answer.logprobs)


if __name__ == "__main__":
    tap.main()
