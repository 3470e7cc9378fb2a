// The live page: asks for the top rows, and for one player's rank, once a second while it is seen.
import { language, remember, words } from './words.js';

const pollEvery = 1000; // milliseconds
const giveUpAfter = 5000;
const boardsFor = 60_000; // boards and the ends of seasons are asked for again after this
const rowsWanted = 50;

const el = (id) => document.getElementById(id);
const still = matchMedia('(prefers-reduced-motion: reduce)');

let say = words(language());
let boards = [];
let loaded = 0; // when, by this machine's clock
let top = null; // the last answer for the top rows
let mine = null; // {user, answer, problem} of the player looked up
let clock = 0; // how far this machine's clock is ahead of the server's, in milliseconds
let offline = false;
let chosen = fromAddress();

function fromAddress() {
  const p = new URLSearchParams(location.hash.slice(1));
  return { board: p.get('board') || '', season: p.get('season') || '', user: p.get('user') || '' };
}

function toAddress() {
  const p = new URLSearchParams();
  for (const [name, value] of Object.entries(chosen)) if (value) p.set(name, value);
  history.replaceState(null, '', `#${p}`);
}

// ask resolves to {status, body}, and rejects when the server does not answer.
async function ask(path) {
  const reply = await fetch(path, { cache: 'no-store', signal: AbortSignal.timeout(giveUpAfter) });
  const date = Date.parse(reply.headers.get('Date'));
  // The header counts whole seconds, so a small difference says nothing.
  if (date) clock = Math.abs(Date.now() - date) > 2000 ? Date.now() - date : 0;
  return { status: reply.status, body: await reply.json() };
}

const boardPath = () => `/v1/boards/${encodeURIComponent(chosen.board)}`;
const seasonQuery = () => `season=${encodeURIComponent(chosen.season)}`;
const board = () => boards.find((b) => b.board === chosen.board);

async function poll() {
  try {
    if (Date.now() - loaded > boardsFor) await loadBoards();
    const asked = { ...chosen };
    const [rows, rank] = await Promise.all([
      ask(`${boardPath()}/top?limit=${Math.min(rowsWanted, board().head)}&${seasonQuery()}`),
      asked.user ? ask(`${boardPath()}/users/${encodeURIComponent(asked.user)}/rank?${seasonQuery()}`) : null,
    ]);
    offline = rows.status !== 200;
    if (asked.board !== chosen.board || asked.season !== chosen.season) return; // chosen anew meanwhile
    if (!offline) keepTop(rows.body);
    if (rank && asked.user === chosen.user) mine = { user: asked.user, status: rank.status, answer: rank.body };
  } catch {
    offline = true;
  }
  show();
}

// keepTop keeps the rows that are there while the server has none to show.
function keepTop(answer) {
  if (answer.status === 'updating' && top?.entries.length && top.season === answer.season) {
    top = { ...top, status: answer.status, reason: answer.reason };
    return;
  }
  top = answer;
}

async function loadBoards() {
  boards = (await ask('/v1/boards')).body.boards;
  loaded = Date.now();
  if (!board()) chosen.board = boards[0].board;
  offer(el('board'), boards.map((b) => [b.board, b.board]), chosen.board);
  showSeasons();
}

// offer fills a select, and leaves it alone when it is as it should be: it may be open.
function offer(select, options, value) {
  const key = JSON.stringify(options);
  if (select.dataset.offer !== key) select.replaceChildren(...options.map(([v, text]) => new Option(text, v)));
  select.dataset.offer = key;
  select.value = value;
}

function showSeasons() {
  const kinds = board().seasons.map((s) => s.kind);
  if (!kinds.includes(chosen.season)) chosen.season = kinds.includes('all') ? 'all' : kinds[0];
  offer(el('season'), kinds.map((k) => [k, say.seasons[k]]), chosen.season);
  el('season').disabled = kinds.length < 2;
}

function show() {
  showFreshness();
  showRows();
  showMine();
}

function showFreshness() {
  const status = offline ? 'offline' : top ? top.status : 'loading';
  const reason = !offline && top?.reason ? ` · ${say.reasons[top.reason] || top.reason}` : '';
  const text = say.statuses[status] + reason;
  const badge = el('badge');
  badge.dataset.status = status;
  if (badge.textContent !== text) badge.textContent = text; // else it is read aloud every second
  const age = top ? Math.max(0, Date.now() - clock - Date.parse(top.as_of)) : 0;
  el('age').textContent = !top ? '' : age < 3000 ? say.now : say.ago(duration(age));
  notice(offline ? (boards.length ? say.offline : say.noBoards) : '');
}

function notice(text) {
  const n = el('notice');
  n.hidden = !text;
  if (n.textContent !== text) n.textContent = text;
}

// duration tells milliseconds in the largest unit that fits.
function duration(ms) {
  for (const [unit, size] of [['day', 864e5], ['hour', 36e5], ['minute', 6e4], ['second', 1e3]]) {
    if (ms >= size || unit === 'second') {
      return new Intl.NumberFormat(say.locale, { style: 'unit', unit, unitDisplay: 'long' }).format(Math.floor(ms / size));
    }
  }
}

const count = (n) => new Intl.NumberFormat(say.locale).format(n);

// A score with decimals is a string, so that none is lost; its whole part is grouped like other numbers.
function score(s) {
  if (typeof s === 'number') return count(s);
  const [whole, decimals] = s.split('.');
  const sign = whole === '-0' ? '-' : '';
  return `${sign}${count(BigInt(whole))}.${decimals}`;
}

const rowOf = new Map(); // player -> table row

// showRows moves, adds and removes rows until the table is as the answer is.
function showRows() {
  if (!top) return;
  const season = board()?.seasons.find((s) => s.kind === chosen.season);
  const ends = season?.ends_at ? duration(Date.parse(season.ends_at) - (Date.now() - clock)) : '';
  el('total').textContent = top.total === null ? '' : say.total(count(top.total), ends);
  el('empty').hidden = top.entries.length > 0;
  el('empty').textContent = top.status === 'updating' ? say.updating : say.empty;

  const before = new Map();
  for (const [user, row] of rowOf) before.set(user, row.offsetTop);
  const seen = new Set(top.entries.map((e) => e.user));
  for (const [user, row] of rowOf) {
    if (seen.has(user)) continue;
    row.remove();
    rowOf.delete(user);
  }
  top.entries.forEach((entry, i) => {
    const row = rowOf.get(entry.user) || newRow(entry.user);
    fill(row, entry);
    if (el('rows').children[i] !== row) el('rows').insertBefore(row, el('rows').children[i] || null);
  });
  if (still.matches) return;
  for (const [user, row] of rowOf) {
    const moved = before.has(user) ? before.get(user) - row.offsetTop : 0;
    if (moved) row.animate([{ transform: `translateY(${moved}px)` }, { transform: 'none' }], { duration: 350, easing: 'ease-out' });
    else if (!before.has(user) && before.size) row.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 350 });
  }
}

function newRow(user) {
  const row = document.createElement('tr');
  const name = document.createElement('th');
  name.scope = 'row';
  name.className = 'player';
  const id = document.createElement('bdi'); // ids may be in any script
  id.textContent = user;
  id.title = user;
  name.append(id);
  const rank = document.createElement('td');
  rank.className = 'rank';
  const points = document.createElement('td');
  points.className = 'score';
  row.append(rank, name, points);
  rowOf.set(user, row);
  return row;
}

function fill(row, entry) {
  const [rank, , points] = row.children;
  rank.textContent = count(entry.rank);
  rank.dataset.medal = entry.rank <= 3 ? entry.rank : '';
  const text = score(entry.score);
  if (points.textContent && points.textContent !== text && !still.matches) {
    points.animate([{ color: 'var(--accent)' }, {}], { duration: 900 });
  }
  points.textContent = text;
  row.classList.toggle('me', entry.user === chosen.user);
  row.toggleAttribute('aria-current', entry.user === chosen.user);
}

function showMine() {
  const lines = mine ? standing() : [];
  const box = el('standing');
  if (box.dataset.text === JSON.stringify(lines)) return; // else it is read aloud every second
  box.dataset.text = JSON.stringify(lines);
  box.replaceChildren(...lines.map(([kind, text]) => {
    const p = document.createElement('p');
    p.className = kind;
    p.textContent = text;
    return p;
  }));
}

// standing is what to say of the player looked up, line by line.
function standing() {
  const { status, answer, user } = mine;
  if (status === 404) return [['quiet', say.notRanked(user)]];
  if (status !== 200) return [['quiet', say.badUser]];
  if (answer.rank === null) return [['quiet', say.updating]];
  const percent = new Intl.NumberFormat(say.locale, { style: 'percent', maximumFractionDigits: 2, roundingMode: 'floor' }).format(answer.percentile / 100);
  return [
    ['big', `#${count(answer.rank)}`],
    ['quiet', say.rankOf(count(answer.total))],
    ['', say.points(score(answer.score))],
    ['', answer.precision === 'exact' ? say.exact(answer.tied) : say.between(count(answer.rank_low), count(answer.rank_high))],
    ['', say.ahead(percent)],
  ];
}

function speak(name) {
  say = words(name);
  document.documentElement.lang = say.locale;
  for (const node of document.querySelectorAll('[data-word]')) node.textContent = say[node.dataset.word];
  for (const b of document.querySelectorAll('[data-language]')) b.setAttribute('aria-pressed', b.dataset.language === name);
  if (boards.length) showSeasons();
  show();
}

// choose forgets what was shown of the former choice.
function choose(change) {
  chosen = { ...chosen, ...change };
  if (board()) showSeasons();
  toAddress();
  top = null;
  mine = null;
  rowOf.clear();
  el('rows').replaceChildren();
  show();
  poll();
}

el('board').addEventListener('change', (e) => choose({ board: e.target.value }));
el('season').addEventListener('change', (e) => choose({ season: e.target.value }));
el('find').addEventListener('submit', (e) => {
  e.preventDefault();
  chosen.user = el('user').value;
  mine = null;
  toAddress();
  poll();
});
for (const b of document.querySelectorAll('[data-language]')) {
  b.addEventListener('click', () => {
    remember(b.dataset.language);
    speak(b.dataset.language);
  });
}
document.addEventListener('visibilitychange', () => { if (!document.hidden) poll(); });

el('user').value = chosen.user;
speak(language());

// One round after the other: a slow answer is waited for, not asked for again.
async function live() {
  if (!document.hidden) await poll();
  setTimeout(live, pollEvery);
}
live();
