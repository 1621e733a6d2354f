package field

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Rule defines the valid values of one field, independent of the object.
type Rule struct {
	Name  string
	About string // one sentence for help responses
	Kind  Kind
	Hints
	IfUnset Unset // how responses show an unset value

	Required bool // must be sent
	// Waived reports whether a required field may be missing, given the other fields; nil:
	// never.
	Waived func(sent map[string]any) bool
	Blank  bool // "" is valid and skips all further checks
	Null   bool // null, or "" for a number or word, resets it

	Words     bool              // no item contains a comma, so one text may hold several
	Values    []string          // all valid values, for an enumeration
	Planned   map[string]string // values of a later version, and what to say about them
	Other     func(string) bool // further values of an enumeration, too many to list; described by must
	Min, Max  int64             // of numbers, and of texts that may be numbers; max also bounds the items of lists
	MaxLen    int               // of texts and items, in bytes; 0 means MaxText
	Reserved  []string          // otherwise valid texts that are rejected
	Pattern   *regexp.Regexp    // for texts; must match the whole value
	Must      string            // description of valid values for messages; set with pattern and check
	MustList  string            // description of valid lists for messages
	Format    string            // word for help responses
	Check     func(string) string
	Unset     Value               // the value of an unset field; documents omit it
	Default   Value               // the default of an unset field, if unset is not a valid value
	Only      *Condition          // the condition under which the field has a meaning; nil: always
	Normalize map[string]string   // alternative spellings of values
	ShownAs   map[string]string   // spellings in responses, by value
	Canon     func(string) string // converts a valid text or item into normal form
	// Server returns the host of a text or item that the appliance itself connects to. Changes
	// of a field must be reachable for outbound.Reachable. nil: it connects to none.
	Server func(string) (host string)
	// Hide masks an item of a secret. With exact, different secrets look different. nil:
	// not secret.
	Hide func(item string, exact bool) string
	// Sample is an example value, if the name alone does not yield one.
	Sample any
	Key    func(string) string // the part that must be unique within a list; nil: all of it
}

// MaxText bounds texts without a limit of their own.
const MaxText = 1024

// Parse converts a value of a body into a checked value.
func (r *Rule) Parse(path string, raw any) (Value, *Error) {
	if raw == nil || raw == "" && r.blankIsNull() {
		if !r.Null && !r.Blank {
			return Value{}, r.refuse(path, raw)
		}
		return Value{}, nil
	}
	v, ok := r.coerce(raw)
	if !ok && r.Kind == Number && isFraction(raw) {
		return Value{}, r.errorf(path, "must be a whole number, got %s: %s", Show(raw), r.Allowed())
	}
	if !ok {
		return Value{}, r.refuse(path, raw)
	}
	if to, found := r.Normalize[v.text]; found && v.kind == Text {
		v.text = to
	}
	if err := r.Verify(path, v); err != nil {
		return Value{}, err
	}
	if err := r.writable(path, v); err != nil {
		return Value{}, err
	}
	return r.canonical(v), nil
}

// canonical converts a valid value into normal form.
func (r *Rule) canonical(v Value) Value {
	if r.Canon == nil {
		return v
	}
	if v.kind == Text && v.text != "" {
		v.text = r.Canon(v.text)
	}
	if v.kind == List {
		v.list = slices.Clone(v.list)
		for i, item := range v.list {
			v.list[i] = r.Canon(item)
		}
	}
	return v
}

// blankIsNull reports whether "" means null: if null is allowed and "" cannot be a value.
func (r *Rule) blankIsNull() bool {
	return r.Null && (r.Kind == Number || r.Values != nil && !slices.Contains(r.Values, ""))
}

func (r *Rule) coerce(raw any) (Value, bool) {
	switch r.Kind {
	case Number:
		n, ok := ParseNumber(raw)
		if text, is := raw.(string); is && !ok {
			n, ok = parseTime(text, r.Unit)
		}
		return NumberValue(n), ok
	case Bool:
		b, ok := ParseBool(raw)
		return BoolValue(b), ok
	case List:
		l, ok := parseList(raw)
		if r.Words {
			l = splitWords(l)
		}
		return ListValue(l), ok
	}
	if b, is := raw.(bool); is && r.Normalize != nil {
		raw = strconv.FormatBool(b) // an enumeration that was once a boolean
	}
	if r.Words {
		l, ok := parseList(raw)
		return TextValue(strings.Join(splitWords(l), ",")), ok
	}
	s, ok := ParseText(raw)
	return TextValue(s), ok
}

// Verify checks a value of the right kind, in the order of the contract: blank,
// enumeration, length, interval, reserved words, pattern, function.
func (r *Rule) Verify(path string, v Value) *Error {
	if v.kind == List {
		return r.verifyList(path, v.list)
	}
	if v.isBlankText() {
		if r.Blank || slices.Contains(r.Values, "") || r.hasNothing() {
			return nil
		}
		return r.refuse(path, "")
	}
	if r.Values != nil {
		if slices.Contains(r.Values, v.String()) || r.Other != nil && r.Other(v.String()) {
			return nil
		}
		return r.refuse(path, v.Any())
	}
	if v.kind == Number && v.number > r.Max && r.Max == Unbounded {
		return r.errorf(path, "must be at most %d%s, got %d", r.Max, r.counts(), v.number)
	}
	if v.kind == Number && (v.number < r.Min || v.number > r.Max) {
		return r.refuse(path, v.number)
	}
	if v.kind == Text {
		return r.VerifyText(path, v.text)
	}
	return nil
}

func (r *Rule) VerifyText(path, s string) *Error {
	if most := r.Longest(); len(s) > most {
		return r.errorf(path, "must be at most %d bytes long, got %d", most, len(s))
	}
	if !utf8.ValidString(s) {
		return r.errorf(path, "must be valid UTF-8 text, got %s", r.show(s))
	}
	if slices.Contains(r.Reserved, s) {
		return r.errorf(path, "must not be %s: the name is reserved", r.show(s))
	}
	if r.Pattern != nil && !r.Pattern.MatchString(s) {
		return r.refuse(path, r.shown(s))
	}
	if r.Check == nil {
		return nil
	}
	if problem := r.Check(s); problem != "" {
		return r.errorf(path, "must be %s, got %s: %s", r.Allowed(), r.show(s), problem)
	}
	return nil
}

// writable refuses free texts with control characters. Stored texts may have them: earlier
// versions accepted any, and such a text must not block changes of other objects.
func (r *Rule) writable(path string, v Value) *Error {
	if r.Values != nil || r.Pattern != nil || r.Check != nil {
		return nil
	}
	for _, s := range slices.Concat(v.list, []string{v.text}) {
		if strings.IndexFunc(s, unwritable) >= 0 {
			return r.errorf(path, "must be a text without control characters, got %s: only tabs and line ends are allowed", r.show(s))
		}
	}
	return nil
}

// unwritable reports whether a character cannot be part of a free text: programs that show
// the text may end it there, or change the terminal.
func unwritable(c rune) bool {
	return unicode.IsControl(c) && c != '\t' && c != '\n' && c != '\r'
}

// verifyList checks each item, uniqueness and the number of items.
func (r *Rule) verifyList(path string, items []string) *Error {
	if int64(len(items)) > r.Max {
		return r.errorf(path, "may have at most %d items, got %d", r.Max, len(items))
	}
	seen := make(map[string]int, len(items))
	for i, item := range items {
		if item == "" {
			return r.errorf(path, "must be %s, item %d is blank", r.Allowed(), i)
		}
		if err := r.VerifyText(path, item); err != nil {
			return err
		}
		key := item
		if r.Canon != nil {
			key = r.Canon(key)
		}
		if r.Key != nil {
			key = r.Key(key)
		}
		if first, twice := seen[key]; twice {
			return r.errorf(path, "must not hold the same twice: item %d, %s, is item %d already", i, r.show(item), first)
		}
		seen[key] = i
	}
	return nil
}

// show is Show for a text that may be a secret.
func (r *Rule) show(s string) string { return Show(r.shown(s)) }

func (r *Rule) shown(s string) string {
	if r.Hide != nil {
		return r.Hide(s, false)
	}
	return s
}

func (r *Rule) Longest() int {
	if r.MaxLen == 0 {
		return MaxText
	}
	return r.MaxLen
}

// Allowed describes the valid values.
func (r *Rule) Allowed() string {
	switch {
	case r.Values != nil:
		shown := slices.DeleteFunc(slices.Clone(r.Values), func(s string) bool { return s == "" })
		out := "one of " + strings.Join(append(shown, r.names()...), ", ")
		if r.Other != nil {
			out += " or " + r.Must
		}
		return out
	case r.Kind == Number && r.Max == Unbounded:
		return fmt.Sprintf("a number from %d on", r.Min) + r.counts()
	case r.Kind == Number:
		return fmt.Sprintf("a number from %d to %d", r.Min, r.Max) + r.counts()
	case r.Kind == Bool:
		return "true or false"
	case r.Kind == List && r.MustList != "":
		return r.MustList
	case r.Must != "":
		return r.Must
	}
	return fmt.Sprintf("a text of at most %d bytes", r.Longest())
}

// units maps units to words.
var units = map[string]string{Seconds: "seconds", Minutes: "minutes", Days: "days", Bytes: "bytes", MiB: "MiB", Percent: "percent", LinesPerSecond: "lines per second"}

// counts returns the unit of a number as a suffix for its bounds.
func (r *Rule) counts() string {
	if word := units[r.Unit]; word != "" {
		return " (" + word + ")"
	}
	return ""
}

// names returns the spellings of the empty value (e.g. NONE), shown in error messages.
func (r *Rule) names() (out []string) {
	for _, word := range slices.Sorted(maps.Keys(r.Normalize)) {
		if r.Normalize[word] == "" && !slices.Contains(r.Values, word) {
			out = append(out, word)
		}
	}
	return out
}

// hasNothing reports whether a word stands for the empty value.
func (r *Rule) hasNothing() bool {
	return slices.ContainsFunc(r.Values, func(word string) bool { to, is := r.Normalize[word]; return is && to == "" })
}

func (r *Rule) refuse(path string, raw any) *Error {
	if _, text := raw.(string); r.Hide != nil && !text { // texts are masked by the callers
		return r.errorf(path, "must be %s", r.Allowed())
	}
	if err := r.later(path, raw); err != nil {
		return err
	}
	return r.errorf(path, "must be %s, got %s", r.Allowed(), Show(raw))
}

// later returns an error if a value comes with a later version only.
func (r *Rule) later(path string, raw any) *Error {
	text, _ := raw.(string)
	if why := r.Planned[strings.ToLower(strings.TrimSpace(text))]; why != "" {
		return r.errorf(path, "%s", why)
	}
	return nil
}

func (r *Rule) errorf(path, format string, args ...any) *Error {
	return &Error{Path: path, Field: r.Name, Message: r.Name + " " + fmt.Sprintf(format, args...)}
}

const Unbounded = 1<<31 - 1

// param describes the rule for help responses.
func (r *Rule) param() Param {
	p := Param{Name: r.Name, Format: r.Format, PossibleValues: r.Values, Description: r.About}
	if r.Values != nil && r.Normalize != nil {
		p.PossibleValues = slices.Clone(r.Values)
		for _, word := range slices.Sorted(maps.Keys(r.Normalize)) {
			if !slices.Contains(r.Values, word) {
				p.PossibleValues = append(p.PossibleValues, word)
			}
		}
	}
	switch {
	case p.Format != "" || r.Values != nil:
	case r.Kind == Number:
		p.Format = "integer"
	case r.Kind == Bool:
		p.PossibleValues = []string{"true", "false"}
	}
	if r.Values == nil && (r.Kind == Number || r.Kind == Text && r.Max != 0) {
		p.Interval = strconv.FormatInt(r.Min, 10) + ","
		if r.Max != Unbounded {
			p.Interval += strconv.FormatInt(r.Max, 10)
		}
	}
	if !r.Blank && !r.Null && !slices.Contains(r.Values, "") {
		p.Options = append(p.Options, "non_blank")
	}
	if r.Kind == List {
		p.Options = append(p.Options, "list")
	}
	if r.Required {
		p.Options = append(p.Options, "required")
	}
	return p
}
