"""Adapters to other libraries, one file each; each needs its library and imports no other adapter."""

__all__: list[str] = []
