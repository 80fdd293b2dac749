# 64 KiB "BIOS": reset vector -> protected mode -> long mode -> Linux 64-bit entry point
    .code16
    .org 0
start:
    cli
    cld
    movb $2, %al
    outb %al, $0x92             # A20 on
    lgdtl %cs:(gdtr - start)
    movl %cr0, %eax
    orl $1, %eax
    movl %eax, %cr0
    ljmpl $0x10, $(0xffff0000 + (pm32 - start))
    .code32
pm32:
    movw $0x18, %ax
    movw %ax, %ds
    movw %ax, %es
    movw %ax, %ss
    # Bochs up to about 2.8 loads an optramimage into host memory as one contiguous run, but hands
    # out its blocks of 128 KiB in order of first use. Touch the image's blocks in order, before any
    # other RAM.
    movl $0x1000000, %esi
1:  movl (%esi), %eax
    addl $0x20000, %esi
    cmpl 0xffff0000 + (imgend - start), %esi
    jb 1b
    movl $0x8000, %esp
    # Page tables, identity for 4 GiB: PML4 0x1000, PDPT 0x2000, four PDs 0x3000..0x6fff of pages
    # of 2 MiB.
    movl $0x1000, %edi
    xorl %eax, %eax
    movl $(0x6000/4), %ecx
    rep stosl
    movl $0x2003, 0x1000
    movl $0x3003, 0x2000
    movl $0x4003, 0x2008
    movl $0x5003, 0x2010
    movl $0x6003, 0x2018
    movl $0x3000, %edi
    movl $0x83, %eax
    movl $2048, %ecx
1:  movl %eax, (%edi)
    addl $8, %edi
    addl $0x200000, %eax
    loop 1b
    movl $0x20, %eax
    movl %eax, %cr4             # PAE
    movl $0x1000, %eax
    movl %eax, %cr3
    movl $0xc0000080, %ecx
    rdmsr
    orl $0x100, %eax            # LME
    wrmsr
    movl %cr0, %eax
    orl $0x80000000, %eax
    movl %eax, %cr0
    ljmp $0x20, $(0xffff0000 + (lm64 - start))
    .code64
lm64:
    movl $(0xffff0000 + (bparams - start)), %edi
    movl (%rdi), %esi           # boot_params
    movl 4(%rdi), %eax          # entry
    movl $(0xffff0000 + (gdtr2 - start)), %edi
    lgdt (%rdi)                 # __BOOT_CS = 0x10, __BOOT_DS = 0x18
    movl $0x18, %ecx
    movl %ecx, %ds
    movl %ecx, %es
    movl %ecx, %ss
    pushq $0x10
    pushq %rax
    lretq
    .balign 8
gdt:  .quad 0, 0
      .quad 0x00cf9b000000ffff  # 0x10 code32 (accessed: the ROM cannot be written)
      .quad 0x00cf93000000ffff  # 0x18 data
      .quad 0x00af9b000000ffff  # 0x20 code64
gdt2: .quad 0, 0
      .quad 0x00af9b000000ffff  # 0x10 code64
      .quad 0x00cf93000000ffff  # 0x18 data
gdtr: .word 39
      .long 0xffff0000 + (gdt - start)
gdtr2: .word 31
      .quad 0xffff0000 + (gdt2 - start)
    .org 0xffd0                 # filled in per run
imgend:  .long 0
bparams: .long 0
entry:   .long 0
    .org 0xfff0
    .code16
    jmp start
    .org 0xffff
    .byte 0
