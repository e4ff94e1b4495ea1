"""A small model of registers and polls, given to Hypothesis' stateful machine.

It is written from the protocol's description, not from the library's code: a server whose queues
hold events, two clients that register a snapshot and poll from their finger, a network that loses
requests and answers, queues that expire, a server that restarts, clients that crash. The peer of
`simulate run --world directory` with the same faults, and with the same planted bugs.

    python polls.py speed --seed S --runs N --steps M    how many runs a second find nothing
    python polls.py find --seed S --plant NAME --steps M  how long until the planted bug is found

Prints one JSON object. Its times are of the processor.
"""

import argparse
import json
import time

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity, settings, strategies
from hypothesis.stateful import (
    RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test)

FAULTS = ["loss", "late-answer", "crash", "queue-expiry", "killed-server"]
PLANTS = ["lost-event", "stale-snapshot", "revived-queue"]
KEYS = 4
MOST_RUNS = 20_000  # Until a search is given up.
MOST_ROUNDS = 40  # After the faults, until every client must be up to date.


class Refused(Exception):
    """The server does not have the queue."""


class Queue:
    """What one client has not acknowledged of the events since its register."""

    def __init__(self, base):
        self.base = base  # How many changes there were when it began.
        self.changes = []  # For each event's ID, how many changes there were then.
        self.pending = []  # Pairs of ID and event.
        self.is_alive = True

    def push(self, event, changes):
        self.pending.append((len(self.changes), event))
        self.changes.append(changes)


class Server:
    """Keys with values, and the queues of its clients. A plant strikes once, if one is armed."""

    def __init__(self, plant=None):
        self.plant = plant
        self.states = [{}]  # After each change; the last one is the truth.
        self.queues = []

    @property
    def truth(self):
        return self.states[-1]

    def strikes(self, plant):
        if self.plant != plant:
            return False
        self.plant = None
        return True

    def commit(self, key, value):
        state = dict(self.truth)
        state[key] = value
        self.states.append(state)
        alive = [queue for queue in self.queues if queue.is_alive]
        if alive and self.strikes("lost-event"):
            alive = alive[1:]
        for queue in alive:
            queue.push((key, value), len(self.states) - 1)

    def begin_register(self):
        self.queues.append(Queue(len(self.states) - 1))
        return len(self.queues) - 1

    def finish_register(self, number):
        """Reads the snapshot. Events since the register began are in it and in the queue."""
        queue = self.queues[number]
        if not queue.is_alive:
            raise Refused
        state = self.truth
        if len(self.states) > 1 and self.strikes("stale-snapshot"):
            state = self.states[max(0, len(self.states) - 4)]
        return dict(state), (number, len(queue.changes) - 1)

    def poll(self, finger):
        """Forgets what is acknowledged. Returns what came after it, perhaps nothing."""
        number, last = finger
        queue = self.queues[number]
        if not queue.is_alive:
            if last >= len(queue.changes) or not self.strikes("revived-queue"):
                raise Refused
            queue.is_alive = True
            del queue.changes[last + 1:]
        queue.pending = [entry for entry in queue.pending if entry[0] > last]
        return list(queue.pending)

    def expire(self, number):
        self.queues[number].is_alive = False
        self.queues[number].pending = []

    def restart(self):
        for number in range(len(self.queues)):
            self.expire(number)

    def state_at(self, finger):
        """What a client with this finger must hold."""
        number, last = finger
        queue = self.queues[number]
        return self.states[queue.changes[last] if last >= 0 else queue.base]


class Exchange:
    """A request of a client on its way: sent, at the server, or answered."""

    def __init__(self, finger):
        self.finger = finger  # `None`: it registers.
        self.place = "sent"
        self.queue = None
        self.answer = None

    def reply(self, answer):
        self.place, self.answer = "answered", answer


class Client:
    """Registers, saves, and polls from its finger when that is saved."""

    def __init__(self):
        self.disk = None
        self.start()

    def start(self):
        self.model, self.finger = (dict(self.disk[0]), self.disk[1]) if self.disk else (None, None)
        self.is_saved = True
        self.request = None

    def can_ask(self):
        return self.request is None and self.is_saved

    def ask(self):
        self.request = Exchange(self.finger)
        return self.request

    def take(self, exchange):
        """Takes an answer, or the news that there will be none."""
        if exchange is not self.request:
            return  # It is to a request that was given up.
        self.request = None
        if exchange.answer == "failed":
            return
        if exchange.answer == "refused":
            self.model = self.finger = None
        elif exchange.finger is None:
            self.model, self.finger = exchange.answer
            self.model = dict(self.model)
        else:
            for number, (key, value) in exchange.answer:
                self.model[key] = value
                self.finger = (self.finger[0], number)
        self.is_saved = False

    def save(self):
        self.disk = (dict(self.model), self.finger) if self.finger else None
        self.is_saved = True


class Tally:
    """What all runs of the process add up to."""

    runs = 0
    steps = 0
    begun = 0.0
    found = None  # Seconds, runs, and what was wrong.
    last = None  # How long the last run was that failed: the smallest one, in the end.


class Polls(RuleBasedStateMachine):
    """Two clients of one server. After each step every client must hold the server's state at its
    finger; after the faults, the truth."""

    plant = None

    def __init__(self):
        super().__init__()
        self.server = Server(self.plant)
        self.clients = [Client(), Client()]
        self.travelling = [[], []]  # The exchanges of each client.
        self.steps = -1  # The first look is before the first step.
        self.rules = None  # The steps until the faults stop.
        self.has_failed = False
        Tally.runs += 1

    # MARK: What can happen, and to whom. If it cannot happen to the one, it happens to the other.

    def having(self, place):
        return [index for index in (0, 1) if self.first(index, place)]

    def first(self, index, place):
        return next((one for one in self.travelling[index] if one.place == place), None)

    def choose(self, client, able):
        return client if client in able else able[0]

    def asking(self):
        return [index for index in (0, 1) if self.clients[index].can_ask()]

    def unsaved(self):
        return [index for index in (0, 1) if not self.clients[index].is_saved]

    def registering(self):
        return [
            index for index in self.having("at the server")
            if self.first(index, "at the server").finger is None]

    def polls(self):
        """Those that wait for news."""
        return [
            exchange for exchange in self.travelling[0] + self.travelling[1]
            if exchange.place == "at the server" and exchange.finger is not None]

    either = strategies.sampled_from((0, 1))

    @rule(key=strategies.integers(0, KEYS - 1), value=strategies.integers(0, 99))
    def commits(self, key, value):
        self.server.commit(key, value)
        for exchange in self.polls():
            number, last = exchange.finger
            if news := [one for one in self.server.queues[number].pending if one[0] > last]:
                exchange.reply(news)

    @precondition(asking)
    @rule(client=either)
    def asks(self, client):
        client = self.choose(client, self.asking())
        self.travelling[client].append(self.clients[client].ask())

    @precondition(lambda self: self.having("sent"))
    @rule(client=either)
    def arrives(self, client):
        client = self.choose(client, self.having("sent"))
        exchange = self.first(client, "sent")
        exchange.place = "at the server"
        if exchange.finger is None:
            exchange.queue = self.server.begin_register()
            return
        try:
            events = self.server.poll(exchange.finger)
        except Refused:
            exchange.reply("refused")
        else:
            if events:
                exchange.reply(events)  # Otherwise it waits.

    @precondition(lambda self: self.registering())
    @rule(client=either)
    def reads_snapshot(self, client):
        client = self.choose(client, self.registering())
        exchange = self.first(client, "at the server")
        try:
            exchange.reply(self.server.finish_register(exchange.queue))
        except Refused:
            exchange.reply("failed")

    @precondition(lambda self: self.having("answered"))
    @rule(client=either)
    def returns(self, client):
        client = self.choose(client, self.having("answered"))
        exchange = self.first(client, "answered")
        self.travelling[client].remove(exchange)
        self.clients[client].take(exchange)

    @precondition(unsaved)
    @rule(client=either)
    def saves(self, client):
        self.clients[self.choose(client, self.unsaved())].save()

    # The faults are one rule. With a rule for each, half of all steps would be faults, and hardly a
    # client would come as far as its second poll.
    @rule(fault=strategies.sampled_from(FAULTS), client=either)
    def suffers(self, fault, client):
        exchange = next(iter(self.travelling[client]), None)
        if fault == "loss" and exchange:
            self.travelling[client].remove(exchange)
            exchange.reply("failed")
            self.clients[client].take(exchange)
        elif fault == "late-answer":
            self.clients[client].request = None  # It gives up. An answer may still come.
        elif fault == "crash":
            self.travelling[client].clear()
            self.clients[client].start()
        elif fault == "killed-server":
            self.server.restart()
            for exchange in self.polls():
                exchange.reply("failed")
        elif fault == "queue-expiry" and self.clients[client].finger:
            queue, _ = self.clients[client].finger
            self.server.expire(queue)
            for exchange in self.polls():
                if exchange.finger[0] == queue:
                    exchange.reply([])

    # MARK: What must hold

    @invariant()
    def holds_the_state_at_its_finger(self):
        self.steps += 1
        for client in self.clients:
            if client.finger is not None and client.model != self.server.state_at(client.finger):
                self.fail("a client does not hold the state at its finger")

    def teardown(self):
        try:
            if not self.has_failed:
                self.rules = self.steps
                self.settle()
                self.commits(0, 100)
                self.settle()
        finally:
            Tally.steps += self.steps

    def settle(self):
        """Without faults, everything that is on its way arrives, and every client must be level."""
        for _ in range(MOST_ROUNDS):
            moved = False
            for able, do in [
                    (self.having("sent"), self.arrives), (self.registering(), self.reads_snapshot),
                    (self.having("answered"), self.returns), (self.unsaved(), self.saves),
                    (self.asking(), self.asks)]:
                for index in able:
                    do(index)
                    self.holds_the_state_at_its_finger()
                    moved = True
            if not moved and all(client.model == self.server.truth for client in self.clients):
                return
            if not moved:
                break
        self.fail("a client does not become up to date")

    def fail(self, what):
        self.has_failed = True
        Tally.last = {"steps": self.steps, "rules": self.rules or self.steps}
        if Tally.found is None:
            Tally.found = (time.process_time() - Tally.begun, Tally.runs, what)
        raise AssertionError(what)


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("what", choices=["speed", "find"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plant", choices=PLANTS)
    parser.add_argument("--runs", type=int, default=MOST_RUNS)
    parser.add_argument("--steps", type=int, default=50)
    options = parser.parse_args()
    Polls.plant = options.plant
    phases = [Phase.generate] + ([Phase.shrink] if options.what == "find" else [])
    how = settings(
        max_examples=options.runs, stateful_step_count=options.steps, database=None, deadline=None,
        phases=phases, verbosity=Verbosity.quiet, report_multiple_bugs=False, print_blob=False,
        suppress_health_check=list(HealthCheck))
    Tally.begun = time.process_time()
    try:
        run_state_machine_as_test(hypothesis.seed(options.seed)(Polls), settings=how)
    except AssertionError:
        pass
    seconds = time.process_time() - Tally.begun
    told = {
        "version": hypothesis.__version__, "runs": Tally.runs, "steps": Tally.steps,
        "seconds": seconds, "found": None}
    if Tally.found is not None:
        after, runs, what = Tally.found
        told["found"] = {
            "seconds": after, "runs": runs, "what": what, "shrinkingSeconds": seconds - after,
            **Tally.last}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
