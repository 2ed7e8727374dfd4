// Shows the newest status of the job. Everything that comes from it is text: nothing
// is ever read as HTML.
'use strict';
(() => {
  const ROW = 26; // Pixels, as in the style.
  const SPARE = 6; // Rows that are kept above and below the visible ones.
  const STALE_MS = 5000;
  const POLL_MS = 2000;
  const ENDS_SHOWN = 3;
  const RETRY_MS = 15000;

  const by_id = id => document.getElementById(id);
  const tree = by_id('tree');
  const columns = ['name', 'state', 'pid', 'cpu', 'compute', 'memory', 'threads', 'output', 'silence'];

  let job = null; // The newest status.
  let heard = 0; // When it came.
  let trouble = '';
  let rows = []; // What the tree shows, in order.
  let chosen = ''; // The key of a row.
  let odd = new Map(); // Ranks that are to be looked at, and why.
  const folded = new Set(); // Agents.
  let drawing = false;
  let is_stale = true; // More than the tree's position has changed.

  // -- words ------------------------------------------------------------------

  const known = x => x !== null && x !== undefined;

  function span_text(ms) {
    if (!known(ms)) return '-';
    const s = Math.floor(ms / 1000);
    if (s < 60) return `${s}s`;
    if (s < 3600) return `${Math.floor(s / 60)}m ${s % 60}s`;
    if (s < 86400) return `${Math.floor(s / 3600)}h ${Math.floor(s / 60) % 60}m`;
    return `${Math.floor(s / 86400)}d ${Math.floor(s / 3600) % 24}h`;
  }

  function short_span(us) {
    if (!known(us)) return '-';
    return us < 1e6 ? `${(us / 1000).toFixed(1)} ms` : `${(us / 1e6).toFixed(1)} s`;
  }

  function size_text(bytes) {
    if (!known(bytes)) return '-';
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
    let unit = 0;
    for (; bytes >= 1023.95 && unit + 1 < units.length; ++unit) bytes /= 1024;
    return `${bytes.toFixed(unit ? 1 : 0)} ${units[unit]}`;
  }

  const counted = (n, what) => `${n} ${what}${n === 1 ? '' : 's'}`;
  const or_dash = x => known(x) && x !== '' ? String(x) : '-';

  // The word says it, and a sign before it: colour alone would not do.
  const looks = {
    running: ['\u25b6', 'good'], runs: ['\u25b6', 'good'], sleeps: ['\u25b6', 'good'],
    succeeded: ['\u2713', 'good'], ended: ['\u25a0', 'faint'], starting: ['\u2026', 'work'],
    gathering: ['\u2026', 'warn'], last_call: ['\u2026', 'warn'], waiting: ['\u2026', 'warn'],
    standby: ['\u2026', 'faint'], stopping: ['\u25a0', 'warn'], leaving: ['\u25a0', 'warn'],
    stopped: ['\u25a0', 'warn'], failed: ['\u2717', 'bad'], away: ['\u2717', 'bad'],
    draining: ['\u25a0', 'warn'], excluded: ['\u2026', 'faint'],
  };
  const letters = { R: 'runs', S: 'sleeps', D: 'waits for I/O', T: 'stopped', Z: 'ended' };

  function look_of(word) {
    const [sign, colour] = looks[word] || ['\u00b7', 'faint'];
    return { text: `${sign} ${word}`, colour };
  }

  // -- small changes to the document ------------------------------------------

  function set_text(element, text) {
    if (element.textContent !== text) element.textContent = text;
  }

  // Ranks that a text names lead to these workers.
  function set_linked(element, text) {
    if (element.known === text) return;
    element.known = text;
    element.replaceChildren(...text.split(/((?<!local )\brank \d+)/).map(part => {
      const [, rank] = /^rank (\d+)$/.exec(part) || [];
      if (!rank) return part;
      const link = make('a', part);
      link.href = `#stack=${rank}`;
      link.addEventListener('click', () => setTimeout(follow_link)); // Also the second time.
      return link;
    }));
  }

  function set_class(element, name) {
    if (element.className !== name) element.className = name;
  }

  function make(tag, text, name) {
    const x = document.createElement(tag);
    if (text) x.textContent = text;
    if (name) x.className = name;
    return x;
  }

  // Pairs of terms and values; elements are made once for each term.
  function set_facts(list, facts) {
    const same = list.known && list.known.length === facts.length
      && facts.every(([term], i) => list.known[i].term === term);
    if (!same) {
      list.replaceChildren();
      list.known = facts.map(([term]) => {
        const value = make('dd');
        list.appendChild(make('div')).append(make('dt', term), value);
        return { term, value };
      });
    }
    facts.forEach(([, value], i) => set_text(list.known[i].value, value));
  }

  // -- the head ---------------------------------------------------------------

  // The workers that a hang, or slowness, is put down to: rank and word.
  function list_odd() {
    const [, stuck] = (job.hang && /\brank (\d+)/.exec(job.hang)) || [];
    odd = new Map((job.stragglers || []).map(x => [x.rank, 'slow']));
    if (stuck) odd.set(Number(stuck), 'stuck');
  }

  // Of the workers that count their steps: the usual speed, and who is the last.
  function speed_text() {
    const all = job.agents.flatMap(x => x.workers).filter(x => known(x.step_us) && x.step_us > 0);
    if (!all.length) return '';
    const times = all.map(x => x.step_us).sort((a, b) => a - b);
    const usual = times[Math.floor(times.length / 2)];
    const last = all.reduce((a, b) => b.compute_us > a.compute_us ? b : a);
    const per_second = 1e6 / usual;
    return `${per_second.toFixed(per_second < 10 ? 2 : 1)} per second; rank ${last.rank} computes longest: ${short_span(last.compute_us)}`;
  }

  function draw_head() {
    const phase = look_of(job.phase);
    if (job.phase === 'running' && job.healthy === false) // As `actorctl top` says it.
      [ phase.text, phase.colour ] = [ '\u26a0 running (degraded)', 'warn' ];
    set_text(by_id('phase'), phase.text);
    set_class(by_id('phase'), `badge ${phase.colour}`);
    set_text(by_id('job'), `Job ${job.job}`);
    const title = `${job.phase} - ${job.job} - actorrun`;
    if (document.title !== title) document.title = title;
    let reason = or_dash(job.waiting_for) === '-' ? '' : job.waiting_for;
    if (reason && job.waiting_age_ms) reason += `, for ${span_text(job.waiting_age_ms)}`;
    if (reason && known(job.waiting_left_ms)) reason += `, at most ${span_text(job.waiting_left_ms)} more`;
    if (job.loop) reason = `${reason ? `${reason}; ` : ''}goes round in a loop: ${job.loop}`;
    if (job.slow) reason = `Slow: ${job.slow}`;
    if (job.hang) reason = `Hangs for ${span_text(job.hang_age_ms)}: ${job.hang}`;
    list_odd();
    set_linked(by_id('reason'), reason);
    set_linked(by_id('failure'), job.last_failure ? `Last failure: ${job.last_failure.text}` : '');
    const nodes = job.nodes_min === job.nodes_max ? job.nodes_min : `${job.nodes_min}:${job.nodes_max}`;
    const facts = [
      [ 'Generation', job.generation ],
      [ 'World size', String(job.world_size) ],
      [ 'Nodes', `${job.agents.length} of ${nodes}` ],
      [ 'Restarts', `${job.restarts} of ${job.restarts_max}` ],
      [
        'Coordinator',
        job.coordinator.pid ? job.coordinator.host : 'not reached'
      ],
    ];
    if (job.leader) {
      facts.push([ 'Leader', `${job.leader.agent}, term ${job.leader.term}: ${job.leader.reason}` ]);
      if (job.leader.voters.length) facts.push([ 'Voters', job.leader.voters.join(', ') ]);
    }
    const speed = speed_text();
    if (speed) facts.push(['Steps', speed]);
    if (job.age_ms) facts.push(['Age', span_text(job.age_ms)]);
    if (job.outcome) facts.push(['Outcome', job.outcome]);
    for (const x of job.quarantined_nodes) facts.push(['Quarantined', x.host]);
    for (const x of job.excluded_hosts || []) facts.push(['Excluded', `${x.host}: ${x.reason}`]);
    if (job.truncated) facts.push(['Note', 'there are more nodes than one answer can hold']);
    if (job.vitals_truncated) facts.push(['Note', 'there are more workers than one answer can describe']);
    set_facts(by_id('facts'), facts);
  }

  function draw_link() {
    const silent = Date.now() - heard;
    let text = 'live', colour = 'good';
    if (trouble) [text, colour] = [trouble, 'bad'];
    else if (!heard) [text, colour] = ['connecting', 'warn'];
    else if (silent > STALE_MS) [text, colour] = [`no news for ${span_text(silent)}`, 'bad'];
    set_text(by_id('link'), text);
    set_class(by_id('link'), `badge ${colour}`);
  }

  // -- generations -----------------------------------------------------------------

  function draw_history() {
    const generations = job.generations || [];
    by_id('history').hidden = generations.length === 0;
    const bars = [];
    generations.forEach((x, i) => {
      const begun = known(x.running_age_ms) ? x.running_age_ms : x.age_ms;
      const end = known(x.revoked_age_ms) ? x.revoked_age_ms : 0;
      if (x.age_ms - begun > 0 || (known(x.regroup_us) && i > 0))
        bars.push({ kind: 'gap', time: Math.max(x.age_ms - begun, (x.regroup_us || 0) / 1000), text: '' });
      bars.push({
        kind : `${x.cost_restart ? 'cost ' : ''}${is_trouble(x) ? 'trouble' : ''}`.trim(),
        time : Math.max(begun - end, 0),
        text : x.generation,
        title : `generation ${x.generation}: ${x.nodes} nodes, ${
          x.world_size} workers${x.end_reason ? `; ended (${or_dash(x.class)}): ${x.end_reason}` : ''}`
      });
    });
    const line = by_id('timeline');
    while (line.childElementCount > bars.length) line.lastChild.remove();
    while (line.childElementCount < bars.length) line.append(make('div'));
    bars.forEach((x, i) => {
      const bar = line.children[i];
      set_class(bar, x.kind);
      set_text(bar, x.text);
      const grow = String(Math.max(1, Math.round(x.time / 100)));
      if (bar.style.flexGrow !== grow) bar.style.flexGrow = grow;
      if (bar.title !== (x.title || '')) bar.title = x.title || '';
    });
    draw_ends(generations);
    draw_time();
    const body = by_id('generations');
    while (body.childElementCount > generations.length) body.lastChild.remove();
    while (body.childElementCount < generations.length) {
      const row = body.appendChild(make('tr'));
      for (let i = 0; i < 8; ++i) row.append(make('td'));
    }
    generations.forEach((x, i) => {
      const cells = [
        x.generation, x.nodes, x.world_size, `${span_text(x.age_ms)} ago`,
        short_span(x.regroup_us), x.cost_restart ? 'spent' : '-',
        or_dash(x.class), or_dash(x.end_reason)
      ];
      cells.forEach((text, j) => set_text(body.children[i].children[j], String(text)));
    });
  }

  const is_trouble = x => known(x.class) && x.class !== 'none';

  // What ended the last few, newest first, and how many ends there were of each kind.
  function draw_ends(generations) {
    const last = generations.filter(x => x.end_reason).slice(-ENDS_SHOWN).reverse();
    const list = by_id('ends');
    while (list.childElementCount > last.length) list.lastChild.remove();
    while (list.childElementCount < last.length) list.append(make('li'));
    last.forEach((x, i) => {
      const kind = is_trouble(x) ? `, ${x.class}` : '';
      set_linked(list.children[i], `generation ${x.generation} ended ${span_text(x.revoked_age_ms)} ago${kind}: ${x.end_reason}`);
      set_class(list.children[i], is_trouble(x) ? 'trouble' : '');
    });
    const kinds = (job.ends || []).filter(x => x.count > 0).map(x => `${x.class} ${x.count}`);
    set_text(by_id('kinds'), kinds.length ? `Ends by trouble: ${kinds.join(', ')}` : '');
  }

  // Where the time of the places went: a bar, and the same as text.
  function draw_time() {
    const spent = (job.time || []).filter(x => x.worker_us > 0).sort((a, b) => b.worker_us - a.worker_us);
    const all = spent.reduce((sum, x) => sum + x.worker_us, 0);
    const percent = x => `${(100 * x.worker_us / all).toFixed(1)} % ${x.cause.replace(/_/g, ' ')}`;
    set_text(by_id('spent-text'), all ? `Time: ${spent.map(percent).join(', ')}` : '');
    const bar = by_id('spent');
    while (bar.childElementCount > spent.length) bar.lastChild.remove();
    while (bar.childElementCount < spent.length) bar.append(make('div'));
    spent.forEach((x, i) => {
      const part = bar.children[i];
      set_class(part, { training: 'good', saving: 'saving' }[x.cause] || 'lost');
      const grow = String(Math.round(1000 * x.worker_us / all));
      if (part.style.flexGrow !== grow) part.style.flexGrow = grow;
      if (part.title !== percent(x)) part.title = percent(x);
    });
  }

  // -- the tree ---------------------------------------------------------------

  function worker_row(agent, x) {
    const state = letters[x.state] || or_dash(x.state);
    const why = known(x.rank) ? odd.get(x.rank) : undefined;
    return { key: `${agent.agent}/${x.local_rank}`, is_node: false, agent, worker: x,
      cells: { name: known(x.rank) ? `rank ${x.rank}` : `local rank ${x.local_rank}`,
        state: why ? { text: `\u26a0 ${why}`, colour: 'warn' } : state === '-' ? { text: '-', colour: 'faint' } : look_of(state), pid: or_dash(x.pid),
        cpu: known(x.cpu_percent) ? `${x.cpu_percent} %` : '-', compute: short_span(x.compute_us), memory: size_text(x.memory),
        threads: or_dash(x.threads), output: size_text(x.output_bytes), silence: span_text(x.output_age_ms) } };
  }

  function node_row(agent) {
    const v = agent.vitals || {};
    const used = known(v.memory_total) && known(v.memory_available) ? v.memory_total - v.memory_available : null;
    const sign = folded.has(agent.agent) ? '\u25b8' : '\u25be';
    return { key: agent.agent, is_node: true, agent, worker: null,
      cells: { name: `${sign} ${or_dash(agent.node_rank)} ${agent.host}`, state: look_of(agent.state), pid: '',
        cpu: v.load ? v.load[0].toFixed(1) : '-', compute: '', memory: size_text(used), threads: '', output: '', silence: '' } };
  }

  function text_of(row) {
    return columns.map(c => row.cells[c].text || row.cells[c]).join(' ').toLowerCase();
  }

  function list_rows() {
    const wanted = by_id('find').value.trim().toLowerCase();
    const order = by_id('order').value;
    const value = x => known(x[order]) ? x[order] : -1;
    const rank = x => known(x.node_rank) ? x.node_rank : Infinity;
    const out = [];
    let workers = 0;
    for (const agent of [...job.agents].sort((a, b) => rank(a) - rank(b))) {
      const head = node_row(agent);
      workers += agent.workers.length;
      let below = agent.workers.map(x => worker_row(agent, x));
      if (wanted && !text_of(head).includes(wanted)) {
        below = below.filter(x => text_of(x).includes(wanted));
        if (!below.length) continue;
      }
      if (order !== 'rank') below.sort((a, b) => value(b.worker) - value(a.worker));
      out.push(head);
      if (wanted || !folded.has(agent.agent)) out.push(...below);
    }
    if (order !== 'rank') { // The nodes of those that hurt most come first.
      const groups = [];
      for (const x of out) x.is_node ? groups.push([x]) : groups[groups.length - 1].push(x);
      const first = g => g.length > 1 ? value(g[1].worker) : -1;
      groups.sort((a, b) => first(b) - first(a));
      rows = groups.flat();
    } else {
      rows = out;
    }
    set_text(by_id('count'), `${counted(job.agents.length, 'node')}, ${counted(workers, 'worker')}`);
  }

  const pool = []; // One element for each row that can be seen.

  function new_row() {
    const element = make('div', '', 'row');
    element.setAttribute('role', 'treeitem');
    element.cells = {};
    for (const c of columns) element.cells[c] = element.appendChild(make('span', '', c));
    element.id = `row-${pool.length}`;
    tree.append(element);
    pool.push(element);
  }

  function fill(element, row, i) {
    set_class(element, `row ${row.is_node ? 'node' : 'worker'}${row.key === chosen ? ' chosen' : ''}`);
    const place = `translateY(${i * ROW}px)`;
    if (element.style.transform !== place) element.style.transform = place;
    for (const c of columns) {
      const cell = row.cells[c];
      const cell_element = element.cells[c];
      set_text(cell_element, cell.text === undefined ? cell : cell.text);
      set_class(cell_element, cell.colour ? `${c} ${cell.colour}` : c);
    }
    const attributes = { 'aria-level': row.is_node ? 1 : 2, 'aria-posinset': i + 1, 'aria-setsize': rows.length,
      'aria-selected': row.key === chosen, 'data-key': row.key };
    if (row.is_node) attributes['aria-expanded'] = !folded.has(row.key);
    else element.removeAttribute('aria-expanded');
    for (const [name, x] of Object.entries(attributes))
      if (element.getAttribute(name) !== String(x)) element.setAttribute(name, x);
  }

  function draw_tree() {
    const height = `${rows.length * ROW}px`;
    if (by_id('space').style.height !== height) by_id('space').style.height = height;
    const first = Math.max(0, Math.floor(tree.scrollTop / ROW) - SPARE);
    const count = Math.min(rows.length - first, Math.ceil(tree.clientHeight / ROW) + 2 * SPARE);
    while (pool.length < count) new_row();
    let active = '';
    pool.forEach((element, i) => {
      element.hidden = i >= count;
      element.style.display = i >= count ? 'none' : '';
      if (i >= count) return;
      fill(element, rows[first + i], first + i);
      if (rows[first + i].key === chosen) active = element.id;
    });
    if (active) tree.setAttribute('aria-activedescendant', active);
    else tree.removeAttribute('aria-activedescendant');
  }

  // -- the details ------------------------------------------------------------

  function draw_details() {
    const row = rows.find(x => x.key === chosen);
    by_id('details').hidden = !row;
    by_id('views').hidden = !row || !row.worker || !known(row.worker.rank);
    watch(row && row.worker && known(row.worker.rank) ? row.worker.rank : null);
    if (!row) return;
    const { agent, worker } = row;
    if (worker) {
      set_text(by_id('details-title'), `Rank ${or_dash(worker.rank)} on ${agent.host}`);
      set_facts(by_id('detail-facts'), [
        ['State', row.cells.state.text], ['PID', or_dash(worker.pid)], ['Local rank', String(worker.local_rank)],
        ['Age', span_text(worker.age_ms)], ['CPU', row.cells.cpu], ['Memory', row.cells.memory],
        ['Threads', or_dash(worker.threads)], ['Processes', or_dash(worker.processes)],
        ['Output', row.cells.output], ['Last line', span_text(worker.output_age_ms)],
        ['Timer', known(worker.timer_age_ms) ? `${or_dash(worker.timer_scope)}, ${span_text(worker.timer_age_ms)} ago` : '-'],
      ]);
      return;
    }
    const v = agent.vitals || {};
    set_text(by_id('details-title'), `Node ${or_dash(agent.node_rank)}: ${agent.host}`);
    const facts = [
      ['State', agent.state + (agent.reason ? `: ${agent.reason}` : '')
        + (agent.reason && known(agent.drain_asked_age_ms)
          ? `, ${span_text(agent.drain_asked_age_ms)} ago` : '')],
      ['Address', or_dash(agent.address)], ['Agent', agent.agent], ['Role', or_dash(agent.role)],
      ['Workers', `${agent.workers.length} of ${agent.slots}`],
      ['Load', v.load ? v.load.map(x => x.toFixed(2)).join(' ') : '-'], ['CPUs', or_dash(v.cpus)],
      ['Memory', known(v.memory_total) ? `${size_text(v.memory_total - v.memory_available)} of ${size_text(v.memory_total)}` : '-'],
      ['Lease', known(agent.lease_age_ms) ? `${agent.lease_age_ms} ms` : '-'],
    ];
    for (const g of agent.gpus)
      facts.push([`GPU ${g.index}`, [g.name, `${size_text(g.memory_used)} of ${size_text(g.memory_total)}`,
        known(g.utilisation_percent) ? `${g.utilisation_percent} %` : null,
        known(g.temperature_celsius) ? `${g.temperature_celsius} C` : null, g.trouble].filter(known).join(', ')]);
    if (agent.gpu_trouble) facts.push(['GPUs', agent.gpu_trouble]);
    set_facts(by_id('detail-facts'), facts);
  }

  // -- a worker's log and stack -------------------------------------------------

  const LOG_MS = 1500;
  const views = { out: by_id('show-out'), err: by_id('show-err'), stack: by_id('show-stack') };
  const view_keys = { o: 'out', e: 'err', s: 'stack' };
  let watched = null; // The rank that `shown` is of.
  let shown = ''; // One of them, or nothing.
  let asking = 0; // The newest question; an older answer is thrown away.
  let again = 0; // The timer of the next one.

  // Sequences for terminals mean nothing here; other control characters are shown.
  const plain = text => text.replace(/\x1b\[[0-9;?]*[ -/]*[@-~]/g, '')
    .replace(/[\x00-\x08\x0b-\x1f\x7f]/g, c => c === '\r' ? '' : '\ufffd');

  function watch(rank) {
    if (rank === watched) return;
    watched = rank;
    show(rank === null ? '' : shown);
  }

  function show(what) {
    shown = watched === null ? '' : what;
    clearTimeout(again);
    ++asking;
    for (const [name, button] of Object.entries(views)) button.setAttribute('aria-pressed', name === shown);
    by_id('view').hidden = !shown;
    by_id('view').replaceChildren();
    set_text(by_id('view-note'), '');
    if (shown) ask();
  }

  async function ask() {
    const number = ++asking;
    const is_log = shown !== 'stack';
    const path = is_log ? `/log.json?rank=${watched}&output=${shown}` : `/stacks.json?rank=${watched}`;
    let note = '';
    try {
      const reply = await fetch(path, { cache: 'no-store' });
      const text = await reply.text();
      if (number !== asking) return;
      if (!reply.ok) note = text.trim();
      else if (is_log) note = draw_log(JSON.parse(text));
      else note = draw_stack(JSON.parse(text));
    } catch {
      if (number !== asking) return;
      note = 'the job is not reached';
    }
    set_text(by_id('view-note'), note);
    if (is_log) again = setTimeout(() => (document.hidden ? wait(number) : ask()), LOG_MS);
  }

  // A page that is not shown asks nothing.
  function wait(number) {
    document.addEventListener('visibilitychange', () => { if (number === asking) ask(); }, { once: true });
  }

  // Follows the end, unless the reader has scrolled up.
  function draw_log(x) {
    const view = by_id('view');
    const follows = view.scrollTop + view.clientHeight >= view.scrollHeight - 8;
    view.replaceChildren(...x.lines.map(line =>
      make('span', `${plain(line.text)}${line.truncated ? ' [...]' : ''}\n`)));
    if (follows) view.scrollTop = view.scrollHeight;
    if (x.trouble) return x.trouble;
    return x.lines.length ? `the last ${counted(x.lines.length, 'line')}` : 'it has written nothing';
  }

  function draw_stack(x) {
    const worker = x.workers[0];
    const frames = worker ? worker.frames : [];
    const nccl = worker && worker.behind ? [ `NCCL: ${worker.behind}`, '' ] : [];
    by_id('view').textContent = [ ...nccl, ...frames ].map(plain).join('\n');
    if (!worker) return x.trouble || 'the worker was not seen';
    return worker.trouble || (worker.source ? `seen by ${worker.source}` : '');
  }

  for (const [name, button] of Object.entries(views))
    button.addEventListener('click', () => show(name));

  // -- drawing ----------------------------------------------------------------

  function draw() {
    drawing = false;
    draw_link();
    if (!job) return;
    if (!is_stale) return draw_tree(); // It was scrolled.
    is_stale = false;
    draw_head();
    draw_history();
    list_rows();
    draw_tree();
    draw_details();
  }

  function draw_soon() {
    is_stale = true;
    draw_next();
  }

  function draw_next() {
    if (drawing) return;
    drawing = true;
    requestAnimationFrame(draw);
  }

  // -- keys and the mouse -----------------------------------------------------

  function choose(i) {
    if (!rows.length) return;
    i = Math.min(Math.max(i, 0), rows.length - 1);
    chosen = rows[i].key;
    if (i * ROW < tree.scrollTop) tree.scrollTop = i * ROW;
    else if ((i + 1) * ROW > tree.scrollTop + tree.clientHeight) tree.scrollTop = (i + 1) * ROW - tree.clientHeight;
    draw_soon();
  }

  function fold(key, is_folded) {
    if (is_folded) folded.add(key);
    else folded.delete(key);
    list_rows(); // The next key may come before they are drawn.
    draw_soon();
  }

  tree.addEventListener('keydown', event => {
    const i = rows.findIndex(x => x.key === chosen);
    const page = Math.max(1, Math.floor(tree.clientHeight / ROW) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    if (event.key in moves) choose(i + moves[event.key]);
    else if (event.key === 'Home') choose(0);
    else if (event.key === 'End') choose(rows.length - 1);
    else if (i < 0) return;
    else if (event.key === 'ArrowRight' && rows[i].is_node) fold(chosen, false);
    else if (event.key === 'ArrowLeft' && rows[i].is_node) fold(chosen, true);
    else if (event.key === 'ArrowLeft') choose(rows.findIndex(x => x.key === rows[i].agent.agent));
    else if (event.key === 'Enter' && rows[i].is_node) fold(chosen, !folded.has(chosen));
    else return;
    event.preventDefault();
  });

  tree.addEventListener('click', event => {
    const element = event.target.closest('.row');
    const i = element ? rows.findIndex(x => x.key === element.dataset.key) : -1;
    if (i < 0) return;
    if (rows[i].is_node && rows[i].key === chosen) fold(chosen, !folded.has(chosen));
    choose(i);
  });

  document.addEventListener('keydown', event => {
    const is_typing = event.target.matches('input, select');
    if (event.key === '/' && !is_typing) {
      event.preventDefault();
      by_id('find').focus();
    } else if (event.key in view_keys && watched !== null && !is_typing
        && !event.ctrlKey && !event.metaKey && !event.altKey) {
      show(view_keys[event.key]);
    } else if (event.key === 'Escape') {
      if (event.target === by_id('find')) by_id('find').value = '';
      chosen = '';
      tree.focus();
      draw_soon();
    }
  });

  tree.addEventListener('scroll', draw_next, { passive: true });
  addEventListener('resize', draw_soon);
  by_id('find').addEventListener('input', draw_soon);
  by_id('order').addEventListener('change', draw_soon);
  by_id('close').addEventListener('click', () => { chosen = ''; tree.focus(); draw_soon(); });

  // -- the link to the job ----------------------------------------------------

  function take(text) {
    job = JSON.parse(text).jobs[0];
    heard = Date.now();
    trouble = '';
    draw_soon();
  }

  function fail(text) {
    trouble = text;
    draw_soon();
  }

  // For when there are more pages than the job serves with events.
  async function poll(until) {
    while (Date.now() < until) {
      try {
        const reply = await fetch('/status.json', { cache: 'no-store' });
        const text = await reply.text();
        if (reply.ok) take(text);
        else fail(text.trim());
      } catch {
        fail('the job is not reached');
      }
      await new Promise(done => setTimeout(done, POLL_MS));
    }
    connect();
  }

  function connect() {
    const source = new EventSource('/events');
    source.addEventListener('status', event => take(event.data));
    source.addEventListener('trouble', event => fail(event.data));
    source.addEventListener('error', () => {
      fail('the job is not reached');
      if (source.readyState !== EventSource.CLOSED) return;
      poll(Date.now() + RETRY_MS);
    });
  }

  // A link to a worker: #out=3, #err=3, #stack=3.
  function follow_link() {
    const [, what, rank] = /^#(out|err|stack)=(\d+)$/.exec(location.hash) || [];
    const row = rows.find(x => x.worker && String(x.worker.rank) === rank);
    if (!row) return;
    chosen = row.key;
    draw_details();
    show(what);
    draw_soon();
  }

  // The page comes with a status, so that it is never empty.
  const first = by_id('first').textContent;
  if (first.startsWith('{')) {
    take(first);
    draw();
    follow_link();
  }
  addEventListener('hashchange', follow_link);
  setInterval(draw_link, 1000);
  connect();
})();
