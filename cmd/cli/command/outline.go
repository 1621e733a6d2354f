package command

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/cmd/cli/client"
)

// outline describes a change of something outside the document, e.g. of a user or a setting:
// the operation, then added fields with +, removed objects with - and changed fields with
// both. It is nil for changes of the document, whose difference the appliance computes.
func (c *Line) outline(ctx context.Context, tried triedChange) []string {
	r := tried.Request
	if c.Running == nil || slices.Contains(c.words.Configure, nameOf(c.Running.Command)) {
		return nil
	}
	var body struct{ Description string }
	_ = tried.Decode(&body) // without it the fields suffice
	out := []string{body.Description}
	if r.Method == http.MethodDelete {
		return append(out, "-"+objectName(r))
	}
	sent := sentFields(r)
	if len(sent) == 0 && len(r.Sources) == 0 {
		return out
	}
	now := c.fieldsNow(ctx, r.Path)
	for _, f := range sent {
		was, known := now[f.name]
		switch {
		case known && was == f.value && !f.isSecret():
			continue
		case known:
			out = append(out, "-"+f.name+": "+was)
		}
		out = append(out, "+"+f.name+": "+f.value)
	}
	if len(out) == 1 && len(sent) > 0 {
		out = append(out, "The settings would stay the same.")
	}
	if len(r.Sources) > 0 {
		out = append(out, "+"+objectName(r)+": "+strings.Join(r.Sources, ", "))
	}
	return out
}

// objectName returns the last name in the path, with the selection in the query.
func objectName(r client.Request) string {
	name := path.Base(r.Path)
	if text, err := url.PathUnescape(name); err == nil {
		name = text
	}
	for _, key := range slices.Sorted(maps.Keys(r.Query)) {
		if key != "dry_run" && key != "force" {
			name += " " + key + "=" + r.Query.Get(key)
		}
	}
	return name
}

// sentField is a field of a body as text, with secrets masked.
type sentField struct{ name, value string }

// isSecret reports whether the value hides a secret, so that a change of it is unknown.
func (f sentField) isSecret() bool {
	return f.value == maskOf(f.name[strings.LastIndexByte(f.name, '.')+1:])
}

// sentFields returns the fields of a JSON body. Names of fields within objects contain a dot.
func sentFields(r client.Request) []sentField {
	var body map[string]any
	if len(r.Sources) > 0 || json.Unmarshal(r.Body, &body) != nil {
		return nil
	}
	return flat("", masked(body).(map[string]any))
}

func flat(of string, body map[string]any) (out []sentField) {
	for _, name := range slices.Sorted(maps.Keys(body)) {
		if object, is := body[name].(map[string]any); is {
			out = append(out, flat(of+name+".", object)...)
			continue
		}
		out = append(out, sentField{of + name, plainText(body[name])})
	}
	return out
}

// plainText returns a value of JSON as users write it.
func plainText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []any:
		words := make([]string, len(v))
		for i := range v {
			words[i] = plainText(v[i])
		}
		return strings.Join(words, ", ")
	}
	return fmt.Sprint(v)
}

// fieldsNow returns the current fields of the object at a path; nil if there is none.
func (c *Line) fieldsNow(ctx context.Context, path string) map[string]string {
	a, err := c.exchange(ctx, client.Request{Method: http.MethodGet, Path: path})
	if err != nil {
		return nil
	}
	var body struct{ Params any }
	if a.Decode(&body) != nil {
		return nil
	}
	object, is := masked(body.Params).(map[string]any)
	if !is {
		return nil
	}
	out := map[string]string{}
	for _, f := range flat("", object) {
		out[f.name] = f.value
	}
	return out
}
