"""``palladion.compat.pyaegis`` against ``pyaegis``, if that is installed.

The same inputs must give the same outputs, and the same mistakes the same exceptions.
"""

import array
import hashlib
import inspect
import threading

import palladion.compat.pyaegis as ours
import pytest

try:
    import pyaegis as theirs
except ImportError:
    theirs = None

needs_pyaegis = pytest.mark.skipif(theirs is None, reason="pyaegis is not installed")

NAMES = ["128L", "128X2", "128X4", "256", "256X2", "256X4"]
LENGTHS = [0, 1, 15, 16, 17, 31, 32, 33, 64, 100, 255, 256, 1000, 4096]
BOTH = [ours] + ([theirs] if theirs else [])


def pattern(length, seed=1):
    return bytes((seed + 7 * i) % 251 for i in range(length))


def outcome(work):
    """The result of a call, or the name of its exception."""
    try:
        result = work()
    except Exception as error:
        return f"raised {type(error).__name__}"
    return bytes(result) if isinstance(result, bytearray) else result


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture(params=[16, 32])
def tag_size(request):
    return request.param


def key_of(name, seed=3):
    return pattern(16 if name.startswith("128") else 32, seed)


class Pair:
    """The class of that name in both packages."""

    def __init__(self, kind, name):
        self.ours = getattr(ours, f"Aegis{kind}{name}")
        self.theirs = getattr(theirs, f"Aegis{kind}{name}")

    def __iter__(self):
        return iter((self.ours, self.theirs))


# The interface


def public(module):
    return {name for name in module.__all__}


@needs_pyaegis
def test_names():
    assert public(ours) == public(theirs)
    assert ours.__version__ == theirs.__version__
    for name in public(theirs):
        cls = getattr(theirs, name)
        if not inspect.isclass(cls):
            continue
        assert {n for n in dir(cls) if not n.startswith("_")} <= {
            n for n in dir(getattr(ours, name))
        }, name


@needs_pyaegis
def test_constants_and_bases():
    for name in public(theirs):
        cls = getattr(theirs, name)
        if inspect.isclass(cls):
            for constant in dir(cls):
                if constant.isupper():
                    assert getattr(cls, constant) == getattr(getattr(ours, name), constant), (
                        name,
                        constant,
                    )
            if issubclass(cls, Exception):
                bases = [base.__name__ for base in cls.__mro__]
                assert [base.__name__ for base in getattr(ours, name).__mro__] == bases


def shape(function):
    """The names, order, kinds and defaults of the public parameters of a signature."""
    return [
        (parameter.name, parameter.kind, parameter.default)
        for parameter in inspect.signature(function).parameters.values()
        if not (parameter.name.startswith("_") and parameter.kind is parameter.KEYWORD_ONLY)
    ]


@needs_pyaegis
def test_signatures():
    count = 0
    for name in sorted(public(theirs)):
        there, here = getattr(theirs, name), getattr(ours, name)
        if not inspect.isclass(there):
            assert shape(here) == shape(there), name
            count += 1
            continue
        members = {n for n in dir(there) if not n.startswith("_") and callable(getattr(there, n))}
        if (
            "__init__" in there.__dict__
            or not issubclass(there, Exception)
            and not getattr(there, "_is_protocol", False)
        ):
            members.add("__init__")
        for member in members - {"with_traceback", "add_note"}:
            if getattr(there, member) is object.__init__:
                continue
            assert shape(getattr(here, member)) == shape(getattr(there, member)), (name, member)
            count += 1
    assert count > 200


def test_class_attributes_without_the_other_package():
    for number, name in enumerate(NAMES, 1):
        for kind in ("", "Mac", "StreamEncrypt", "StreamDecrypt", "Raf"):
            cls = getattr(ours, f"Aegis{kind}{name}")
            assert cls.KEY_SIZE == cls.NONCE_SIZE == len(key_of(name)) == len(cls.random_key())
            assert cls.random_key() != cls.random_key()
        assert getattr(ours, f"AegisRaf{name}").ALG_ID == number
        assert len(getattr(ours, f"Aegis{name}").random_nonce()) == len(key_of(name))


# Messages


@needs_pyaegis
def test_messages(name, tag_size):
    here, there = (cls(tag_size) for cls in Pair("", name))
    key, nonce = key_of(name), key_of(name, 5)
    for length in LENGTHS:
        message, ad = pattern(length), pattern(length % 50, 9)
        for options in ((), (None,), (b"",), (ad,)):
            sealed = there.encrypt(key, nonce, message, *options)
            assert here.encrypt(key, nonce, message, *options) == sealed
            assert type(here.encrypt(key, nonce, message, *options)) is bytes
            assert here.decrypt(key, nonce, sealed, *options) == message
            apart = there.encrypt_detached(key, nonce, message, *options)
            assert here.encrypt_detached(key, nonce, message, *options) == apart
            assert here.decrypt_detached(key, nonce, *apart, *options) == message
            one, two = bytearray(message), bytearray(message)
            tags = [
                here.encrypt_inplace(key, nonce, one, *options),
                there.encrypt_inplace(key, nonce, two, *options),
            ]
            assert one == two and tags[0] == tags[1] == apart[1]
            assert here.decrypt_inplace(key, nonce, one, tags[0], *options) is None
            assert one == message
        # `sealed` and `apart` are of the associated data.
        for cipher in (here, there):
            into, out = bytearray(length + tag_size), bytearray(length)
            assert cipher.encrypt(key, nonce, message, ad, into) == into == sealed
            assert cipher.decrypt(key, nonce, sealed, ad, out) == out == message
            out = bytearray(length)
            assert cipher.encrypt_detached(key, nonce, message, ad, out) == apart
            assert out == apart[0]
            out = bytearray(length)
            assert cipher.decrypt_detached(key, nonce, *apart, ad, out) == out == message
        view = memoryview(bytearray(b"ab" + message))[2:]
        assert here.encrypt_inplace(key, nonce, view, ad) == apart[1] and view == apart[0]


@needs_pyaegis
def test_streams(name):
    here, there = Pair("", name)
    key, nonce = key_of(name), key_of(name, 5)
    for length in LENGTHS:
        stream = here.stream(key, nonce, length)
        # Where pyaegis lacks it, compare with the encryption of zeros.
        assert stream == there().encrypt_detached(key, nonce, bytes(length))[0]
        if hasattr(there, "stream"):
            assert stream == there.stream(key, nonce, length)
        into = bytearray(length)
        assert here.stream(key, nonce, length, into) == stream == into


def wrong_messages(module, name):
    """Mistakes that both packages detect."""
    cipher = getattr(module, f"Aegis{name}")()
    key, nonce = key_of(name), key_of(name, 5)
    sealed = cipher.encrypt(key, nonce, b"text", b"ad")
    text, tag = cipher.encrypt_detached(key, nonce, b"text", b"ad")
    other = bytes([tag[0] ^ 1]) + tag[1:]
    yield "tag size", lambda: type(cipher)(20)
    yield "tag size 0", lambda: type(cipher)(tag_size=0)
    for call in (cipher.encrypt, cipher.decrypt):
        yield "key too short", lambda call=call: call(key[1:], nonce, sealed)
        yield "key too long", lambda call=call: call(key + b"x", nonce, sealed)
        yield "no key", lambda call=call: call(None, nonce, sealed)
        yield "nonce too short", lambda call=call: call(key, nonce[1:], sealed)
        yield "nonce empty", lambda call=call: call(key, b"", sealed)
        yield "text as a message", lambda call=call: call(key, nonce, "text" * 20)
        yield "nothing as a message", lambda call=call: call(key, nonce, None)
        yield "text as associated data", lambda call=call: call(key, nonce, sealed, "ad")
        yield "into too short", lambda call=call: call(key, nonce, sealed, into=bytearray(3))
        yield "unknown argument", lambda call=call: call(key, nonce, sealed, aad=b"")
    yield "short", lambda: cipher.decrypt(key, nonce, b"short")
    yield "empty", lambda: cipher.decrypt(key, nonce, b"")
    yield "other ad", lambda: cipher.decrypt(key, nonce, sealed, b"")
    yield "other nonce", lambda: cipher.decrypt(key, key, sealed, b"ad")
    yield "other text", lambda: cipher.decrypt(key, nonce, b"x" + sealed[1:], b"ad")
    for wrong in (other, tag[:5], b"", tag[:16], "text"):
        arguments = key, nonce, text, wrong, b"ad"
        yield f"tag {wrong!r}", lambda arguments=arguments: cipher.decrypt_detached(*arguments)
    long = bytearray(9)
    yield "detached, into", lambda: cipher.decrypt_detached(key, nonce, text, tag, b"ad", long)
    yield "ciphertext_into", lambda: cipher.encrypt_detached(key, nonce, b"a", ciphertext_into=long)
    yield "in place, bytes", lambda: cipher.encrypt_inplace(key, nonce, b"text")
    yield "in place, text", lambda: cipher.decrypt_inplace(key, nonce, "text", tag)
    yield "in place", lambda: cipher.decrypt_inplace(key, nonce, bytearray(text), other, b"ad")

    def zeroed(work):
        buffer = bytearray(text)
        return outcome(lambda: work(buffer)), bytes(buffer)

    for wrong in (other, b"12345"):
        yield (
            f"zeroed in place by {wrong!r}",
            lambda wrong=wrong: zeroed(lambda it: cipher.decrypt_inplace(key, nonce, it, wrong)),
        )
    yield "into is zeroed", lambda: zeroed(lambda it: cipher.decrypt(key, nonce, sealed, b"x", it))
    if name in ("128L", "256"):
        yield "stream, key", lambda: cipher.stream(b"", nonce, 5)
        yield "stream, length", lambda: cipher.stream(key, nonce, -1)
        yield "stream, into", lambda: cipher.stream(key, nonce, 5, bytearray(4))
        yield "stream, no nonce", lambda: cipher.stream(key, None, 5)


def compare(table, *arguments):
    rows = list(table(ours, *arguments))
    assert len(rows) > 8
    different = []
    for (what, here), (same, there) in zip(rows, table(theirs, *arguments)):
        assert what == same
        results = outcome(here), outcome(there)
        if results[0] != results[1]:
            different.append((what, *results))
    assert not different


@needs_pyaegis
def test_wrong_messages(name):
    compare(wrong_messages, name)


# MACs


@needs_pyaegis
def test_macs(name, tag_size):
    pair = Pair("Mac", name)
    key, nonce = key_of(name), key_of(name, 5)
    for length in LENGTHS:
        data = pattern(length)
        tags = []
        for cls in pair:
            mac = cls(key, nonce, tag_size)
            for start in range(0, length, 37):
                mac.update(data[start : start + 37])
            tags.append(mac.final())
            mac.reset()
            mac.update(data)
            mac.verify(tags[0])
            mac.reset()
            assert mac.final() == cls(key, nonce, tag_size=tag_size).final()
        assert tags[0] == tags[1] and len(tags[0]) == tag_size


def wrong_macs(module, name):
    cls = getattr(module, f"AegisMac{name}")
    key, nonce = key_of(name), key_of(name, 5)

    def after(*steps):
        """The result of the last of some steps."""

        def run():
            mac = cls(key, nonce)
            tag = None
            for step in steps[:-1]:
                result = outcome(lambda step=step: getattr(mac, step[0])(*step[1:]))
                tag = result if step[0] == "final" else tag
            last = [tag if argument is TAG else argument for argument in steps[-1][1:]]
            return getattr(mac, steps[-1][0])(*last)

        return run

    TAG = object()
    yield "key", lambda: cls(key[1:], nonce)
    yield "nonce", lambda: cls(key, nonce[1:])
    yield "no nonce", lambda: cls(key)
    yield "nothing as a nonce", lambda: cls(key, None)
    yield "tag size", lambda: cls(key, nonce, 8)
    yield "update after final", after(("final",), ("update", b""))
    yield "final after final", after(("final",), ("final",))
    yield "verify after final", after(("final",), ("verify", TAG))
    yield "reset after final", after(("final",), ("reset",), ("verify", TAG))
    final, reset = ("final",), ("reset",)
    yield "reset twice", after(final, reset, ("update", b"x"), reset, ("verify", TAG))
    yield "wrong", after(("verify", bytes(32)))
    yield "too short", after(("verify", b"12345"))
    yield "no tag", after(("verify", b""))
    yield "16 of 32", after(("verify", bytes(16)))
    yield "final after wrong", after(("verify", bytes(32)), ("final",))
    yield "update after wrong", after(("verify", bytes(32)), ("update", b"x"))
    yield "reset after wrong", after(("verify", bytes(32)), ("reset",), ("final",))
    yield "text", after(("update", "text"))
    yield "text as a tag", after(("verify", "text"))
    yield "nothing", after(("update", None))


@needs_pyaegis
def test_wrong_macs(name):
    compare(wrong_macs, name)


def test_mac_copies():
    mac = ours.AegisMac256(bytes(32), bytes(32))
    mac.update(b"one")
    copy = mac.copy()
    mac.update(b"two")
    copy.update(b"two")
    assert copy.final() == mac.final() and copy.copy()._ended
    # A tag of the other valid length is refused.
    short = ours.AegisMac256(bytes(32), bytes(32), 16)
    long = ours.AegisMac256(bytes(32), bytes(32), 32)
    with pytest.raises(ours.DecryptionError):
        long.verify(short.final())


# Messages in pieces


@needs_pyaegis
def test_pieces(name, tag_size):
    encrypt, decrypt = Pair("StreamEncrypt", name), Pair("StreamDecrypt", name)
    key, nonce = key_of(name), key_of(name, 5)
    for length in LENGTHS:
        message = pattern(length)
        for ad in (None, b"", b"header"):
            results = []
            for cls in encrypt:
                with cls(key, nonce, ad, tag_size) as session:
                    pieces = [
                        session.update(message[start : start + 41])
                        for start in range(0, length, 41)
                    ]
                    results.append((b"".join(pieces), session.final()))
            assert results[0] == results[1]
            assert results[0] == getattr(ours, f"Aegis{name}")(tag_size).encrypt_detached(
                key, nonce, message, ad
            )
            for cls in decrypt:
                with cls(key, nonce, associated_data=ad, tag_size=tag_size) as session:
                    for start in range(0, length, 29):
                        assert session.update(results[0][0][start : start + 29]) is None
                    assert session.verify(results[0][1]) == message


def wrong_pieces(module, name):
    encrypt, decrypt = (
        getattr(module, f"AegisStream{kind}{name}") for kind in ("Encrypt", "Decrypt")
    )
    key, nonce = key_of(name), key_of(name, 5)

    def after(cls, *steps):
        def run():
            session = cls(key, nonce)
            for step in steps[:-1]:
                outcome(lambda step=step: getattr(session, step[0])(*step[1:]))
            return getattr(session, steps[-1][0])(*steps[-1][1:])

        return run

    leave = "__exit__", None, None, None
    for cls in (encrypt, decrypt):
        yield "key", lambda cls=cls: cls(key[1:], nonce)
        yield "nonce", lambda cls=cls: cls(key, nonce[1:])
        yield "tag size", lambda cls=cls: cls(key, nonce, None, 5)
        yield "nothing as a nonce", lambda cls=cls: cls(key, None)
        yield "text as associated data", lambda cls=cls: cls(key, nonce, "text")
        yield "text", after(cls, ("update", "text"))
        yield "empty", after(cls, ("update", b""))
        yield "exit", after(cls, ("update", b"x"), leave)
        yield "update after the end", after(cls, leave, ("verify", bytes(32)), ("update", b"x"))
    yield "update after final", after(encrypt, ("final",), ("update", b"x"))
    yield "empty update after final", after(encrypt, ("final",), ("update", b""))
    yield "final after final", after(encrypt, ("final",), ("final",))
    yield "final after exit", after(encrypt, leave, ("final",))
    yield "wrong", after(decrypt, ("update", b"x"), ("verify", bytes(32)))
    yield "too short", after(decrypt, ("verify", b"1"))
    yield "again", after(decrypt, ("verify", bytes(32)), ("verify", bytes(32)))
    yield "update after wrong", after(decrypt, ("verify", bytes(32)), ("update", b""))
    yield "text as a tag", after(decrypt, ("verify", "text"))


@needs_pyaegis
def test_wrong_pieces(name):
    compare(wrong_pieces, name)


# RAF files


def raf_class(module, name):
    return getattr(module, f"AegisRaf{name}")


def steps_of_a_file(module, name):
    """Applies steps to a file; returns their results and the final file."""
    key, storage, seen = key_of(name), module.BytesIOStorage(), []
    with raf_class(module, name)(
        storage, key, chunk_size=1024, create=True, merkle=True, merkle_max_chunks=64
    ) as file:
        for step in [
            lambda: file.write(pattern(5000)),
            lambda: file.tell(),
            lambda: file.read(),
            lambda: file.seek(1000),
            lambda: file.read(100),
            lambda: file.read(10, 20),
            lambda: file.tell(),
            lambda: file.read(0),
            lambda: file.read(-5, 4000),
            lambda: file.read(5, 99999),
            lambda: file.tell(),
            lambda: file.read(-1, 99999),
            lambda: file.pread(30, 4990),
            lambda: file.write(b"x" * 3000, 4096),
            lambda: file.size,
            lambda: file.pwrite(b"hole", 20000),
            lambda: file.tell(),
            lambda: file.write(b"", 5),
            lambda: file.tell(),
            lambda: file.truncate(15000),
            lambda: file.tell(),
            lambda: file.truncate(),
            lambda: file.truncate(30000),
            lambda: file.seek(-3, 2),
            lambda: file.seek(-5, 1),
            lambda: file.merkle_verify(),
            lambda: file.merkle_rebuild(),
            lambda: file.merkle_verify(),
            lambda: file.sync(),
            lambda: file.closed,
            lambda: file.size,
            lambda: file.read(-1, 0),
        ]:
            seen.append(outcome(step))
        into = bytearray(b"." * 50)
        seen.append((file.read_into(into, 4090), bytes(into), file.tell()))
        seen.append((file.read_into(into, 29990), bytes(into)[:10], file.tell()))
        seen.append(file.read_into(bytearray(), 3))
        root = file.root_hash
    return seen, storage.getvalue(), root


@needs_pyaegis
def test_raf_files(name):
    one, two = (steps_of_a_file(module, name) for module in (ours, theirs))
    for number, (here, there) in enumerate(zip(one[0], two[0])):
        assert here == there, number
    assert len(one[1]) == len(two[1]) and one[2] != two[2]
    # Each package reads the other's file and computes the same root.
    for module in (ours, theirs):
        for _, data, root in (one, two):
            with module.raf_open(
                module.BytesIOStorage(data), key_of(name), merkle=True, merkle_max_chunks=64
            ) as file:
                assert type(file) is raf_class(module, name)
                assert file.read() == one[0][-4]
                file.verify_root(root)
                assert file.root_hash == root and file.merkle_verify() is None
            assert module.raf_probe(module.BytesIOStorage(data)) == (file.ALG_ID, 1024, 30000)


class Hasher:
    """A hash function of the caller's."""

    hash_len = 20

    def _hash(self, *parts):
        return hashlib.sha1(repr(parts).encode()).digest()

    def hash_leaf(self, chunk, chunk_len, chunk_idx):
        return self._hash(0, bytes(chunk), chunk_len, chunk_idx)

    def hash_parent(self, left, right, level, node_idx):
        return self._hash(1, left, right, level, node_idx)

    def hash_empty(self, level, node_idx):
        return self._hash(2, level, node_idx)

    def hash_commitment(self, structural_root, ctx, file_size):
        return self._hash(3, structural_root, ctx, file_size)


@needs_pyaegis
def test_raf_own_hashers():
    storage = theirs.BytesIOStorage()
    with theirs.AegisRaf256(storage, bytes(32), create=True, chunk_size=1040) as file:
        file.write(pattern(9000))
    storage = ours.BytesIOStorage(storage.getvalue())
    # The last hashers are used by the other package.
    for hashers, hash_len in (
        ([Hasher(), Hasher()], 20),
        ([True, ours.SHA256MerkleHasher()], 32),
        ([ours.SHA256MerkleHasher(), True], 32),
        ([theirs.SHA256MerkleHasher(), ours.SHA256MerkleHasher()], 32),
    ):
        roots = set()
        for module, hasher in zip(BOTH, hashers):
            with module.raf_open(storage, bytes(32), merkle=hasher, merkle_max_chunks=13) as file:
                file.merkle_rebuild()
                assert file.merkle_verify() is None
                roots.add(file.root_hash)
        assert len(roots) == 1 and len(roots.pop()) == hash_len
    for module in BOTH:
        assert isinstance(Hasher(), module.MerkleHasher) and isinstance(storage, module.RAFStorage)
        copy = module.BytesIOStorage(storage.getvalue())
        with module.raf_open(copy, bytes(32), merkle=True, merkle_max_chunks=9) as file:
            file.merkle_rebuild()
            copy.write_at(b"damage", 64 + 2 * (32 + 1040 + 16) + 50)
            assert file.merkle_verify() == 2


def wrong_files(module, name, directory):
    cls, key = raf_class(module, name), key_of(name)
    memory, other = module.BytesIOStorage, raf_class(module, "256" if name == "128L" else "128L")

    def make(storage=None, **options):
        storage = storage or memory()
        file = cls(storage, key, create=True, chunk_size=1024, **options)
        file.write(pattern(5000))
        return file, storage

    def steps_on(file, steps):
        for step in steps[:-1]:
            outcome(lambda step=step: step(file))
        return steps[-1](file) if steps else file.size

    def on(*steps, **options):
        return lambda: steps_on(make(**options)[0], steps)

    good = make()[1].getvalue()
    bad = bytearray(good)
    bad[64 + 2 * (1024 + len(key) + 16) + 50] ^= 1

    def opened(data, *steps, **options):
        return lambda: steps_on(module.raf_open(memory(bytes(data)), key, **options), steps)

    def use(method, *arguments):
        return lambda file: getattr(file, method)(*arguments)

    def root(file):
        return file.root_hash

    def closed(file):
        file.close()
        file.close()

    tree = {"merkle": True, "merkle_max_chunks": 8}
    yield "wrong key", lambda: cls(memory(good), key[::-1])
    yield "key length", lambda: cls(memory(good), key[1:])
    yield "key length of another class", lambda: module.raf_open(memory(good), key + b"x")
    yield "text as a key", lambda: cls(memory(good), "x" * len(key))
    yield "another algorithm", lambda: other(memory(good), bytes(other.KEY_SIZE))
    yield "there already", lambda: cls(memory(good), key, create=True)
    yield "overwritten", lambda: cls(memory(good), key, create=True, truncate=True).size
    yield "truncate alone", lambda: cls(memory(good), key, truncate=True).size
    yield "chunk size is not asked for", lambda: cls(memory(good), key, chunk_size=5).size
    yield "empty", opened(b"")
    yield "no header", opened(b"x" * 200)
    yield "other version", opened(good[:10] + b"\x07" + good[11:])
    yield "truncated", opened(good[:-1])
    yield "probe", lambda: module.raf_probe(memory(b"x" * 64))
    yield "probe of nothing", lambda: module.raf_probe(5)
    yield "no storage", lambda: cls(5, key, create=True)
    for size in (0, 1000, 1023, 1025, 1 << 21):
        yield f"chunks of {size}", lambda s=size: cls(memory(), key, create=True, chunk_size=s)
    yield "unknown argument", lambda: module.raf_open(memory(good), key, mode="r")
    for method, *arguments in (
        ("read",),
        ("pread", 9000, 0),
        ("read_into", bytearray(9), 2050),
        ("write", b"x", 2050),
        ("read", 10, 0),
    ):
        yield f"damaged, {method}{arguments}", opened(bad, use(method, *arguments))
    rebuild = use("merkle_rebuild")
    yield "damaged, rebuild", opened(bad, rebuild, **tree)
    yield "damaged, then", opened(bad, rebuild, root, **tree)
    yield "damaged, verify_root", opened(bad, use("verify_root", bytes(32)), **tree)
    yield "tree not made", opened(good, use("merkle_verify"), **tree)
    for size in (3, 0, -1, 1 << 62):
        yield f"tree of {size}", opened(good, merkle=True, merkle_max_chunks=size)
    for method, *arguments in (("write", b"x", 9000), ("pwrite", b"x", 9000), ("truncate", 9000)):
        yield f"tree is full, {method}", on(use(method, *arguments), **tree)
    yield "tree is full, then", on(use("write", b"x", 9000), lambda file: file.size, **tree)
    for length in (32, 31):
        yield f"other root of {length}", on(use("verify_root", bytes(length)), **tree)
    yield "root without a tree", on(root)
    for method, *arguments in (
        ("merkle_rebuild",), ("merkle_verify",), ("verify_root", bytes(32)), ("read",), ("tell",),
        ("sync",), ("truncate",), ("close",), ("write", b""), ("seek", 0),
    ):
        step = use(method, *arguments)
        yield f"{method} without a tree", on(step)
        yield f"{method} when closed", on(closed, step)
    for property in ("size", "root_hash", "closed"):
        yield f"{property} when closed", on(closed, lambda file, name=property: getattr(file, name))
    for method, *arguments in (
        ("read", 1, -1),
        ("write", b"", -1),
        ("pread", 1, -1),
        ("pwrite", b"", -1),
        ("read_into", bytearray(), -1),
        ("pread", -1, 0),
        ("read", None),
        ("truncate", -1),
        ("pread", 1, 1 << 64),
        ("write", b"x", 1 << 64),
        ("write", b"x", (1 << 64) - 1),
        ("write", "text"),
        ("seek", -1),
        ("seek", -5001, 2),
        ("seek", 0, 3),
    ):
        yield f"{method}{arguments}", on(use(method, *arguments))

    class Failing(memory):
        failing = ()

        def __getattribute__(self, method):
            if method in object.__getattribute__(self, "failing"):
                raise KeyError(method)
            return object.__getattribute__(self, method)

    def failing(method, step):
        def run():
            file, storage = make(Failing())
            storage.failing = (method,)
            first = outcome(lambda: step(file, storage))
            storage.failing = ()
            return first if isinstance(first, (str, bytes, int, type(None))) else "a file", outcome(
                lambda: file.size
            )

        return run

    steps = {
        "pread": lambda file, _: file.pread(3, 0),
        "pwrite": lambda file, _: file.pwrite(b"x", 3),
        "growing": lambda file, _: file.pwrite(b"x", 8000),
        # pyaegis leaves the end of the chunk that becomes the last one in the file, so it need not
        # read that chunk.
        "shrinking": lambda file, _: file.truncate(1024),
        "sync": lambda file, _: file.sync(),
        "probe": lambda _, storage: module.raf_probe(storage) and 1,
        "open": lambda _, storage: module.raf_open(storage, key),
        "create": lambda _, storage: cls(storage, key, create=True, truncate=True),
    }
    for method in ("read_at", "write_at", "get_size", "set_size", "sync"):
        for what, step in steps.items():
            if (method, what) != ("get_size", "create"):
                yield f"{method} fails: {what}", failing(method, step)

    def hashing(**members):
        hasher = type("Hasher", (module.SHA256MerkleHasher,), members)()
        return on(use("merkle_verify"), merkle=hasher, merkle_max_chunks=8)

    yield "hasher fails", hashing(hash_leaf=lambda *_: 1 / 0)
    yield "hasher gives too little", hashing(hash_leaf=lambda *_: b"1")
    yield "hasher gives nothing", hashing(hash_parent=lambda *_: None)
    yield "empty places fail", hashing(hash_empty=lambda *_: 1 / 0)
    yield "hash too short", hashing(hash_len=7)
    yield "hash too long", hashing(hash_len=65)
    yield "no hasher", opened(good, merkle=None)
    for arguments in (
        (bytes(5),),
        (bytes(16), bytes(121)),
        (bytes(32), bytes(73)),
        ("x" * 16,),
        (bytes(16), "x"),
    ):
        yield "derive", lambda arguments=arguments: module.raf_derive_master_key(*arguments)
    yield "storage mode", lambda: module.FileStorage(directory / "x", "rb")
    yield "storage is not there", lambda: module.FileStorage(directory / "none")
    (directory / "there").touch()
    yield "storage is there", lambda: module.FileStorage(directory / "there", "x+b")


@needs_pyaegis
@pytest.mark.parametrize("name", ["128L", "256X2"])
def test_wrong_files(name, tmp_path):
    compare(wrong_files, name, tmp_path)


@needs_pyaegis
def test_derived_keys():
    for length, most in ((16, 120), (32, 72)):
        for context in (b"", b"x", pattern(most)):
            key = pattern(length)
            assert ours.raf_derive_master_key(key, context) == theirs.raf_derive_master_key(
                key, context
            )
        assert ours.raf_derive_master_key(key) == theirs.raf_derive_master_key(key)


def use_storage(storage):
    into = bytearray(5)
    yield storage.get_size()
    yield storage.write_at(b"0123456789", 5)
    yield storage.get_size()
    yield storage.read_at(into, 4), bytes(into)
    yield outcome(lambda: storage.read_at(into, 12)), bytes(into)
    yield storage.set_size(20)
    yield storage.set_size(7)
    yield storage.write_at(b"", 50)
    yield storage.get_size()
    yield storage.sync()


@needs_pyaegis
@pytest.mark.parametrize("kind", ["BytesIOStorage", "FileStorage"])
def test_storages(kind, tmp_path):
    seen = []
    for module in (ours, theirs):
        cls, path = getattr(module, kind), tmp_path / "file"
        with cls(path, "w+b") if kind == "FileStorage" else cls() as storage:
            results = list(use_storage(storage))
            content = storage.getvalue() if kind == "BytesIOStorage" else path.read_bytes()
            seen.append((results, content))
    assert seen[0] == seen[1]


# Additions


def test_any_buffer():
    cipher = ours.Aegis128X2()
    key, nonce = bytearray(16), memoryview(bytes(16))
    message = array.array("I", range(10))
    sealed = cipher.encrypt(key, nonce, message, memoryview(b"ad"))
    assert cipher.decrypt(key, nonce, bytearray(sealed), bytearray(b"ad")) == bytes(message)
    tag = cipher.encrypt_inplace(key, nonce, message)
    cipher.decrypt_inplace(key, nonce, message, bytearray(tag))
    assert message == array.array("I", range(10))
    mac = ours.AegisMac128X2(key, nonce)
    mac.update(message)
    mac.update(bytearray(b"x"))
    with ours.AegisRaf128X2(ours.BytesIOStorage(), key, create=True) as file:
        assert file.write(message) == 40 and file.tell() == 40
        into = array.array("I", bytes(40))
        assert file.read_into(into, 0) == 40 and into == message


def test_what_is_not_to_be_changed_is_not():
    cipher, constant = ours.Aegis128L(), bytes(36)
    for work in (
        lambda: cipher.encrypt(bytes(16), bytes(16), b"text", into=constant),
        lambda: cipher.encrypt_inplace(bytes(16), bytes(16), memoryview(constant)),
        lambda: cipher.stream(bytes(16), bytes(16), 36, constant),
        lambda: ours.AegisRaf128L(ours.BytesIOStorage(), bytes(16), create=True).read_into(
            constant
        ),
    ):
        with pytest.raises(TypeError):
            work()
    assert constant == bytes(36)


def test_causes():
    class Failing(ours.BytesIOStorage):
        def sync(self):
            raise KeyError("sync")

    with ours.AegisRaf256(Failing(), bytes(32), create=True) as file:
        with pytest.raises(ours.RAFIOError) as raised:
            file.sync()
        assert isinstance(raised.value.__cause__, KeyError)


def test_exit_wipes():
    session = ours.AegisStreamDecrypt256(bytes(32), bytes(32))
    with session:
        session.update(b"text")
    with pytest.raises(ours.AegisError):
        session.verify(bytes(32))


def test_storages_are_shared(tmp_path):
    """The threads of a program and those that decrypt use one position."""
    with ours.FileStorage(tmp_path / "file", "w+b") as storage:
        with ours.AegisRaf256X4(storage, bytes(32), create=True, chunk_size=1024) as file:
            file.write(bytes(100_000))
            threads = [
                threading.Thread(
                    target=lambda n=n: [file.pwrite(bytes([n]) * 3000, n * 3000) for _ in range(5)]
                )
                for n in range(8)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert all(file.pread(3000, n * 3000) == bytes([n]) * 3000 for n in range(8))
