package grpcapi

import (
	"fmt"
	"strings"

	"golang.org/x/text/language"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/edge/grpcapi/enums"
	"github.com/stratamem/strata/internal/edge/grpcapi/requests"
	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
)

const (
	maxAttributeBytes = 64
	maxLanguageBytes  = 35 // what RFC 5646 §4.4.1 asks everybody to take
	maxSignificance   = 10
)

// factProto converts a fact of the user for a reply.
func factProto(userID string, f memory.Fact) *memoryv1.Fact {
	return &memoryv1.Fact{
		UserId: userID, FactId: f.ID, Text: f.Text, Category: enums.Categories.To(f.Category), Tags: f.Tags,
		Significance: int32(f.Significance), Confidence: f.Confidence, Subject: f.Subject, Attribute: f.Attribute,
		Evidence: evidenceProto(f.Evidence), ValidFrom: timeProto(f.ValidFrom), ValidTo: timeProto(f.ValidTo),
		SupersededBy: f.SupersededBy, Pinned: f.Pinned, Origin: enums.FactOrigins.To(f.Origin), Protected: f.Protected,
		Language: f.Language, Model: f.Model, CreateTime: timeProto(f.CreateTime), UpdateTime: timeProto(f.UpdateTime),
		LastUsedTime: timeProto(f.LastUsedTime), Revision: f.Revision, Etag: f.ETag(),
	}
}

func evidenceProto(in []memory.Evidence) []*memoryv1.Evidence {
	out := make([]*memoryv1.Evidence, len(in))
	for i, e := range in {
		out[i] = &memoryv1.Evidence{SessionId: e.SessionID, MessageId: e.MessageID, Seq: e.Seq, Quote: e.Quote, Ends: e.Ends}
	}
	return out
}

// factFromProto checks and converts what a person may state of a fact. What is not set stays zero.
func factFromProto(c *requests.Checker, path string, in *memoryv1.Fact) memory.Fact {
	return memory.Fact{
		ID: in.GetFactId(), Text: factTextFrom(c, path+".text", in.GetText()),
		Category:     requests.OneOf(c, path+".category", enums.Categories, in.GetCategory(), categoryWords),
		Tags:         tagsFrom(c, path+".tags", in.GetTags()),
		Significance: int(requests.Between(c, path+".significance", in.GetSignificance(), 0, maxSignificance)),
		Subject:      c.Name(path+".subject", in.GetSubject()), Attribute: attributeFrom(c, path+".attribute", in.GetAttribute()),
		ValidFrom: c.Time(path+".valid_from", in.GetValidFrom()), ValidTo: c.Time(path+".valid_to", in.GetValidTo()),
		Pinned: in.GetPinned(), Language: languageFrom(c, path+".language", in.GetLanguage()),
	}
}

func factTextFrom(c *requests.Checker, field, s string) string {
	c.Bytes(field, len(s), extract.MaxFactBytes)
	if !requests.IsPrintable(strings.ReplaceAll(s, requests.ZeroWidthJoiner, "")) {
		c.Fault(field, "has a character that is not printable; write one statement on one line")
	}
	return s
}

// checkStatement checks that a fact says something.
func checkStatement(c *requests.Checker, field, s string) {
	if strings.TrimSpace(s) == "" {
		c.Fault(field, "is required: 1 to %d bytes of printable UTF-8", extract.MaxFactBytes)
	}
}

const categoryWords = "preference, personal_info, goal, pain_point, decision or other"

// categoriesFrom checks which categories are asked for; nil means all.
func categoriesFrom(c *requests.Checker, field string, in []memoryv1.Category) []memory.Category {
	c.Count(field, len(in), requests.MaxFilters)
	var out []memory.Category
	for i, k := range in {
		path := fmt.Sprintf("%s[%d]", field, i)
		if k == memoryv1.Category_CATEGORY_UNSPECIFIED {
			c.Fault(path, "is not set; leave categories empty for all")
		}
		out = append(out, requests.OneOf(c, path, enums.Categories, k, categoryWords))
	}
	return out
}

func attributeFrom(c *requests.Checker, field, s string) string {
	c.Bytes(field, len(s), maxAttributeBytes)
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		c.Fault(field, "may only have a-z, 0-9 and _, such as home_city")
	}
	return s
}

// languageFrom returns a BCP 47 tag in its canonical spelling, "" where none is set.
func languageFrom(c *requests.Checker, field, s string) string {
	if s == "" {
		return ""
	}
	c.Bytes(field, len(s), maxLanguageBytes)
	tag, err := language.Parse(s)
	if err != nil {
		c.Fault(field, "is no BCP 47 tag, such as ko or pt-BR; leave it empty when unknown")
		return ""
	}
	return tag.String()
}
