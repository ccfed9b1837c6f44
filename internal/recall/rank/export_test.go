package rank

// Helpers that tests in rank_test share with tests in rank. The former use package factrank, which imports rank.
const WordsPrior = wordsPrior

type EmbeddedQuery = embeddedQuery

var (
	RandomVector = randomVector
	ReportTimes  = reportTimes
	Share        = share
)

// WeighNamedPeople sets Weights.Person.Named.
func (x *Index) WeighNamedPeople(weight float64) { x.weights[kindPerson].Named = weight }

// ScoreAll makes searches of few messages score all that match, as they do unless ScoreTheBest was called.
func (x *Index) ScoreAll() { x.limits = defaultLimits() }

// ScoreTheBest makes every search score the best alone.
func (x *Index) ScoreTheBest() { x.limits = limits{likely: 1} }
