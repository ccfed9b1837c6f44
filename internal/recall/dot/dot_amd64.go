package dot

import "golang.org/x/sys/cpu"

//go:noescape
func int8AVX2(row []int8, query []int16) int32

//go:noescape
func int8AVX512(row []int8, query []int16) int32

func fastest(row []int8, query []int16) int32 {
	switch {
	case cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW:
		return int8AVX512(row, query)
	case cpu.X86.HasAVX2:
		return int8AVX2(row, query)
	}
	return plain(row, query)
}
