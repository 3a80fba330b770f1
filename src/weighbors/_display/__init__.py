"""What is shown to people: html, LaTeX, figures, printed results, and the status line."""
