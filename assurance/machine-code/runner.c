/* Runs single instructions for cpu.rs: reads how many records come, and the records, and writes
   them back as they are afterwards. For Linux on x86-64 (-DWIDE: with AVX-512) and 64-bit ARM. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct record {
    uint64_t general[32], flags, masks[8], unused[7];
    uint8_t vectors[32][64], memory[4096], code[64];
};
/* At a place where instructions in records find the memory. */
struct { struct record now; uint64_t host[32]; } *const shared = (void *)0x10000000;
extern char slot[16];
void run(void);

#define NUMBERS_8 "0,1,2,3,4,5,6,7"
#define NUMBERS_16 NUMBERS_8 ",8,9,10,11,12,13,14,15"
#define NUMBERS_32 NUMBERS_16 ",16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31"
#ifdef WIDE
#define VECTORS(a, b) ".irp n," NUMBERS_32 "\n vmovdqu64 " a "zmm\\n" b "\n.endr\n"
#define MASKS(a, b) ".irp n," NUMBERS_8 "\n kmovq " a "k\\n" b "\n.endr\n"
#else
#define VECTORS(a, b) ".irp n," NUMBERS_16 "\n vmovdqu " a "ymm\\n" b "\n.endr\n"
#define MASKS(a, b)
#endif

__asm__(".globl run, slot\n"
#ifdef __x86_64__
".intel_syntax noprefix\n"
".macro general what\n"
" .irp n,8,9,10,11,12,13,14,15\n  \\what r\\n, \\n\n .endr\n"
" \\what rax, 0\n \\what rcx, 1\n \\what rdx, 2\n \\what rbx, 3\n"
" \\what rbp, 5\n \\what rsi, 6\n \\what rdi, 7\n \\what rsp, 4\n"
".endm\n"
".macro get register, n\n mov \\register, [0x10000000 + 8 * \\n]\n.endm\n"
".macro put register, n\n mov [0x10000000 + 8 * \\n], \\register\n.endm\n"
"run: push rbx\n push rbp\n push r12\n push r13\n push r14\n push r15\n"
" mov [0x10000000 + 6592], rsp\n"
VECTORS("", ", [0x10000000 + 384 + 64 * \\n]")
MASKS("", ", [0x10000000 + 264 + 8 * \\n]")
" mov rsp, 0x10000000 + 256\n popfq\n general get\n"
".balign 16\nslot: .skip 16\n"
" general put\n mov rsp, 0x10000000 + 264\n pushfq\n"
VECTORS("[0x10000000 + 384 + 64 * \\n], ", "")
MASKS("[0x10000000 + 264 + 8 * \\n], ", "")
" mov rsp, [0x10000000 + 6592]\n vzeroupper\n"
" pop r15\n pop r14\n pop r13\n pop r12\n pop rbp\n pop rbx\n ret\n"
".att_syntax\n"
#else
/* The register of the thread holds x18 while no other register is free. */
"run: ldr x0, =0x10000000\n ldr x1, =0x10000000 + 6592\n"
" mrs x2, tpidr_el0\n mov x3, sp\n stp x2, x3, [x1]\n"
" stp x19, x20, [x1, 16]\n stp x21, x22, [x1, 32]\n stp x23, x24, [x1, 48]\n"
" stp x25, x26, [x1, 64]\n stp x27, x28, [x1, 80]\n stp x29, x30, [x1, 96]\n"
" stp d8, d9, [x1, 112]\n stp d10, d11, [x1, 128]\n"
" stp d12, d13, [x1, 144]\n stp d14, d15, [x1, 160]\n"
" ldr x2, [x0, 256]\n msr nzcv, x2\n add x1, x0, 384\n"
" .irp n," NUMBERS_32 "\n  ldr q\\n, [x1, 64 * \\n]\n .endr\n"
" ldr x1, [x0, 248]\n mov sp, x1\n"
" .irp n,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,0\n"
"  ldr x\\n, [x0, 8 * \\n]\n .endr\n"
".balign 16\nslot: .skip 16\n"
" msr tpidr_el0, x18\n ldr x18, =0x10000000\n"
" .irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,19,20,21,22,23,24,25,26,27,28,29,30\n"
"  str x\\n, [x18, 8 * \\n]\n .endr\n"
" mrs x0, tpidr_el0\n str x0, [x18, 144]\n mov x0, sp\n str x0, [x18, 248]\n"
" mrs x0, nzcv\n str x0, [x18, 256]\n add x1, x18, 384\n"
" .irp n," NUMBERS_32 "\n  str q\\n, [x1, 64 * \\n]\n .endr\n"
" ldr x1, =0x10000000 + 6592\n ldp x2, x3, [x1]\n msr tpidr_el0, x2\n mov sp, x3\n"
" ldp x19, x20, [x1, 16]\n ldp x21, x22, [x1, 32]\n ldp x23, x24, [x1, 48]\n"
" ldp x25, x26, [x1, 64]\n ldp x27, x28, [x1, 80]\n ldp x29, x30, [x1, 96]\n"
" ldp d8, d9, [x1, 112]\n ldp d10, d11, [x1, 128]\n"
" ldp d12, d13, [x1, 144]\n ldp d14, d15, [x1, 160]\n ret\n .ltorg\n"
#endif
);

int main(void) {
    uint32_t count;
    uintptr_t size = sysconf(_SC_PAGESIZE), page = (uintptr_t)slot & -size;
    if (mprotect((void *)page, size, PROT_READ | PROT_WRITE | PROT_EXEC) != 0 ||
        mmap(shared, sizeof *shared, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != shared)
        return 1;
    while (fread(&count, sizeof count, 1, stdin) == 1) {
        struct record *all = calloc(count, sizeof *all);
        if (!all || fread(all, sizeof *all, count, stdin) != count) return 1;
        for (struct record *one = all; one < all + count; one++) {
            shared->now = *one;
            memcpy(slot, one->code, sizeof slot);
            __builtin___clear_cache(slot, slot + sizeof slot);
            run();
            *one = shared->now;
        }
        fwrite(all, sizeof *all, count, stdout);
        fflush(stdout);
        free(all);
    }
    return 0;
}
