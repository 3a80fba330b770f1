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
});
