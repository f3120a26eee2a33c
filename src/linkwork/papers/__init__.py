"""Reproduction of tables and figures from the papers that linkwork follows."""
