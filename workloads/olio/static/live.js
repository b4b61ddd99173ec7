/* Attend and unattend without a new page: the reply replaces the list. */
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("form.live")) return;
  event.preventDefault();
  const reply = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
  if (reply.ok) document.getElementById("attendees").outerHTML = await reply.text();
});
