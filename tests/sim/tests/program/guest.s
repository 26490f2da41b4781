# A guest for the tests of the program: a bare-metal image at 0x10000 that uses the console as U-Boot leaves it.
#
# Entered by `bootm` it prints what it was handed (the flattened tree, or the command line in r6 to r7) and the verdict
# with status 3. Entered by `go` the first letter of its first argument says what to do; see `letters`.

    .equ IMMR, 0xFF000000
    .equ RX_BD, IMMR + 0x3800
    .equ TX_BD, IMMR + 0x3808
    .equ READY, 0x8000
    .equ SMCE1, 0x0A86
    .equ BREAK_RECEIVED, 0x10

    .macro function name
    .globl \name
    .type \name, @function
\name:
    .endm

    .text
function _start
    cmplwi  r3, 16
    blt     by_go
    lis     r9, 0x65504150@h
    ori     r9, r9, 0x65504150@l
    cmplw   r6, r9
    bne     print_line
    mr      r30, r3
    lwz     r31, 4(r3)
    add     r31, r31, r3
    b       print_range
print_line:
    mr      r30, r6
    mr      r31, r7
print_range:
    cmplw   r30, r31
    bge     verdict
    lbz     r3, 0(r30)
    addi    r30, r30, 1
    bl      putc
    b       print_range

by_go:
    cmplwi  r3, 2
    blt     halt
    lwz     r9, 4(r4)
    lbz     r31, 0(r9)
    lis     r30, letters@h
    ori     r30, r30, letters@l
look:
    lwz     r9, 0(r30)
    cmpwi   r9, 0
    beq     halt
    cmplw   r9, r31
    lwz     r9, 4(r30)
    addi    r30, r30, 8
    bne     look
    mtctr   r9
    bctr

halt:
    mfmsr   r9
    rlwinm  r9, r9, 0, 17, 15
    mtmsr   r9
    b       .
    .size _start, . - _start

function hello
    lis     r3, hello_text@h
    ori     r3, r3, hello_text@l
    bl      puts
    b       halt
    .size hello, . - hello

function verdict
    lis     r3, verdict_text@h
    ori     r3, r3, verdict_text@l
    bl      puts
    b       halt
    .size verdict, . - verdict

# Prompts and echoes until q comes.
function echo
    lis     r3, prompt_text@h
    ori     r3, r3, prompt_text@l
    bl      puts
echo_next:
    bl      getc
    cmpwi   r3, 'q'
    beq     verdict
    bl      putc
    b       echo_next
    .size echo, . - echo

function forever
    b       forever_loop
forever_loop:
    addi    r9, r9, 1
    b       forever_loop
    .size forever, . - forever

# Little-endian mode, which no part of the simulator models.
function little_endian
    mfmsr   r9
    ori     r9, r9, 1
    mtmsr   r9
    b       .
    .size little_endian, . - little_endian

# A load from nowhere, machine checks on or off.
function nowhere
    lis     r9, 0xA000
    mfmsr   r10
    rlwinm  r10, r10, 0, 20, 18
    mtmsr   r10
    lwz     r9, 0(r9)
    b       halt
    .size nowhere, . - nowhere

# Loads a word of 0x00200000 eight times, with a machine check handler that says so.
function loads
    lis     r9, handler@h
    ori     r9, r9, handler@l
    rlwinm  r9, r9, 0, 6, 29
    oris    r9, r9, 0x4800
    ori     r9, r9, 2
    li      r10, 0x200
    stw     r9, 0(r10)
    dcbst   0, r10
    sync
    icbi    0, r10
    isync
    lis     r29, 0x20
    li      r30, 8
loads_next:
    lwz     r31, 0(r29)
    li      r3, '.'
    cmpwi   r31, 0
    beq     loads_print
    li      r3, '!'
loads_print:
    bl      putc
    addi    r30, r30, -1
    cmpwi   r30, 0
    bne     loads_next
    b       verdict
handler:
    li      r3, 'M'
    bl      putc
    b       verdict
    .size loads, . - loads

# Work for a profile: 1000 calls of inner from outer.
function outer
    stwu    r1, -16(r1)
    mflr    r0
    stw     r0, 20(r1)
    li      r30, 1000
outer_next:
    bl      inner
    addi    r30, r30, -1
    cmpwi   r30, 0
    bne     outer_next
    lwz     r0, 20(r1)
    mtlr    r0
    addi    r1, r1, 16
    b       verdict
    .size outer, . - outer

function inner
    li      r9, 10
inner_next:
    addi    r9, r9, -1
    cmpwi   r9, 0
    bne     inner_next
    lis     r9, counter@h
    ori     r9, r9, counter@l
    lwz     r10, 0(r9)
    addi    r10, r10, 1
    stw     r10, 0(r9)
    blr
    .size inner, . - inner

# Erases nothing, programs one word of the flash: 0xCAFE at offset 0x10000.
function program_flash
    lis     r9, 0x0400
    li      r10, 0x00AA
    sth     r10, 0xAAA(r9)
    li      r10, 0x0055
    sth     r10, 0x554(r9)
    li      r10, 0x00A0
    sth     r10, 0xAAA(r9)
    addis   r9, r9, 1
    li      r10, -0x3502
    sth     r10, 0(r9)
program_wait:
    lhz     r11, 0(r9)
    cmpw    r11, r10
    clrlwi  r12, r10, 16
    cmplw   r11, r12
    bne     program_wait
    b       verdict
    .size program_flash, . - program_flash

# A watchdog or checkstop reset asks for a hard reset: a load from nowhere with PLPRCR[CSR] set.
function reset
    lis     r9, IMMR@h
    lis     r10, 0x55CCAA33@h
    ori     r10, r10, 0x55CCAA33@l
    stw     r10, 0x384(r9)
    lwz     r10, 0x284(r9)
    ori     r10, r10, 0x80
    stw     r10, 0x284(r9)
    b       nowhere
    .size reset, . - reset

# Prints the string at r3.
function puts
    mflr    r27
    mr      r28, r3
puts_next:
    lbz     r3, 0(r28)
    addi    r28, r28, 1
    cmpwi   r3, 0
    beq     puts_done
    bl      putc
    b       puts_next
puts_done:
    mtlr    r27
    blr
    .size puts, . - puts

# Prints the character in r3.
function putc
    lis     r9, TX_BD@h
    ori     r9, r9, TX_BD@l
putc_wait:
    lhz     r10, 0(r9)
    andi.   r11, r10, READY
    bne     putc_wait
    lwz     r11, 4(r9)
    stb     r3, 0(r11)
    li      r11, 1
    sth     r11, 2(r9)
    ori     r10, r10, READY
    sth     r10, 0(r9)
    blr
    .size putc, . - putc

# Waits for a character and returns it in r3; B stands for a break.
function getc
    lis     r9, RX_BD@h
    ori     r9, r9, RX_BD@l
    lis     r12, IMMR@h
getc_wait:
    lbz     r11, SMCE1(r12)
    andi.   r11, r11, BREAK_RECEIVED
    bne     getc_break
    lhz     r10, 0(r9)
    andi.   r11, r10, READY
    bne     getc_wait
    lwz     r11, 4(r9)
    lbz     r3, 0(r11)
    rlwinm  r10, r10, 0, 0xFFFFFFC0
    ori     r10, r10, READY
    sth     r10, 0(r9)
    blr
getc_break:
    stb     r11, SMCE1(r12)
    li      r3, 'B'
    blr
    .size getc, . - getc

    .data
    .balign 4
letters:
    .long 'h', hello, 'v', verdict, 'e', echo, 'f', forever, 'l', little_endian, 'n', nowhere, 'm', loads, 'p', outer
    .long 'w', program_flash, 'r', reset, 0
    .globl counter
counter:
    .long 0
hello_text:
    .asciz "hello\r\n"
prompt_text:
    .asciz "> "
verdict_text:
    .asciz "\r\nzeronull: done, status 3\r\n"
