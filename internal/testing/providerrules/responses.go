package providerrules

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// responsesItem is of an item what is the same for all kinds, and what messages, calls and their outputs have.
type responsesItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
}

// Responses checks {"input": […]} by the rules of OpenAI's Responses
// (https://platform.openai.com/docs/api-reference/responses/create) and the request types of OpenAI's SDK: non-empty content,
// lists of parts only where a user or a tool shows something, that nothing but other calls and outputs stands between a function
// call and its output, that a custom tool's call has its output behind it, and that reasoning comes before what the model made of it.
func Responses(data []byte) error {
	var body struct {
		Input []json.RawMessage `json:"input"`
	}
	if err := decode(data, &body); err != nil {
		return err
	}
	if err := fits(data, responsesSchema); err != nil {
		return err
	}
	if body.Input == nil {
		return errors.New("input is missing")
	}
	v := responsesCheck{ids: map[string]bool{}}
	for i, raw := range body.Input {
		var item responsesItem
		if err := json.Unmarshal(raw, &item); err != nil {
			return fmt.Errorf("input[%d]: %w", i, err)
		}
		if err := v.item(&item); err != nil {
			return fmt.Errorf("input[%d]: %w", i, err)
		}
	}
	switch {
	case v.reasoned:
		return errors.New("nothing comes of the last reasoning")
	case len(v.waiting)+len(v.custom) > 0:
		return fmt.Errorf("calls %q have no outputs", slices.Concat(v.waiting, v.custom))
	}
	return nil
}

type responsesCheck struct {
	ids             map[string]bool
	waiting, custom []string // calls of functions and of custom tools without an output yet
	reasoned        bool     // the item before is reasoning
}

func (v *responsesCheck) item(it *responsesItem) error {
	if it.Type == "reasoning" {
		v.reasoned = true
	} else {
		if ofModel := it.Role == "assistant" || it.Role == "" && !strings.HasSuffix(it.Type, "_output"); v.reasoned && !ofModel {
			return errors.New("nothing comes of the reasoning before")
		}
		v.reasoned = false
	}
	isCall := it.Type == "function_call" || it.Type == "function_call_output"
	if len(v.waiting) > 0 && !isCall {
		return fmt.Errorf("calls %q have no outputs before it", v.waiting)
	}
	var err error
	switch it.Type {
	case "":
		err = responsesContent(it.Content, it.Role == "user")
	case "function_call":
		err = v.call(it)
	case "function_call_output":
		if v.waiting, err = without(v.waiting, it.CallID); err == nil {
			err = responsesContent(it.Output, true)
		}
	case "custom_tool_call":
		v.custom = append(v.custom, it.CallID)
	case "custom_tool_call_output":
		v.custom, err = without(v.custom, it.CallID)
	}
	return err
}

func (v *responsesCheck) call(it *responsesItem) error {
	switch {
	case !pattern(64).MatchString(it.CallID):
		return fmt.Errorf("call id %q is not allowed", it.CallID)
	case v.ids[it.CallID]:
		return fmt.Errorf("call id %q is used twice", it.CallID)
	case !pattern(64).MatchString(it.Name):
		return fmt.Errorf("function name %q is not allowed", it.Name)
	case it.Arguments == "":
		return errors.New("a call has no arguments")
	}
	v.ids[it.CallID] = true
	v.waiting = append(v.waiting, it.CallID)
	return nil
}

// without returns the calls without the one that an output answers.
func without(waiting []string, id string) ([]string, error) {
	i := slices.Index(waiting, id)
	if i < 0 {
		return waiting, fmt.Errorf("no call before waits for output %q", id)
	}
	return slices.Delete(waiting, i, i+1), nil
}

// responsesContent checks that content is a non-empty text, or a list of texts, images and documents where parts may be shown.
func responsesContent(raw json.RawMessage, shows bool) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if text == "" {
			return errors.New("the content is empty")
		}
		return nil
	}
	var parts []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL string `json:"image_url"`
		Detail   string `json:"detail"`
		FileName string `json:"filename"`
		FileData string `json:"file_data"`
	}
	if err := decode(raw, &parts); err != nil {
		return fmt.Errorf("content: %w", err)
	}
	if len(parts) == 0 || !shows {
		return errors.New("the content is an empty list, or a list of neither a user nor a tool")
	}
	for _, p := range parts {
		switch {
		case p.Type == "input_text" && p.Text != "":
		case p.Type == "input_image" && webImage(p.ImageURL) && p.Detail != "":
		case p.Type == "input_file" && p.FileName != "" && strings.HasPrefix(p.FileData, "data:application/pdf;base64,"):
		default:
			return fmt.Errorf("the content has a bad %q part", p.Type)
		}
	}
	return nil
}
