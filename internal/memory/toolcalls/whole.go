package toolcalls

// WithPairs returns the chosen messages together with those that share a call and its result with them, and with those that share
// one with these in turn: without all of them, what is left of the conversation is a list that every provider accepts. chosen has an
// entry for each of the messages that were paired, and stays as it is.
func (p *Pairing) WithPairs(chosen []bool) []bool {
	partners := map[int][]int{}
	for _, c := range p.Calls {
		if a, b := c.At.Message, c.Result.Message; c.Answered && a != b {
			partners[a], partners[b] = append(partners[a], b), append(partners[b], a)
		}
	}
	out := make([]bool, len(chosen))
	var follow []int
	for i, is := range chosen {
		if out[i] = is; is {
			follow = append(follow, i)
		}
	}
	for len(follow) > 0 {
		at := follow[len(follow)-1]
		follow = follow[:len(follow)-1]
		for _, partner := range partners[at] {
			if !out[partner] {
				out[partner] = true
				follow = append(follow, partner)
			}
		}
	}
	return out
}
