package enums

import (
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// apiEnum is an enum of the API.
type apiEnum interface {
	comparable
	protoreflect.Enum
}

// number is the number of a value of an enum.
type number = protoreflect.EnumNumber

// converted returns the values of the API that a table has, and checks that each is the same after the way there and back.
func converted[T comparable, P apiEnum](t *testing.T, e Enum[T, P]) map[number]bool {
	t.Helper()
	known := map[number]bool{}
	for own, p := range e.values {
		if back, ok := e.From(e.To(own)); !ok || back != own || p.Number() == 0 {
			t.Errorf("%v of the service is %v in the API, and that is %v", own, p, back)
		}
		known[p.Number()] = true
	}
	if len(known) != len(e.values) {
		t.Errorf("%d values of the service are %d in the API", len(e.values), len(known))
	}
	return known
}

// isWhole checks a table that has all values of an enum of the API but the unspecified one and those given.
func isWhole[T comparable, P apiEnum](e Enum[T, P], others ...map[number]bool) func(*testing.T) {
	return func(t *testing.T) {
		known := converted(t, e)
		var p P
		values := p.Descriptor().Values()
		for i := range values.Len() {
			v := values.Get(i)
			elsewhere := false
			for _, other := range others {
				elsewhere = elsewhere || other[v.Number()]
			}
			if v.Number() != 0 && !known[v.Number()] && !elsewhere {
				t.Errorf("%s is nothing in the service", v.Name())
			}
		}
		if _, ok := e.From(p); ok {
			t.Error("the unspecified value is one of the service's")
		}
	}
}

func TestEveryValueOfAnEnumConvertsBothWays(t *testing.T) {
	ofNoUser := converted(t, MaintenanceNames)
	erasures := map[number]bool{memoryv1.JobKind_JOB_KIND_ERASE.Number(): true}
	for name, check := range map[string]func(*testing.T){
		"Role": isWhole(Roles), "KeyRole": isWhole(KeyRoles), "Origin": isWhole(Origins), "ExtractMode": isWhole(ExtractModes), "ImageDetail": isWhole(ImageDetails),
		"CheckAction": isWhole(CheckActions), "FindingKind": isWhole(FindingKinds), "Markup": isWhole(Marks),
		"Category": isWhole(Categories), "FactOrigin": isWhole(FactOrigins), "FactCause": isWhole(FactCauses),
		"OnConflict": isWhole(ConflictRules), "SummaryKind": isWhole(SummaryKinds), "SummaryCause": isWhole(SummaryCauses),
		"JobKind": isWhole(JobKinds, ofNoUser, erasures), "ErasureKind": isWhole(ErasureKinds), "PurgedBy": isWhole(PurgedBy),
		"JobState": isWhole(JobStates), "View": isWhole(Views), "RevertOutcome": isWhole(RevertOutcomes),
		"Watermark": isWhole(WatermarkNames), "OmitReason": isWhole(OmitReasons), "HistoryOmitReason": isWhole(HistoryOmitReasons),
		"SectionKind": isWhole(SectionKinds), "Selection": isWhole(Selections), "Render": isWhole(Renders),
		"ContextHead": isWhole(Heads), "CompressFallback": isWhole(FallbackNames),
		"MemoryRole": isWhole(MemoryRoles), "MemoryPlace": isWhole(MemoryPlaces),
	} {
		t.Run(name, check)
	}
}
