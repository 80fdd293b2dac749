/* A plugin for QEMU's emulators. At the end of the guest it prints the number of executed
 * instructions to standard error. All CPUs share a counter without a lock, so the guest must have
 * one thread.
 *
 *   cc -shared -fPIC -O1 -o count.so plugin.c
 *   qemu-aarch64 -plugin ./count.so PROGRAM
 *
 * With the argument `each=on` it prints instead, for each instruction of the first 2 MiB, the
 * address, how often it was executed, and its text. cycles.py reads that.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The part of QEMU's plugin interface used here. Debian's packages do not have its header. */
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
void qemu_plugin_register_vcpu_tb_trans_cb(
    qemu_plugin_id_t id, void (*cb)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(
    struct qemu_plugin_tb *tb, enum qemu_plugin_op op, void *at, uint64_t value);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
char *qemu_plugin_insn_disas(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_insn_exec_inline(
    struct qemu_plugin_insn *insn, enum qemu_plugin_op op, void *at, uint64_t value);
void qemu_plugin_register_atexit_cb(
    qemu_plugin_id_t id, void (*cb)(qemu_plugin_id_t, void *), void *data);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

static uint64_t executed;

#define PLACES (1 << 20) /* two bytes each */
static uint64_t times[PLACES];
static char *texts[PLACES];

/* Counts each instruction of a block. */
static void translated_each(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, i);
        size_t place = qemu_plugin_insn_vaddr(insn) / 2 % PLACES;
        texts[place] = qemu_plugin_insn_disas(insn);
        qemu_plugin_register_vcpu_insn_exec_inline(
            insn, QEMU_PLUGIN_INLINE_ADD_U64, &times[place], 1);
    }
}

static void ended_each(qemu_plugin_id_t id, void *data)
{
    (void)id;
    (void)data;
    for (size_t place = 0; place < PLACES; place++)
        if (times[place])
            fprintf(stderr, "%zx %" PRIu64 " %s\n", 2 * place, times[place], texts[place]);
}

/* Called when a block without jumps is translated: counts all its instructions each time it runs.
 */
static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(
        block, QEMU_PLUGIN_INLINE_ADD_U64, &executed, qemu_plugin_tb_n_insns(block));
}

static void ended(qemu_plugin_id_t id, void *data)
{
    (void)id;
    (void)data;
    fprintf(stderr, "instructions: %" PRIu64 "\n", executed);
}

__attribute__((visibility("default"))) int qemu_plugin_install(
    qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
    (void)info;
    int each = argc > 0 && strcmp(argv[0], "each=on") == 0;
    qemu_plugin_register_vcpu_tb_trans_cb(id, each ? translated_each : translated);
    qemu_plugin_register_atexit_cb(id, each ? ended_each : ended, NULL);
    return 0;
}
