/* Runs single instructions for cpu.rs: reads records of registers, memory and an instruction from a
   file, and prints them as they are after the instruction. For Linux on x86-64 and 64-bit ARM.

   A trap follows the instruction. Its handler exchanges what was in the registers for what is in
   the next record, so that the kernel does the rest. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

/* The addresses are those that instructions in records expect. */
static struct record {
    uint64_t general[32], masks[8], flags, unused[7];
    uint8_t vectors[32][64], memory[1024], code[16];
} *const record = (void *)0x4000000;
static uint8_t *const slot = (void *)0x4001000;
static FILE *file;

static void exchange(void *a, void *b, size_t size) {
    uint8_t kept[64];
    memcpy(kept, a, size);
    memcpy(a, b, size);
    memcpy(b, kept, size);
}

#ifdef __x86_64__
static const uint8_t trap[] = {0xcc};

/* The place of a component in memory that XSAVE writes. */
static uint8_t *component(uint8_t *saved, unsigned number) {
    unsigned size, offset, unused;
    __cpuid_count(13, number, size, offset, unused, unused);
    return saved + offset;
}

static void exchange_registers(mcontext_t *context) {
    static const int order[16] = {
        REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
        REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    uint8_t *saved = (uint8_t *)context->fpregs;
    uint64_t known; /* the components that the kernel saves */
    memcpy(&known, saved + 472, sizeof known);
    memcpy(saved + 512, &known, sizeof known);
    for (int n = 0; n < 16; n++) {
        exchange(&context->gregs[order[n]], &record->general[n], 8);
        exchange(saved + 160 + 16 * n, record->vectors[n], 16);
        exchange(component(saved, 2) + 16 * n, record->vectors[n] + 16, 16);
    }
    exchange(&context->gregs[REG_EFL], &record->flags, 8);
    if (known >> 5 & 7) { /* AVX-512 */
        for (int n = 0; n < 8; n++) exchange(component(saved, 5) + 8 * n, &record->masks[n], 8);
        for (int n = 0; n < 16; n++) {
            exchange(component(saved, 6) + 32 * n, record->vectors[n] + 32, 32);
            exchange(component(saved, 7) + 64 * n, record->vectors[16 + n], 64);
        }
    }
    context->gregs[REG_RIP] = (uintptr_t)slot;
}
#else
static const uint8_t trap[] = {0, 0, 0x20, 0xd4};

static void exchange_registers(mcontext_t *context) {
    struct fpsimd_context *saved = (void *)context->__reserved;
    exchange(&context->sp, &record->general[31], 8);
    exchange(&context->pstate, &record->flags, 8);
    for (int n = 0; n < 31; n++) exchange(&context->regs[n], &record->general[n], 8);
    for (int n = 0; n < 32; n++) exchange(&saved->vregs[n], record->vectors[n], 16);
    /* No vectors of SVE follow, which would overwrite these. */
    memset((uint8_t *)saved + saved->head.size, 0, sizeof(struct _aarch64_ctx));
    context->pc = (uintptr_t)slot;
}
#endif

static void step(int signal, siginfo_t *info, void *context) {
    static int running;
    (void)signal, (void)info;
    mcontext_t *registers = &((ucontext_t *)context)->uc_mcontext;
    if (running) {
        exchange_registers(registers);
        fwrite(record, sizeof *record, 1, stdout);
    }
    running = 1;
    if (fread(record, sizeof *record, 1, file) != 1) exit(0);
    memcpy(slot, record->code, sizeof record->code);
    __builtin___clear_cache((char *)slot, (char *)slot + sizeof record->code);
    exchange_registers(registers);
}

int main(int argc, char **argv) {
    static char stack[1 << 16];
    int all = PROT_READ | PROT_WRITE | PROT_EXEC;
    int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (!file || mmap(record, 0x2000, all, how, -1, 0) != record) return 1;
    memcpy(slot + sizeof record->code, trap, sizeof trap);
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    sigaction(SIGTRAP, &action, NULL);
    return raise(SIGTRAP);
}
