package terminal

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// leastPrefix is how many characters of an id are enough to be taken for its beginning, when no other begins with them.
const leastPrefix = 4

// prefixOf returns what of an id is given: an ellipsis that a table put behind it is none of it.
func prefixOf(given string) string { return strings.TrimSuffix(given, ellipsis) }

// byPrefix returns the one id that begins with what is given; "" when none does. Two are refused, and named.
func byPrefix(noun, given string, ids []string) (string, error) {
	prefix := prefixOf(given)
	if len([]rune(prefix)) < leastPrefix {
		return "", nil
	}
	var found []string
	for _, id := range ids {
		if strings.HasPrefix(id, prefix) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	return "", Usagef("%d %ss begin with %s, such as %s and %s: give more of the id",
		len(found), noun, OneLine(prefix), OneLine(found[0]), OneLine(found[1]))
}

// withShort makes a call with an id as it is given; where nothing has that id, with the one that begins with it.
func withShort(noun, given string, list func() ([]string, error), call func(id string) error) error {
	refused := call(given)
	if status.Code(refused) != codes.NotFound {
		return refused
	}
	ids, err := list()
	if status.Code(err) == codes.NotFound {
		return refused
	}
	if err != nil {
		return err
	}
	id, err := byPrefix(noun, given, ids)
	if err != nil {
		return err
	}
	if id == "" {
		return refused
	}
	return call(id)
}

// WithFact makes a call about a fact that is named by its id or the beginning of it.
func WithFact(ctx context.Context, client memoryv1.FactServiceClient, user, given string, call func(id string) error) error {
	list := func() (ids []string, err error) {
		_, err = Pages(0, MaxFacts, func(size int32, token string) (int, string, error) {
			page, err := client.ListFacts(ctx, &memoryv1.ListFactsRequest{UserId: user, IncludePast: true, PageSize: size, PageToken: token})
			for _, f := range page.GetFacts() {
				ids = append(ids, f.GetFactId())
			}
			return len(ids), page.GetNextPageToken(), err
		})
		return ids, err
	}
	return withShort("fact", given, list, call)
}

// WithJob makes a call about a job of a user that is named by its id or the beginning of it. Of a user who is gone only erasures are
// listed, to who asks for nothing else.
func WithJob(ctx context.Context, client memoryv1.WorkServiceClient, user, given string, call func(id string) error) error {
	var states []memoryv1.JobState
	for number := range memoryv1.JobState_name {
		if number != int32(memoryv1.JobState_JOB_STATE_UNSPECIFIED) {
			states = append(states, memoryv1.JobState(number))
		}
	}
	slices.Sort(states) // pages go on where the request is the same
	req := &memoryv1.ListJobsRequest{UserId: user, States: states}
	if strings.HasPrefix(given, erasurePrefix) {
		req.Kinds = []memoryv1.JobKind{memoryv1.JobKind_JOB_KIND_ERASE}
	}
	list := func() (ids []string, err error) {
		_, err = Pages(0, MaxJobs, func(size int32, token string) (int, string, error) {
			req.PageSize, req.PageToken = size, token
			page, err := client.ListJobs(ctx, req)
			for _, j := range page.GetJobs() {
				ids = append(ids, j.GetJobId())
			}
			return len(ids), page.GetNextPageToken(), err
		})
		return ids, err
	}
	return withShort("job", given, list, call)
}

// erasurePrefix is what the ids of all erasures begin with.
const erasurePrefix = "erase-"

func sessionIDs(ctx context.Context, client memoryv1.MemoryServiceClient, user string) (ids []string, err error) {
	_, err = Pages(0, MaxSessions, func(size int32, token string) (int, string, error) {
		page, err := client.ListSessions(ctx, &memoryv1.ListSessionsRequest{UserId: user, PageSize: size, PageToken: token})
		for _, s := range page.GetSessions() {
			ids = append(ids, s.GetSessionId())
		}
		return len(ids), page.GetNextPageToken(), err
	})
	return ids, err
}

// messageArg names a message.
type messageArg struct {
	given  string
	exact  *memoryv1.Message   // the one with that id
	atSeq  *memoryv1.Message   // the one of that seq
	begins []*memoryv1.Message // the first two whose ids begin so
}

func (a *messageArg) look(m *memoryv1.Message) {
	prefix := prefixOf(a.given)
	switch {
	case m.GetId() == a.given:
		a.exact = m
	case strconv.FormatInt(m.GetSeq(), 10) == a.given:
		a.atSeq = m
	case len([]rune(prefix)) >= leastPrefix && strings.HasPrefix(m.GetId(), prefix) && len(a.begins) < 2:
		a.begins = append(a.begins, m)
	}
}

// message is the one that is meant; nil for none.
func (a *messageArg) message() (*memoryv1.Message, error) {
	meant := a.begins
	if a.atSeq != nil {
		meant = append([]*memoryv1.Message{a.atSeq}, meant...)
	}
	switch {
	case a.exact != nil:
		return a.exact, nil
	case len(meant) == 0:
		return nil, nil //nolint:nilnil // there is none
	case len(meant) > 1:
		return nil, Usagef("%s may be message %d, %s, or message %d, %s: give the whole id",
			OneLine(a.given), meant[0].GetSeq(), OneLine(meant[0].GetId()), meant[1].GetSeq(), OneLine(meant[1].GetId()))
	}
	return meant[0], nil
}

// FindMessages looks in a session for messages by their ids, the beginnings of them, or their seqs; nil stands for one that is not
// there. It reads the session until every id is found whole, else all of it.
func FindMessages(
	ctx context.Context, client memoryv1.MemoryServiceClient, req *memoryv1.ListMessagesRequest, given []string,
) ([]*memoryv1.Message, error) {
	wanted := make([]messageArg, len(given))
	for i, g := range given {
		wanted[i].given = g
	}
	req.PageSize, req.NewestFirst = MaxPage, true
	for {
		page, err := client.ListMessages(ctx, req)
		if err != nil {
			return nil, err
		}
		for _, m := range page.GetMessages() {
			for i := range wanted {
				wanted[i].look(m)
			}
		}
		unsure := slices.ContainsFunc(wanted, func(a messageArg) bool { return a.exact == nil })
		if req.PageToken = page.GetNextPageToken(); req.PageToken == "" || !unsure {
			break
		}
	}
	found := make([]*memoryv1.Message, len(given))
	for i := range wanted {
		m, err := wanted[i].message()
		if err != nil {
			return nil, err
		}
		found[i] = m
	}
	return found, nil
}

// messageIDs are the ids of messages that are named by their ids, the beginnings of them, or their seqs. What names none stays as
// it is, so that the call that follows says so.
func messageIDs(ctx context.Context, client memoryv1.MemoryServiceClient, user, session string, given []string) ([]string, error) {
	found, err := FindMessages(ctx, client, &memoryv1.ListMessagesRequest{UserId: user, SessionId: session}, given)
	if err != nil {
		return nil, err
	}
	ids := slices.Clone(given)
	for i, m := range found {
		if m != nil {
			ids[i] = m.GetId()
		}
	}
	return ids, nil
}

// WithMessages makes a call about messages with their ids as they are given; where one is not there, with those that are meant.
func WithMessages(
	ctx context.Context, client memoryv1.MemoryServiceClient, user, session string, given []string, call func(ids []string) error,
) error {
	refused := call(given)
	if status.Code(refused) != codes.NotFound {
		return refused
	}
	ids, err := messageIDs(ctx, client, user, session, given)
	if status.Code(err) == codes.NotFound || err == nil && slices.Equal(ids, given) {
		return refused
	}
	if err != nil {
		return err
	}
	return call(ids)
}

// SessionOf returns the session that a user means: the one of that id, else the one whose id begins so, which is said. It is what
// was given where there is none, so that the call that follows says so.
func (r *Run) SessionOf(ctx context.Context, client memoryv1.MemoryServiceClient, user, given string) (string, error) {
	session := given
	err := withShort("session", given, func() ([]string, error) { return sessionIDs(ctx, client, user) }, func(id string) error {
		_, err := client.GetSession(ctx, &memoryv1.GetSessionRequest{UserId: user, SessionId: id})
		if err == nil {
			session = id
		}
		return err
	})
	if err != nil && status.Code(err) != codes.NotFound {
		return "", err
	}
	if session != given {
		fmt.Fprintf(r.Env.Stderr, "session %s\n", OneLine(session))
	}
	return session, nil
}

// Session is sessionOf over a connection of its own. None given is none.
func (r *Run) Session(user, given string) (session string, err error) {
	if given == "" {
		return "", nil
	}
	err = r.Call(func(ctx context.Context, client memoryv1.MemoryServiceClient) (err error) {
		session, err = r.SessionOf(ctx, client, user, given)
		return err
	})
	return session, err
}
