"""Drives the playground in a headless Chromium, as a person would, and looks at what it shows.

Usage: drive.py PAGE FOLDER [DIGESTS]. Screenshots are left in FOLDER. DIGESTS: what native code tells
of seeds, a line each; the page must tell the same. Needs selenium, chromium, chromedriver.
"""

import json
import shutil
import sys
import time

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

page = "file://" + sys.argv[1]
folder = sys.argv[2]
protocols = ["event-queue", "client-view", "record-sync", "table-sync", "event-stream", "messages"]
trouble = [
    "wait 2min", "client 1 creates Milk", "next", "next", "client 2 goes off line",
    "client 1 creates Tea", "wait 30s", "client 1 crashes", "client 1 starts",
    "the server restarts and forgets its clients", "client 2 goes on line",
    "the server forgets its logs", "wait 20min",
]
trouble_with_posts = [
    "wait 2min", "client 1 opens topic lunch", "client 2 opens the channel", "next", "next",
    "client 2 goes off line", "somebody deletes post 39", "client 2 jumps to post 3", "wait 30s",
    "client 1 crashes", "client 1 starts", "client 1 opens topic lunch", "client 1 jumps to post 9",
    "somebody moves post 10 to dinner", "the server restarts and forgets its clients",
    "client 2 goes on line", "the server forgets its logs", "wait 20min", "client 1 scrolls down",
    "somebody posts Hello in lunch", "wait 20min",
]


def fail(what):
    sys.exit("playground: " + what)


def browser(width, height, dark=False):
    options = Options()
    options.binary_location = shutil.which("chromium")
    for word in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]:
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    one = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    one.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
    one.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
        {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
    return one


def until(what, condition, seconds=120):
    start = time.time()
    while time.time() - start < seconds:
        if condition():
            return
        time.sleep(0.02)
    fail("waited in vain until " + what)


def open_page(one, steps=None, spoken="event-queue", clients=2):
    link = ""
    if steps is not None:
        words = ",".join(step.replace(" ", "%20") for step in steps)
        link = "#%s&%d&%s" % (spoken, clients, words)
    one.get("about:blank")
    start = time.time()
    one.get(page + link)
    until("the clients show", lambda: one.find_elements(By.CSS_SELECTOR, "#clients section"))
    return time.time() - start


def press(one, name, index=0):
    found = one.find_elements(By.XPATH, '//button[text()="%s"]' % name)
    if len(found) <= index:
        fail("there is no button " + name)
    one.execute_script("arguments[0].scrollIntoView({block: 'center'})", found[index])
    found[index].click()


def state(one):
    return json.loads(one.execute_script("return JSON.stringify(state(branches[current]))"))


def check_console(one):
    errors = [entry for entry in one.get_log("browser") if entry["level"] == "SEVERE"]
    if errors:
        fail("the console has errors: %s" % errors)


contrasts = """
  const rgb = text => (text.match(/[\\d.]+/g) || [0, 0, 0]).map(Number);
  const shade = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const ground = element => {
    for (let e = element; e; e = e.parentElement) {
      const colour = rgb(getComputedStyle(e).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  let worst = [99, ''];
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    if (!own || element.closest('script, style, noscript, option') || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const ink = rgb(element.closest('svg') ? style.fill : style.color);
    const [one, two] = [shade(ink), shade(ground(element))].sort((a, b) => b - a);
    const ratio = (one + .05) / (two + .05);
    if (ratio < worst[0]) worst = [ratio, element.textContent.slice(0, 40)];
  }
  return worst;
"""


def check_looks(width, height, dark, name, steps, spoken):
    one = browser(width, height, dark)
    open_page(one, steps, spoken)
    check_look(one, width, name)
    one.execute_script("begin(0); showBreaks()")
    press(one, "Show me")
    check_look(one, width, name + "-broken")
    one.quit()


def check_look(one, width, name):
    overflow = one.execute_script("return document.documentElement.scrollWidth") - width
    if overflow > 0:
        fail("at a width of %d the page is %d wider" % (width, overflow))
    shown = one.execute_script(
        "return [...document.querySelectorAll('[hidden]')].filter(e => e.checkVisibility()).map(e => e.id)")
    if shown:
        fail("what is hidden is shown: %s (%s)" % (shown, name))
    ratio, text = one.execute_script(contrasts)
    if ratio < 4.5:
        fail("contrast %.2f of “%s” (%s)" % (ratio, text, name))
    tall = one.execute_script("return document.documentElement.scrollHeight")
    one.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": min(tall, 6000), "deviceScaleFactor": 1, "mobile": width < 600})
    one.save_screenshot("%s/%s.png" % (folder, name))
    check_console(one)
    print("playground: %s: worst contrast %.1f" % (name, ratio))


def check_controls(one):
    """Every control that the keyboard reaches has a role and a name."""
    tree = one.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    controls = 0
    for node in tree:
        properties = {p["name"]: p["value"].get("value") for p in node.get("properties", [])}
        if node.get("ignored") or not properties.get("focusable"):
            continue
        role = node.get("role", {}).get("value", "")
        name = node.get("name", {}).get("value", "").strip()
        if role in ("RootWebArea", "option", "MenuListOption"):
            continue
        controls += 1
        if not role or role == "generic" or not name:
            fail("a control without role or name: %s" % node)
    reached = set()
    body = one.find_element(By.TAG_NAME, "body")
    one.execute_script("document.activeElement.blur()")
    for _ in range(controls + 5):
        one.switch_to.active_element.send_keys(Keys.TAB)
        reached.add(one.execute_script("const e = document.activeElement; return e.outerHTML"))
    if len(reached) < controls * 0.6:  # Both clients have some controls that read the same.
        fail("Tab reaches %d of %d controls" % (len(reached), controls))
    return controls


one = browser(1400, 1000)
first = open_page(one)
print("playground: the first state shows after %.0f ms" % (first * 1000))

for spoken in protocols:
    open_page(one, trouble_with_posts if spoken == "messages" else trouble, spoken)
    now = state(one)
    for client in now["clients"]:
        if not client["isLevel"] or client["claim"] != "connected":
            fail("%s: after all trouble client %s has %s" % (spoken, client["number"], client))
        if not client["items"] or any("gap" in item for item in client["items"]):
            fail("%s: client %s shows %s" % (spoken, client["number"], client["items"]))
    if len(now["server"]["items"]) == 0:
        fail("%s: nothing was made" % spoken)

open_page(one)
count = len(one.find_elements(By.CSS_SELECTOR, "#lesson option"))
for number in range(count):
    one.get("about:blank")
    one.get(page + "#lesson&%d" % (number + 1))
    until("the lesson begins", lambda: one.find_elements(By.CSS_SELECTOR, ".complaint"))
    presses = 0
    while one.find_element(By.ID, "go-on").is_displayed():
        press(one, "Go on")
        presses += 1
    missing = one.find_elements(By.CSS_SELECTOR, ".missing")
    if presses < 2 or missing or not one.find_elements(By.CSS_SELECTOR, ".sights li"):
        fail("lesson %d: %s" % (number + 1, [element.text for element in missing]))
print("playground: %d lessons run to their ends" % count)

open_page(one, ["wait 1s"], "messages", 1)
press(one, "Open topic")
if "a gap" not in one.find_element(By.ID, "clients").text:
    fail("a window without a page shows no gap")
press(one, "1 s passes")
press(one, "Scroll up")
press(one, "Deletes it")
press(one, "1 s passes")
if "post 34" not in one.find_element(By.ID, "clients").text or state(one)["clients"][0]["items"][-1].get("gap"):
    fail("the window shows no posts after its page has come")
check_controls(one)

open_page(one, ["wait 1s", "client 1 creates Milk"])
one.find_element(By.XPATH, "//summary[text()='This session as text']").click()
text = one.find_element(By.ID, "text")
if text.get_attribute("value") != "world event-queue clients=2\nwait 1s\nclient 1 creates Milk\n":
    fail("the session as text is " + text.get_attribute("value"))
text.send_keys("wait 1s\nsee client 2 shows Milk\nclient 2 renames item 1 to Tea\nsee the server has Tea\n")
press(one, "Play this text")
said = one.find_element(By.ID, "said").text
if said != "Line 7: expected the server has Tea, found Milk." or state(one)["clients"][1]["pending"] == []:
    fail("a text is played, and it says: " + said)
typed = one.find_element(By.ID, "typed")
typed.clear()
typed.send_keys("client 2 dances", Keys.ENTER)
if "expected creates, renames" not in one.find_element(By.ID, "said").text:
    fail("a step that is none is not explained")
typed.clear()
typed.send_keys("wait 1s", Keys.ENTER)
if state(one)["server"]["items"][0]["fields"]["title"] != "Tea":
    fail("a step that is typed is not done")
def texts(css):
    return [element.text for element in one.find_elements(By.CSS_SELECTOR, css)]


# Each rule that can be switched off: the harm shows, and only where it is off.
breaks = 0
for number in range(count):
    one.get("about:blank")
    one.get(page + "#lesson&%d" % (number + 1))
    until("the lesson begins", lambda: one.find_elements(By.CSS_SELECTOR, ".complaint"))
    press(one, "Go to what can be broken")
    blocks = len(one.find_elements(By.CSS_SELECTOR, ".break"))
    if blocks == 0:
        fail("lesson %d has nothing to break" % (number + 1))
    for index in range(blocks):
        press(one, "Show me", index)
        breaks += 1
        place = ".break:nth-of-type(%d) " % (index + 2)  # After the complaint.
        if texts(place + ".missing") or not texts(place + ".harm"):
            fail("lesson %d, break %d: %s" % (number + 1, index + 1, texts(place + "li")))
        if "≠" not in one.find_element(By.ID, "compare-body").text:
            fail("lesson %d, break %d: no difference shows" % (number + 1, index + 1))
        if not one.find_element(By.ID, "rule").is_displayed():
            fail("it does not say that a rule is switched off")
print("playground: %d rules are switched off, and the harm shows" % breaks)

# The first lesson once more, by hand, and with the search.
one.get("about:blank")
one.get(page + "#lesson&1")
until("the lesson begins", lambda: one.find_elements(By.CSS_SELECTOR, ".complaint"))
press(one, "Go to what can be broken")
press(one, "Break it")
press(one, "Crash")
for name in ["1 s passes", "Create", "1 s passes", "Start the app", "1 s passes"]:
    press(one, name)
if [len(client["items"]) for client in state(one)["clients"]] != [0, 1]:
    fail("played by hand, the first lesson's rule does no harm: %s" % state(one)["clients"])
right = one.execute_script("return state(branches[0]).clients.map(client => client.items.length)")
if right != [1, 1]:
    fail("beside it, the right branch shows %s" % right)
broken = state(one)
press(one, "Copy a link to this")
address = one.execute_script("return location.href")
one.get("about:blank")
one.get(address)
until("the link's session shows", lambda: one.find_elements(By.CSS_SELECTOR, "#clients section"))
if state(one) != broken:
    fail("the link to a broken session does not lead to it")
one.get("about:blank")
one.get(address.rsplit("&", 1)[0] + "&no-such-mutant")
until("a mutant that is not there is refused", lambda: "no-such-mutant" in one.find_element(By.ID, "said").text)
one.get("about:blank")
one.get(page + "#lesson&1")
until("the lesson begins", lambda: one.find_elements(By.CSS_SELECTOR, ".complaint"))
press(one, "Go to what can be broken")
start = time.time()
press(one, "Find the shortest way")
until("a way is found", lambda: one.find_elements(By.CSS_SELECTOR, ".break ol"), 1200)
press(one, "Play it")
if "≠" not in one.find_element(By.ID, "compare-body").text:
    fail("the way that was found shows no difference")
print("playground: the shortest way was found after %.0f s: %s" % (
    time.time() - start, ", ".join(texts(".break ol li"))))

open_page(one)
press(one, "1 s passes")
press(one, "Create")
for _ in range(3):
    press(one, "Next")
before = state(one)
press(one, "Next")
one.execute_script("document.getElementById('scrub').value = 5; document.getElementById('scrub').oninput()")
if state(one) != before:
    fail("going back does not lead to the state that was there")
press(one, "Fork from here")
press(one, "Is lost")
press(one, "1 s passes")
if one.find_element(By.ID, "compare").get_attribute("hidden"):
    fail("two branches are not shown side by side")
if "≠" not in one.find_element(By.ID, "compare-body").text:
    fail("two branches that differ are shown without a difference")
press(one, "Copy a link to this")
linked = state(one)
address = one.execute_script("return location.href")
one.get("about:blank")
one.get(address)
until("the link's session shows", lambda: one.find_elements(By.CSS_SELECTOR, "#clients section"))
if state(one) != linked:
    fail("the link does not lead to the same state")
press(one, "Start the app" if not linked["clients"][0]["running"] else "Crash")
print("playground: Tab walks %d controls, each with role and name" % check_controls(one))
speed = one.execute_script("""
  const handle = machine.playground_open(send('event-queue'), 2), start = performance.now();
  let count = 0;
  while (performance.now() - start < 1000) { machine.playground_perform(handle, send('next')); receive(); count += 1; }
  return count;
""")
print("playground: %d steps a second" % speed)
check_console(one)
one.quit()

if len(sys.argv) > 3:
    one = browser(1400, 1000)
    open_page(one)
    native = open(sys.argv[3]).read().split("\n")[:-1]
    for number, line in enumerate(native):
        told = one.execute_script("machine.playground_told(%d); return receive()" % (number + 1))
        if told != line:
            fail("native code tells “%s”, and the page “%s”" % (line, told))
    if len(native) < 50:
        fail("50 seeds are to be compared, not %d" % len(native))
    print("playground: %d seeds tell the same in Chromium as natively" % len(native))
    box = one.find_element(By.ID, "seed")
    box.clear()
    box.send_keys("7")
    press(one, "10 steps by chance")
    first = state(one)
    press(one, "Start anew")
    press(one, "10 steps by chance")
    if state(one) != first or one.find_element(By.ID, "step").text[:13] != "step 10 of 10":
        fail("a seed does not choose the same steps again")
    check_console(one)
    one.quit()

looks = [("", trouble[:-1] + ["wait 1s", "message 20 is lost", "next"], "event-queue"),
         ("-posts", trouble_with_posts + ["client 1 jumps to post 20"], "messages")]
for width, height, size in [(1400, 1000, "desktop"), (390, 844, "phone")]:
    for dark in [False, True]:
        for kind, steps, spoken in looks:
            check_looks(width, height, dark, size + ("-dark" if dark else "-light") + kind, steps, spoken)
print("playground: loads from disk, runs six protocols, forks, goes back, follows a link")
