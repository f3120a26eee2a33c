"""Results of runs: series, files, data sets, figures, and a report that checks them."""
