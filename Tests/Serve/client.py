"""The official Python client of Zulip against `simulate serve`: registers, polls, sends, reads pages,
loses its queue, and goes on. Ends with an error if anything is not as at a real server.

SITE, EMAIL, KEY, OTHER_EMAIL and OTHER_KEY are in the environment.
"""

import json
import os
import threading
import urllib.request

import zulip

site = os.environ["SITE"]
ada = zulip.Client(site=site, email=os.environ["EMAIL"], api_key=os.environ["KEY"])
di = zulip.Client(site=site, email=os.environ["OTHER_EMAIL"], api_key=os.environ["OTHER_KEY"])


def well(answer):
    assert answer["result"] == "success", answer
    return answer


def order(name):
    """Gives an order to the server, as its page does."""
    request = urllib.request.Request(
        site + "/control/" + name, data=b"{}", headers={"X-Serve": "1"}, method="POST")
    urllib.request.urlopen(request).read()


def send(text, topic="python"):
    message = {"type": "stream", "to": "general", "topic": topic, "content": text}
    return well(di.send_message(message))["id"]


# What a client asks first.
assert ada.get_server_settings()["zulip_version"]
assert ada.feature_level == 323, ada.feature_level
assert well(ada.get_profile())["email"] == os.environ["EMAIL"]
assert [one["full_name"] for one in well(ada.get_members())["members"]][0] == "Ada"
assert well(ada.get_stream_id("general"))["stream_id"] == 1
assert len(well(ada.get_streams())["streams"]) == 3
assert {one["name"] for one in well(ada.get_subscriptions())["subscriptions"]} >= {"general"}

# Register, send, poll: both kinds of message, one event each, acknowledged by the next poll.
queue = well(ada.register(event_types=["message"], narrow=[["stream", "general"]]))
first = send("one")
second = send("two")
direct = {"type": "private", "to": [os.environ["EMAIL"]], "content": "direct"}
well(di.send_message(direct))
events = well(ada.get_events(queue_id=queue["queue_id"], last_event_id=queue["last_event_id"]))
assert [one["message"]["id"] for one in events["events"]] == [first, second], events
assert events["events"][0]["message"]["sender_full_name"] == "Di"
last = events["events"][-1]["id"]
quick = well(ada.get_events(queue_id=queue["queue_id"], last_event_id=last, dont_block=True))
assert quick["events"] == [], quick

# Pages.
page = well(ada.get_messages({
    "anchor": "newest", "num_before": 2, "num_after": 0,
    "narrow": [{"operator": "stream", "operand": "general"},
               {"operator": "topic", "operand": "Python"}]}))
assert [one["content"] for one in page["messages"]] == ["<p>one</p>", "<p>two</p>"], page
assert page["found_newest"] and not page["found_anchor"]
raw = well(ada.get_raw_message(first))
assert raw["raw_content"] == "one", raw

# Edits, flags, reactions, deletions.
well(di.update_message({"message_id": first, "content": "one, edited"}))
well(ada.add_reaction({"message_id": first, "emoji_name": "tada"}))
assert ada.add_reaction({"message_id": first, "emoji_name": "tada"})["code"] == \
    "REACTION_ALREADY_EXISTS"
well(ada.update_message_flags({"messages": [first], "op": "add", "flag": "starred"}))
one = well(ada.get_raw_message(first))["message"]
assert one["flags"] == ["starred"] and one["reactions"][0]["emoji_code"] == "1f389", one
assert ada.delete_message(second)["code"] == "BAD_REQUEST"
well(di.delete_message(second))
well(ada.set_typing_status({"op": "start", "type": "direct", "to": [11]}))
well(ada.update_presence({"status": "active", "ping_only": False}))

# The queue is lost: the error has its code, and a new register goes on.
order("expire")
lost = ada.get_events(queue_id=queue["queue_id"], last_event_id=last)
assert lost["code"] == "BAD_EVENT_QUEUE_ID" and lost["queue_id"] == queue["queue_id"], lost
assert well(ada.register(event_types=["message"]))["queue_id"] != queue["queue_id"]

# The client's own loop does all of this by itself.
heard = []
news = threading.Condition()


def hear(event):
    with news:
        heard.append(event)
        news.notify_all()


def wait_for(text):
    with news:
        found = news.wait_for(
            lambda: any(one.get("message", {}).get("content") == text for one in heard), 30)
    assert found, (text, heard)


def wait_for_queue():
    """Waits until the loop's poll waits at the server."""
    while True:
        with urllib.request.urlopen(site + "/control/state?after=0") as answer:
            if any(one["waits"] for one in json.load(answer)["queues"]):
                return


threading.Thread(
    target=lambda: ada.call_on_each_event(hear, event_types=["message"]), daemon=True).start()
wait_for_queue()
send("before")
wait_for("before")
for name in ["expire", "restart"]:
    order(name)
    wait_for_queue()
    send("after " + name)
    wait_for("after " + name)
contents = [one["message"]["content"] for one in heard if one["type"] == "message"]
assert contents == ["before", "after expire", "after restart"], contents

# A wrong key.
stranger = zulip.Client(site=site, email=os.environ["EMAIL"], api_key="x" * 32)
assert stranger.get_profile()["code"] == "UNAUTHORIZED"
print("All is well.")
