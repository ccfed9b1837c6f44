#include "textflag.h"

// The assembler has no names for SXTL and SMLAL: their words are written out.
#define SXTL(n, d) WORD $(0x0F08A400 | (n)<<5 | (d)) // Vd.8H = Vn.8B, widened
#define SXTL2(n, d) WORD $(0x4F08A400 | (n)<<5 | (d)) // Vd.8H = the upper 8 of Vn.16B
#define SMLAL(m, n, d) WORD $(0x0E608000 | (m)<<16 | (n)<<5 | (d)) // Vd.4S += Vn.4H * Vm.4H
#define SMLAL2(m, n, d) WORD $(0x4E608000 | (m)<<16 | (n)<<5 | (d)) // Vd.4S += the upper 4 of Vn.8H * those of Vm.8H

// func int8NEON(row []int8, query []int16) int32
// int8NEON is Int8 by NEON.
TEXT ·int8NEON(SB), NOSPLIT, $0-52
	MOVD row_base+0(FP), R0
	MOVD row_len+8(FP), R1
	MOVD query_base+24(FP), R2
	VEOR V16.B16, V16.B16, V16.B16
	VEOR V17.B16, V17.B16, V17.B16
	VEOR V18.B16, V18.B16, V18.B16
	VEOR V19.B16, V19.B16, V19.B16

loop:
	CBZ R1, done
	VLD1.P 32(R0), [V0.B16, V1.B16]
	VLD1.P 64(R2), [V4.H8, V5.H8, V6.H8, V7.H8]
	SXTL(0, 20)
	SXTL2(0, 21)
	SXTL(1, 22)
	SXTL2(1, 23)
	SMLAL(4, 20, 16)
	SMLAL2(4, 20, 17)
	SMLAL(5, 21, 18)
	SMLAL2(5, 21, 19)
	SMLAL(6, 22, 16)
	SMLAL2(6, 22, 17)
	SMLAL(7, 23, 18)
	SMLAL2(7, 23, 19)
	SUB $32, R1
	B loop

done:
	VADD V16.S4, V17.S4, V16.S4
	VADD V18.S4, V19.S4, V18.S4
	VADD V16.S4, V18.S4, V16.S4
	VADDV V16.S4, V16
	VMOV V16.S[0], R3
	MOVW R3, ret+48(FP)
	RET
