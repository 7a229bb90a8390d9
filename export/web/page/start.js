/* Says so where page.mjs, or a module that it imports, does not load: the page could not say it then. */

addEventListener(
  "error",
  ({ target }) => {
    if (target.type !== "module") return;
    const problem =
      "The page's script did not load. Load the page again, over https or from http://localhost. " +
      "Its server must send .mjs files as JavaScript.";
    const say = () => Object.assign(document.getElementById("problem"), { textContent: problem, hidden: false });
    if (document.readyState === "loading") addEventListener("DOMContentLoaded", say);
    else say();
  },
  true,
);
