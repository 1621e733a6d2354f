package rest

import (
	"strconv"

	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// TextList reads a list of strings.
func TextList(body map[string]any, name string) ([]string, error) {
	items, ok := body[name].([]any)
	if !ok {
		return nil, BadRequest("%s must be a list of texts", name)
	}
	var out []string
	for _, item := range items {
		text, ok := item.(string)
		if !ok {
			return nil, BadRequest("%s must be a list of texts", name)
		}
		out = append(out, text)
	}
	return out, nil
}

// Needed returns a required string field.
func Needed(name, about string) field.Param {
	return field.Param{Name: name, Options: []string{"non_blank", "required"}, Description: about}
}

// Optional returns an optional string field.
func Optional(name, about string) field.Param {
	return field.Param{Name: name, Description: about}
}

// Texts reads a body whose fields are all strings.
func (c *Call) Texts(f Fields) (map[string]string, error) {
	body, err := c.Object(f)
	if err != nil {
		return nil, err
	}
	return TextsOf(body)
}

// TextsOf returns the fields of a body, which must all be strings.
func TextsOf(body map[string]any) (map[string]string, error) {
	out := make(map[string]string, len(body))
	for name, raw := range body {
		text, ok := raw.(string)
		if !ok && raw != nil {
			return nil, BadRequest("%s must be a text", name)
		}
		out[name] = text
	}
	return out, nil
}

// SetTruth sets a boolean if the body has it.
func SetTruth(body map[string]any, name string, to *bool) error {
	raw, sent := body[name]
	if !sent {
		return nil
	}
	v, ok := field.ParseBool(raw)
	if !ok {
		return BadRequest("%s must be true or false", name)
	}
	*to = v
	return nil
}

// CheckComment validates the comment of a change.
func CheckComment(text string) error {
	if len(text) > apply.MaxComment {
		return BadRequest("comment: %d bytes are too many, allowed are %d", len(text), apply.MaxComment)
	}
	for _, r := range text {
		if !strconv.IsPrint(r) {
			return BadRequest("comment: only printable characters are allowed, got %q", r)
		}
	}
	return nil
}

// Truth formats a boolean as the family does.
func Truth(b bool) string { return strconv.FormatBool(b) }

// OrNull returns nil for the zero value, which means "never set".
func OrNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
