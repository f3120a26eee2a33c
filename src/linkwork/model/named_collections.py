"""Ordered collections whose items are found by index or name."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence, ValuesView
from typing import Any, Generic, Protocol, TypeVar, overload

from linkwork.errors import NameNotFound, unknown_name


class HasName(Protocol):
    """Interface of an object with a name."""

    @property
    def name(self) -> str:
        """The name of the object."""
        ...


T = TypeVar("T", bound=HasName)


class Named(Sequence[T], Generic[T]):
    """A tuple whose items are found by index or name.

    An unknown name raises an error that lists the valid names. `what` is the word for one item in this error, and
    `elsewhere` has hints for names that exist in another collection.
    """

    def __init__(self, what: str, items: Sequence[T], elsewhere: dict[str, str] | None = None):
        self._what, self._items = what, tuple(items)
        self._index = {item.name: k for k, item in enumerate(self._items)}
        self._elsewhere = elsewhere or {}

    def replaced(self, items: Sequence[T]) -> Named[T]:
        """Return a collection with other items and the same `what`, the word for one item in error messages."""
        return Named(self._what, items, self._elsewhere)

    def changed(self, change: Callable[[T], T]) -> Named[T]:
        """Return a collection with `change` applied to each item; this same object if no item changes."""
        items = [change(item) for item in self._items]
        same = all(new is old for new, old in zip(items, self._items, strict=True))
        return self if same else self.replaced(items)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all items, in order."""
        return tuple(self._index)

    def index_of(self, name: str) -> int:
        """Return the index of the item called `name`."""
        if name not in self._index:
            hint = f" {self._elsewhere[name]}" if name in self._elsewhere else ""
            raise unknown_name(self._what, name, self._index, hint)
        return self._index[name]

    @overload
    def __getitem__(self, key: int | str) -> T: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[T]: ...
    def __getitem__(self, key: int | str | slice) -> T | Sequence[T]:
        if isinstance(key, str):
            return self._items[self.index_of(key)]
        if isinstance(key, slice) or -len(self._items) <= key < len(self._items):
            return self._items[key]
        raise NameNotFound(f"there is no {self._what} number {key}; there are {len(self._items)}, numbered from 0")

    def __contains__(self, item: object) -> bool:
        return item in self._index if isinstance(item, str) else item in self._items

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"<{len(self)} {self._what}s: {', '.join(self._index)}>"


class Sections(Mapping[str, Named[Any]]):
    """An immutable, ordered mapping from section name ("loops", "clutches", ...) to the elements of that section.

    Empty sections are left out.
    """

    def __init__(self, sections: Mapping[str, Named[Any]]):
        self._sections = {section: items for section, items in sections.items() if items}

    def __getitem__(self, section: str) -> Named[Any]:
        return self._sections[section]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sections)

    def __len__(self) -> int:
        return len(self._sections)

    def values(self) -> ValuesView[Named[Any]]:
        """Return the element collections of all sections."""
        return self._sections.values()

    def items(self) -> ItemsView[str, Named[Any]]:
        """Return all pairs of section name and element collection."""
        return self._sections.items()
