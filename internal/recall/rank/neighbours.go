package rank

import "math/bits"

// neighbours say in whose fields a message's words count beside its own.
type neighbours struct {
	edges  [][maxEdges]edge  // by message
	beside [reachSets]bitset // the messages whose words count so many numbers away, and those that count elsewhere
}

// maxEdges is four neighbours and the message that a reply responds to.
const maxEdges = 5

// edge says that a message's words count in the passages from first to last, excluded.
type edge struct {
	first, last int32
	weight      float32 // exact: a small multiple of 1/65536; 0 ends the list
}

// The sets of messages whose words count in the fields of messages beside them, by how many numbers.
const (
	oneAfter = iota
	twoAfter
	oneBefore
	twoBefore
	elsewhere // see neighbours.edges
	reachSets
)

// windowSteps are where the neighbours stand whose words count: from the message.
var windowSteps = [...]int{-2, -1, 1, 2}

// grow makes room for a message.
func (n *neighbours) grow() {
	if len(n.edges)%64 == 0 {
		for i := range n.beside {
			n.beside[i] = append(n.beside[i], 0)
		}
	}
	n.edges = append(n.edges, [maxEdges]edge{})
}

// clear drops what a message counts elsewhere.
func (n *neighbours) clear(no int32) {
	n.edges[no] = [maxEdges]edge{}
	for i := range n.beside {
		n.beside[i].remove(no)
	}
}

// mark notes in which message one's words count. Mostly those of a session stand in a row.
func (n *neighbours) mark(no, to int32) {
	set := elsewhere
	switch to - no {
	case 1:
		set = oneAfter
	case 2:
		set = twoAfter
	case -1:
		set = oneBefore
	case -2:
		set = twoBefore
	}
	n.beside[set].add(no)
}

// addReached adds to fields the messages in whose fields those of said count, many at a time. passageMessage is the message of
// each passage.
func (n *neighbours) addReached(fields, said bitset, passageMessage []int32) {
	for i, w := range n.beside[elsewhere] {
		for w &= said[i]; w != 0; w &= w - 1 {
			no := int32(i<<6 + bits.TrailingZeros64(w))
			for _, e := range n.edges[no] {
				if e.first < e.last {
					fields.add(passageMessage[e.first])
				}
			}
		}
	}
	var oneUp, twoUp uint64 // what the word before reaches in this one
	for i, w := range said {
		one, two := w&n.beside[oneAfter][i], w&n.beside[twoAfter][i]
		fields[i] |= one<<1 | two<<2 | oneUp | twoUp
		oneUp, twoUp = one>>63, two>>62
		one, two = w&n.beside[oneBefore][i], w&n.beside[twoBefore][i]
		fields[i] |= one>>1 | two>>2
		if i > 0 {
			fields[i-1] |= one<<63 | two<<62
		}
	}
}

// windowWeight is how much the words of a message count for the one that stands so many steps after it, one or two.
func windowWeight(w *KindWeights, to, from *message, step int) float64 {
	switch step {
	case 1:
		if from.question && from.name != to.name {
			return w.scaled(w.BeforeQuestion, from.words)
		}
		return w.scaled(w.Before, from.words)
	case -1:
		return w.scaled(w.After, from.words)
	case 2:
		return w.scaled(w.TwoBefore, from.words)
	}
	return w.scaled(w.TwoAfter, from.words)
}

// scaled is the weight of a neighbour with so many words.
func (w *KindWeights) scaled(weight float64, words int32) float64 {
	if int(words) > w.NeighbourWords {
		weight *= float64(w.NeighbourWords) / float64(words)
	}
	return quantum(weight)
}
