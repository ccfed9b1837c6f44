package rank

// labels file messages under something whose words count in their fields: the speaker's name, the day.
type labels[K comparable] struct {
	no     map[K]int32
	all    []label
	byTerm map[string][]labelTerm
}

type label struct {
	words    int32
	messages []int32
	persons  int // how many of the messages are of the kind person
}

type labelTerm struct {
	label int32
	count int32
}

func newLabels[K comparable]() labels[K] {
	return labels[K]{no: map[K]int32{}, byTerm: map[string][]labelTerm{}}
}

// add files a message under a key; terms is called for a new key.
func (l *labels[K]) add(key K, m int32, terms func() []string) int32 {
	no, ok := l.no[key]
	if !ok {
		no = int32(len(l.all))
		l.no[key] = no
		l.all = append(l.all, label{})
		for _, t := range count(terms()) {
			l.all[no].words += int32(t.Count)
			l.byTerm[t.Term] = append(l.byTerm[t.Term], labelTerm{no, int32(t.Count)})
		}
	}
	l.all[no].messages = append(l.all[no].messages, m)
	return no
}
