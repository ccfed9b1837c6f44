package dot

//go:noescape
func int8NEON(row []int8, query []int16) int32

// fastest needs not ask: every arm64 processor has these instructions.
func fastest(row []int8, query []int16) int32 { return int8NEON(row, query) }
