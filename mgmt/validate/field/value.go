package field

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is the type of a value.
type Kind uint8

// Kinds of values.
const (
	Null Kind = iota // null: resets the field
	Text
	Number
	Bool
	List // of texts
)

// Value is one checked value of a body. The zero value is null.
type Value struct {
	kind   Kind
	text   string
	number int64
	truth  bool
	list   []string
}

func TextValue(s string) Value { return Value{kind: Text, text: s} }

func NumberValue(n int64) Value { return Value{kind: Number, number: n} }

func BoolValue(b bool) Value { return Value{kind: Bool, truth: b} }

func ListValue(l []string) Value { return Value{kind: List, list: l} }

func ZeroValue(k Kind) Value { return Value{kind: k} }

func (v Value) isBlankText() bool { return v.kind == Text && v.text == "" }

// IsNothing reports whether the value is null, blank or an empty list.
func (v Value) IsNothing() bool {
	return v.kind == Null || v.isBlankText() || v.kind == List && len(v.list) == 0
}

func (v Value) Equal(o Value) bool {
	return v.kind == o.kind && v.text == o.text && v.number == o.number && v.truth == o.truth &&
		slices.Equal(v.list, o.list)
}

// Kind returns the kind of the value.
func (v Value) Kind() Kind { return v.kind }

// Null reports whether the body had null or no value.
func (v Value) Null() bool { return v.kind == Null }

// Text returns a text, "" for every other kind.
func (v Value) Text() string { return v.text }

// Number returns a number, 0 for every other kind.
func (v Value) Number() int64 { return v.number }

// Bool returns a boolean, false for every other kind.
func (v Value) Bool() bool { return v.truth }

// List returns the items of a list, nil for every other kind. The caller must
// not change them.
func (v Value) List() []string { return v.list }

// Any returns the value for JSON: nil, string, int64, []string or, for a boolean, the
// string "true" or "false" (as in the contract).
func (v Value) Any() any {
	switch v.kind {
	case List:
		return append([]string{}, v.list...) // [] instead of null
	case Text:
		return v.text
	case Number:
		return v.number
	case Bool:
		return strconv.FormatBool(v.truth)
	}
	return nil
}

// words formats the value for people, a list as one text.
func (v Value) words() string {
	if v.kind == List {
		return strings.Join(v.list, ", ")
	}
	return v.String()
}

// String formats the value for people.
func (v Value) String() string {
	if v.kind == Null {
		return "null"
	}
	return fmt.Sprint(v.Any())
}

// ParseBool parses a boolean: a JSON boolean or the text "true" or "false".
func ParseBool(raw any) (bool, bool) {
	switch v := raw.(type) {
	case bool:
		return v, true
	case string:
		return v == "true", v == "true" || v == "false"
	}
	return false, false
}

// ParseNumber parses an integer: a JSON number, or decimal digits as text. 5 and 5.0 are
// the same number (RFC 8259 §6), and so is 50e-1 in JSON.
func ParseNumber(raw any) (int64, bool) {
	switch v := raw.(type) {
	case int:
		return int64(v), true
	case int64:
		return v, true
	case float64:
		const exact = 1 << 53 // the limit of exact integers in a float64
		if v != math.Trunc(v) || v < -exact || v > exact {
			return 0, false
		}
		return int64(v), true
	case json.Number:
		return ParseDigits(Whole(v))
	case string:
		return ParseDigits(v)
	}
	return 0, false
}

// lengths maps units of time to durations.
var lengths = map[string]time.Duration{Seconds: time.Second, Minutes: time.Minute, Days: 24 * time.Hour}

// parseTime converts a time with a unit, e.g. 5s, 2m or 7d, into an integral number of the
// field's unit.
func parseTime(text, unit string) (int64, bool) {
	one := lengths[unit]
	if one == 0 {
		return 0, false
	}
	if days, is := strings.CutSuffix(text, "d"); is {
		n, ok := ParseDigits(days)
		if !ok || n < 0 || n > math.MaxInt64/int64(lengths[Days]) {
			return 0, false
		}
		return n * int64(lengths[Days]/one), true
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d%one != 0 {
		return 0, false
	}
	return int64(d / one), true
}

// ParseDigits parses a decimal text. A zero fraction is allowed, because YAML documents and
// command lines pass numbers as texts.
func ParseDigits(s string) (int64, bool) {
	if strings.HasPrefix(s, "+") {
		return 0, false
	}
	if before, fraction, is := strings.Cut(s, "."); is && fraction != "" && strings.Trim(fraction, "0") == "" {
		s = before
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// ParseText reads a text. A number counts as the text of its digits, because clients of the
// family mix both.
func ParseText(raw any) (string, bool) {
	switch v := raw.(type) {
	case string:
		return v, true
	case json.Number:
		return Whole(v), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case int:
		return strconv.Itoa(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	}
	return "", false
}

// parseList reads a list of texts. A single text is a list of one, as a command line sends
// it; a blank one is an empty list.
func parseList(raw any) ([]string, bool) {
	switch v := raw.(type) {
	case []string:
		return v, true
	case []any:
		var out []string // an empty list is nil, like an unset one
		for i := range v {
			text, ok := ParseText(v[i])
			if !ok {
				return nil, false
			}
			out = append(out, text)
		}
		return out, true
	}
	text, ok := ParseText(raw)
	if text == "" {
		return nil, ok
	}
	return []string{text}, ok
}

// splitWords splits "a,b" and "a, b"; the rule reports blank items.
func splitWords(items []string) []string {
	var out []string
	for _, item := range items {
		for word := range strings.SplitSeq(item, ",") {
			out = append(out, strings.TrimSpace(word))
		}
	}
	return out
}

// Show formats a rejected value for a message: quoted, on one line, bounded.
func Show(raw any) string {
	const most = 64
	var s string
	switch v := raw.(type) {
	case nil:
		return "null"
	case string:
		if len(v) > most {
			return fmt.Sprintf("%q… (%d bytes)", strings.ToValidUTF8(v[:most], "?"), len(v))
		}
		return strconv.Quote(v)
	case map[string]any:
		return "an object"
	case []any:
		return showList(v)
	default:
		s = fmt.Sprint(v)
	}
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// showList names the item that makes a list invalid, or just says that it is a list.
func showList(items []any) string {
	for _, item := range items {
		switch v := item.(type) {
		case nil, bool:
			return fmt.Sprintf("a list with %v in it", Show(v))
		case []any:
			return "a list with a list in it"
		case map[string]any:
			return "a list with an object in it"
		}
	}
	return "a list"
}

// IsList reports whether the value is a list.
func (v Value) IsList() bool { return v.kind == List }

// IsText reports whether the value is a text.
func (v Value) IsText() bool { return v.kind == Text }
