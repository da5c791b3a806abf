// Draws a table of cards from facts (what one viewer may see, see TableFacts). Used by replays and by play.
"use strict";

const Table = (() => {
  const COLOURS = { R: "red", B: "blue", G: "green", Y: "yellow" };
  const MARKS = {
    R: "M5 0 10 5 5 10 0 5Z",
    B: "M5 .4a4.6 4.6 0 1 0 .01 0Z",
    G: "M5 .5 10 9.5H0Z",
    Y: "M.8.8h8.4v8.4H.8Z",
    W: "M5 0 6.3 3.4 9.8 3.5 7 5.7 8 9.2 5 7.2 2 9.2 3 5.7.2 3.5 3.7 3.4Z",
    S: "M5 0a5 5 0 1 0 .01 0ZM5 1.5a3.5 3.5 0 0 1 2 .6L2.1 7A3.5 3.5 0 0 1 5 1.5ZM7.9 3A3.5 3.5 0 0 1 3 7.9Z",
  };

  function element(tag, properties = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name === "class") node.className = value;
      else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value === true) node.setAttribute(name, "");
      else if (value !== false && value != null) node.setAttribute(name, value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
    return node;
  }

  function mark(letter) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 10 10");
    svg.setAttribute("aria-hidden", "true");
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", MARKS[letter]);
    path.setAttribute("fill-rule", "evenodd");
    svg.append(path);
    return svg;
  }

  function cardName(card) {
    if (card === "W") return "Wild";
    if (card === "S") return "Skip";
    return `${COLOURS[card[0]]} ${card.slice(1)}`;
  }

  // One card: face up with a text such as "R5", face down with "". `handler` makes it a button.
  function drawCard(card, { size = "", handler = null, pressed = null, fresh = false } = {}) {
    const names = ["card", card ? card[0] : "back", size, fresh ? "new" : ""].filter(Boolean).join(" ");
    const label = card ? cardName(card) : "card face down";
    const face = card
      ? card.length > 1
        ? [element("b", {}, card.slice(1)), element("i", {}, card[0], mark(card[0]))]
        : [element("b", {}, mark(card)), element("i", {}, card)]
      : [];
    if (!handler) return element("span", { class: names, role: "img", "aria-label": label }, ...face);
    return element(
      "button",
      {
        class: names, type: "button", "aria-label": label, "data-card": card, onclick: () => handler(card),
        "aria-pressed": pressed === null ? null : String(pressed),
      },
      ...face,
    );
  }

  function count(number, noun) {
    return `${number} ${noun}${number === 1 ? "" : "s"}`;
  }

  function points(cards) {
    return cards.reduce((sum, card) => {
      if (card === "W") return sum + 25;
      if (card === "S") return sum + 15;
      return sum + (Number(card.slice(1)) < 10 ? 5 : 10);
    }, 0);
  }

  // A pile is a button where it may be tapped.
  function drawPile(name, text, cards, handler) {
    const content = [element("span", { class: "quiet" }, text), element("span", { class: "cards" }, ...cards)];
    if (!handler) return element("div", { class: "pile", "data-pile": name }, ...content);
    const label = name === "stock" ? "Draw from the stock" : "Take the top discard";
    return element(
      "button",
      { class: "pile", type: "button", "data-pile": name, "aria-label": label, onclick: handler },
      ...content,
    );
  }

  function drawPiles(facts, actions) {
    const stock = facts.stock ? [drawCard("")] : [element("span", { class: "card none" }, "none")];
    const pile = facts.pile.length
      ? facts.pile.map((card, place) => drawCard(card, { size: place ? "small" : "" }))
      : [element("span", { class: "card none" }, "none")];
    return element(
      "div", { class: "piles" },
      drawPile("stock", `Stock: ${facts.stock}`, stock, actions.onStock),
      drawPile("discard", `Discard pile: ${facts.pile_size}`, pile, actions.onDiscard),
      element(
        "div", { class: "moment quiet" },
        element("div", {}, `Round ${facts.round}, turn ${facts.turn}`),
        element("div", {}, `Rules: ${facts.ruleset}`),
        facts.tie_break ? element("div", { class: "badge rank" }, "tie-break round") : null,
      ),
    );
  }

  function drawBadges(seat, facts) {
    const badges = [];
    if (seat.seat === facts.dealer) badges.push(element("span", { class: "badge" }, "dealer"));
    if (seat.laid) badges.push(element("span", { class: "badge laid" }, "laid down"));
    if (seat.skipped) badges.push(element("span", { class: "badge skip" }, "skip pending"));
    if (!seat.active) badges.push(element("span", { class: "badge" }, "sits out"));
    if (seat.rank) badges.push(element("span", { class: "badge rank" }, `rank ${seat.rank}`));
    return badges;
  }

  function drawHand(seat, own, actions) {
    if (seat.hand === null) {
      const hidden = seat.hand_size - seat.known.length;
      return element(
        "div", { class: "cards", "data-hand": seat.seat, "aria-label": `${hidden} hidden cards` },
        ...seat.known.map((card) => drawCard(card, { size: "small" })),
        ...Array.from({ length: hidden }, () => drawCard("", { size: "tiny" })),
      );
    }
    const handler = own ? actions.onCard : null;
    let used = false;
    let fresh = actions.fresh || "";
    const cards = seat.hand.map((card) => {
      const chosen = handler && actions.selected === card && !used;
      used = used || chosen;
      const isNew = own && card === fresh;
      if (isNew) fresh = "";
      return drawCard(card, { handler, pressed: handler ? Boolean(chosen) : null, fresh: isNew });
    });
    return element("div", { class: "cards", "data-hand": seat.seat }, ...cards);
  }

  function drawMeld(meld, actions) {
    const content = [
      element("span", {}, meld.text),
      element("span", { class: "cards overlap" }, ...meld.cards.map((card) => drawCard(card, { size: "small" }))),
    ];
    const data = { class: "meld", "data-meld": `${meld.seat}.${meld.group}` };
    const handler = actions.onMeld && actions.onMeld(meld);
    if (!handler) return element("div", data, ...content);
    const label = `Put the card on the ${meld.text}`;
    return element("button", { ...data, type: "button", "aria-label": label, onclick: handler }, ...content);
  }

  function drawSeat(facts, seat, actions) {
    const own = facts.viewer === seat.seat;
    const turn = facts.status === "running" && facts.to_act === seat.seat;
    const phase = seat.phase ? `Phase ${seat.phase}: ${seat.phase_text}` : `Phase: ${seat.phase_text}`;
    const worth = seat.hand ? ` (${points(seat.hand)})` : "";
    const melds = facts.melds.filter((meld) => meld.seat === seat.seat);
    return element(
      "section",
      { class: ["seat", turn ? "turn" : "", own ? "own" : ""].join(" ").trim(), "data-seat": seat.seat, "aria-label": seat.name },
      element(
        "header", {},
        element("strong", {}, own ? `${seat.name} (you)` : seat.name),
        ...drawBadges(seat, facts),
        element("span", { class: "score" }, `${seat.score} points`),
      ),
      element("div", { class: "line quiet" }, `${phase} · ${count(seat.hand_size, "card")}${worth}`),
      drawHand(seat, own, actions),
      melds.length ? element("div", { class: "melds" }, ...melds.map((meld) => drawMeld(meld, actions))) : null,
    );
  }

  function drawBuilding(facts) {
    if (facts.onto_card) {
      return element("div", { class: "building" }, "Placing ", drawCard(facts.onto_card, { size: "small" }));
    }
    if (!facts.building) return null;
    const groups = facts.building.groups.map(([text, cards]) =>
      element(
        "div", {},
        element("span", { class: "quiet" }, `${text}: `),
        ...cards.map((card) => drawCard(card, { size: "small" })),
      ),
    );
    return element("div", { class: "building" }, `Laying down phase ${facts.building.phase}`, ...groups);
  }

  // The facts as another viewer would see them: a seat, or null for the open table. Only hides, never shows.
  function seenBy(facts, viewer) {
    if (viewer === null || facts.viewer !== null) return facts;
    const own = facts.to_act === viewer;
    return {
      ...facts,
      viewer,
      building: own ? facts.building : null,
      onto_card: own ? facts.onto_card : "",
      seats: facts.seats.map((seat) => (seat.seat === viewer ? seat : { ...seat, hand: null })),
    };
  }

  // Draws facts into `root`. `actions` may hold onStock, onDiscard, onCard(card), onMeld(meld) -> handler or
  // null, `selected` (a card of the viewer's hand), `fresh` (the card just drawn) and `first` (seat on top).
  function draw(root, facts, actions = {}) {
    const first = actions.first || 0;
    root.classList.toggle("many", facts.seats.length > 3);
    const order = facts.seats.map((_, place) => facts.seats[(first + place) % facts.seats.length]);
    root.replaceChildren(
      drawPiles(facts, actions),
      ...[drawBuilding(facts)].filter(Boolean),
      ...order.map((seat) => drawSeat(facts, seat, actions)),
    );
  }

  return { cardName, draw, drawCard, element, points, seenBy };
})();
