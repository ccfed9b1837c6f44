package settingschema_test

import (
	"math"
	"testing"

	"github.com/stratamem/strata/internal/contexts/settingschema"
)

// room is something with settings.
type room struct {
	seats int
	share float64
	color string
	lamps []string
}

func fields() []settingschema.Field[room] {
	return []settingschema.Field[room]{
		settingschema.Number("seats", "max_seats", func(r *room) *int { return &r.seats }, 1, 9),
		settingschema.Number("share", "", func(r *room) *float64 { return &r.share }, 0, 1),
		settingschema.Value("color", "color", func(r *room) *string { return &r.color }),
		settingschema.Count("lamps", "", func(r *room) int { return len(r.lamps) }, 2),
	}
}

func TestFields(t *testing.T) {
	t.Run("a number takes those of the API, and nothing else", func(t *testing.T) {
		var r room
		if f := fields()[0]; !f.Set(&r, int32(5)) || r.seats != 5 || f.Set(&r, "6") || r.seats != 5 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("a value takes those of its type alone", func(t *testing.T) {
		var r room
		if f := fields()[2]; !f.Set(&r, "red") || r.color != "red" || f.Set(&r, 1) {
			t.Errorf("%+v", r)
		}
	})
	t.Run("what is within its limits is no fault", func(t *testing.T) {
		var fs settingschema.Faults
		for _, r := range []room{{seats: 1}, {seats: 9, share: 1, lamps: []string{"a", "b"}}} {
			settingschema.Check(&fs, &r, fields())
		}
		if len(fs) > 0 {
			t.Errorf("%+v", fs)
		}
	})
	t.Run("every field beyond its limits is one", func(t *testing.T) {
		var fs settingschema.Faults
		settingschema.Check(&fs, &room{seats: 10, share: math.NaN(), lamps: []string{"a", "b", "c"}}, fields())
		if len(fs) != 3 || fs[0].Key != "seats" || fs[0].API != "max_seats" || fs[0].Value != 10 || fs[0].Low != 1 || fs[0].High != 9 ||
			fs[1].Key != "share" || fs[2].Text != "has 3 entries; the limit is 2" {
			t.Errorf("%+v", fs)
		}
	})
}
