package portable

import "github.com/stratamem/strata/internal/memory"

// names are the stable names of an enum's values.
type names[T comparable] struct {
	of map[T]string
	by map[string]T
}

func newNames[T comparable](of map[T]string) names[T] {
	n := names[T]{of: of, by: make(map[string]T, len(of))}
	for v, name := range of {
		n.by[name] = v
	}
	return n
}

// The names of every value that is stored.
//
//exhaustive:enforce
var (
	roleNames = newNames(map[memory.Role]string{
		memory.RoleSystem: "system", memory.RoleDeveloper: "developer", memory.RoleUser: "user", memory.RoleAssistant: "assistant",
		memory.RoleTool: "tool",
	})
	originNames = newNames(map[memory.Origin]string{
		memory.OriginUser: "user", memory.OriginModel: "model", memory.OriginTool: "tool", memory.OriginRecalled: "recalled",
		memory.OriginSystem: "system",
	})
	extractNames = newNames(map[memory.ExtractMode]string{memory.ExtractAllow: "allow", memory.ExtractNone: "none"})
	partNames    = newNames(map[memory.PartKind]string{
		memory.PartText: "text", memory.PartReasoning: "reasoning", memory.PartToolCall: "tool_call", memory.PartToolResult: "tool_result",
		memory.PartBlob: "blob", memory.PartURI: "uri", memory.PartOpaque: "opaque",
	})
	detailNames  = newNames(map[memory.ImageDetail]string{0: "", memory.ImageLow: "low", memory.ImageHigh: "high"})
	findingNames = newNames(map[memory.FindingKind]string{
		memory.FindingOrphanToolResult: "orphan_tool_result", memory.FindingDuplicateToolCall: "duplicate_tool_call",
		memory.FindingArgumentsNotJSON: "arguments_not_json", memory.FindingCheck: "check", memory.FindingEmpty: "empty",
	})
	actionNames = newNames(map[memory.CheckAction]string{
		0: "", memory.CheckRemove: "remove", memory.CheckReplace: "replace", memory.CheckStrip: "strip", memory.CheckRetry: "retry",
	})
	summaryNames = newNames(map[memory.SummaryKind]string{
		memory.SummarySession: "session", memory.SummaryWeek: "week", memory.SummaryMonth: "month",
	})
	editNames = newNames(map[memory.SummaryCause]string{
		memory.SummaryCorrected: "corrected", memory.SummaryRestored: "restored", memory.SummaryLifted: "lifted",
		memory.SummaryRebuilt: "rebuilt", memory.SummaryDeleted: "deleted",
	})
	jobNames = newNames(map[memory.JobKind]string{
		memory.JobExtract: "extract", memory.JobLeaf: "summarize", memory.JobMerge: "merge", memory.JobWeek: "week",
		memory.JobMonth: "month", memory.JobRebuild: "rebuild", memory.JobIndex: "index",
	})
	stateNames = newNames(map[memory.JobState]string{
		memory.JobOpen: "open", memory.JobAnswered: "answered", memory.JobParked: "parked", memory.JobApplied: "applied",
		memory.JobSkipped: "skipped", memory.JobSplit: "split", memory.JobReverted: "reverted",
		memory.JobReplaced: "replaced",
	})
	categoryNames = newNames(map[memory.Category]string{
		memory.CategoryPreference: "preference", memory.CategoryPersonalInfo: "personal_info", memory.CategoryGoal: "goal",
		memory.CategoryPainPoint: "pain_point", memory.CategoryDecision: "decision", memory.CategoryOther: "other",
	})
	factOriginNames = newNames(map[memory.FactOrigin]string{
		memory.FactExtracted: "extracted", memory.FactByUser: "user", memory.FactImported: "imported",
	})
	causeNames = newNames(map[memory.FactCause]string{
		memory.CauseExtracted: "extracted", memory.CauseSuperseded: "superseded", memory.CauseCreated: "created",
		memory.CauseEdited: "edited", memory.CauseRestored: "restored", memory.CauseImported: "imported",
		memory.CauseInvalidated: "invalidated", memory.CauseReverted: "reverted", memory.CauseRetracted: "retracted",
		memory.CauseErased: "erased",
	})
)
