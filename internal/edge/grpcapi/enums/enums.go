// Package enums has a table for every enum of the API, with the types of the domain that its values stand for.
package enums

import (
	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/contexts/assembly"
	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/contexts/contentchecks"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/work"
	"github.com/stratamem/strata/internal/memory"
)

// Enum converts a type of the service to an enum of the API and back. The unspecified value of the API is none of the
// service's: From does not know it, and To returns it for a value that is not set.
type Enum[T comparable, P comparable] struct {
	values map[T]P
	back   map[P]T
}

func newEnum[T comparable, P comparable](values map[T]P) Enum[T, P] {
	e := Enum[T, P]{values: values, back: make(map[P]T, len(values))}
	for t, p := range values {
		e.back[p] = t
	}
	return e
}

// To is the value in the API.
func (e Enum[T, P]) To(t T) P { return e.values[t] }

// From is the value in the service, false for one that the API does not know or that is unspecified.
func (e Enum[T, P]) From(p P) (T, bool) {
	t, ok := e.back[p]
	return t, ok
}

// The enums of the API with what they are in the service. Every value of the service must be in its table: a linter sees to
// that, and a test to it that every value of the API is in one.
//
//exhaustive:enforce
var (
	Roles = newEnum(map[memory.Role]memoryv1.Role{
		memory.RoleSystem:    memoryv1.Role_ROLE_SYSTEM,
		memory.RoleDeveloper: memoryv1.Role_ROLE_DEVELOPER,
		memory.RoleUser:      memoryv1.Role_ROLE_USER,
		memory.RoleAssistant: memoryv1.Role_ROLE_ASSISTANT,
		memory.RoleTool:      memoryv1.Role_ROLE_TOOL,
	})
	Origins = newEnum(map[memory.Origin]memoryv1.Origin{
		memory.OriginUser:     memoryv1.Origin_ORIGIN_USER,
		memory.OriginModel:    memoryv1.Origin_ORIGIN_MODEL,
		memory.OriginTool:     memoryv1.Origin_ORIGIN_TOOL,
		memory.OriginRecalled: memoryv1.Origin_ORIGIN_RECALLED,
		memory.OriginSystem:   memoryv1.Origin_ORIGIN_SYSTEM,
	})
	ExtractModes = newEnum(map[memory.ExtractMode]memoryv1.ExtractMode{
		memory.ExtractAllow: memoryv1.ExtractMode_EXTRACT_MODE_ALLOW,
		memory.ExtractNone:  memoryv1.ExtractMode_EXTRACT_MODE_NONE,
	})
	ImageDetails = newEnum(map[memory.ImageDetail]memoryv1.ImageDetail{
		memory.ImageLow:  memoryv1.ImageDetail_IMAGE_DETAIL_LOW,
		memory.ImageHigh: memoryv1.ImageDetail_IMAGE_DETAIL_HIGH,
	})
	CheckActions = newEnum(map[memory.CheckAction]memoryv1.CheckAction{
		memory.CheckRemove:  memoryv1.CheckAction_CHECK_ACTION_REMOVE,
		memory.CheckReplace: memoryv1.CheckAction_CHECK_ACTION_REPLACE,
		memory.CheckStrip:   memoryv1.CheckAction_CHECK_ACTION_STRIP,
		memory.CheckRetry:   memoryv1.CheckAction_CHECK_ACTION_RETRY,
	})
	FindingKinds = newEnum(map[memory.FindingKind]memoryv1.FindingKind{
		memory.FindingOrphanToolResult:  memoryv1.FindingKind_FINDING_KIND_ORPHAN_TOOL_RESULT,
		memory.FindingDuplicateToolCall: memoryv1.FindingKind_FINDING_KIND_DUPLICATE_TOOL_CALL,
		memory.FindingArgumentsNotJSON:  memoryv1.FindingKind_FINDING_KIND_ARGUMENTS_NOT_JSON,
		memory.FindingCheck:             memoryv1.FindingKind_FINDING_KIND_CHECK,
		memory.FindingEmpty:             memoryv1.FindingKind_FINDING_KIND_EMPTY,
	})
	Categories = newEnum(map[memory.Category]memoryv1.Category{
		memory.CategoryPreference:   memoryv1.Category_CATEGORY_PREFERENCE,
		memory.CategoryPersonalInfo: memoryv1.Category_CATEGORY_PERSONAL_INFO,
		memory.CategoryGoal:         memoryv1.Category_CATEGORY_GOAL,
		memory.CategoryPainPoint:    memoryv1.Category_CATEGORY_PAIN_POINT,
		memory.CategoryDecision:     memoryv1.Category_CATEGORY_DECISION,
		memory.CategoryOther:        memoryv1.Category_CATEGORY_OTHER,
	})
	FactOrigins = newEnum(map[memory.FactOrigin]memoryv1.FactOrigin{
		memory.FactExtracted: memoryv1.FactOrigin_FACT_ORIGIN_EXTRACTED,
		memory.FactByUser:    memoryv1.FactOrigin_FACT_ORIGIN_USER,
		memory.FactImported:  memoryv1.FactOrigin_FACT_ORIGIN_IMPORTED,
	})
	FactCauses = newEnum(map[memory.FactCause]memoryv1.FactCause{
		memory.CauseExtracted:   memoryv1.FactCause_FACT_CAUSE_EXTRACTED,
		memory.CauseSuperseded:  memoryv1.FactCause_FACT_CAUSE_SUPERSEDED,
		memory.CauseCreated:     memoryv1.FactCause_FACT_CAUSE_CREATED,
		memory.CauseEdited:      memoryv1.FactCause_FACT_CAUSE_EDITED,
		memory.CauseRestored:    memoryv1.FactCause_FACT_CAUSE_RESTORED,
		memory.CauseImported:    memoryv1.FactCause_FACT_CAUSE_IMPORTED,
		memory.CauseInvalidated: memoryv1.FactCause_FACT_CAUSE_INVALIDATED,
		memory.CauseReverted:    memoryv1.FactCause_FACT_CAUSE_REVERTED,
		memory.CauseRetracted:   memoryv1.FactCause_FACT_CAUSE_RETRACTED,
		memory.CauseErased:      memoryv1.FactCause_FACT_CAUSE_ERASED,
	})
	ConflictRules = newEnum(map[memory.OnConflict]memoryv1.OnConflict{
		memory.ConflictSkipped:     memoryv1.OnConflict_ON_CONFLICT_SKIP,
		memory.ConflictOverwritten: memoryv1.OnConflict_ON_CONFLICT_OVERWRITE,
		memory.ConflictRenamed:     memoryv1.OnConflict_ON_CONFLICT_NEW_IDS,
	})
	SummaryKinds = newEnum(map[memory.SummaryKind]memoryv1.SummaryKind{
		memory.SummarySession: memoryv1.SummaryKind_SUMMARY_KIND_SESSION,
		memory.SummaryWeek:    memoryv1.SummaryKind_SUMMARY_KIND_WEEK,
		memory.SummaryMonth:   memoryv1.SummaryKind_SUMMARY_KIND_MONTH,
	})
	SummaryCauses = newEnum(map[memory.SummaryCause]memoryv1.SummaryCause{
		memory.SummaryCorrected: memoryv1.SummaryCause_SUMMARY_CAUSE_CORRECTED,
		memory.SummaryRestored:  memoryv1.SummaryCause_SUMMARY_CAUSE_RESTORED,
		memory.SummaryLifted:    memoryv1.SummaryCause_SUMMARY_CAUSE_LIFTED,
		memory.SummaryRebuilt:   memoryv1.SummaryCause_SUMMARY_CAUSE_REBUILT,
		memory.SummaryDeleted:   memoryv1.SummaryCause_SUMMARY_CAUSE_DELETED,
	})
	JobKinds = newEnum(map[memory.JobKind]memoryv1.JobKind{
		memory.JobExtract: memoryv1.JobKind_JOB_KIND_EXTRACT,
		memory.JobLeaf:    memoryv1.JobKind_JOB_KIND_SUMMARIZE,
		memory.JobMerge:   memoryv1.JobKind_JOB_KIND_MERGE,
		memory.JobWeek:    memoryv1.JobKind_JOB_KIND_WEEK,
		memory.JobMonth:   memoryv1.JobKind_JOB_KIND_MONTH,
		memory.JobRebuild: memoryv1.JobKind_JOB_KIND_REBUILD,
		memory.JobIndex:   memoryv1.JobKind_JOB_KIND_INDEX,
	})
	JobStates = newEnum(map[memory.JobState]memoryv1.JobState{
		memory.JobOpen:     memoryv1.JobState_JOB_STATE_OPEN,
		memory.JobAnswered: memoryv1.JobState_JOB_STATE_ANSWERED,
		memory.JobParked:   memoryv1.JobState_JOB_STATE_PARKED,
		memory.JobApplied:  memoryv1.JobState_JOB_STATE_APPLIED,
		memory.JobSkipped:  memoryv1.JobState_JOB_STATE_SKIPPED,
		memory.JobSplit:    memoryv1.JobState_JOB_STATE_SPLIT,
		memory.JobReverted: memoryv1.JobState_JOB_STATE_REVERTED,
		memory.JobReplaced: memoryv1.JobState_JOB_STATE_REPLACED,
	})
	ErasureKinds = newEnum(map[memory.ErasureKind]memoryv1.ErasureKind{
		memory.EraseUser:     memoryv1.ErasureKind_ERASURE_KIND_USER,
		memory.EraseSession:  memoryv1.ErasureKind_ERASURE_KIND_SESSION,
		memory.EraseMessages: memoryv1.ErasureKind_ERASURE_KIND_MESSAGES,
		memory.EraseSummary:  memoryv1.ErasureKind_ERASURE_KIND_SUMMARY,
	})
	PurgedBy = newEnum(map[memory.PurgedBy]memoryv1.PurgedBy{
		memory.PurgedWithSweep:    memoryv1.PurgedBy_PURGED_BY_SWEEP,
		memory.PurgedByCompaction: memoryv1.PurgedBy_PURGED_BY_COMPACTION,
	})
	Views = newEnum(map[memory.View]memoryv1.View{
		memory.ViewVectors:        memoryv1.View_VIEW_VECTORS,
		memory.ViewFacts:          memoryv1.View_VIEW_FACTS,
		memory.ViewTranscript:     memoryv1.View_VIEW_TRANSCRIPT,
		memory.ViewMessageVectors: memoryv1.View_VIEW_TURNS,
	})
	RetentionRules = newEnum(map[work.RetentionRule]memoryv1.RetentionRule{
		work.RetentionSessionAge:  memoryv1.RetentionRule_RETENTION_RULE_SESSION_AGE,
		work.RetentionMessageAge:  memoryv1.RetentionRule_RETENTION_RULE_MESSAGE_AGE,
		work.RetentionMaxMessages: memoryv1.RetentionRule_RETENTION_RULE_MAX_MESSAGES,
		work.RetentionFactAge:     memoryv1.RetentionRule_RETENTION_RULE_FACT_AGE,
		work.RetentionUnused:      memoryv1.RetentionRule_RETENTION_RULE_UNUSED,
		work.RetentionMaxFacts:    memoryv1.RetentionRule_RETENTION_RULE_MAX_FACTS,
	})
	RevertOutcomes = newEnum(map[extract.Outcome]memoryv1.RevertOutcome{
		extract.OutcomeRemoved:      memoryv1.RevertOutcome_REVERT_OUTCOME_REMOVED,
		extract.OutcomeRestored:     memoryv1.RevertOutcome_REVERT_OUTCOME_RESTORED,
		extract.OutcomeKeptByPerson: memoryv1.RevertOutcome_REVERT_OUTCOME_KEPT_CHANGED_BY_PERSON,
		extract.OutcomeKeptByJob:    memoryv1.RevertOutcome_REVERT_OUTCOME_KEPT_CHANGED_BY_JOB,
		extract.OutcomeKeptReplaced: memoryv1.RevertOutcome_REVERT_OUTCOME_KEPT_REPLACED,
	})
	OmitReasons = newEnum(map[assembly.OmitReason]memoryv1.OmitReason{
		assembly.OmitBudget:         memoryv1.OmitReason_OMIT_REASON_BUDGET,
		assembly.OmitOrphanResult:   memoryv1.OmitReason_OMIT_REASON_ORPHAN_RESULT,
		assembly.OmitUnansweredCall: memoryv1.OmitReason_OMIT_REASON_UNANSWERED_CALL,
		assembly.OmitNotRenderable:  memoryv1.OmitReason_OMIT_REASON_NOT_RENDERABLE,
		assembly.OmitReplySize:      memoryv1.OmitReason_OMIT_REASON_REPLY_SIZE,
		assembly.OmitRepeated:       memoryv1.OmitReason_OMIT_REASON_REPEATED,
		assembly.OmitHidden:         memoryv1.OmitReason_OMIT_REASON_HIDDEN,
		assembly.OmitPolicy:         memoryv1.OmitReason_OMIT_REASON_POLICY,
		assembly.OmitHiddenSummary:  memoryv1.OmitReason_OMIT_REASON_HIDDEN_SUMMARY,
	})
	SectionKinds = newEnum(map[assembly.SectionKind]memoryv1.SectionKind{
		assembly.SectionInstructions:     memoryv1.SectionKind_SECTION_KIND_INSTRUCTIONS,
		assembly.SectionState:            memoryv1.SectionKind_SECTION_KIND_STATE,
		assembly.SectionNotes:            memoryv1.SectionKind_SECTION_KIND_NOTES,
		assembly.SectionFacts:            memoryv1.SectionKind_SECTION_KIND_FACTS,
		assembly.SectionPeriods:          memoryv1.SectionKind_SECTION_KIND_PERIODS,
		assembly.SectionPreviousSessions: memoryv1.SectionKind_SECTION_KIND_PREVIOUS_SESSIONS,
		assembly.SectionSummary:          memoryv1.SectionKind_SECTION_KIND_SUMMARY,
		assembly.SectionRecalled:         memoryv1.SectionKind_SECTION_KIND_RECALLED,
		assembly.SectionSessionFacts:     memoryv1.SectionKind_SECTION_KIND_SESSION_FACTS,
		assembly.SectionRecent:           memoryv1.SectionKind_SECTION_KIND_RECENT,
		assembly.SectionPending:          memoryv1.SectionKind_SECTION_KIND_PENDING,
	})
	Selections = newEnum(map[assembly.Selection]memoryv1.Selection{
		assembly.SelectedFound:     memoryv1.Selection_SELECTION_FOUND,
		assembly.SelectedCore:      memoryv1.Selection_SELECTION_CORE,
		assembly.SelectedNeighbour: memoryv1.Selection_SELECTION_FILL_NEIGHBOUR,
		assembly.SelectedStated:    memoryv1.Selection_SELECTION_FILL_STATED,
		assembly.SelectedSession:   memoryv1.Selection_SELECTION_FILL_SESSION,
		assembly.SelectedNewest:    memoryv1.Selection_SELECTION_FILL_NEWEST,
	})
	Renders = newEnum(map[assembly.Render]memoryv1.Render{
		assembly.RenderStructured: memoryv1.Render_RENDER_STRUCTURED,
		assembly.RenderText:       memoryv1.Render_RENDER_TEXT,
		assembly.RenderOpenAI:     memoryv1.Render_RENDER_OPENAI,
		assembly.RenderAnthropic:  memoryv1.Render_RENDER_ANTHROPIC,
		assembly.RenderResponses:  memoryv1.Render_RENDER_RESPONSES,
	})
	Marks = newEnum(map[contentchecks.Mark]memoryv1.Markup{
		contentchecks.HTML:     memoryv1.Markup_MARKUP_HTML,
		contentchecks.Markdown: memoryv1.Markup_MARKUP_MARKDOWN,
		contentchecks.Control:  memoryv1.Markup_MARKUP_CONTROL,
	})
	WatermarkNames = newEnum(map[work.Watermark]memoryv1.Watermark{
		work.WatermarkIndexed:    memoryv1.Watermark_WATERMARK_INDEXED,
		work.WatermarkExtracted:  memoryv1.Watermark_WATERMARK_EXTRACTED,
		work.WatermarkSummarised: memoryv1.Watermark_WATERMARK_SUMMARISED,
	})
	MaintenanceNames = newEnum(map[work.MaintenanceKind]memoryv1.JobKind{
		work.MaintenanceReembed: memoryv1.JobKind_JOB_KIND_REEMBED,
		work.MaintenanceReindex: memoryv1.JobKind_JOB_KIND_REINDEX,
		work.MaintenanceVerify:  memoryv1.JobKind_JOB_KIND_VERIFY,
	})
	Heads = newEnum(map[compaction.Head]memoryv1.ContextHead{
		compaction.HeadSystemAndFirst: memoryv1.ContextHead_CONTEXT_HEAD_SYSTEM_AND_FIRST,
		compaction.HeadSystemOrFirst:  memoryv1.ContextHead_CONTEXT_HEAD_SYSTEM_OR_FIRST,
		compaction.HeadSystem:         memoryv1.ContextHead_CONTEXT_HEAD_SYSTEM,
	})
	FallbackNames = newEnum(map[compaction.Fallback]memoryv1.CompressFallback{
		compaction.FallbackKeep:    memoryv1.CompressFallback_COMPRESS_FALLBACK_KEEP,
		compaction.FallbackDrop:    memoryv1.CompressFallback_COMPRESS_FALLBACK_DROP,
		compaction.FallbackWhole:   memoryv1.CompressFallback_COMPRESS_FALLBACK_WHOLE,
		compaction.FallbackExtract: memoryv1.CompressFallback_COMPRESS_FALLBACK_EXTRACT,
	})
	MemoryRoles = newEnum(map[contextprofile.MemoryRole]memoryv1.MemoryRole{
		contextprofile.MemoryAsSystem:    memoryv1.MemoryRole_MEMORY_ROLE_SYSTEM,
		contextprofile.MemoryAsDeveloper: memoryv1.MemoryRole_MEMORY_ROLE_DEVELOPER,
		contextprofile.MemoryAsUser:      memoryv1.MemoryRole_MEMORY_ROLE_USER,
	})
	MemoryPlaces = newEnum(map[contextprofile.MemoryPlace]memoryv1.MemoryPlace{
		contextprofile.MemoryBefore: memoryv1.MemoryPlace_MEMORY_PLACE_BEFORE,
		contextprofile.MemoryAfter:  memoryv1.MemoryPlace_MEMORY_PLACE_AFTER,
	})
	HistoryOmitReasons = newEnum(map[compaction.Reason]memoryv1.HistoryOmitReason{
		compaction.ReasonHidden:     memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_HIDDEN,
		compaction.ReasonTied:       memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_TIED,
		compaction.ReasonSummarised: memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_SUMMARISED,
		compaction.ReasonFacts:      memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_FACTS,
		compaction.ReasonRecalled:   memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_RECALLED,
		compaction.ReasonDropped:    memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_DROPPED,
		compaction.ReasonFiltered:   memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_FILTERED,
		compaction.ReasonLossy:      memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_LOSSY,
		compaction.ReasonMessages:   memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_MESSAGES,
		compaction.ReasonBudget:     memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_BUDGET,
		compaction.ReasonRepeated:   memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_REPEATED,
		compaction.ReasonOrphan:     memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_ORPHAN_RESULT,
		compaction.ReasonUnanswered: memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_UNANSWERED_CALL,
		compaction.ReasonEmpty:      memoryv1.HistoryOmitReason_HISTORY_OMIT_REASON_EMPTY,
	})
)

// KeyRoles are all but the role of nobody.
var KeyRoles = newEnum(map[auth.Role]memoryv1.KeyRole{
	auth.RoleAgent:    memoryv1.KeyRole_KEY_ROLE_AGENT,
	auth.RoleUser:     memoryv1.KeyRole_KEY_ROLE_USER,
	auth.RoleOperator: memoryv1.KeyRole_KEY_ROLE_OPERATOR,
	auth.RoleAdmin:    memoryv1.KeyRole_KEY_ROLE_ADMIN,
})
