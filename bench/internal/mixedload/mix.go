package mixedload

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Kind is a kind of call.
type Kind int

// The kinds, in the order in which they are printed.
const (
	Record Kind = iota
	BuildContext
	SearchFacts
	SearchMessages
	ListMessages
	PopMessages
	DeleteFact
	kinds
)

// Kinds are all of them.
func Kinds() []Kind {
	out := make([]Kind, kinds)
	for i := range out {
		out[i] = Kind(i)
	}
	return out
}

func (k Kind) String() string {
	return [kinds]string{"Record", "BuildContext", "SearchFacts", "SearchMessages", "ListMessages", "PopMessages", "DeleteFact"}[k]
}

// DefaultMix is an agent's: it records and asks for a context by turns, and does all else now and then.
const DefaultMix = "Record=40,BuildContext=40,SearchFacts=8,SearchMessages=6,ListMessages=5,PopMessages=0.5,DeleteFact=0.5"

// Mix is how often each kind is called, in parts of all calls.
type Mix [kinds]float64

// ParseMix reads kinds with their parts, as in DefaultMix. A kind that is not named is not called.
func ParseMix(s string) (m Mix, err error) {
	sum := 0.0
	for part := range strings.SplitSeq(s, ",") {
		name, value, _ := strings.Cut(part, "=")
		kind, err := kindOf(strings.TrimSpace(name))
		if err != nil {
			return m, err
		}
		if m[kind], err = strconv.ParseFloat(value, 64); err != nil || m[kind] < 0 {
			return m, fmt.Errorf("mix: the part of %s is %q; give a number of at least 0, such as %s", kind, value, DefaultMix)
		}
		sum += m[kind]
	}
	if sum <= 0 {
		return m, fmt.Errorf("mix: no kind has a part of the calls; give one, such as %s", DefaultMix)
	}
	for k := range m {
		m[k] /= sum
	}
	return m, nil
}

func kindOf(name string) (Kind, error) {
	for _, k := range Kinds() {
		if k.String() == name {
			return k, nil
		}
	}
	return 0, fmt.Errorf("mix: there is no call %q; there are those of %s", name, DefaultMix)
}

// Call is one call of the plan.
type Call struct {
	N    int // from 0
	Kind Kind
	User int // by rank of activity
	Pick int // chooses among texts and queries
}

// Plan is the calls of a load.
type Plan struct {
	Seed  uint64
	Mix   Mix
	Users Zipf
}

// Call returns the n-th call. The same plan has the same calls.
func (p Plan) Call(n int) Call {
	rng := rand.New(rand.NewPCG(p.Seed, uint64(n))) //nolint:gosec // n counts calls
	c := Call{N: n, User: p.Users.Rank(rng.Float64()), Pick: rng.IntN(1 << 30)}
	x := rng.Float64()
	for k := range p.Mix {
		if p.Mix[k] > 0 {
			c.Kind = Kind(k)
		}
		if x -= p.Mix[k]; x < 0 {
			break
		}
	}
	return c
}
