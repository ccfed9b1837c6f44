package jobrunner

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
)

var morning = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

func sessionOf(user, session string) target {
	return memory.UserRef{Tenant: "default", UserID: user}.Session(session)
}

func TestQueue(t *testing.T) {
	const gather = 100 * time.Millisecond
	a := sessionOf("ada", "s")
	t.Run("a session that was quiet is ready soon after its turn, recorded in one call or two", func(t *testing.T) {
		q := newQueue(gather, 3)
		for calls := range 2 {
			at := morning.Add(time.Duration(calls) * 7 * time.Millisecond)
			q.nudge(a, at)
			if next := q.wake(at); !next.Equal(at.Add(gather / 10)) {
				t.Errorf("after %d calls ready at %v", calls+1, next)
			}
		}
	})
	t.Run("one that is nudged again and again is ready once nudges have paused", func(t *testing.T) {
		q := newQueue(gather, 3)
		var last time.Time
		for i := range 3 {
			last = morning.Add(time.Duration(i) * 99 * time.Millisecond)
			q.nudge(a, last)
			if takeFirst(q, last.Add(gather/10)) == a {
				q.finishUntil(a, time.Time{}, request{})
			}
		}
		if next := q.wake(last.Add(gather / 10)); !next.Equal(last.Add(gather)) {
			t.Errorf("ready at %v", next)
		}
	})
	t.Run("a session is quiet again after a pause, and is forgotten", func(t *testing.T) {
		q := newQueue(gather, 3)
		now := morning
		for range 4 {
			q.nudge(a, now)
			now = now.Add(gather / 10)
			if takeFirst(q, now) != a {
				t.Fatal("not ready soon after its turn")
			}
			q.finishUntil(a, time.Time{}, request{})
			now = now.Add(gather)
		}
		if q.wake(now); len(q.entries) > 0 {
			t.Error("it is still kept")
		}
	})
	t.Run("nudges that never pause put it off ten times as long at most", func(t *testing.T) {
		q := newQueue(gather, 3)
		for i := range 40 {
			q.nudge(a, morning.Add(time.Duration(i)*50*time.Millisecond))
		}
		q.wake(morning.Add(10 * gather))
		if got, _, ok := q.next(); !ok || got != a {
			t.Errorf("took %v, %v", got, ok)
		}
	})
	t.Run("a nudge during a visit leads to another one", func(t *testing.T) {
		q := newQueue(gather, 3)
		q.runAt(a, morning, request{})
		q.wake(morning)
		q.next()
		q.nudge(a, morning)
		q.finishUntil(a, time.Time{}, request{})
		q.wake(morning.Add(gather))
		if _, _, ok := q.next(); !ok {
			t.Error("the nudge is lost")
		}
	})
	t.Run("an request stays until a visit finds nothing left to do", func(t *testing.T) {
		q := newQueue(gather, 3)
		q.runAt(a, morning, request{hurryExtract: true})
		q.wake(morning)
		_, why, _ := q.next()
		q.requeue(a, why)
		if _, why, _ = q.next(); !why.hurryExtract {
			t.Error("the second visit is not in a hurry")
		}
		q.finishUntil(a, time.Time{}, request{})
		q.nudge(a, morning)
		q.wake(morning.Add(gather))
		if _, why, _ = q.next(); why.hurryExtract {
			t.Error("the third visit is still in a hurry")
		}
	})
	t.Run("a visit that a timer asked for is thorough", func(t *testing.T) {
		q := newQueue(gather, 3)
		q.runAt(a, morning, request{})
		q.finishUntil(takeFirst(q, morning), morning.Add(time.Minute), request{})
		q.wake(morning.Add(time.Minute))
		if _, why, ok := q.next(); !ok || !why.thorough {
			t.Errorf("request %+v, %v", why, ok)
		}
	})
	t.Run("users take turns, whatever each of them has", func(t *testing.T) {
		q := newQueue(gather, 3)
		for i := range 1000 {
			q.runAt(sessionOf("ada", fmt.Sprint(i)), morning, request{})
		}
		q.runAt(sessionOf("bob", "s"), morning.Add(time.Second), request{})
		q.wake(morning.Add(time.Second))
		for range 2 {
			if got, _, _ := q.next(); got.UserID == "bob" {
				return
			}
		}
		t.Error("bob waits for more than one session of ada")
	})
	t.Run("a user has no more visits at once than allowed", func(t *testing.T) {
		q := newQueue(gather, 3)
		for i := range 10 {
			q.runAt(sessionOf("ada", fmt.Sprint(i)), morning, request{})
		}
		q.wake(morning)
		n := 0
		for _, _, ok := q.next(); ok; _, _, ok = q.next() {
			n++
		}
		if n != 3 {
			t.Errorf("%d visits", n)
		}
	})
	t.Run("tenants take turns, however many users each has", func(t *testing.T) {
		q := newQueue(gather, 100)
		for i := range 1000 {
			q.runAt(sessionOf(fmt.Sprint("user ", i), "s"), morning, request{})
		}
		for i := range 3 {
			q.runAt(memory.UserRef{Tenant: "other", UserID: fmt.Sprint(i)}.Session("s"), morning.Add(time.Second), request{})
		}
		q.wake(morning.Add(time.Second))
		others := 0
		for range 6 {
			if got, _, _ := q.next(); got.Tenant == "other" {
				others++
			}
		}
		if others != 3 {
			t.Errorf("of six runs %d are of the other tenant, want three", others)
		}
	})
	t.Run("a tenant leaves a worker to others once there were others", func(t *testing.T) {
		q := newQueue(gather, 3)
		runs := func() (n int) {
			for i := range 10 {
				q.runAt(sessionOf(fmt.Sprint("user ", i), "s"), morning, request{})
			}
			q.wake(morning)
			for n = 0; n < 4; n++ { // of four workers
				if _, _, ok := q.next(); !ok {
					break
				}
			}
			for i := range 10 {
				if s := sessionOf(fmt.Sprint("user ", i), "s"); q.running[s.UserRef] > 0 {
					q.requeue(s, request{})
				}
			}
			return n
		}
		if n := runs(); n != 4 {
			t.Errorf("alone it has %d of four workers", n)
		}
		other := memory.UserRef{Tenant: "other", UserID: "u"}.Session("s")
		q.runAt(other, morning.Add(-time.Second), request{})
		q.wake(morning)
		for got, _, _ := q.next(); got != other; got, _, _ = q.next() {
			q.requeue(got, request{})
		}
		q.finishUntil(other, time.Time{}, request{})
		if n := runs(); n != 3 {
			t.Errorf("after another one it has %d of four workers, want three", n)
		}
	})
	t.Run("whatever happens, no target is lost, visited twice at once, or kept after its last visit", rapid.MakeCheck(checkQueue))
}

func takeFirst(q *queue, now time.Time) target {
	q.wake(now)
	t, _, _ := q.next()
	return t
}

// checkQueue has random calls and then lets everything come to rest.
func checkQueue(t *rapid.T) {
	q := newQueue(100*time.Millisecond, 2)
	now := morning
	due := map[target]bool{} // asked for and not taken since
	var visited []target
	isVisited := map[target]bool{}
	take := func() bool {
		next, _, ok := q.next()
		if !ok {
			return false
		}
		if isVisited[next] {
			t.Fatalf("%v is visited twice at once", next)
		}
		isVisited[next] = true
		visited = append(visited, next)
		delete(due, next)
		return true
	}
	end := func() {
		if len(visited) > 0 {
			q.finishUntil(visited[0], time.Time{}, request{})
			delete(isVisited, visited[0])
			visited = visited[1:]
		}
	}
	for range rapid.IntRange(1, 60).Draw(t, "calls") {
		any := sessionOf(rapid.SampledFrom([]string{"ada", "bob"}).Draw(t, "user"), rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "session"))
		any.Tenant = rapid.SampledFrom([]string{"default", "other"}).Draw(t, "tenant")
		switch rapid.IntRange(0, 5).Draw(t, "call") {
		case 0:
			q.nudge(any, now)
			due[any] = true
		case 1:
			q.runAt(any, now.Add(time.Minute), request{})
			due[any] = true
		case 2:
			now = now.Add(30 * time.Second)
			q.wake(now)
		case 3:
			take()
		case 4:
			end()
		case 5:
			if len(visited) > 0 {
				q.requeue(visited[0], request{})
				due[visited[0]] = true
				delete(isVisited, visited[0])
				visited = visited[1:]
			}
		}
	}
	for range 100 {
		now = now.Add(time.Minute)
		q.wake(now)
		for take() {
		}
		end()
	}
	if len(due) > 0 || len(q.entries) > 0 || q.runs != 0 || len(q.running)+len(q.ready)+len(q.busy)+len(q.users)+len(q.turns) > 0 {
		t.Fatalf("due %v, entries %d, visits %d", due, len(q.entries), q.runs)
	}
}
