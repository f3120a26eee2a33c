"""Results of runs: recorded data, files, data sets, figures, and the report that checks a run."""
