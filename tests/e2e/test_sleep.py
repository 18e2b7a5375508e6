#!/usr/bin/python3
"""Sleep: the machine waits for us no longer than half a second, nothing moves meanwhile, and all goes on afterwards."""
import time

import sotto_pb2 as pb
import tap
from client import Client, generate
from daemon import Daemon
from logind import Logind
from tap import equal, fact, holds, note, within


def sleeper(logind, **more):
    return Daemon(script="always do slow 10\n", environment=logind.environment, **more)


def fall_asleep_s(logind):
    """Seconds from the signal to no lock."""
    begun = time.monotonic()
    logind.sleep()
    took = time.monotonic() - begun
    note(f"{took * 1000:.0f} ms from the signal to no lock")
    return took


@fact
def a_delay_lock_is_held_while_awake():
    with Logind() as logind, sleeper(logind):
        within(logind.held, "a lock is taken")
        what, who, mode, _ = logind.held()[0]
        equal((what, who, mode), ("sleep", "sottod", "delay"))


@fact
def an_idle_daemon_gives_its_lock_back_at_once_and_takes_it_again():
    with Logind() as logind, sleeper(logind) as daemon:
        within(logind.held, "a lock is taken")

        def is_quick():
            took = fall_asleep_s(logind)
            logind.tell(False)
            within(logind.held, "a lock is taken again")
            return took < 0.5
        within(is_quick, "it gives its lock back at once")
        holds("sleep-ends" in daemon.log(), daemon.log())


@fact
def a_running_answer_stands_still_and_goes_on_with_the_same_tokens():
    with Logind() as logind, sleeper(logind) as daemon, daemon.client() as client:
        daemon.wait_ready()
        within(logind.held, "a lock is taken")
        whole = client.generate("count", max_tokens=60)

        def is_quick():
            stream = client.ask(generate("count", max_tokens=60))
            client.answer(stream, 5)
            took = fall_asleep_s(logind)
            with daemon.client() as other:
                before = other.one(pb.Status())
                time.sleep(0.3)
                after = other.one(pb.Status())
            equal(after.engines[0].steps, before.engines[0].steps, "steps while asleep")
            equal([(place.mode, place.cause) for place in after.governor], [("paused", "sleep")] * 2)
            logind.tell(False)
            equal(client.answer(stream).tokens, whole.tokens)
            within(logind.held, "a lock is taken again")
            return took < 0.5
        within(is_quick, "the machine does not wait for the answer")


@fact
def a_sleep_that_is_called_off_costs_nothing_but_the_pause():
    with Logind() as logind, sleeper(logind) as daemon, daemon.client() as client:
        daemon.wait_ready()
        within(logind.held, "a lock is taken")
        logind.tell(True)
        logind.tell(False)
        equal(client.generate("go on", max_tokens=5).reason, "FINISH_LENGTH")
        within(logind.held, "a lock is held")


@fact
def without_logind_the_daemon_serves():
    with Logind(speaks=False) as logind, sleeper(logind) as daemon, daemon.client() as client:
        daemon.wait_ready()
        equal(client.generate("hello", max_tokens=3).reason, "FINISH_LENGTH")
        within(lambda: "sleep of the machine is not announced" in daemon.log(), "it says so")


@fact
def without_a_bus_the_daemon_serves():
    with Daemon(script="", environment={"DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/no/such/bus"}) as daemon:
        daemon.wait_ready()
        with Client(daemon.socket) as client:
            equal(client.generate("hello", max_tokens=3).reason, "FINISH_LENGTH")
        holds("no system bus" in daemon.log(), daemon.log())


@fact
def a_bus_that_ends_in_mid_sleep_wakes_the_daemon():
    with Logind() as logind, sleeper(logind) as daemon, daemon.client() as client:
        daemon.wait_ready()
        within(logind.held, "a lock is taken")
        logind.sleep()
        logind.bus_process.terminate()
        equal(client.generate("hello", max_tokens=3).reason, "FINISH_LENGTH")


if __name__ == "__main__":
    tap.main()
