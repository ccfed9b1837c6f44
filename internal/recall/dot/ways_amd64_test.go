package dot

import "golang.org/x/sys/cpu"

// ways are those that this machine can go.
func ways() map[string]product {
	all := map[string]product{"plain": plain, "fastest": fastest}
	if cpu.X86.HasAVX2 {
		all["AVX2"] = int8AVX2
	}
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW {
		all["AVX-512"] = int8AVX512
	}
	return all
}
