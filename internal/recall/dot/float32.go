package dot

// block is how many products one step of Float32 adds: eight sums side by side keep the processor busy, which measured
// twice as fast as one sum.
const block = 8

// Float32 is the inner product of two vectors of one length: their cosine when both have length 1.
func Float32(a, b []float32) float32 {
	var s [block]float32
	n := len(a) - len(a)%block
	b = b[:len(a)]
	for i := 0; i < n; i += block {
		x, y := (*[block]float32)(a[i:]), (*[block]float32)(b[i:])
		s[0] += x[0] * y[0]
		s[1] += x[1] * y[1]
		s[2] += x[2] * y[2]
		s[3] += x[3] * y[3]
		s[4] += x[4] * y[4]
		s[5] += x[5] * y[5]
		s[6] += x[6] * y[6]
		s[7] += x[7] * y[7]
	}
	sum := (s[0] + s[1]) + (s[2] + s[3]) + ((s[4] + s[5]) + (s[6] + s[7]))
	for i := n; i < len(a); i++ {
		sum += a[i] * b[i]
	}
	return sum
}
