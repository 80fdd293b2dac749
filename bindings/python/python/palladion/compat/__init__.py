"""Interfaces of other packages."""
