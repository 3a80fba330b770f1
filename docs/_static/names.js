// Names for what the theme and the gallery leave without one, so that a screen reader can tell links and buttons apart.
document.addEventListener("DOMContentLoaded", () => {
  for (const summary of document.querySelectorAll("nav details > summary")) {
    const link = summary.parentElement.previousElementSibling;
    if (link && !summary.textContent.trim()) summary.setAttribute("aria-label", `Pages under ${link.textContent}`);
  }
  for (const link of document.querySelectorAll(".sphx-glr-thumbcontainer p a")) {
    link.setAttribute("aria-label", link.textContent);
  }
  for (const list of document.querySelectorAll(".citation-list[role=list]")) list.removeAttribute("role");
  for (const entry of document.querySelectorAll(".citation[role=doc-biblioentry]")) entry.removeAttribute("role");
  // The empty corner of a table is no heading of a column.
  for (const head of document.querySelectorAll(".bd-article thead th")) {
    if (head.textContent.trim()) continue;
    const corner = document.createElement("td");
    corner.className = head.className;
    head.replaceWith(corner);
  }
  // What scrolls inside its box on a narrow screen can be scrolled by keyboard, too.
  for (const box of document.querySelectorAll(".bd-article :is(dt.sig, dl.field-list, section > dl)")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
});
