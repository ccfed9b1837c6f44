package mongostore

import "testing"

func TestAFilterLosesNoCondition(t *testing.T) {
	t.Run("names and values become fields in their order", func(t *testing.T) {
		d := eq("scope", "a", "session", "b")
		if len(d) != 2 || d[0].Key != "scope" || d[0].Value != "a" || d[1].Key != "session" || d[1].Value != "b" {
			t.Errorf("got %v", d)
		}
	})
	for name, pairs := range map[string][]any{
		"a name without a value panics":   {"tenant", "t", "scope"},
		"a name that is no string panics": {"tenant", "t", 7, "scope"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("the filter was built without the condition")
				}
			}()
			eq(pairs...)
		})
	}
}
