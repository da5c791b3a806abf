// Steps through a recorded game: by move, turn and round, with keys, buttons, a slider and touch.
"use strict";

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { element, draw, seenBy } = Table;
  const find = (id) => document.getElementById(id);

  // States are sent as changes from one to the next; unchanged parts are shared.
  const states = [data.first];
  for (const move of data.moves) {
    const last = states[states.length - 1];
    const { seats: changed = {}, ...rest } = move.change;
    const seats = last.seats.map((seat, place) => (changed[place] ? { ...seat, ...changed[place] } : seat));
    states.push({ ...last, ...rest, seats });
  }
  const end = states.length - 1;
  const begins = (same) => states.map((_, k) => k).filter((k) => k === 0 || !same(states[k - 1], states[k]));
  const rounds = begins((a, b) => a.round === b.round);
  const turns = begins((a, b) => a.round === b.round && a.turn === b.turn);

  let now = 0;
  let viewer = null;
  let timer = null;

  function go(step) {
    now = Math.max(0, Math.min(end, step));
    show();
  }
  const before = (marks) => [...marks].reverse().find((mark) => mark < now) ?? 0;
  const after = (marks) => marks.find((mark) => mark > now) ?? end;
  const commands = {
    start: () => go(0),
    "round-back": () => go(before(rounds)),
    "turn-back": () => go(before(turns)),
    back: () => go(now - 1),
    play: () => togglePlay(),
    next: () => go(now + 1),
    "turn-next": () => go(after(turns)),
    "round-next": () => go(after(rounds)),
    end: () => go(end),
  };

  function togglePlay() {
    if (timer) {
      clearInterval(timer);
      timer = null;
    } else {
      if (now === end) now = 0;
      timer = setInterval(() => (now < end ? go(now + 1) : togglePlay()), 900);
    }
    show();
  }

  function show() {
    const facts = seenBy(states[now], viewer);
    const drawn = now > 0 && data.moves[now - 1].card;
    draw(find("table"), facts, { fresh: drawn || "" });
    find("words").textContent = now ? data.moves[now - 1].words : data.opening;
    find("slider").value = now;
    find("slider").setAttribute("aria-valuetext", `move ${now} of ${end}, round ${facts.round}, turn ${facts.turn}`);
    find("count").textContent = `Move ${now} of ${end}`;
    find("play").firstChild.textContent = timer ? "II" : "▶";
    find("play").setAttribute("aria-label", timer ? "Pause" : "Play");
    for (const id of ["start", "round-back", "turn-back", "back"]) if (find(id)) find(id).disabled = now === 0;
    for (const id of ["next", "turn-next", "round-next", "end"]) if (find(id)) find(id).disabled = now === end;
    markMove();
    showValues();
    showScores(facts);
    history.replaceState(null, "", `#move=${now}`);
  }

  // ---- the list of moves

  const rows = [];
  function buildMoves() {
    const list = find("moves");
    let round = null;
    data.moves.forEach((move, place) => {
      const number = states[place].round;
      if (number !== round) {
        round = number;
        list.append(element("li", { class: "round" }, `Round ${round}`));
      }
      const button = element("button", { type: "button", tabindex: "-1", onclick: () => go(place + 1) }, move.words);
      rows.push(button);
      list.append(element("li", {}, button));
    });
  }
  function markMove() {
    find("moves").querySelector("[aria-current]")?.removeAttribute("aria-current");
    if (!now) {
      find("moves").scrollTop = 0;
      return;
    }
    const row = rows[now - 1];
    row.setAttribute("aria-current", "step");
    const list = find("moves");
    const top = row.offsetTop - list.offsetTop;
    if (top < list.scrollTop || top + row.offsetHeight > list.scrollTop + list.clientHeight) {
      list.scrollTop = top - list.clientHeight / 2;
    }
  }

  // ---- values of the agent, and scores

  function showValues() {
    const panel = find("values");
    if (!panel) return;
    const move = data.moves[now];
    const hidden = move && viewer !== null && move.seat !== viewer;
    if (!move || !move.options || hidden) {
      panel.replaceChildren(element("p", { class: "quiet" }, move ? "No values for this decision." : "The record ends here."));
      return;
    }
    const numbers = move.options.map((option) => option.value).filter((value) => value !== null);
    const low = Math.min(...numbers);
    const span = Math.max(...numbers) - low || 1;
    const body = move.options.map(({ text, words, value, choice, played }) =>
      element(
        "tr", { class: [choice ? "choice" : "", played ? "played" : ""].join(" ").trim(), "data-action": text },
        element("td", {}, `${choice ? "★ " : ""}${words}`),
        element("td", {}, value === null ? null : element("span", { class: "bar", style: `width:${4 + (96 * (value - low)) / span}%` })),
        element("td", {}, value === null ? "–" : value.toFixed(3)),
      ),
    );
    panel.replaceChildren(
      element("p", { class: "quiet" }, `${data.names[move.seat]} decides; ★ is what ${data.adviser} would do.`),
      element("div", { class: "scroll" }, element("table", { class: "values" }, element("tbody", {}, ...body))),
    );
  }
  function showScores(facts) {
    const head = ["Round", ...data.names].map((name) => element("th", { scope: "col" }, name));
    const played = data.scores.filter((entry) => entry.move <= now);
    const body = played.map((entry) =>
      element(
        "tr", {},
        element("td", {}, String(entry.round)),
        ...entry.points.map((points, seat) => element("td", {}, `${points}${seat === entry.out ? " (out)" : ""}`)),
      ),
    );
    const total = element("tr", {}, element("th", {}, "Total"), ...facts.seats.map((seat) => element("th", {}, String(seat.score))));
    find("scores").replaceChildren(element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body, total));
  }

  // ---- input

  const keys = {
    ArrowLeft: "back", ArrowRight: "next", ArrowUp: "turn-back", ArrowDown: "turn-next",
    PageUp: "round-back", PageDown: "round-next", Home: "start", End: "end", " ": "play",
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.target.closest("select")) return;
    const onButton = event.target.closest("button, summary");
    const command = keys[event.key];
    if (!command || (event.key === " " && onButton)) return;
    event.preventDefault();
    commands[command]();
  });
  for (const [id, command] of Object.entries(commands)) find(id)?.addEventListener("click", command);
  find("slider").max = end;
  find("slider").addEventListener("input", (event) => go(Number(event.target.value)));
  let touch = null;
  find("table").addEventListener("touchstart", (event) => {
    touch = event.touches.length === 1 ? event.touches[0] : null;
  }, { passive: true });
  find("table").addEventListener("touchend", (event) => {
    if (!touch) return;
    const dx = event.changedTouches[0].clientX - touch.clientX;
    const dy = event.changedTouches[0].clientY - touch.clientY;
    if (Math.abs(dx) > 40 && Math.abs(dx) > 2 * Math.abs(dy)) go(now + (dx < 0 ? 1 : -1));
  }, { passive: true });
  find("viewer")?.addEventListener("change", (event) => {
    viewer = event.target.value === "" ? null : Number(event.target.value);
    show();
  });
  window.addEventListener("hashchange", () => fromAddress());

  function fromAddress() {
    const found = /^#move=(\d+)$/.exec(location.hash);
    go(found ? Number(found[1]) : now);
  }

  buildMoves();
  fromAddress();
})();
