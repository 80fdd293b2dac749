"""The model shared by x86.py and wasm.py: abstract values, the stack, and the walk over a kernel.

Sources. What a pointer argument leads to is secret, except for static memory and for the
structure that `seal`, `open`, `mac` and `process` kernels take, whose words are public. Pointers
and lengths are public. Everything computed from a secret is secret.

Sinks. A secret must not reach a branch, the address or mask of a memory access, a length passed to
memcpy or memset, a division, floating-point arithmetic, or in WebAssembly a `select`.

Tags. A kernel that opens messages may branch once on each path on whether a tag is right. It must
test a whole word: the XOR of a loaded and a computed value, or several of these joined by OR.

Memory. The stack is tracked word by word. Other memory is not tracked: a load through a public
pointer gives a secret.

Calls and loops. Calls are followed in the context of their caller. All paths are followed at once,
and states are joined where paths meet, until nothing changes.

When it cannot follow. An unknown instruction, an unknown function, a stack pointer that is no
longer known or an indirect call with unknown target is an error. If a new compiler causes one, read
the instruction, then add it to the tables of x86.py or wasm.py with its exact effect. Do not exempt
the function.

Reliance on the compiler. Kernels are found by name: `arch::BACKEND::entry::NAME`, by Rust's
symbol mangling. A function whose name says that it panics ends its path. On x86-64, calls follow
the System V ABI. In WebAssembly, the stack pointer is the global `__stack_pointer`.

Not covered. Whether the tested tag is complete; code outside of kernels; what an engine makes of
WebAssembly; the lower half of a vector register written alone; speculation.

A value is one of these:

    an int      a number that the code itself contains
    CONST       some other number from the program's constants
    PUBLIC      an argument: a length, or a pointer to secrets; and what is computed from it
    LIST        a pointer to public values: to a message, which is pointers and lengths
    IMAGE       a pointer into static memory, where no kernel may store a secret
    Stack       a pointer into the stack
    ANYWHERE    a pointer that may lead anywhere
    a tuple     several words that were loaded at once
    a Secret    LOADED:     loaded through a public pointer and not changed since
                SECRET:     computed from secrets
                DIFFERENCE: LOADED xor SECRET, or several such joined by OR: zero if a tag is right
                EQUAL:      one mask per byte or lane, all ones where LOADED and SECRET agree
                BITS:       one bit per byte of EQUAL
                NEGATED:    the negative of DIFFERENCE
                SIGN:       DIFFERENCE | NEGATED: negative if a tag is wrong
                DECISION:   whether a whole value of the kinds above says that a tag is right

The analysis runs a kernel with everything it calls on such values, along all paths at once, until
nothing changes. It runs twice. The first run finds the words of each frame that hold pointers and
lengths. In the second run, a store to a computed place on the stack changes all words around that
place, up to the next pointer or length.

Assumptions: the code is memory safe; an array on the stack has secrets or pointers and lengths in
it, never both; nothing reads stack memory that nothing wrote; static memory has no secrets in it.
"""

import collections
import heapq
import re

# Kernels: their modules and names. Some may branch on whether a tag is right. All take pointers and
# lengths. One argument may be a pointer to public words: a message, or the data to process.
KERNEL = re.compile(
    r"(?:^|\bpalladion(?:\[\w+\])?::arch::(?:(?:x86|wasm)::)?(\w+(?:::\w+)?)::entry::)"
    r"((?<=::)\w+|(?:planted|sound|aegis_verify)_\w+)")
PUBLIC_WORDS = ((re.compile(r"^(?:seal|open|mac)|_open"), 0), (re.compile(r"^process$"), 3))
DECIDES = re.compile(r"^open|_open")
DOES_NOT_RETURN = re.compile(r"^(?:core|std|alloc)\b.*(?:panic|fail|unwrap|expect)")


class Secret:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name


LOADED, SECRET, DIFFERENCE, EQUAL, BITS, NEGATED, SIGN, DECISION = map(
    Secret, ("loaded", "secret", "difference", "equal", "bits", "negated", "sign", "decision"))
CONST, PUBLIC, LIST, IMAGE, ANYWHERE = "const", "public", "list", "image", "anywhere"
# `exact` if it leads to `at`, otherwise to the array there; `only` if it surely leads to the stack.
Stack = collections.namedtuple("Stack", "at exact only")


class Bytes(tuple):
    """A word of the stack that was written in pieces."""


def secret(*values):
    return any(type(value) is Secret for value in values)


def is_data(value):
    """Whether this may be part of an array of secrets, before a secret is written there."""
    return value is None or value == CONST or type(value) in (int, Secret)


def join(a, b):
    """A value that is one or the other. None is what nobody wrote."""
    if a is b or b is None or type(a) is type(b) and a == b:
        return a
    if a is None:
        return b
    if type(a) is Bytes or type(b) is Bytes:
        size = len(a if type(a) is Bytes else b)
        return Bytes(map(join, *(v if type(v) is Bytes else (piece(v),) * size for v in (a, b))))
    if type(a) is type(b) is tuple and len(a) == len(b):
        return tuple(map(join, a, b))
    a, b = flat(a), flat(b)
    if secret(a, b):
        return SECRET if secret(a) and secret(b) and a is not b else a if secret(a) else b
    if type(a) is Stack and type(b) is Stack:
        return Stack(min(a.at, b.at), False, a.only and b.only)
    if ANYWHERE in (a, b):
        return ANYWHERE
    for value in (a, b):
        if type(value) is Stack:
            return Stack(value.at, False, False)
    return CONST if CONST in (a, b) and is_data(a) and is_data(b) else a if a == b else PUBLIC


def mix(values):
    """A value that is computed from all of these in some way."""
    result = 0
    for value in map(flat, values):
        if type(value) is Secret:
            return SECRET
        if type(value) is Stack or value == ANYWHERE:
            result = ANYWHERE
        elif result != ANYWHERE:
            result = CONST if result in (0, CONST) and is_data(value) else PUBLIC
    return CONST if result == 0 else result


def flat(value):
    """A value in one piece."""
    if type(value) not in (tuple, Bytes):
        return value
    result = None
    for part in value:
        if part is not None:
            if result is None or result == part:
                result = part
            elif secret(result, part):
                return SECRET
            else:
                stack = ANYWHERE in (result, part) or Stack in (type(result), type(part))
                result = ANYWHERE if stack else PUBLIC
    return SECRET if result is None else result


def piece(value):
    """Some bytes of a value."""
    value = flat(value)
    if type(value) is Stack or value == ANYWHERE:
        return ANYWHERE
    return CONST if type(value) is int and value else value if is_data(value) else PUBLIC


def add(a, b):
    a, b = flat(a), flat(b)
    if secret(a, b):
        return SECRET
    if type(a) is int and type(b) is int:
        return a + b
    if type(b) is Stack or b in (IMAGE, LIST):
        a, b = b, a
    if ANYWHERE in (a, b) or type(b) is Stack or b in (IMAGE, LIST):
        return ANYWHERE
    if type(a) is Stack:
        return a._replace(at=a.at + b) if a.exact and type(b) is int else a._replace(exact=False)
    return a if a in (IMAGE, LIST) else CONST if is_data(a) and is_data(b) else PUBLIC


def subtract(a, b):
    a, b = flat(a), flat(b)
    if type(b) is int:
        return add(a, -b)
    if secret(a, b):
        return SECRET
    if type(b) is Stack or b in (IMAGE, LIST, ANYWHERE):
        # The distance of two places. Otherwise the next addition could make a pointer from it.
        alike = type(a) is type(b) and (type(a) is Stack or a == b != ANYWHERE)
        return PUBLIC if alike else ANYWHERE
    return add(a, b if b != CONST else PUBLIC)


def computed(operation, values):
    """What an operation on secrets gives. Besides arithmetic: "lanes" and "unlike" give masks of
    the lanes that are equal or not, "bits" one bit for each byte. "sign", "zero", "equal" and
    "all" ask: is it negative, is it zero, are they equal, are all lanes set?"""
    secrets = [value for value in values if secret(value)]
    others = [value for value in values if not secret(value)]
    kind = secrets[0] if secrets and secrets.count(secrets[0]) == len(secrets) else None
    numbers = all(type(value) is int for value in others)
    if operation == "copy" and kind:
        return kind
    if kind is DECISION and operation in ("xor", "or", "and", "equal", "zero") and numbers:
        return DECISION
    if operation == "xor" and kind is BITS and others in ([0xffff], [-1]):
        return DIFFERENCE
    if operation == "xor" and len(secrets) > 1 and others in ([], [0]):
        rest = [value for value in secrets if value is not SECRET]
        return DIFFERENCE if rest in ([LOADED], [DIFFERENCE]) else SECRET
    if operation == "or" and kind is DIFFERENCE and others in ([], [0]):
        return DIFFERENCE
    if operation == "and" and kind in (EQUAL, BITS) and not others:
        return kind
    if operation == "or" and set(values) == {DIFFERENCE, NEGATED}:
        return SIGN
    if operation == "bits" and kind is EQUAL or operation == "negate" and kind is DIFFERENCE:
        return BITS if kind is EQUAL else NEGATED
    results = {"equal": DECISION, "lanes": EQUAL, "unlike": DIFFERENCE}
    if operation in results and DIFFERENCE in (computed("xor", values), others == [0] and kind):
        return results[operation]
    tells = (operation, kind) in (("zero", DIFFERENCE), ("all", EQUAL), ("sign", SIGN))
    return DECISION if tells and not others else SECRET


class State:
    """What is known at a place; also whether a branch on the way there depends on a tag."""

    def __init__(self, registers, slots, decided=False):
        self.registers, self.slots, self.decided = registers, slots, decided

    def copy(self):
        return type(self)(dict(self.registers), dict(self.slots), self.decided)

    def register(self, key):
        return self.registers.get(key, SECRET)  # left by a caller

    def merge(self, other):
        """Takes in what comes from another way; whether that changed anything."""
        changed = other.decided and not self.decided
        self.decided |= other.decided
        for mine, theirs, get in (
                (self.registers, other.registers, type(self).register),
                (self.slots, other.slots, lambda state, key: state.slots.get(key))):
            keys = [*mine, *(key for key in theirs if key not in mine)]
            for key, old, new in [(key, get(self, key), get(other, key)) for key in keys]:
                if new is not old:
                    value = join(old, new)
                    same = value is old or type(value) is type(old) and value == old
                    if key not in mine or not same:
                        mine[key], changed = value, True
        return changed


class Flow:
    """Runs kernels. A subclass knows the instructions, and the size of a WORD of the stack.

    A context has one (where to return to, the stack pointer) for each call on the way from the
    kernel. A place is a context followed by (address of an instruction, 0)."""

    WORD = 8

    def __init__(self):
        self.wrong, self.kernels, self.read, self.decisions = {}, set(), set(), set()

    def run(self, function, module, name):
        """Follows a kernel."""
        self.kernel = "%s::%s at %x" % (module, name, function)
        self.may_decide = DECIDES.search(name)
        self.kernels.add(self.kernel)
        self.words = set()  # of frames, with pointers or lengths in them
        for self.last_run in (False, True):
            lists = [n for kernel, n in PUBLIC_WORDS if kernel.search(name)]
            state, start = self.begin(function, lists)
            states, work = {start: state}, [start]
            while work:
                place = heapq.heappop(work)
                if work and work[0] == place:
                    continue
                for target, after in self.follow(place, states[place].copy()):
                    if target not in states:
                        states[target] = after.copy()
                    elif not states[target].merge(after):
                        continue
                    heapq.heappush(work, target)

    def begin(self, function, lists):
        """The state in which a kernel begins, and the place; `lists` are the arguments that point
        to public words."""
        raise NotImplementedError

    def follow(self, place, state):
        """Runs instructions up to the next places where ways meet: these, with their states."""
        raise NotImplementedError

    def end(self, where, state, *results):
        """The end of a kernel. It may return whether a tag is right."""
        if state.decided and any(secret(value) and value is not DECISION
                                 for value in map(flat, results)):
            self.report(where, "what it returns is secret, beside a decision about a tag")

    def report(self, where, what):
        if self.last_run:
            self.wrong[where, self.kernel] = what

    def decide(self, where, state, value):
        """A branch on a value: only one may be secret, on whether the tag is right."""
        if not secret(value):
            return
        if value is not DECISION or not self.may_decide:
            self.report(where, "the branch depends on a secret")
            return
        if state.decided:
            self.report(where, "a second decision about a tag")
        state.decided = True
        self.decisions.add(where)

    # The stack.

    def owner(self, state, at):
        """The context of the function in whose frame this is, and where that begins and ends."""
        high = 0
        for depth, (_, pointer) in enumerate(self.context):
            if pointer <= at:
                return self.context[:depth], pointer, high
            high = pointer
        return self.context, min(state.slots, default=at), high

    def array(self, state, at):
        """The words around a computed place, up to those with pointers or lengths."""
        context, low, high = self.owner(state, at)
        first = at & -self.WORD
        while (context, first) in self.words:
            first += self.WORD
        found = []
        for at, step in (first, self.WORD), (first - self.WORD, -self.WORD):
            while low <= at < high and (context, at) not in self.words:
                found.append(at)
                at += step
        return found if self.last_run else []

    def load(self, state, place, size):
        if place in (LIST, IMAGE):
            return PUBLIC if place == LIST else CONST
        if type(place) is not Stack:
            return LOADED if not secret(place) and place != ANYWHERE else SECRET
        word, slots = self.WORD, state.slots
        first, end = place.at & -word, place.at + size
        if not place.exact:
            values = [slots.get(at) for at in self.array(state, place.at)]
            if (self.owner(state, first)[0], first) in self.words:
                values.append(slots.get(first))
            return mix(values) if place.only and values else SECRET
        if size == word and first == place.at:
            value = slots.get(first)
            return SECRET if value is None else flat(value) if type(value) is Bytes else value
        if end <= first + word:
            value = slots.get(first)
            if type(value) is Bytes:
                return flat(tuple(value[place.at - first:end - first]))
            whole = type(value) is int and first == place.at
            return SECRET if value is None else value if whole else piece(value)
        values = [flat(slots.get(at)) for at in range(first, end, word)]
        if first != place.at or secret(*values) or None in values:
            return flat(tuple(values))
        same = is_data(values[0]) and values.count(values[0]) == len(values)
        return values[0] if same else tuple(values)

    def store(self, where, state, place, size, value, exactly=True):
        """Writes; `exactly` unless it may write less, or nothing."""
        if place in (LIST, IMAGE):
            if place == LIST or secret(flat(value)) or not is_data(flat(value)):
                self.report(where, "a store to memory with public values in it")
            return
        if place == ANYWHERE:
            for at in state.slots:
                state.slots[at] = join(state.slots[at], piece(value))
            return
        if type(place) is not Stack:
            return
        word, slots = self.WORD, state.slots
        if not place.exact or not exactly:
            value = piece(value)
            for at in self.array(state, place.at):
                slots[at] = join(slots.get(at), value) if slots.get(at) is not None else value
            return
        aligned = type(value) is tuple and place.at % word == 0 and len(value) * word >= size
        parts = value if aligned else None
        for n, at in enumerate(range(place.at & -word, place.at + size, word)):
            new = flat(value) if parts is None else parts[n]
            if at >= place.at and at + word <= place.at + size:
                slots[at] = piece(new) if size > word and parts is None else new
            else:
                old = slots.get(at)
                old = old if type(old) is Bytes else (None if old is None else piece(old),) * word
                inside = range(place.at - at, place.at + size - at)
                slots[at] = Bytes(piece(new) if k in inside else old[k] for k in range(word))
            if not self.last_run and not is_data(flat(new)):
                self.words.add((self.owner(state, at)[0], at))

    def copy(self, where, state, to, source, length):
        """memcpy"""
        for value in (to, source, length):
            if secret(value):
                self.report(where, "an address or a length depends on a secret")
        if type(length) is int and type(to) is Stack and to.exact and length <= 1 << 12:
            size = [self.WORD] * (length // self.WORD) + [1] * (length % self.WORD)
            ends = [sum(size[:n]) for n in range(len(size))]
            values = [self.load(state, add(source, at), n) for at, n in zip(ends, size)]
            for at, n, value in zip(ends, size, values):
                self.store(where, state, add(to, at), n, value)
        else:
            self.store(where, state, to, 0, self.load(state, source, 1), False)

    def fill(self, where, state, to, value, length):
        """memset"""
        if secret(to, length):
            self.report(where, "an address or a length depends on a secret")
        value = 0 if type(value) is int and value == 0 else piece(value)
        known = type(length) is int and length <= 1 << 16
        self.store(where, state, to, length if known else 0, value, known)


def verdict(new_flow, names, modules):
    """Follows all kernels among functions and prints what was found. Returns the exit status: 1 if
    anything is wrong, if a module has no kernel, or if a planted defect was not found."""
    flows = {}
    for function, name in sorted(names.items()):
        kernel = KERNEL.search(name)
        if kernel:
            module = kernel[1] or "functions"
            flows.setdefault(module, new_flow()).run(function, module, kernel[2])
    wrong = ["no kernel in %s" % module for module in modules if module not in flows]
    for module, flow in sorted(flows.items()):
        print("%s: %d kernels, %d instructions, %d decisions about a tag" % (
            module, len(flow.kernels), len(flow.read), len(flow.decisions)))
        planted = {kernel for kernel in flow.kernels if "planted_" in kernel}
        missed = planted - {kernel for _, kernel in flow.wrong}
        wrong += ["%s: not found" % kernel for kernel in sorted(missed)]
        wrong += ["%x in %s: %s" % (where, kernel, what)
                  for (where, kernel), what in sorted(flow.wrong.items()) if kernel not in planted]
    for line in wrong[:60]:
        print(line)
    if len(wrong) > 60:
        print("and %d more" % (len(wrong) - 60))
    return 1 if wrong or not flows else 0
