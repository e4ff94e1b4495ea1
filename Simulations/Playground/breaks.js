'use strict';
// Rules that are switched off: right and broken side by side, and the search for harm. It uses what
// page.js has.

// What the lessons say of a mutant.
function told(mutant) {
  const found = lessons.flatMap(one => one.breaks).find(one => one.mutant === mutant);
  return found ? found.text : '';
}

// Shows the rules of a lesson that can be switched off.
function showBreaks() {
  $('go-on').hidden = true;
  for (const one of lesson.breaks) {
    const seen = make('div', { 'aria-live': 'polite' });
    $('scenes').append(make('div', { class: 'break' }, make('p', {}, one.text), make('div', { class: 'buttons' },
      make('button', { onclick: () => breakIt(one) }, 'Break it'),
      make('button', { onclick: () => showHarm(one, seen) }, 'Show me'),
      // The search knows no windows.
      ...(one.protocol === 'messages' ? []
        : [make('button', { onclick: () => search(one, seen) }, 'Find the shortest way')])), seen));
  }
}

function breakIt(one) {
  stopSearching();
  startAnew(one.protocol, one.clients, [], one.mutant);
}

// Does the steps of a break in both branches, and says what is to be seen.
function showHarm(one, seen) {
  breakIt(one);
  const [right, broken] = branches;
  const sights = make('ul', { class: 'sights', 'aria-label': 'What is to be seen' });
  for (const { step, sight, right: rightSight } of one.acts) {
    if (step) {
      act(step);
      continue;
    }
    const text = sight ? 'without the rule: ' + sight : 'with the rule: ' + rightSight;
    const instead = see(sight ? broken : right, sight || rightSight);
    sights.append(make('li', { class: instead ? 'missing' : sight ? 'harm' : '' },
      instead ? '✕ ' + text + ', but: ' + instead : '✓ ' + text));
  }
  seen.replaceChildren(sights);
}

// MARK: The shortest way to harm

let searching = null;  // The timer of the search that is on.

function stopSearching() {
  if (searching) clearTimeout(searching);
  searching = null;
}

// Lets the simulator look for the fewest steps that show harm, a little at a time.
function search(one, seen) {
  stopSearching();
  stop();
  const words = make('p', {}, 'Searching …');
  const cancel = make('button', { onclick: () => { stopSearching(); seen.replaceChildren(make('p', {}, 'The search was stopped.')); } }, 'Stop');
  seen.replaceChildren(words, cancel);
  machine.playground_search(send(one.protocol + ' ' + one.mutant), one.clients);
  const turn = () => {
    machine.playground_search_on(20);
    const found = JSON.parse(receive());
    words.textContent = 'Searching: ' + found.tried.toLocaleString() + ' ways tried, of ' + found.depth + ' steps now.';
    if (found.state === 'searching') {
      searching = setTimeout(turn, 0);
      return;
    }
    searching = null;
    if (found.state === 'exhausted') {
      seen.replaceChildren(make('p', {}, 'No way of up to ' + found.depth + ' steps shows harm, of '
        + found.tried.toLocaleString() + ' that were tried. Longer ones may.'));
      return;
    }
    seen.replaceChildren(
      make('p', {}, 'Found after ' + found.tried.toLocaleString() + ' ways: ' + found.harm + '.'),
      make('ol', { 'aria-label': 'The shortest way' }, ...found.steps.map(step => make('li', {}, step))),
      make('button', { onclick: () => { breakIt(one); for (const step of found.steps.concat(found.settling)) act(step); } }, 'Play it'));
  };
  searching = setTimeout(turn, 0);
}
