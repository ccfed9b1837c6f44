package console

import (
	"net/url"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// author is who changed something, beside the caller whom the audit names.
const author = "console"

// unknownAction is the error of a form that asks for nothing that there is.
func unknownAction() error {
	return status.Error(codes.InvalidArgument, "do: names no action of this page")
}

// done leads back to where a form was, to a part of that page where one is named, and says what was done.
func (v *visit) done(next, what, part string) error {
	to, err := url.Parse(safeNext(next))
	if err != nil {
		return status.Error(codes.InvalidArgument, "next: is no address")
	}
	with := to.Query()
	with.Set("done", what)
	v.redirectTo((&url.URL{Path: to.Path, RawQuery: with.Encode(), Fragment: part}).String())
	return nil
}

// changeMessage hides, shows or deletes a message.
func (v *visit) changeMessage() error {
	user, session, id := v.r.PostFormValue("user"), v.r.PostFormValue("session"), v.r.PostFormValue("message")
	do := v.r.PostFormValue("do")
	var err error
	switch do {
	case "hide", "show":
		_, err = v.api.memory.UpdateMessage(v.ctx(), &memoryv1.UpdateMessageRequest{
			UserId: user, SessionId: session, Message: &memoryv1.Message{Id: id, Hidden: do == "hide"},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"hidden"}},
		})
	case "delete":
		_, err = v.api.memory.DeleteMessages(v.ctx(), &memoryv1.DeleteMessagesRequest{UserId: user, SessionId: session, MessageIds: []string{id}})
	default:
		return unknownAction()
	}
	if err != nil {
		return err
	}
	part := ""
	if seq, err := strconv.ParseUint(v.r.PostFormValue("seq"), 10, 63); err == nil && do != "delete" {
		part = messagePart(int64(seq)) //nolint:gosec // of 63 bits
	}
	return v.done(v.r.PostFormValue("next"), "message."+do, part)
}

// changeFact edits, pins, restores or deletes a fact.
func (v *visit) changeFact() error {
	user, id, do := v.r.PostFormValue("user"), v.r.PostFormValue("fact"), v.r.PostFormValue("do")
	next := address("fact", url.Values{"user": {user}, "fact": {id}})
	var err error
	switch do {
	case "edit":
		err = v.editFact(user, id)
	case "pin", "unpin":
		_, err = v.api.facts.UpdateFact(v.ctx(), &memoryv1.UpdateFactRequest{
			Fact:       &memoryv1.Fact{UserId: user, FactId: id, Pinned: do == "pin", Etag: v.r.PostFormValue("etag")},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"pinned"}}, Author: author,
		})
	case "restore":
		err = v.restoreFact(user, id)
	case "delete":
		_, err = v.api.facts.DeleteFact(v.ctx(), &memoryv1.DeleteFactRequest{UserId: user, FactId: id})
		next = address("facts", url.Values{"user": {user}})
	default:
		return unknownAction()
	}
	if err != nil {
		return err
	}
	return v.done(next, "fact."+do, "")
}

// editFact writes what the form says. Where the fact was changed since the form was made it is refused.
func (v *visit) editFact(user, id string) error {
	significance, err := strconv.ParseInt(v.r.PostFormValue("significance"), 10, 32)
	if err != nil {
		return status.Error(codes.InvalidArgument, "significance: must be a number, 1 to 10")
	}
	var tags []string
	for tag := range strings.SplitSeq(v.r.PostFormValue("tags"), ",") {
		if tag = strings.TrimSpace(tag); tag != "" {
			tags = append(tags, tag)
		}
	}
	_, err = v.api.facts.UpdateFact(v.ctx(), &memoryv1.UpdateFactRequest{
		Fact: &memoryv1.Fact{
			UserId: user, FactId: id, Etag: v.r.PostFormValue("etag"), Text: strings.TrimSpace(v.r.PostFormValue("text")), Tags: tags,
			Category: categoryOf(v.r.PostFormValue("category")), Significance: int32(significance),
			Subject: strings.TrimSpace(v.r.PostFormValue("subject")),
		},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"text", "category", "significance", "tags", "subject"}}, Author: author,
	})
	return err
}

func (v *visit) restoreFact(user, id string) error {
	revision, err := strconv.ParseInt(v.r.PostFormValue("revision"), 10, 64)
	if err != nil {
		return status.Error(codes.InvalidArgument, "revision: must be a number")
	}
	_, err = v.api.facts.RestoreFact(v.ctx(), &memoryv1.RestoreFactRequest{UserId: user, FactId: id, Revision: revision, Author: author})
	return err
}

// changeJob retries or skips a job, or retries all that are parked.
func (v *visit) changeJob() error {
	user, id, do := v.r.PostFormValue("user"), v.r.PostFormValue("job"), v.r.PostFormValue("do")
	var err error
	switch do {
	case "retry":
		_, err = v.api.work.RetryJob(v.ctx(), &memoryv1.RetryJobRequest{UserId: user, JobId: id})
	case "skip":
		_, err = v.api.work.SkipJob(v.ctx(), &memoryv1.SkipJobRequest{UserId: user, JobId: id})
	case "retryall":
		err = v.retryParked(user)
	default:
		return unknownAction()
	}
	if err != nil {
		return err
	}
	return v.done(v.r.PostFormValue("next"), "job."+do, "")
}

// retryParked retries the parked jobs of a user, of all users with "", a page of them at a call.
func (v *visit) retryParked(user string) error {
	in := &memoryv1.RetryJobsRequest{UserId: user, PageSize: 500}
	for {
		reply, err := v.api.work.RetryJobs(v.ctx(), in)
		if err != nil || reply.GetNextPageToken() == "" {
			return err
		}
		in.PageToken = reply.GetNextPageToken()
	}
}
