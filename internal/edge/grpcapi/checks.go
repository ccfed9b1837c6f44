package grpcapi

import (
	"context"
	"errors"
	"fmt"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/contexts/contentchecks"
	"github.com/stratamem/strata/internal/contexts/history"
	"github.com/stratamem/strata/internal/edge/grpcapi/enums"
	"github.com/stratamem/strata/internal/edge/grpcapi/requests"
	"github.com/stratamem/strata/internal/memory"
)

func (s *HistoryService) CheckMessages(ctx context.Context, req *memoryv1.CheckMessagesRequest) (*memoryv1.CheckMessagesResponse, error) {
	params, err := checkParams(req)
	if err != nil {
		return nil, err
	}
	result, err := s.Histories.CheckMessages(ctx, params)
	if err != nil {
		return nil, ruleError(err)
	}
	out := &memoryv1.CheckMessagesResponse{Changed: result.Changed, Retry: result.Retry, Counter: result.Counter}
	if result.Changed {
		for _, m := range result.Messages {
			out.Messages = append(out.Messages, messageProto(m))
		}
	}
	for _, f := range result.Findings {
		out.Findings = append(out.Findings, &memoryv1.CheckFinding{
			Index: int32(f.Index), MessageId: f.MessageID, Rule: f.Rule, Action: enums.CheckActions.To(f.Action), Removed: f.Removed, Hint: f.Hint,
		})
	}
	return out, nil
}

// ruleError is what is wrong with the request's rules. It shows nothing of them but numbers.
func ruleError(err error) error {
	if f, ok := errors.AsType[*contentchecks.Fault](err); ok {
		return memory.InvalidField(fmt.Sprintf("rules[%d].%s", f.Rule, f.Field), "%s", f.Text)
	}
	if e, ok := errors.AsType[*contentchecks.TooMuch](err); ok {
		return memory.InvalidField(fmt.Sprintf("rules[%d].%s", e.Rule, e.Field), "%s", e.Error())
	}
	return err
}

func checkParams(req *memoryv1.CheckMessagesRequest) (history.CheckParams, error) {
	c := &requests.Checker{}
	p := history.CheckParams{
		Messages: messagesFrom(c, "messages", req.GetMessages(), requests.MaxMessages, requests.MaxRecordBytes),
		Profile:  c.Label("profile", req.GetProfile()), Model: c.Label("model", req.GetModel()),
		Counter: counterFrom(c, "counter", req.GetCounter()),
	}
	c.Count("rules", len(req.GetRules()), contentchecks.MaxRules)
	for i, r := range req.GetRules() {
		p.Rules = append(p.Rules, checkRuleFrom(c, fmt.Sprintf("rules[%d]", i), r))
	}
	return p, c.Err()
}

// checkRuleFrom converts a rule; what is wrong with its values is said when it is made ready.
func checkRuleFrom(c *requests.Checker, field string, in *memoryv1.CheckRule) contentchecks.Rule {
	action, _ := enums.CheckActions.From(in.GetAction())
	r := contentchecks.Rule{
		Name: c.Label(field+".name", in.GetName()), Action: action, Text: in.GetText(), Hint: in.GetHint(),
		Test: ruleTest(in),
	}
	for i, role := range in.GetRoles() {
		own, ok := enums.Roles.From(role)
		if !ok {
			c.Fault(fmt.Sprintf("%s.roles[%d]", field, i), "is %d; it must be system, developer, user, assistant or tool", role)
		}
		r.Roles = append(r.Roles, own)
	}
	return r
}

func ruleTest(in *memoryv1.CheckRule) contentchecks.Test {
	switch t := in.GetTest().(type) {
	case *memoryv1.CheckRule_StopWords:
		return contentchecks.StopWords(t.StopWords.GetWords())
	case *memoryv1.CheckRule_Patterns:
		return contentchecks.Patterns(t.Patterns.GetExpressions())
	case *memoryv1.CheckRule_MaxLength:
		return contentchecks.MaxLength{Characters: t.MaxLength.GetCharacters(), Tokens: t.MaxLength.GetTokens()}
	case *memoryv1.CheckRule_Json:
		return contentchecks.JSON{Schema: t.Json.GetSchema()}
	case *memoryv1.CheckRule_Markup:
		kinds := make(contentchecks.Markup, len(t.Markup.GetKinds()))
		for i, k := range t.Markup.GetKinds() {
			kinds[i], _ = enums.Marks.From(k)
		}
		return kinds
	}
	return nil
}

func findingProto(f memory.Finding) *memoryv1.Finding {
	out := &memoryv1.Finding{MessageId: f.MessageID, Kind: enums.FindingKinds.To(f.Kind), CallId: f.CallID}
	if f.Kind == memory.FindingCheck {
		out.Check = &memoryv1.CheckFinding{
			Index: int32(f.Index), MessageId: f.MessageID, Rule: f.Rule, Action: enums.CheckActions.To(f.Action), Removed: f.Removed,
		}
	}
	return out
}
