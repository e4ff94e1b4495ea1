"""The edits of `simulate compare`, made to documents of pycrdt (Yjs).

Each device has a document, and so has a server, which passes on what it gets. They speak Yjs' sync
protocol over connections: when one opens, both sides tell what they have and get what they lack;
then each change is one message. A connection keeps order and breaks when a message is lost, when
the device goes off line, and when the server restarts. The device opens the next one a second
later, or when it is back.

    python edits.py FILE            what it costs, over the workloads of `compare --workload FILE`
    python edits.py FILE --idle     reads FILE, makes nothing: what Python alone takes

Prints one JSON object.
"""

import argparse
import heapq
import importlib.metadata
import itertools
import json
import random

import pycrdt
from pycrdt import Doc, Map, YSyncMessageType

PAUSE = 1000  # Milliseconds from a broken connection until the device opens the next.
EMPTY = b"\x00\x00"


class Workload:
    """One seed's lines of the file."""

    def __init__(self, head):
        self.seed, self.devices = head["seed"], head["devices"]
        self.calm, self.end = head["calm"], head["end"]
        self.lines = []
        self.losses = {}
        self.holds = {}

    def add(self, line):
        if "loses" in line:
            self.losses[line["at"], line["device"]] = line["loses"]
        elif "holds" in line:
            self.holds[line["protocol"]] = line["holds"]
        else:
            self.lines.append(line)

    def loses(self, at, device):
        return self.losses.get((at // 250 * 250, device))


def workloads(path):
    found = []
    with open(path) as file:
        for line in map(json.loads, file):
            if "devices" in line:
                found.append(Workload(line))
            else:
                found[-1].add(line)
    return found


class Replica:
    """A document of items. It collects the updates that others must get."""

    def __init__(self, client_id, stored=None):
        self.doc = Doc(client_id=client_id)
        self.items = self.doc.get("items", type=Map)
        if stored:
            self.doc.apply_update(stored)
        self.updates = []
        self.subscription = self.doc.observe(lambda event: self.updates.append(event.update))

    def new_updates(self):
        """What has changed since the last call, as messages."""
        new, self.updates = self.updates, []
        return [pycrdt.create_update_message(update) for update in new if update != EMPTY]

    def shown(self):
        return {number: dict(item) for number, item in self.items.to_py().items()}

    def has(self, item):
        return str(item) in self.items

    def value(self, item, field):
        return self.items[str(item)].get(field) if self.has(item) else None

    def make(self, line):
        key = str(line["item"])
        if line["does"] == "create":
            self.items[key] = Map(line["fields"])
        elif line["does"] == "delete":
            del self.items[key]
        else:
            for field, value in line["fields"].items():
                self.items[key][field] = value


class Device:
    def __init__(self, replica):
        self.replica = replica
        self.is_online = True
        self.connection = 0  # Which of its connections this is; each message belongs to one.
        self.is_open = False
        self.is_merged = False  # Whether the server has got what it lacked by this connection.
        self.unseen = []  # Others' edits, with their moments, that it does not show.
        self.undelivered = []  # Its own, that the server does not have.
        self.shown = None


class Run:
    """One workload, hosted in the order of its moments. Nothing in it waits for a clock."""

    def __init__(self, workload):
        self.workload = workload
        self.random = random.Random(workload.seed)
        self.server = Replica(self.new_id())
        self.devices = [Device(Replica(self.new_id())) for _ in range(workload.devices)]
        self.agenda = []
        self.order = itertools.count()
        self.now = 0
        self.arrivals = {}  # The latest, for each direction of each connection.
        self.changes = self.messages = self.up = self.down = 0
        self.overruled = 0  # The values that came to nothing.
        self.deleted = 0  # Those of them whose item was gone.
        self.delays = []
        self.last_change = workload.calm

    def new_id(self):
        """As Yjs draws it for each session."""
        return self.random.getrandbits(32)

    def add(self, at, do, *what):
        heapq.heappush(self.agenda, (at, next(self.order), do, what))

    def run(self):
        for line in self.workload.lines:
            if "does" in line:
                self.add(line["at"], self.edits, line)
            else:
                self.add(line["at"], getattr(self, line["happens"].replace("-", "_")), line)
        self.add(self.workload.calm, self.calms)
        for device in range(len(self.devices)):
            self.add(0, self.opens, device)
        while self.agenda and self.agenda[0][0] <= self.workload.end:
            self.now, _, do, what = heapq.heappop(self.agenda)
            do(*what)
        expected = self.server.shown()
        return all(device.replica.shown() == expected for device in self.devices)

    # MARK: Users and devices

    def edits(self, line):
        """A user can only change what they see."""
        maker = self.devices[line["device"]]
        if line["does"] != "create" and not maker.replica.has(line["item"]):
            return
        self.changes += 1
        maker.replica.make(line)
        maker.undelivered.append((self.now, line))
        if maker.is_online and "fields" in line:
            for other in self.devices:
                if other is not maker and other.is_online:
                    other.unseen.append((self.now, line))
        self.publish(line["device"])
        self.look(maker)

    def publish(self, number):
        """Sends the device's new updates. Off line they are in its document, for the next time."""
        messages = self.devices[number].replica.new_updates()
        if self.devices[number].is_open:
            for message in messages:
                self.send(number, message, upward=True)

    def goes_offline(self, line):
        self.devices[line["device"]].is_online = False
        self.breaks(line["device"])

    def comes_back(self, line):
        self.devices[line["device"]].is_online = True
        self.opens(line["device"])

    def crashes(self, line):
        """The process dies. Its document was on the disk."""
        device = self.devices[line["device"]]
        device.replica = Replica(self.new_id(), device.replica.doc.get_update())
        self.breaks(line["device"])

    def server_restarts(self, line):
        """Connections break. Its document was on the disk, too."""
        self.server = Replica(self.new_id(), self.server.doc.get_update())
        for number in range(len(self.devices)):
            self.breaks(number)

    def calms(self):
        for device in self.devices:
            device.shown = device.replica.shown()

    def look(self, device):
        left = []
        for at, line in device.unseen:
            if any(device.replica.value(line["item"], field) == value
                   for field, value in line["fields"].items()):
                self.delays.append(self.now - at)
            else:
                left.append((at, line))
        device.unseen = left
        if self.now >= self.workload.calm:
            shown = device.replica.shown()
            if shown != device.shown:
                self.last_change = self.now
            device.shown = shown

    # MARK: Connections

    def opens(self, number):
        device = self.devices[number]
        if not device.is_online or device.is_open:
            return
        device.connection += 1
        device.is_open, device.is_merged = True, False
        device.replica.new_updates()  # They are part of what the server is told to ask for.
        self.send(number, pycrdt.create_sync_message(device.replica.doc), upward=True)

    def breaks(self, number):
        device = self.devices[number]
        device.is_open = False
        device.connection += 1
        self.add(self.now + PAUSE, self.opens, number)

    def send(self, number, message, upward):
        device = self.devices[number]
        if upward:
            self.messages += 1
            self.up += len(message)
        else:
            self.down += len(message)
        if self.workload.loses(self.now, number) == ("request" if upward else "answer"):
            self.breaks(number)
            return
        way = (number, device.connection, upward)
        arrival = max(self.now + self.random.randint(20, 119), self.arrivals.get(way, 0))
        self.arrivals[way] = arrival
        self.add(arrival, self.arrives, number, device.connection, message, upward, self.now)

    def arrives(self, number, connection, message, upward, sent):
        device = self.devices[number]
        if not device.is_open or device.connection != connection:
            return
        replica = self.server if upward else device.replica
        reply = pycrdt.handle_sync_message(message[1:], replica.doc)
        if reply is not None:
            self.send(number, reply, upward=not upward)
            if upward:  # The server asks in turn for what it lacks.
                self.send(number, pycrdt.create_sync_message(self.server.doc), upward=False)
        if not upward:
            device.replica.new_updates()  # They came from the server.
            self.look(device)
            return
        for update in self.server.new_updates():
            for other, receiver in enumerate(self.devices):
                if other != number and receiver.is_open:
                    self.send(other, update, upward=False)
        # An update that has overtaken older ones waits for them, at the server.
        device.is_merged |= message[1] == YSyncMessageType.SYNC_STEP2
        if device.is_merged:
            self.delivered(device, sent)

    def delivered(self, device, sent):
        """Counts the edits of what the server has merged that have come to nothing there."""
        own = [line for at, line in device.undelivered if at <= sent]
        device.undelivered = [(at, line) for at, line in device.undelivered if at > sent]
        deleted = {line["item"] for line in own if line["does"] == "delete"}
        last = {
            (line["item"], field): value
            for line in own if line["does"] == "set" for field, value in line["fields"].items()}
        for (item, field), value in last.items():
            if item not in deleted and self.server.value(item, field) != value:
                self.overruled += 1
                self.deleted += not self.server.has(item)

    @property
    def stored(self):
        sizes = [len(device.replica.doc.get_update()) for device in self.devices]
        return sum(sizes) / len(sizes)


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("file")
    parser.add_argument("--idle", action="store_true")
    options = parser.parse_args()
    every = workloads(options.file)
    told = {"version": importlib.metadata.version("pycrdt"), "workloads": len(every)}
    if options.idle:
        print(json.dumps(told))
        return
    runs = []
    for workload in every:
        run = Run(workload)
        told.setdefault("converges", True)
        told["converges"] &= run.run()
        runs.append(run)
        ended = run.server.shown()
        for protocol, held in workload.holds.items():
            counts = told.setdefault("differing", {}).setdefault(protocol, [0, 0])
            numbers = held.keys() | ended.keys()
            counts[0] += sum(held.get(number) != ended.get(number) for number in numbers)
            counts[1] += len(numbers)
        run.stored_bytes = run.stored
        run.devices = run.server = None

    def mean(name):
        return sum(getattr(run, name) for run in runs) / len(runs)

    delays = sorted(delay for run in runs for delay in run.delays)
    told.update({
        "changes": mean("changes"), "requests": mean("messages"), "bytesUp": mean("up"),
        "bytesDown": mean("down"), "secondsToSee": delays[len(delays) // 2] / 1000,
        "secondsToConverge": max(run.last_change - run.workload.calm for run in runs) / 1000,
        "lost": mean("overruled"), "lostToDeletions": mean("deleted"),
        "bytesStored": mean("stored_bytes")})
    print(json.dumps(told))


if __name__ == "__main__":
    main()
