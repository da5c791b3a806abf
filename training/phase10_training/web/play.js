// A seat at a table: shows what the server sends, and posts what the player does. The server decides everything.
"use strict";

(() => {
  const { element, draw, cardName } = Table;
  const find = (id) => document.getElementById(id);
  const api = `/api/tables/${location.pathname.split("/")[2]}`;

  let state = null;
  let selected = null; // a card of the own hand
  let busy = false;

  // ---- talking to the server

  async function post(part, body) {
    const answer = await fetch(`${api}/${part}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    const data = await answer.json();
    if (!answer.ok) throw new Error(data.error);
    return data;
  }
  async function act(action) {
    if (busy || !state) return null;
    busy = true;
    say("");
    try {
      const data = await post("play", { action, version: state.version });
      take(data);
      return data;
    } catch (problem) {
      say(problem instanceof TypeError ? "The server does not answer; your game is saved there." : problem.message);
      return null;
    } finally {
      busy = false;
    }
  }
  // A hit on a certain meld: the card, and its place where the server asks for it.
  async function hitOnto(card, place) {
    const data = await act(`play ${card}`);
    if (!data || !data.facts || data.facts.stage !== "onto") return;
    const fitting = data.legal.filter((entry) => entry.text.split(" ")[1] === place);
    if (fitting.length === 1) await act(fitting[0].text);
    else if (!fitting.length) say(`${cardName(card)} does not fit there (R20); choose another place.`);
  }
  function take(data) {
    if (state && data.version < state.version) return;
    const fresh = !state || data.version !== state.version;
    state = data;
    if (fresh) {
      busy = false; // the news may overtake the answer
      selected = null;
      clearHints();
    }
    show();
  }
  let source = null;
  function listen() {
    source?.close();
    source = new EventSource(`${api}/events`);
    source.onmessage = (event) => {
      find("connection").hidden = true;
      take(JSON.parse(event.data));
    };
    source.onerror = () => {
      find("connection").hidden = false;
      if (source.readyState === EventSource.CLOSED) setTimeout(listen, 1000);
    };
  }

  // ---- showing

  const ownHand = () => (state.facts && state.seat !== null && state.facts.seats[state.seat].hand) || [];
  const isLegal = (text) => state.legal.some((entry) => entry.text === text);
  const say = (text) => { find("message").textContent = text; };

  function show() {
    document.body.dataset.version = state.version;
    find("join").hidden = !(state.seat === null && state.free.length);
    find("rules-link").href = `/t/${state.table}/rules`;
    if (!state.facts) {
      find("turn").textContent = "A table of other people; their cards are hidden from you.";
      find("table").replaceChildren(element("p", {}, `At the table: ${state.names.join(", ")}`));
      find("actions").replaceChildren();
      for (const id of ["hint", "undo"]) find(id).hidden = true;
      return;
    }
    const { facts } = state;
    const who = facts.seats[facts.to_act].name;
    find("turn").textContent = state.over ? state.status : state.your_turn ? "It is your turn." : `${who} is thinking …`;
    document.title = state.your_turn ? "● Your turn – Phase 10" : "Phase 10";
    const focus = document.activeElement?.dataset?.card;
    draw(find("table"), facts, {
      first: state.seat === null ? 0 : state.seat,
      selected,
      fresh: state.drawn,
      onCard: state.your_turn ? chooseCard : null,
      onStock: state.your_turn && facts.stage === "draw" ? () => act("draw") : null,
      onDiscard: state.your_turn && facts.stage === "draw" ? () => act("take") : null,
      onMeld: meldHandler,
    });
    if (focus) find("table").querySelector(`button[data-card="${CSS.escape(focus)}"]`)?.focus();
    find("news").replaceChildren(...state.news.slice(-4).map((words) => element("li", {}, words)));
    find("moves").replaceChildren(...state.moves.map((words) => element("li", {}, words)));
    find("moves").scrollTop = find("moves").scrollHeight;
    find("undo").hidden = !state.can_undo;
    find("hint").hidden = !state.your_turn || !state.hints.length;
    if (state.problem) say(state.problem);
    drawActions();
  }

  function place(meld) {
    const players = state.facts.seats.length;
    return `${(meld.seat - state.seat + players) % players}.${meld.group}`;
  }
  function meldHandler(meld) {
    if (!state.your_turn) return null;
    if (state.facts.stage === "onto") {
      const fitting = state.legal.filter((entry) => entry.text.split(" ")[1] === place(meld));
      return fitting.length === 1 ? () => act(fitting[0].text) : null;
    }
    const mayHit = state.facts.stage === "play" && selected && selected !== "S" && state.facts.seats[state.seat].laid;
    return mayHit ? () => hitOnto(selected, place(meld)) : null;
  }
  function chooseCard(card) {
    if (state.facts.stage === "build") {
      act(`play ${card}`);
      return;
    }
    selected = selected === card ? null : card;
    say(state.facts.stage === "draw" && selected ? "First draw from the stock or take the top discard (R8)." : "");
    show();
  }

  function shortWords({ text, words }) {
    if (text.startsWith("play ")) return `Add ${cardName(text.slice(5))}`;
    return words[0].toUpperCase() + words.slice(1);
  }

  // Buttons of what may be done. What the rules forbid can be asked for too: the answer says why not.
  function wanted() {
    const { facts } = state;
    const own = facts.seats[state.seat];
    if (facts.stage === "draw") {
      return [
        ["draw", "Draw from stock", "W"],
        ["take", facts.pile.length ? `Take the ${cardName(facts.pile[0])}` : "Take the discard", "T"],
      ];
    }
    if (facts.stage !== "play") return state.legal.map((entry) => [entry.text, shortWords(entry), ""]);
    const list = [];
    const lays = state.legal.filter((entry) => entry.text.startsWith("lay "));
    if (!own.laid) {
      const phases = lays.length ? lays.map((entry) => entry.text.slice(4)) : [String(own.phase || 1)];
      for (const phase of phases) {
        const number = phases.length > 1 || own.phase ? ` ${phase}` : "";
        list.push([`lay ${phase}`, `Lay down phase${number}`, "L"]);
        if (lays.length) list.push([`build ${phase}`, `Choose cards of phase${number}`, "B"]);
      }
    }
    if (selected === "S") {
      const players = facts.seats.length;
      for (let left = 1; left < players; left += 1) {
        list.push([`skip ${left}`, `Skip ${facts.seats[(state.seat + left) % players].name}`, ""]);
      }
    } else if (selected) {
      list.push([`discard ${selected}`, `Discard ${cardName(selected)}`, "D"]);
      list.push([`play ${selected}`, `Hit with ${cardName(selected)}`, "H"]);
    }
    return list;
  }
  function drawActions() {
    const row = find("actions");
    row.replaceChildren();
    if (state.over) {
      row.append(
        element("a", { class: "button", href: `/t/${state.table}/replay` }, "Replay"),
        element("a", { class: "button", href: `${api}/record` }, "Record (.p10)"),
        element("a", { class: "button", href: "/" }, "New game"),
      );
      return;
    }
    if (!state.your_turn) return;
    wanted().forEach(([text, words, key], number) => {
      const legal = isLegal(text);
      const names = [legal ? "" : "off", legal && !text.startsWith("build") ? "main" : ""].join(" ").trim();
      const button = element(
        "button",
        { type: "button", class: names, "data-action": text, "data-key": key, "aria-keyshortcuts": key || String(number + 1), onclick: () => act(text) },
        words,
      );
      if (!legal) button.append(element("span", { class: "hidden-text" }, " (not allowed now; press to hear why)"));
      row.append(button);
    });
    if (state.facts.stage === "play" && !selected) {
      row.append(element("span", { class: "say quiet" }, "Tap a card to discard it or to hit with it."));
    }
  }

  // ---- hints and taking back

  function clearHints() {
    find("hint-panel").hidden = true;
    find("hints").replaceChildren();
  }
  async function hint() {
    if (!state?.your_turn || !state.hints.length) return;
    const choice = find("hint-agent");
    if (!choice.options.length) {
      choice.append(...state.hints.map((spec) => element("option", { value: spec }, spec)));
    }
    find("hint-panel").hidden = false;
    find("hints").replaceChildren(element("p", { class: "quiet" }, "Thinking …"));
    try {
      const { hints } = await post("hint", { agent: choice.value });
      const rows = hints.map((entry) =>
        element(
          "tr", { class: entry.choice ? "choice" : "", "data-action": entry.text },
          element("td", {}, element("button", { type: "button", onclick: () => act(entry.text) }, `${entry.choice ? "★ " : ""}${entry.words}`)),
          element("td", {}, entry.value === null ? "–" : entry.value.toFixed(3)),
        ),
      );
      find("hints").replaceChildren(element("table", {}, element("tbody", {}, ...rows)));
      find("hint-panel").scrollIntoView({ block: "nearest" });
    } catch (problem) {
      find("hints").replaceChildren(element("p", {}, problem.message));
    }
  }
  async function undo() {
    try {
      const data = await post("undo", {});
      say("");
      take(data);
    } catch (problem) {
      say(problem.message);
    }
  }

  // ---- keys

  function step(by) {
    const hand = [...new Set(ownHand())];
    if (!state.your_turn || !hand.length) return;
    const at = hand.indexOf(selected);
    selected = hand[at < 0 ? (by > 0 ? 0 : hand.length - 1) : (at + by + hand.length) % hand.length];
    show();
  }
  const pressButton = (selector) => find("actions").querySelector(selector)?.click();
  const keys = {
    ArrowLeft: () => step(-1),
    ArrowRight: () => step(1),
    Escape: () => { selected = null; say(""); show(); },
    "?": hint,
    u: undo,
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || !state?.facts) return;
    if (event.target.closest("input, select, textarea")) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (keys[key]) {
      event.preventDefault();
      keys[key]();
    } else if (/^[a-z]$/.test(key)) {
      pressButton(`[data-key="${key.toUpperCase()}"]`);
    } else if (/^[1-9]$/.test(key)) {
      find("actions").querySelectorAll("button")[Number(key) - 1]?.click();
    }
  });
  find("hint").addEventListener("click", hint);
  find("hint-agent").addEventListener("change", hint);
  find("undo").addEventListener("click", undo);
  find("join").addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await post("join", { name: find("name").value });
      listen();
    } catch (problem) {
      say(problem.message);
    }
  });
  // a hidden page needs no connection, of which a browser allows few
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) source?.close();
    else listen();
  });

  listen();
})();
