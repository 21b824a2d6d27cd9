document.getElementById("app").textContent = "Brynhild";
