"""What kernels are compiled to: one folder per target, with its printer, code loader and launcher."""
