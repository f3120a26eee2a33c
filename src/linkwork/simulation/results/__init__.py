"""What a run leaves: series, files, figures, and a report on how far it can be trusted."""
