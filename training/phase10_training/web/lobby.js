// The page on which a table is opened, joined or gone back to.
"use strict";

(() => {
  const { element } = Table;
  const find = (id) => document.getElementById(id);
  let agents = [];

  function addSeat(choice) {
    const seats = find("others").querySelectorAll("label").length;
    if (seats >= 5) return;
    const options = [...agents, "human"].map((spec) =>
      element("option", { value: spec, selected: spec === choice }, spec === "human" ? "another person" : spec),
    );
    find("others").append(element("label", {}, `Seat ${seats + 2} `, element("select", {}, ...options)));
    countSeats();
  }
  function countSeats() {
    const seats = find("others").querySelectorAll("label").length;
    find("add").disabled = seats >= 5;
    find("remove").disabled = seats <= 1;
  }

  function drawTables(tables) {
    find("tables").replaceChildren(
      ...tables.map((table) => {
        const mine = table.seat !== null;
        const state = table.over ? "finished" : `round ${table.round}`;
        const text = mine ? (table.over ? "Look" : "Go on") : table.free.length ? "Take a seat" : "Look";
        return element(
          "li", {},
          element("span", {}, `${table.names.join(", ")} `, element("span", { class: "quiet" }, `${table.rules}, ${state}`)),
          element("a", { class: "button", href: `/t/${table.table}` }, text),
        );
      }),
    );
    if (!tables.length) find("tables").append(element("li", { class: "quiet" }, "No table yet."));
  }

  find("add").addEventListener("click", () => addSeat(agents.includes("aware") ? "aware" : agents[0]));
  find("remove").addEventListener("click", () => {
    find("others").querySelector("label:last-of-type").remove();
    countSeats();
  });
  find("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const others = [...find("others").querySelectorAll("select")].map((select) => select.value);
    const body = JSON.stringify({ seats: ["human", ...others], rules: find("rules").value, name: find("name").value });
    try {
      const answer = await fetch("/api/tables", { method: "POST", headers: { "Content-Type": "application/json" }, body });
      const data = await answer.json();
      if (answer.ok) location.href = `/t/${data.table}`;
      else find("message").textContent = data.error;
    } catch {
      find("message").textContent = "The server does not answer.";
    }
  });

  fetch("/api/lobby")
    .then((answer) => answer.json())
    .then((data) => {
      agents = data.agents;
      find("rules").append(...data.rules.map((name) => element("option", { value: name }, name)));
      addSeat(agents.includes("aware") ? "aware" : agents[0]);
      drawTables(data.tables);
    })
    .catch(() => {
      find("message").textContent = "The server does not answer.";
    });
})();
