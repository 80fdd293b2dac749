"""Runs a WASI program in wasmtime: python wasmtime_run.py PROGRAM [ARGUMENT...]"""

import os
import sys

from wasmtime import Config, Engine, ExitTrap, Linker, Module, Store, WasiConfig

engine = Engine(Config())
wasi = WasiConfig()
wasi.argv = sys.argv[1:]
wasi.env = os.environ.items()
wasi.inherit_stdout()
wasi.inherit_stderr()
wasi.preopen_dir("/", "/")
store = Store(engine)
store.set_wasi(wasi)
linker = Linker(engine)
linker.define_wasi()
instance = linker.instantiate(store, Module.from_file(engine, sys.argv[1]))
try:
    instance.exports(store)["_start"](store)
except ExitTrap as exit:
    sys.exit(exit.code)
