'use strict';
// The page of the playground. It decides nothing: it sends steps to the simulator's own code, and
// shows the state that comes back. Everything that a session is, is its list of steps.

const $ = id => document.getElementById(id);
const statuses = ['stale', 'idle', 'registering', 'registerFailed', 'live.polling', 'live.writing',
  'live.pausing', 'pollFailed', 'halted'];
const coder = new TextEncoder(), decoder = new TextDecoder();
let machine;        // What the WebAssembly module exports.
// Each: {spoken, count, mutant, steps, handle, at}. `mutant`: switches a rule off, or is empty. `at`:
// how many steps are done.
let branches = [];
let current = 0;
let timer = null;

// MARK: The simulator

async function load() {
  const text = atob($('wasm').textContent.trim());
  const packed = Uint8Array.from(text, letter => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  const bytes = await new Response(stream).arrayBuffer();
  const memory = () => machine.memory.buffer;
  const system = {
    fd_write: () => 8,
    random_get: (start, count) => {
      crypto.getRandomValues(new Uint8Array(memory(), start, count));
      return 0;
    },
    proc_exit: code => { throw new Error('the simulator ended with code ' + code); },
  };
  const module = await WebAssembly.instantiate(bytes, { wasi_snapshot_preview1: system });
  machine = module.instance.exports;
}

function send(text) {
  const bytes = coder.encode(text);
  const start = machine.playground_input(bytes.length);
  new Uint8Array(machine.memory.buffer, start, bytes.length).set(bytes);
  return bytes.length;
}

function receive() {
  const start = machine.playground_output(), count = machine.playground_output_size();
  return decoder.decode(new Uint8Array(machine.memory.buffer, start, count));
}

function begun({ spoken, count, mutant }) {
  const handle = machine.playground_open(send(spoken + ' ' + mutant), count);
  if (handle === -1) throw new Error('there is no protocol ' + spoken);
  if (handle === -2) throw new Error('this page cannot switch off ' + mutant);
  return handle;
}

function open(spoken, count, steps = [], mutant = '') {
  const branch = { spoken, count, mutant, steps, at: 0 };
  branch.handle = begun(branch);
  seek(branch, steps.length);
  return branch;
}

// Does a step; returns why it cannot be done.
function perform(branch, step) {
  machine.playground_perform(branch.handle, send(step));
  return receive();
}

// Goes to the state after so many steps.
function seek(branch, at) {
  if (at < branch.at) {
    machine.playground_close(branch.handle);
    branch.handle = begun(branch);
    branch.at = 0;
  }
  while (branch.at < at) {
    const why = perform(branch, branch.steps[branch.at]);
    if (why) say('Not done: ' + why + '.');
    branch.at += 1;
  }
}

function state(branch) {
  machine.playground_state(branch.handle);
  return JSON.parse(receive());
}

// Says what is to be seen instead; empty: it is to be seen.
function see(branch, sight) {
  machine.playground_see(branch.handle, send(sight));
  return receive();
}

// MARK: What a person does

function say(text) { $('said').textContent = text; }

// Does a step in one branch. What had been done after this point is dropped. Returns why it cannot be
// done.
function append(branch, step) {
  const why = perform(branch, step);
  if (why) return why;
  branch.steps = branch.steps.slice(0, branch.at).concat(step);
  branch.at = branch.steps.length;
  return '';
}

// Does a step now, in this branch or in all.
function act(step) {
  const branch = branches[current], why = append(branch, step);
  if (why) {
    say('Not done: ' + why + '.');
    stop();
    return;
  }
  const complaints = [];
  if (together()) {
    const now = state(branch).now;
    for (const other of branches) {
      if (other === branch) continue;
      // The next thing is another one there. So the same time passes.
      const same = step === 'next' ? 'wait ' + Math.max(0, now - state(other).now) + 'ms' : step;
      const why = append(other, same);
      if (why) complaints.push('Not done in ' + called(other) + ': ' + why + '.');
    }
  }
  say(complaints.join(' '));
  show();
}

// Does steps that the seed chooses.
function byChance(count) {
  const seed = Math.min(Math.max(Math.floor(Number($('seed').value)) || 0, 0), 2147483647);
  for (let done = 0; done < count; done += 1) {
    const branch = branches[current];
    machine.playground_chance(branch.handle, seed, branch.at);
    act(receive());
  }
}

// Whether each step is done in all branches.
function together() { return branches.length > 1 && $('together').checked; }

function called(branch) {
  return 'branch ' + (branches.indexOf(branch) + 1) + (branch.mutant ? ', broken' : '');
}

function stop() {
  if (timer) clearInterval(timer);
  timer = null;
  $('play').setAttribute('aria-pressed', 'false');
  $('play').textContent = 'Play';
}

function play() {
  if (timer) return stop();
  timer = setInterval(() => act('next'), Number($('speed').value));
  $('play').setAttribute('aria-pressed', 'true');
  $('play').textContent = 'Pause';
}

// With a mutant there are two branches: the right one, and the broken one, which is shown.
function startAnew(spoken, count, steps, mutant = '') {
  stop();
  const begun = [open(spoken, count, steps)];
  if (mutant) begun.push(open(spoken, count, [...steps], mutant));
  for (const branch of branches) machine.playground_close(branch.handle);
  branches = begun;
  current = branches.length - 1;
  $('together').checked = current > 0;
  say('');
  show();
}

function fork() {
  const branch = branches[current];
  const steps = branch.steps.slice(0, branch.at);
  branches.push({ ...branch, steps, handle: machine.playground_fork(branch.handle) });
  current = branches.length - 1;
  say('');
  show();
}

function hash() {
  const branch = branches[current];
  return '#' + [branch.spoken, branch.count,
    branch.steps.slice(0, branch.at).map(encodeURIComponent).join(','),
    ...(branch.mutant ? [branch.mutant] : [])].join('&');
}

function readHash() {
  const [spoken, count, steps = '', mutant = ''] = location.hash.slice(1).split('&');
  if (![...$('protocol').options].some(option => option.value === spoken)) return null;
  return [spoken, Number(count) || 1, steps ? steps.split(',').map(decodeURIComponent) : [], mutant];
}

// Plays a text from its beginning: a line for the world, then steps, and what is to be seen.
function playText(text) {
  const head = text.match(/^world (\S+) clients=([1-4])$/m);
  if (!head || ![...$('protocol').options].some(option => option.value === head[1])) {
    return say('A text begins with a line such as: world event-queue clients=2');
  }
  startAnew(head[1], Number(head[2]), []);
  let wrong = '';
  for (const [index, line] of text.split('\n').entries()) {
    if (wrong || !line.trim() || /^(#|  |world )/.test(line)) continue;
    const branch = branches[current], sight = line.match(/^see (.*)/);
    if (sight) {
      machine.playground_see(branch.handle, send(sight[1]));
      wrong = receive() && 'expected ' + sight[1] + ', found ' + receive();
    } else {
      wrong = perform(branch, line);
      if (!wrong) branch.at = branch.steps.push(line);
    }
    if (wrong) wrong = 'Line ' + (index + 1) + ': ' + wrong + '.';
  }
  show();
  say(wrong);
}

// MARK: Lessons

let lessons = [], lesson = null, scene = 0;

function begin(index) {
  lesson = lessons[index];
  scene = 0;
  stopSearching();
  $('lesson').value = String(index);
  startAnew(lesson.protocol, lesson.clients, []);
  $('scenes').replaceChildren(make('div', {}, make('p', { class: 'complaint' }, lesson.complaint)));
  $('go-on').hidden = false;
  $('go-on').textContent = 'Go on';
}

// Tells a scene, does its steps, and says what is to be seen.
function goOn() {
  const { text, question, acts } = lesson.scenes[scene];
  const box = make('div', {}, make('p', {}, text));
  const sights = make('ul', { class: 'sights', 'aria-label': 'What is to be seen' });
  for (const one of acts) {
    if (one.step) {
      act(one.step);
      continue;
    }
    const instead = see(branches[current], one.sight);
    sights.append(make('li', { class: instead ? 'missing' : '' },
      instead ? '✕ ' + one.sight + ', but: ' + instead : '✓ ' + one.sight));
  }
  if (sights.children.length) box.append(sights);
  if (question) {
    box.append(make('p', { class: 'question' }, question));
    box.append(make('label', {}, 'What do you expect? ', make('input', { type: 'text', size: '40' })));
  }
  scene += 1;
  if (scene === lesson.scenes.length) {
    $('go-on').hidden = true;
    box.append(make('p', {}, 'That was it. Go back to any step and try something else: lose another message, crash, fork. Or switch the rule off, and find the harm:'));
  }
  $('scenes').append(box);
  if (scene === lesson.scenes.length) showBreaks();
}

// MARK: What a person sees

function make(name, attributes = {}, ...inside) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === 'onclick') element.onclick = value;
    else if (value !== null && value !== false) element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...inside);
  return element;
}

function clock(at) {
  const text = String(Math.floor(at / 60000)).padStart(2, '0');
  return text + ':' + String(Math.floor(at / 1000) % 60).padStart(2, '0') + '.'
    + String(at % 1000).padStart(3, '0');
}

function fields(item) {
  if (item.gap) return 'a gap: ' + item.gap + ' not known';
  if (item.fields && item.fields.topic) return item.item + ' (' + item.fields.topic + '): ' + item.fields.title;
  if (item.former && !item.fields) return item.item + ', no longer held';
  return 'item ' + item.item + ': ' + Object.entries(item.fields).map(
    ([name, value]) => name === 'title' ? value : name + ' ' + value).join(', ');
}

function list(items, nothing) {
  if (!items || !items.length) return [make('li', { class: 'none' }, nothing)];
  return items.map(item => make('li', { class: item.gap ? 'gap' : item.former ? 'former' : null },
    (item.former ? 'formerly ' : '') + fields(item)));
}

function button(label, step, extra = {}) {
  return make('button', { onclick: () => act(step), ...extra }, label);
}

function fact(name, value) { return [make('dt', {}, name), make('dd', {}, value)]; }

function edits(client) {
  const here = client.number, who = 'client ' + here, items = client.items || [];
  const name = make('input', { type: 'text', 'aria-label': 'Title, client ' + here, size: '9', value: 'Milk' });
  const which = make('select', { 'aria-label': 'Item to change, client ' + here },
    ...items.map(item => make('option', { value: item.item }, 'item ' + item.item)));
  const row = make('div', { class: 'buttons' }, name,
    make('button', { onclick: () => act(who + ' creates ' + (name.value || 'Milk')) }, 'Create'));
  if (items.length) {
    row.append(which,
      make('button', { onclick: () => act(who + ' renames item ' + which.value + ' to ' + (name.value || 'Tea')) }, 'Rename'),
      make('button', { onclick: () => act(who + ' deletes item ' + which.value) }, 'Delete'));
  }
  return row;
}

const known = { '#': 'post', '=': 'none', ':': 'none', '[': 'none', ']': 'none', o: 'held', '-': 'held old', '.': '' };

// The window of a client on a list of posts, with what is known of the list.
function look(client) {
  const here = client.number, who = 'client ' + here, open = client.window;
  const box = make('div', {});
  const topic = make('input', { type: 'text', 'aria-label': 'Topic to open, client ' + here, size: '6', value: 'lunch' });
  const post = make('input', { type: 'text', 'aria-label': 'Post to jump to, client ' + here, size: '3', value: '3' });
  if (open) {
    const [bar, span] = open.bar.split(' ');
    box.append(make('p', { class: 'hint' }, 'A window on ' + open.list + '. Below, what is known of IDs ' + span
      + ': a full bar is a post, half a bar is known to have none, a line is not known.'),
      make('div', { class: 'knowledge', role: 'img', 'aria-label': 'Known of ' + open.list + ': ' + open.bar },
        ...[...bar].map(mark => make('span', { class: known[mark] }))));
  }
  const row = make('div', { class: 'buttons', role: 'group', 'aria-label': 'Window, client ' + here }, topic,
    make('button', { onclick: () => act(who + ' opens topic ' + (topic.value || 'lunch')) }, 'Open topic'),
    button('Open the channel', who + ' opens the channel'));
  if (open) {
    row.append(button('Scroll up', who + ' scrolls up'), button('Scroll down', who + ' scrolls down'), post,
      make('button', { onclick: () => act(who + ' jumps to post ' + post.value) }, 'Jump to post'),
      button('Jump to the end', who + ' jumps to the end'), button('Close the window', who + ' closes its window'));
  }
  box.append(row);
  return box;
}

function changes(client) {
  const who = 'client ' + client.number;
  const all = client.pending.map(change => make('li', {},
    '#' + change.ticket + ' ' + change.change + ': ' + (change.refused ? 'impossible now' : change.stage), ' ',
    ...(change.stage === 'uncertain' ? [button('Send again', who + ' sends change ' + change.ticket + ' again')] : []),
    ...(change.stage === 'uncertain' || change.stage === 'not sent'
      ? [button('Give up', who + ' gives up change ' + change.ticket)] : [])));
  for (const aside of client.setAside) {
    all.push(make('li', {}, '#' + aside.ticket + ' ' + aside.change + ' is set aside, ' + aside.reason, ' ',
      button('Try again', who + ' sends change ' + aside.ticket + ' again'),
      button('Give up', who + ' gives up change ' + aside.ticket)));
  }
  const list = all.length
    ? [make('ul', { class: 'items', 'aria-label': 'Pending changes, client ' + client.number }, ...all)] : [];
  const undo = client.undoable ? [button('Undo ' + client.undoable, who + ' undoes')] : [];
  const redo = client.redoable ? [button('Redo ' + client.redoable, who + ' redoes')] : [];
  return make('div', {}, ...list, make('div', { class: 'buttons' }, ...undo, ...redo));
}

function card(client, now) {
  const here = client.number, who = 'client ' + here;
  const kind = !client.running ? 'trouble' : client.claim === 'connected' ? 'connected'
    : /^(connecting|unknown|resting)/.test(client.claim) ? 'waiting' : 'trouble';
  const box = make('section', { class: 'card', 'aria-labelledby': 'client-' + here });
  box.append(make('h2', { id: 'client-' + here }, 'Client ' + here));
  box.append(make('p', { class: 'banner ' + kind },
    client.running ? client.banner : 'The app does not run.'));
  if (client.running) {
    box.append(make('p', { class: 'hint' }, client.isLevel ? 'Shows what the server has.'
      : client.hasView ? 'Differs from the server.' : 'Shows nothing yet.'));
    const playsPosts = branches[current].spoken === 'messages';
    if (!playsPosts || client.window) {
      box.append(make('ul', { class: 'items', 'aria-label': 'Items, client ' + here },
        ...list(client.items, playsPosts ? 'no posts' : 'no items')));
    }
    box.append(...(playsPosts ? [look(client)] : [changes(client), edits(client)]));
    const status = client.status;
    box.append(make('ul', { class: 'statuses', 'aria-label': 'Status of the machine, client ' + here },
      ...statuses.map(name => {
        const isHere = status.startsWith(name);
        return make('li', { 'aria-current': isHere ? 'true' : null }, isHere ? status : name);
      })));
  }
  const facts = make('dl', { class: 'facts' });
  if (client.finger) facts.append(...fact('Finger', client.finger));
  facts.append(...fact('In a minute', 'asked ' + client.asked + ' times'));
  facts.append(...fact('On disk', client.disk
    ? (client.disk.finger || 'no finger') + ', written at ' + clock(client.disk.at) : 'nothing'));
  for (const timer of client.timers || []) facts.append(...fact(clock(timer.at), timer.what));
  if (client.asleepUntil) facts.append(...fact('Asleep until', clock(client.asleepUntil)));
  box.append(facts);
  const device = make('div', { class: 'buttons', role: 'group', 'aria-label': 'Device, client ' + here });
  device.append(client.online ? button('Go off line', who + ' goes off line') : button('Go on line', who + ' goes on line'));
  device.append(client.running ? button('Crash', who + ' crashes') : button('Start the app', who + ' starts'));
  device.append(client.diskFull ? button('Make room on the disk', who + "'s disk has room") : button('Fill the disk', who + "'s disk is full"));
  device.append(button('Sleep 11 min', who + ' sleeps 11min'));
  device.append(button('Clock jumps 1 h', who + "'s clock jumps 1h"));
  box.append(device);
  if (client.signals) {
    const told = make('div', { class: 'buttons', role: 'group', 'aria-label': 'The app tells client ' + here });
    for (const signal of client.signals) {
      const why = signal.ignored ? 'Changes nothing while the machine is ' + client.status : null;
      told.append(button(signal.word + (signal.ignored ? ' (ignored)' : ''), who + ' ' + signal.sentence,
        { class: signal.ignored ? 'ignored' : '', title: why }));
    }
    box.append(make('details', {}, make('summary', {}, 'The app tells its client …'), told));
  }
  return box;
}

function message(one) {
  const way = one.up ? 'Client ' + one.client + ' → server: ' : 'Server → client ' + one.client + ': ';
  return make('li', {}, make('div', {}, way + one.text + ', due at ' + clock(one.at)),
    make('div', { class: 'buttons', role: 'group', 'aria-label': 'Message ' + one.number },
      button('Arrives now', 'message ' + one.number + ' arrives'), button('Is lost', 'message ' + one.number + ' is lost'),
      button('Is repeated', 'message ' + one.number + ' is repeated')));
}

// The diagram, drawn by the simulator.
function picture() {
  const branch = branches[current];
  machine.playground_picture(branch.handle, send('Branch ' + (current + 1)));
  const box = $('picture');
  box.innerHTML = receive();
  box.scrollTop = box.scrollHeight;
}

function compare() {
  $('compare').hidden = branches.length < 2;
  if (branches.length < 2) return;
  const worlds = branches.map(state), rows = [];
  const row = (name, values) => rows.push(make('tr', {}, make('th', { scope: 'row' },
    name + (values.every(value => value === values[0]) ? '' : ' ≠')), ...values.map(value => make('td', {}, value))));
  const shown = items => (items || []).map(fields).join('; ') || 'no items';
  row('time', worlds.map(world => clock(world.now)));
  row('server', worlds.map(world => shown(world.server.items)));
  for (let index = 0; index < Math.max(...worlds.map(world => world.clients.length)); index += 1) {
    const cell = read => worlds.map(world => world.clients[index] ? read(world.clients[index]) : '');
    row('client ' + (index + 1), cell(client => shown(client.items)));
    row('its status', cell(client => client.status || 'does not run'));
    row('what it claims', cell(client => client.banner || ''));
    row('pending', cell(client => String((client.pending || []).length)));
    row('asked in the last minute', cell(client => client.asked + ' times'));
  }
  $('compare-head').replaceChildren(make('tr', {}, make('th', {}, ''),
    ...branches.map(branch => make('th', { scope: 'col' }, called(branch)))));
  $('compare-body').replaceChildren(...rows);
}

function show() {
  const branch = branches[current], world = state(branch);
  const focused = document.activeElement && document.activeElement.textContent;
  const region = document.activeElement && document.activeElement.closest('section');
  const place = region && region.getAttribute('aria-labelledby');
  $('now').textContent = clock(world.now);
  $('protocol').value = branch.spoken;
  $('count').value = String(branch.count);
  $('latency').value = String(world.latency);
  $('snapshot').value = String(world.snapshotTime);
  $('scrub').max = branch.steps.length;
  $('scrub').value = branch.at;
  $('step').textContent = 'step ' + branch.at + ' of ' + branch.steps.length
    + (branch.at ? ': ' + branch.steps[branch.at - 1] : '');
  if (document.activeElement !== $('text')) {
    $('text').value = ['world ' + branch.spoken + ' clients=' + branch.count, ...branch.steps.slice(0, branch.at), ''].join('\n');
  }
  $('truth').replaceChildren(...list(world.server.items, 'no items'));
  $('somebody').hidden = branch.spoken !== 'messages';
  $('logs').textContent = world.server.changes + (world.server.changes === 1 ? ' change' : ' changes') + '. Logs: ' + (world.server.logs.join(', ') || 'none') + '.'
    + (world.server.held.length ? ' Holds polls of client ' + world.server.held.join(', ') + '.' : '')
    + (world.server.makesSnapshotFor.length ? ' Makes a snapshot for client ' + world.server.makesSnapshotFor.join(', ') + '.' : '');
  $('clients').replaceChildren(...world.clients.map(client => card(client, world.now)));
  const open = world.messages.filter(one => one.fate === 'travels');
  $('messages').replaceChildren(...(open.length ? open.map(message) : [make('li', {}, 'Nothing.')]));
  $('talk').replaceChildren(...world.notes.slice(-300).reverse().map(note => make('li', {},
    make('span', { class: 'at' }, clock(note.at) + ' '),
    make('strong', {}, note.who), ' ' + note.text)));
  $('branches').replaceChildren(...(branches.length < 2 ? [] : branches.map((_, index) => make('button',
    { 'aria-pressed': String(index === current), onclick: () => { stop(); current = index; show(); } },
    called(branches[index]).replace('b', 'B')))));
  $('together-label').hidden = branches.length < 2;
  $('rule').hidden = !branch.mutant;
  $('rule').textContent = branch.mutant ? 'In this branch a rule is switched off. ' + told(branch.mutant) : '';
  picture();
  $('settings').replaceChildren(...world.settings.flatMap(one => fact(one.name, one.value)));
  compare();
  if (place && document.activeElement === document.body) {  // The button that was pressed was made anew.
    const again = [...document.querySelectorAll('[aria-labelledby="' + place + '"] button')]
      .find(one => one.textContent === focused);
    if (again) again.focus();
  }
}

load().then(() => {
  for (const one of document.querySelectorAll('[data-step]')) one.onclick = () => act(one.dataset.step);
  $('next').onclick = () => act('next');
  $('chance').onclick = () => byChance(10);
  $('do').onclick = () => act($('typed').value);
  $('typed').onkeydown = event => { if (event.key === 'Enter') act($('typed').value); };
  $('play-text').onclick = () => playText($('text').value);
  $('play').onclick = play;
  $('speed').onchange = () => { if (timer) { stop(); play(); } };
  $('latency').onchange = () => act('messages take ' + $('latency').value + 'ms');
  const post = () => 'post ' + $('post-number').value;
  $('post').onclick = () => act('somebody posts ' + $('post-text').value + ' in ' + $('post-topic').value);
  $('post-change').onclick = () => act('somebody changes ' + post() + ' to ' + $('post-text').value);
  $('post-move').onclick = () => act('somebody moves ' + post() + ' to ' + $('post-topic').value);
  $('post-delete').onclick = () => act('somebody deletes ' + post());
  $('snapshot').onchange = () => act('snapshots take ' + $('snapshot').value + 'ms');
  $('new').onclick = () => {
    $('scenes').replaceChildren();
    $('go-on').hidden = true;
    startAnew($('protocol').value, Number($('count').value), []);
  };
  $('protocol').onchange = $('new').onclick;
  $('count').onchange = $('new').onclick;
  $('fork').onclick = fork;
  $('scrub').oninput = () => {
    stop();
    const at = Number($('scrub').value);
    for (const branch of together() ? branches : [branches[current]]) seek(branch, Math.min(at, branch.steps.length));
    show();
  };
  $('link').onclick = async () => {
    const link = location.href.split('#')[0] + hash();
    location.hash = hash();
    try {
      await navigator.clipboard.writeText(link);
      say('The link is copied. It is in the address line, too.');
    } catch { say('The link is in the address line.'); }
  };
  machine.playground_lessons(send($('lessons').textContent));
  lessons = JSON.parse(receive());
  $('lesson').replaceChildren(...lessons.map((one, index) => make('option', { value: index }, one.title)));
  $('begin').onclick = () => begin(Number($('lesson').value));
  $('to-breaks').onclick = () => { begin(Number($('lesson').value)); showBreaks(); };
  $('go-on').onclick = goOn;
  const linked = readHash(), number = location.hash.match(/^#lesson&(\d+)$/);
  try {
    startAnew(...(linked || ['event-queue', 2, []]));
    if (number && lessons[Number(number[1]) - 1]) begin(Number(number[1]) - 1);
  } catch (error) { say(String(error)); }
}).catch(error => say('The playground cannot start: ' + error));
