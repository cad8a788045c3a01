#include "textflag.h"

// SHA-256 of eight messages side by side (FIPS 180-4, 6.2.2): every register has a word
// of each, in the order of the lanes. Registers of 256 bits do as well as those of 512:
// three of them are worked on in a cycle instead of two, and the processor is not slowed
// down. What is needed of AVX-512 are its 32 registers, its rotations, and the
// instruction for any function of three bits.

// The state is a to h.
#define A Y0
#define B Y1
#define C Y2
#define D Y3
#define E Y4
#define F Y5
#define G Y6
#define H Y7

// The last sixteen words of the message schedule.
#define W0 Y8
#define W1 Y9
#define W2 Y10
#define W3 Y11
#define W4 Y12
#define W5 Y13
#define W6 Y14
#define W7 Y15
#define W8 Y16
#define W9 Y17
#define W10 Y18
#define W11 Y19
#define W12 Y20
#define W13 Y21
#define W14 Y22
#define W15 Y23

#define T0 Y24
#define T1 Y25
#define T2 Y26
#define T3 Y27

// The tables of three bits: their sum without carry, the second or the third by the
// first, and what most of them are.
#define XOR3 $0x96
#define CHOOSE $0xca
#define MAJORITY $0xe8

// ROUND is one step with word w; k is where its constant lies behind DX.
#define ROUND(a, b, c, d, e, f, g, h, w, k) \
	VPADDD.BCST k(DX), h, h      \
	VPADDD      w, h, h          \
	VPRORD      $6, e, T0        \
	VPRORD      $11, e, T1       \
	VPRORD      $25, e, T2       \
	VPTERNLOGD  XOR3, T2, T1, T0 \
	VMOVDQA32   e, T3            \
	VPTERNLOGD  CHOOSE, g, f, T3 \
	VPADDD      T0, h, h         \
	VPADDD      T3, h, h         \
	VPADDD      h, d, d          \
	VPRORD      $2, a, T0        \
	VPRORD      $13, a, T1       \
	VPRORD      $22, a, T2       \
	VPTERNLOGD  XOR3, T2, T1, T0 \
	VMOVDQA32   a, T3            \
	VPTERNLOGD  MAJORITY, c, b, T3 \
	VPADDD      T0, h, h         \
	VPADDD      T3, h, h

// SCHEDULE makes word t of word t-16, in its place; u, x and y are words t-15, t-7 and
// t-2.
#define SCHEDULE(w, u, x, y) \
	VPRORD     $7, u, T0        \
	VPRORD     $18, u, T1       \
	VPSRLD     $3, u, T2        \
	VPTERNLOGD XOR3, T2, T1, T0 \
	VPADDD     T0, w, w         \
	VPADDD     x, w, w          \
	VPRORD     $17, y, T0       \
	VPRORD     $19, y, T1       \
	VPSRLD     $10, y, T2       \
	VPTERNLOGD XOR3, T2, T1, T0 \
	VPADDD     T0, w, w

// TRANSPOSE makes, of eight rows r with eight words of a lane each, eight rows o with one
// word of all lanes. It uses eight registers t; o may be these.
#define TRANSPOSE(r0, r1, r2, r3, r4, r5, r6, r7, t0, t1, t2, t3, t4, t5, t6, t7, o0, o1, o2, o3, o4, o5, o6, o7) \
	VPUNPCKLDQ  r1, r0, t0      \
	VPUNPCKHDQ  r1, r0, t1      \
	VPUNPCKLDQ  r3, r2, t2      \
	VPUNPCKHDQ  r3, r2, t3      \
	VPUNPCKLDQ  r5, r4, t4      \
	VPUNPCKHDQ  r5, r4, t5      \
	VPUNPCKLDQ  r7, r6, t6      \
	VPUNPCKHDQ  r7, r6, t7      \
	VPUNPCKLQDQ t2, t0, r0      \
	VPUNPCKHQDQ t2, t0, r1      \
	VPUNPCKLQDQ t3, t1, r2      \
	VPUNPCKHQDQ t3, t1, r3      \
	VPUNPCKLQDQ t6, t4, r4      \
	VPUNPCKHQDQ t6, t4, r5      \
	VPUNPCKLQDQ t7, t5, r6      \
	VPUNPCKHQDQ t7, t5, r7      \
	VSHUFI32X4  $0, r4, r0, o0  \
	VSHUFI32X4  $0, r5, r1, o1  \
	VSHUFI32X4  $0, r6, r2, o2  \
	VSHUFI32X4  $0, r7, r3, o3  \
	VSHUFI32X4  $3, r4, r0, o4  \
	VSHUFI32X4  $3, r5, r1, o5  \
	VSHUFI32X4  $3, r6, r2, o6  \
	VSHUFI32X4  $3, r7, r3, o7

// LOAD reads half a block of a lane, whose words begin with their highest byte.
#define LOAD(lane, half, row) \
	VMOVDQU32 half(lane)(BX*1), row \
	VPSHUFB   swap<>(SB), row, row

// func compress(state *[8][8]uint32, lanes *[8]*byte, blocks int)
TEXT ·compress(SB), NOSPLIT, $0-24
	MOVQ state+0(FP), AX
	MOVQ lanes+8(FP), BX
	MOVQ blocks+16(FP), CX
	SHLQ $6, CX
	JZ   done

	MOVQ 0(BX), SI
	MOVQ 8(BX), DI
	MOVQ 16(BX), R8
	MOVQ 24(BX), R9
	MOVQ 32(BX), R10
	MOVQ 40(BX), R11
	MOVQ 48(BX), R12
	MOVQ 56(BX), R13
	XORQ BX, BX // how many bytes of each lane are done

	VMOVDQU32 0(AX), A
	VMOVDQU32 32(AX), B
	VMOVDQU32 64(AX), C
	VMOVDQU32 96(AX), D
	VMOVDQU32 128(AX), E
	VMOVDQU32 160(AX), F
	VMOVDQU32 192(AX), G
	VMOVDQU32 224(AX), H

block:
	LOAD(SI, 0, Y16)
	LOAD(DI, 0, Y17)
	LOAD(R8, 0, Y18)
	LOAD(R9, 0, Y19)
	LOAD(R10, 0, Y20)
	LOAD(R11, 0, Y21)
	LOAD(R12, 0, Y22)
	LOAD(R13, 0, Y23)
	TRANSPOSE(Y16, Y17, Y18, Y19, Y20, Y21, Y22, Y23, Y24, Y25, Y26, Y27, Y28, Y29, Y30, Y31, W0, W1, W2, W3, W4, W5, W6, W7)
	LOAD(SI, 32, Y24)
	LOAD(DI, 32, Y25)
	LOAD(R8, 32, Y26)
	LOAD(R9, 32, Y27)
	LOAD(R10, 32, Y28)
	LOAD(R11, 32, Y29)
	LOAD(R12, 32, Y30)
	LOAD(R13, 32, Y31)
	TRANSPOSE(Y24, Y25, Y26, Y27, Y28, Y29, Y30, Y31, Y16, Y17, Y18, Y19, Y20, Y21, Y22, Y23, W8, W9, W10, W11, W12, W13, W14, W15)

	LEAQ constants<>(SB), DX
	LEAQ 192(DX), R15 // where the last sixteen begin

rounds:
	ROUND(A, B, C, D, E, F, G, H, W0, 0)
	ROUND(H, A, B, C, D, E, F, G, W1, 4)
	ROUND(G, H, A, B, C, D, E, F, W2, 8)
	ROUND(F, G, H, A, B, C, D, E, W3, 12)
	ROUND(E, F, G, H, A, B, C, D, W4, 16)
	ROUND(D, E, F, G, H, A, B, C, W5, 20)
	ROUND(C, D, E, F, G, H, A, B, W6, 24)
	ROUND(B, C, D, E, F, G, H, A, W7, 28)
	ROUND(A, B, C, D, E, F, G, H, W8, 32)
	ROUND(H, A, B, C, D, E, F, G, W9, 36)
	ROUND(G, H, A, B, C, D, E, F, W10, 40)
	ROUND(F, G, H, A, B, C, D, E, W11, 44)
	ROUND(E, F, G, H, A, B, C, D, W12, 48)
	ROUND(D, E, F, G, H, A, B, C, W13, 52)
	ROUND(C, D, E, F, G, H, A, B, W14, 56)
	ROUND(B, C, D, E, F, G, H, A, W15, 60)
	CMPQ DX, R15
	JEQ  next
	ADDQ $64, DX
	SCHEDULE(W0, W1, W9, W14)
	SCHEDULE(W1, W2, W10, W15)
	SCHEDULE(W2, W3, W11, W0)
	SCHEDULE(W3, W4, W12, W1)
	SCHEDULE(W4, W5, W13, W2)
	SCHEDULE(W5, W6, W14, W3)
	SCHEDULE(W6, W7, W15, W4)
	SCHEDULE(W7, W8, W0, W5)
	SCHEDULE(W8, W9, W1, W6)
	SCHEDULE(W9, W10, W2, W7)
	SCHEDULE(W10, W11, W3, W8)
	SCHEDULE(W11, W12, W4, W9)
	SCHEDULE(W12, W13, W5, W10)
	SCHEDULE(W13, W14, W6, W11)
	SCHEDULE(W14, W15, W7, W12)
	SCHEDULE(W15, W0, W8, W13)
	JMP  rounds

next:
	VPADDD    0(AX), A, A
	VPADDD    32(AX), B, B
	VPADDD    64(AX), C, C
	VPADDD    96(AX), D, D
	VPADDD    128(AX), E, E
	VPADDD    160(AX), F, F
	VPADDD    192(AX), G, G
	VPADDD    224(AX), H, H
	VMOVDQU32 A, 0(AX)
	VMOVDQU32 B, 32(AX)
	VMOVDQU32 C, 64(AX)
	VMOVDQU32 D, 96(AX)
	VMOVDQU32 E, 128(AX)
	VMOVDQU32 F, 160(AX)
	VMOVDQU32 G, 192(AX)
	VMOVDQU32 H, 224(AX)
	ADDQ      $64, BX
	CMPQ      BX, CX
	JB        block
	VZEROUPPER

done:
	RET

// func cpuid(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-24
	MOVL leaf+0(FP), AX
	MOVL subleaf+4(FP), CX
	CPUID
	MOVL AX, eax+8(FP)
	MOVL BX, ebx+12(FP)
	MOVL CX, ecx+16(FP)
	MOVL DX, edx+20(FP)
	RET

// func xgetbv() (eax, edx uint32)
TEXT ·xgetbv(SB), NOSPLIT, $0-8
	XORL CX, CX
	XGETBV
	MOVL AX, eax+0(FP)
	MOVL DX, edx+4(FP)
	RET

// swap turns the bytes of every word around.
DATA swap<>+0(SB)/8, $0x0405060700010203
DATA swap<>+8(SB)/8, $0x0c0d0e0f08090a0b
DATA swap<>+16(SB)/8, $0x0405060700010203
DATA swap<>+24(SB)/8, $0x0c0d0e0f08090a0b
GLOBL swap<>(SB), RODATA|NOPTR, $32

// constants are one for each step.
DATA constants<>+0(SB)/8, $0x71374491428a2f98
DATA constants<>+8(SB)/8, $0xe9b5dba5b5c0fbcf
DATA constants<>+16(SB)/8, $0x59f111f13956c25b
DATA constants<>+24(SB)/8, $0xab1c5ed5923f82a4
DATA constants<>+32(SB)/8, $0x12835b01d807aa98
DATA constants<>+40(SB)/8, $0x550c7dc3243185be
DATA constants<>+48(SB)/8, $0x80deb1fe72be5d74
DATA constants<>+56(SB)/8, $0xc19bf1749bdc06a7
DATA constants<>+64(SB)/8, $0xefbe4786e49b69c1
DATA constants<>+72(SB)/8, $0x240ca1cc0fc19dc6
DATA constants<>+80(SB)/8, $0x4a7484aa2de92c6f
DATA constants<>+88(SB)/8, $0x76f988da5cb0a9dc
DATA constants<>+96(SB)/8, $0xa831c66d983e5152
DATA constants<>+104(SB)/8, $0xbf597fc7b00327c8
DATA constants<>+112(SB)/8, $0xd5a79147c6e00bf3
DATA constants<>+120(SB)/8, $0x1429296706ca6351
DATA constants<>+128(SB)/8, $0x2e1b213827b70a85
DATA constants<>+136(SB)/8, $0x53380d134d2c6dfc
DATA constants<>+144(SB)/8, $0x766a0abb650a7354
DATA constants<>+152(SB)/8, $0x92722c8581c2c92e
DATA constants<>+160(SB)/8, $0xa81a664ba2bfe8a1
DATA constants<>+168(SB)/8, $0xc76c51a3c24b8b70
DATA constants<>+176(SB)/8, $0xd6990624d192e819
DATA constants<>+184(SB)/8, $0x106aa070f40e3585
DATA constants<>+192(SB)/8, $0x1e376c0819a4c116
DATA constants<>+200(SB)/8, $0x34b0bcb52748774c
DATA constants<>+208(SB)/8, $0x4ed8aa4a391c0cb3
DATA constants<>+216(SB)/8, $0x682e6ff35b9cca4f
DATA constants<>+224(SB)/8, $0x78a5636f748f82ee
DATA constants<>+232(SB)/8, $0x8cc7020884c87814
DATA constants<>+240(SB)/8, $0xa4506ceb90befffa
DATA constants<>+248(SB)/8, $0xc67178f2bef9a3f7
GLOBL constants<>(SB), RODATA|NOPTR, $256
