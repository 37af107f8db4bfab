// Four things that a page inside Airflow's frame needs. Without this script every page still reads and links.
"use strict";
(() => {
  const root = document.documentElement;
  const host = (() => {
    try {
      return parent !== window && parent.document ? parent : null;
    } catch {
      return null; // a frame of another origin
    }
  })();

  // 1. A link of the form plugin/checkpoints?at=LOCATION shows this frame, which goes on to the checkpoint.
  if (host && root.dataset.page === "fleet" && !location.search) {
    const asked = new URLSearchParams(host.location.search);
    if (asked.get("at")) {
      location.replace(`${root.dataset.base}/${asked.get("kind") ? "preview" : "checkpoint"}?${asked}`);
      return;
    }
  }

  // 2. Light or dark as Airflow is, also when it changes. It keeps that as a class of its document.
  const follow = () => {
    const names = (host ?? window).document.documentElement.classList;
    let theme = ["dark", "light"].find((name) => names.contains(name));
    try {
      theme ??= ["dark", "light"].find((name) => localStorage.getItem("theme") === name);
    } catch {
      // no storage: the browser's preference counts
    }
    if (theme) root.dataset.theme = theme;
    else delete root.dataset.theme;
    const background = host && host.getComputedStyle(host.document.body).backgroundColor;
    if (background && !background.endsWith(", 0)")) root.style.setProperty("--page", background);
  };
  follow();
  if (host) {
    new MutationObserver(follow).observe(host.document.documentElement, { attributes: true, attributeFilter: ["class"] });
  }

  // 3. A link to a DAG, run or task leaves the frame. The sandbox forbids target=_top: the click is made outside.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-leave]");
    if (!link || !host || event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const outside = host.document.createElement("a");
    outside.href = link.href;
    host.document.body.append(outside);
    outside.click();
    outside.remove();
  });

  // 4. The button of a preview starts a DAG with the rights of the person, through Airflow's own API.
  const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);
  const restart = (form) => {
    const value = (name) => form.elements[name].value.trim();
    if (!value("application")) return {};
    const confs = lines(value("confs")).map((line) => {
      const at = line.indexOf("=");
      if (at < 1) throw new Error(`"${line}" is no conf: write key=value. Nothing was started.`);
      return [line.slice(0, at), line.slice(at + 1)];
    });
    return {
      application: value("application"),
      application_args: lines(value("application_args")),
      confs: Object.fromEntries(confs),
    };
  };
  const refusal = (status, answer) => {
    const detail = answer?.detail;
    const said = typeof detail === "string" ? detail : detail && JSON.stringify(detail);
    const known = { 401: "you are not logged in, or no longer", 403: "your role may not start it", 404: "there is no such DAG" };
    return `Airflow did not start the DAG (${status}): ${[known[status], said].filter(Boolean).join("; ") || "no reason was given"}.`;
  };
  const linkTo = (href, text) => {
    const link = document.createElement("a");
    link.href = href;
    link.textContent = text;
    link.dataset.leave = "";
    return link;
  };
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (form.id !== "start-form") return;
    event.preventDefault();
    const { dag, airflow, conf } = form.dataset;
    const result = document.getElementById("start-result");
    const button = form.querySelector("button");
    button.disabled = true;
    result.className = "";
    result.textContent = "Starting…";
    try {
      // The conf is passed on as text: a number of 64 bits is more than JavaScript keeps.
      const more = JSON.stringify(restart(form));
      const whole = more === "{}" ? conf : `${conf.slice(0, -1)},${more.slice(1)}`;
      const unanswered = `Airflow did not answer. See whether there is a run of ${dag} before you start another one.`;
      const answer = await fetch(`${airflow}/api/v2/dags/${encodeURIComponent(dag)}/dagRuns`, {
        method: "POST",
        credentials: "same-origin",
        headers: { "Content-Type": "application/json", Accept: "application/json" },
        body: `{"logical_date":null,"conf":${whole}}`,
      }).catch(() => {
        throw new Error(unanswered);
      });
      const told = await answer.json().catch(() => null);
      if (!answer.ok) throw new Error(refusal(answer.status, told));
      const run = `${airflow}/dags/${encodeURIComponent(dag)}/runs/${encodeURIComponent(told?.dag_run_id ?? "")}`;
      result.className = "good";
      result.replaceChildren(
        "The DAG was started. ",
        linkTo(run, "Show its run"),
        ", and approve it under ",
        linkTo(`${airflow}/required_actions`, "Required Actions"),
        " when the query is stopped.",
      );
    } catch (error) {
      button.disabled = false;
      result.className = "bad";
      result.textContent = error.message;
    }
  });
})();
