"""Kinds: everything a file can name, each declared once, in the class that owns its mathematics.

A *noun* (mechanism, gain, loss, metric, secrets, query, values, …) is a base class; a *kind* of it is one
subclass, registered under its name or leading key. From the declaration come the file's schema, its errors,
the JSON schema for editors and the reference of the file. A file names a kind

- by a bare name, ``"line"``;
- by a table with the noun's tag, ``{ kind = "geometric", eps = 1.0 }``;
- by a table with exactly one registered leading key, ``{ within = 2, name = "near" }``;
- by a list, where the noun takes one (``values = ["yes", "no"]``).

>>> class Shape(ConfigType, noun="shape"):
...     "What is drawn."
>>> @variant(Shape, "dot")
... class Dot(Shape):
...     "A point."
>>> @variant(Shape, key="radius")
... class Disc(Shape):
...     "A disc."
...     radius: Annotated[float, Field(gt=0)]
>>> Shape.resolve("dot"), Shape.resolve({"radius": 2.0}).spelled()
(Dot(), {'radius': 2.0})
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any, ClassVar, Protocol, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, core_schema

__all__ = [
    "ConfigType",
    "ConfigVariant",
    "Count",
    "FilePath",
    "Finite",
    "NonNegative",
    "Positive",
    "PrivatePath",
    "Probability",
    "PublicPath",
    "Reader",
    "Section",
    "Value",
    "paths_in",
    "variant",
]

Probability = Annotated[float, Field(ge=0, le=1)]
NonNegative = Annotated[float, Field(ge=0)]
# How many of something: no more than are multiplied without leaving the floats.
MOST = 10**18
Positive = Annotated[int, Field(ge=1, le=MOST)]
Count = Annotated[int, Field(ge=0)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Value = int | Finite | str | list[int | Finite | str]


class Section(BaseModel):
    """A table of the file; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)


@dataclass(frozen=True)
class ConfigVariant:
    """One kind of a noun: its class, and how a file names it, by a name or by the leading key of a table."""

    owner: type[ConfigType]
    name: str | None
    key: str | None

    def __str__(self) -> str:
        return self.name or self.key or ""

    @property
    def bare(self) -> bool:
        """Whether the name alone will do: the kind has no key that must be given."""
        if self.name is None or self.owner.tables_only:
            return False
        return not any(field.is_required() for field in self.owner.model_fields.values())

    @property
    def is_noun(self) -> bool:
        """Whether the kind is a noun of its own, whose tag is the leading key."""
        return "registry" in self.owner.__dict__

    def key_names(self) -> list[str]:
        """The keys that a table of this kind may have, besides the tag."""
        return [self.owner.tag, *self.owner.key_names()] if self.is_noun else list(self.owner.model_fields)


class ConfigType(Section):
    """The base of a noun: ``class Loss(Noun, noun="loss")`` names it, its subclasses are its kinds."""

    noun: ClassVar[str] = ""
    # The key that names the kind in a table.
    tag: ClassVar[str] = "kind"
    # Whether the noun is a table of the file, which no bare name replaces.
    tables_only: ClassVar[bool] = False
    # The kind meant by a table with neither tag nor leading key.
    default: ClassVar[str | None] = None
    # Leading keys that may be left out: of a plain list, and of a text that is no name.
    list_key: ClassVar[str | None] = None
    text_key: ClassVar[str | None] = None
    # What such a text is.
    text_words: ClassVar[str] = "the path of a file"
    # Whether a list of tables is several of them at once.
    takes_several: ClassVar[bool] = False
    # The class that holds several kinds at once, where a table may have several leading keys.
    joined: ClassVar[type[Any] | None] = None
    # Modules that declare kinds of this noun: loaded when a kind is first looked up.
    homes: ClassVar[tuple[str, ...]] = ()
    # Names from elsewhere, with what to write here.
    elsewhere: ClassVar[Mapping[str, str]] = {}
    registry: ClassVar[dict[str, ConfigVariant]]
    # Every noun by its name.
    nouns: ClassVar[dict[str, type[ConfigType]]] = {}

    model_config = ConfigDict(frozen=True)

    def __init_subclass__(cls, *, noun: str = "", **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if noun:
            cls.noun, cls.registry = noun, {}
            ConfigType.nouns[noun] = cls

    @classmethod
    def __pydantic_init_subclass__(cls, *, noun: str = "", **keywords: Any) -> None:
        super().__pydantic_init_subclass__(**keywords)

    @classmethod
    def kinds(cls) -> dict[str, ConfigVariant]:
        """Every kind by its name or leading key, those of modules not yet loaded included."""
        for home in cls.homes:
            import_module(home)
        # In the order of the homes, whichever was loaded first.
        rank = {home: place for place, home in enumerate(cls.homes)}
        known = cls.registry.items()
        return dict(sorted(known, key=lambda item: rank.get(item[1].owner.__module__, len(rank))))

    @classmethod
    def classes(cls) -> list[type[Self]]:
        """The class of every kind."""
        return [found.owner for found in cls.kinds().values()]  # type: ignore[misc]

    @classmethod
    def names(cls) -> list[str]:
        """The kinds that go by a name."""
        return [name for name, found in cls.kinds().items() if found.name is not None]

    @classmethod
    def leading(cls) -> list[str]:
        """The kinds that go by the leading key of a table."""
        return [key for key, found in cls.kinds().items() if found.key is not None]

    @classmethod
    def key_names(cls) -> list[str]:
        """Every key that a table of some kind may have, besides the tag."""
        return list(dict.fromkeys(key for found in cls.kinds().values() for key in found.key_names()))

    @classmethod
    def resolve(cls, raw: Any, context: Any = None) -> Self:
        """The kind that a file's value names, with its keys checked."""
        if isinstance(raw, cls):
            return raw
        if cls.tables_only and not isinstance(raw, dict):
            raise _mistake("kind", raw, "a table", choices=[], elsewhere={})
        if isinstance(raw, str):
            if raw not in cls.names() and cls.text_key is not None:
                return cls._of_text(raw, context)
            return cls._with_keys(cls._named(raw, ()), {}, context)
        if isinstance(raw, list) and cls.list_key is not None:
            return cls._with_keys(cls.kinds()[cls.list_key], {cls.list_key: raw}, context)
        if not isinstance(raw, dict):
            raise _mistake("kind", raw, cls._spellings(), choices=cls.names(), elsewhere={})
        if cls.tag in raw and cls.names():
            rest = {key: value for key, value in raw.items() if key != cls.tag}
            return cls._with_keys(cls._named(raw[cls.tag], (cls.tag,)), rest, context)
        leading = [key for key in cls.leading() if key in raw]
        if len(leading) > 1 and cls.joined is not None:
            parts = [cls.resolve(part, context) for part in cls._split(raw, leading)]
            joined: Self = cls.joined(parts=parts)
            return joined
        return cls._with_keys(cls._led(raw, leading), raw, context)

    @classmethod
    def _of_text(cls, raw: str, context: Any) -> Self:
        """A text that is no name; a path is told which name is near, should no such file be there."""
        assert cls.text_key is not None
        found = cls._with_keys(cls.kinds()[cls.text_key], {cls.text_key: raw}, context)
        text = getattr(found, cls.text_key)
        if isinstance(text, PublicPath):
            text.names = tuple(cls.names())
        return found

    @classmethod
    def _split(cls, table: dict[str, Any], leading: list[str]) -> list[dict[str, Any]]:
        """A table with several leading keys as one table each."""
        keys = {lead: cls.kinds()[lead].key_names() for lead in leading}
        for key, value in table.items():
            if not any(key in known for known in keys.values()):
                choices = [name for known in keys.values() for name in known]
                raise _mistake("key", value, cls._misplaced(key), (key,), choices=choices)
        return [{key: table[key] for key in known if key in table} for known in keys.values()]

    @classmethod
    def _named(cls, name: Any, where: tuple[str, ...]) -> ConfigVariant:
        found = cls.kinds().get(name) if isinstance(name, str) else None
        if found is not None and found.name is None and where:
            raise _mistake("value", name, f"a table names {name!r} by its key: {{ {name} = … }}", where)
        if found is None or found.name is None:
            listed = _listed([repr(n) for n in cls.names()]) if where else cls._spellings()
            raise _mistake("kind", name, listed, where, choices=cls.names(), elsewhere=dict(cls.elsewhere))
        if not where and not found.bare:
            raise _mistake("value", name, f"{name!r} needs a table: {{ {cls.tag} = {name!r}, … }}")
        return found

    @classmethod
    def _led(cls, table: dict[str, Any], leading: list[str]) -> ConfigVariant:
        known = cls.kinds()
        if len(leading) == 1:
            return known[leading[0]]
        for key, value in table.items():
            if key not in cls.key_names():
                leads = [*cls._tags(), *cls.leading()]
                choices = [*cls._tags(), *cls.key_names()]
                plain = cls._plain_spellings()
                raise _mistake("key", value, "", (key,), choices=choices, leads=leads, plain=plain)
        if not leading and cls.default is not None:
            return known[cls.default]
        if cls.joined is not None:
            raise _mistake("value", table, f"give {_listed(cls._keyed())}, or several of them")
        ways = [f'{cls.tag} = "…"', *cls._keyed()] if cls._tags() else cls._keyed()
        given = f"given: {', '.join(leading) or 'none'}"
        raise _mistake("value", table, f"give exactly one of {', '.join(ways)} ({given})")

    @classmethod
    def _with_keys(cls, found: ConfigVariant, table: dict[str, Any], context: Any) -> Self:
        owner = found.owner
        if found.is_noun:
            return owner.resolve(table, context)  # type: ignore[return-value]
        strange = [key for key in table if key not in owner.model_fields]
        if strange:
            # A key that no kind has is misspelt; one of another kind may be right where the kind is not.
            known = cls.key_names()
            key = min(strange, key=lambda key: key in known)
            raise _mistake("key", table[key], cls._misplaced(key), (key,), choices=cls._keys_of(found))
        return owner.model_validate(table, context=context)  # type: ignore[return-value]

    @classmethod
    def _keys_of(cls, found: ConfigVariant) -> list[str]:
        return [*(cls._tags() if found.name is not None else []), *found.owner.model_fields]

    @classmethod
    def _misplaced(cls, key: str) -> str:
        """Which kinds a key goes with, where this one does not have it."""
        if key in cls.leading():
            return f"{key} goes without {cls.tag}"
        named = cls._going_with(key)
        return f"{key} goes with {_listed(named)}" if named else ""

    @classmethod
    def _going_with(cls, key: str) -> list[str]:
        found = []
        for other in cls.kinds().values():
            if other.is_noun and key != other.key:
                found += other.owner._going_with(key)
            elif key in other.key_names():
                found.append(f'{cls.tag} = "{other}"' if other.name else str(other))
        return found

    @classmethod
    def _tags(cls) -> list[str]:
        """The key under which a table names a kind, where some kind has a name."""
        return [cls.tag] if cls.names() else []

    @classmethod
    def _keyed(cls) -> list[str]:
        """The leading keys that cannot be left out."""
        return [key for key in cls.leading() if key not in (cls.list_key, cls.text_key)]

    @classmethod
    def _plain_spellings(cls) -> list[str]:
        """What takes the place of a table."""
        bare = [repr(name) for name, found in cls.kinds().items() if found.bare]
        lists = ["a list"] if cls.list_key is not None else []
        return [*bare, *lists, *([cls.text_words] if cls.text_key is not None else [])]

    @classmethod
    def _spellings(cls) -> str:
        keyed = cls._keyed()
        return _listed(
            [*cls._plain_spellings(), *([f"a table with one of {', '.join(keyed)}"] if keyed else [])]
        )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        if "registry" not in cls.__dict__:
            return handler(source)
        return core_schema.with_info_plain_validator_function(
            lambda raw, info: cls.resolve(raw, info.context),
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda item, info: item.spelled(defaults=not info.exclude_unset), info_arg=True
            ),
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        # Kinds hold kinds, and later ones count: whoever writes the schema fills the noun in.
        return handler(schema) if "registry" not in cls.__dict__ else {"x-noun": cls.noun}

    @classmethod
    def declared(cls) -> ConfigVariant:
        """How a file names this kind."""
        return next(kind for kind in cls.registry.values() if kind.owner is cls)

    def spelled(self, defaults: bool = False) -> Any:
        """The value as a file writes it; keys that were not given are left out, or hold their defaults."""
        found = self.declared()
        table = self.model_dump(exclude_unset=not defaults)
        if found.name is None:
            alone = set(self.model_fields_set) in ({self.list_key}, {self.text_key})
            leading = str(found.key)
            return table[leading] if alone else {leading: table[leading], **table}
        return found.name if found.bare and not table else {self.tag: found.name, **table}

    def by_key(self, key: str) -> Iterator[tuple[str, object]]:
        """What stands in its fields, each under the whole key that a file writes."""
        for name in type(self).model_fields:
            plain = name in (self.list_key, self.text_key)
            yield key if plain else f"{key}.{name}" if key else name, getattr(self, name)


Owner = TypeVar("Owner", bound=type[ConfigType])


def variant(
    noun: type[ConfigType], name: str | None = None, *, key: str | None = None
) -> Callable[[Owner], Owner]:
    """Register a class as a kind of a noun, under its name or under the leading key of its table."""
    if (name is None) == (key is None):
        raise TypeError("give a name or a leading key")

    def register(owner: Owner) -> Owner:
        spelling = str(name or key)
        if spelling in noun.registry:
            raise TypeError(
                f"{spelling!r} is a {noun.noun} already: {noun.registry[spelling].owner.__name__}"
            )
        noun.registry[spelling] = ConfigVariant(owner, name, key)
        return owner

    return register


def _listed(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else "".join(words)


def _mistake(
    sort: str, value: Any, message: str, where: tuple[str, ...] = (), **context: Any
) -> ValidationError:
    problem = PydanticCustomError(sort, "{message}", {"message": message, **context})
    return ValidationError.from_exception_data(
        "file", [InitErrorDetails(type=problem, loc=where, input=value)]
    )


# ── Paths are types: whoever guards, moves or lists them walks the model, not a list of keys ────────────────


class Reader(Protocol):
    """How a public file is read: by whoever loads the document, so that no kind opens a file."""

    def table(self, path: PublicPath) -> Any:
        """The rows of a table."""

    def channel(self, path: PublicPath, inputs: Any) -> Any:
        """A channel, its rows matched to the inputs."""


class FilePath(str):
    """A path in a file, relative to the file's folder."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_after_validator_function(cls._bound, core_schema.str_schema(strict=True))

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"type": "string", "format": "path"}

    @classmethod
    def _bound(cls, text: str, info: core_schema.ValidationInfo[Any]) -> Self:
        return cls.checked(text)

    @classmethod
    def checked(cls, text: str) -> Self:
        """The path, where it may stand in a file."""
        if not text or "\0" in text:
            raise ValueError("is not the name of a file")
        return cls(text)

    @property
    def local(self) -> str | None:
        """The path itself; None where nothing of it lies on this disk."""
        return str(self)

    def at(self, local: str) -> Self:
        """The same thing under another path."""
        return type(self)(local)


class PublicPath(FilePath):
    """What the promise treats as known to everybody; the reader of its document reads it."""

    reader: Reader | None = None
    # What the text could have meant instead of a path.
    names: tuple[str, ...] = ()

    @classmethod
    def _bound(cls, text: str, info: core_schema.ValidationInfo[Any]) -> Self:
        path = super()._bound(text, info)
        path.reader = info.context
        return path

    def _readable(self) -> Reader:
        if self.reader is None:
            raise RuntimeError(f"{str(self)!r} was validated without a reader, so it has no folder")
        return self.reader

    def table(self) -> Any:
        """The rows of the file."""
        return self._readable().table(self)

    def channel(self, inputs: Any) -> Any:
        """The channel in the file, its rows matched to the inputs."""
        return self._readable().channel(self, inputs)


class PrivatePath(FilePath):
    """The data that is protected."""


def paths_in(item: object, key: str = "") -> Iterator[tuple[str, FilePath]]:
    """Every path in a model and in the kinds within it, with the key it stands under."""
    if isinstance(item, FilePath):
        yield key, item
    elif isinstance(item, ConfigType):
        for name, part in item.by_key(key):
            yield from paths_in(part, name)
    elif isinstance(item, BaseModel):
        for name in type(item).model_fields:
            yield from paths_in(getattr(item, name), f"{key}.{name}" if key else name)
    elif isinstance(item, dict):
        for name, part in item.items():
            yield from paths_in(part, f"{key}.{name}")
    elif isinstance(item, list | tuple):
        for place, part in enumerate(item, start=1):
            yield from paths_in(part, f"{key}, entry {place}" if isinstance(part, BaseModel) else key)
