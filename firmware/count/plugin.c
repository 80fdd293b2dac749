/* A plugin for QEMU's emulators. At the end of the guest it prints the number of executed
 * instructions to standard error. All CPUs share a counter without a lock, so the guest must have
 * one thread.
 *
 *   cc -shared -fPIC -O1 -o count.so count.c
 *   qemu-aarch64 -plugin ./count.so PROGRAM
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

/* The part of QEMU's plugin interface used here. Debian's packages do not have its header. */
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
void qemu_plugin_register_vcpu_tb_trans_cb(
    qemu_plugin_id_t id, void (*cb)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(
    struct qemu_plugin_tb *tb, enum qemu_plugin_op op, void *at, uint64_t value);
void qemu_plugin_register_atexit_cb(
    qemu_plugin_id_t id, void (*cb)(qemu_plugin_id_t, void *), void *data);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

static uint64_t executed;

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
    (void)argc;
    (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
