package validate

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

// rule defines the valid values of one field, independent of the object.
type rule struct {
	name  string
	about string // one sentence for help responses
	kind  kind
	hints
	bare bare // how responses show an unset value

	required bool // must be sent
	// waived reports whether a required field may be missing, given the other fields; nil:
	// never.
	waived func(sent map[string]any) bool
	blank  bool // "" is valid and skips all further checks
	null   bool // null, or "" for a number or word, resets it

	words     bool              // list items contain no comma, so one text may hold several; for an enumeration: several may be sent as a list or comma-separated
	values    []string          // all valid values, for an enumeration
	planned   map[string]string // values of a later version, and what to say about them
	others    func(string) bool // further values of an enumeration, too many to list; described by must
	min, max  int64             // of numbers, and of texts that may be numbers; max also bounds the items of lists
	maxLen    int               // of texts and items, in bytes; 0 means maxText
	reserved  []string          // otherwise valid texts that are rejected
	pattern   *regexp.Regexp    // for texts; must match the whole value
	must      string            // description of valid values for messages; set with pattern and check
	musts     string            // description of valid lists for messages
	format    string            // word for help responses
	check     func(string) string
	unset     Value               // the value of an unset field; documents omit it
	acts      Value               // the default of an unset field, if unset is not a valid value
	only      *only               // the condition under which the field has a meaning; nil: always
	normalize map[string]string   // alternative spellings of values
	answered  map[string]string   // spellings in responses, by value
	canon     func(string) string // converts a valid text or item into normal form
	// server returns the host of a text or item that the appliance itself connects to. Changes
	// of a field must be reachable for outbound.Reachable. nil: it connects to none.
	server func(string) (host string)
	// hide masks an item of a secret. With exact, different secrets look different. nil:
	// not secret.
	hide func(item string, exact bool) string
	// sample is an example value, if the name alone does not yield one.
	sample any
	same   func(string) string // the part that must be unique within a list; nil: all of it
}

// maxText bounds texts without a limit of their own.
const maxText = 1024

// parse converts a value of a body into a checked value.
func (r *rule) parse(path string, raw any) (Value, *Error) {
	if raw == nil || raw == "" && r.blankIsNull() {
		if !r.null && !r.blank {
			return Value{}, r.refuse(path, raw)
		}
		return Value{}, nil
	}
	v, ok := r.coerce(raw)
	if !ok && r.kind == kindNumber && isFraction(raw) {
		return Value{}, r.errorf(path, "must be a whole number, got %s: %s", show(raw), r.allowed())
	}
	if !ok {
		return Value{}, r.refuse(path, raw)
	}
	if to, found := r.normalize[v.text]; found && v.kind == kindText {
		v.text = to
	}
	if err := r.verify(path, v); err != nil {
		return Value{}, err
	}
	if err := r.writable(path, v); err != nil {
		return Value{}, err
	}
	return r.canonical(v), nil
}

// canonical converts a valid value into normal form.
func (r *rule) canonical(v Value) Value {
	if r.canon == nil {
		return v
	}
	if v.kind == kindText && v.text != "" {
		v.text = r.canon(v.text)
	}
	if v.kind == kindList {
		v.list = slices.Clone(v.list)
		for i, item := range v.list {
			v.list[i] = r.canon(item)
		}
	}
	return v
}

// blankIsNull reports whether "" means null: if null is allowed and "" cannot be a value.
func (r *rule) blankIsNull() bool {
	return r.null && (r.kind == kindNumber || r.values != nil && !slices.Contains(r.values, ""))
}

func (r *rule) coerce(raw any) (Value, bool) {
	switch r.kind {
	case kindNumber:
		n, ok := ParseNumber(raw)
		if text, is := raw.(string); is && !ok {
			n, ok = parseTime(text, r.unit)
		}
		return numberValue(n), ok
	case kindBool:
		b, ok := ParseBool(raw)
		return boolValue(b), ok
	case kindList:
		l, ok := parseList(raw)
		if r.words {
			l = splitWords(l)
		}
		return listValue(l), ok
	}
	if b, is := raw.(bool); is && r.normalize != nil {
		raw = strconv.FormatBool(b) // an enumeration that was once a boolean
	}
	if r.words {
		l, ok := parseList(raw)
		return textValue(strings.Join(splitWords(l), ",")), ok
	}
	s, ok := parseText(raw)
	return textValue(s), ok
}

// verify checks a value of the right kind, in the order of the contract: blank,
// enumeration, length, interval, reserved words, pattern, function.
func (r *rule) verify(path string, v Value) *Error {
	if v.kind == kindList {
		return r.verifyList(path, v.list)
	}
	if v.isBlankText() {
		if r.blank || slices.Contains(r.values, "") || r.hasNothing() {
			return nil
		}
		return r.refuse(path, "")
	}
	if r.values != nil {
		if slices.Contains(r.values, v.String()) || r.others != nil && r.others(v.String()) {
			return nil
		}
		return r.refuse(path, v.Any())
	}
	if v.kind == kindNumber && v.number > r.max && r.max == maxUnbounded {
		return r.errorf(path, "must be at most %d%s, got %d", r.max, r.counts(), v.number)
	}
	if v.kind == kindNumber && (v.number < r.min || v.number > r.max) {
		return r.refuse(path, v.number)
	}
	if v.kind == kindText {
		return r.verifyText(path, v.text)
	}
	return nil
}

func (r *rule) verifyText(path, s string) *Error {
	if most := r.longest(); len(s) > most {
		return r.errorf(path, "must be at most %d bytes long, got %d", most, len(s))
	}
	if !utf8.ValidString(s) {
		return r.errorf(path, "must be valid UTF-8 text, got %s", r.show(s))
	}
	if slices.Contains(r.reserved, s) {
		return r.errorf(path, "must not be %s: the name is reserved", r.show(s))
	}
	if r.pattern != nil && !r.pattern.MatchString(s) {
		return r.refuse(path, r.shown(s))
	}
	if r.check == nil {
		return nil
	}
	if problem := r.check(s); problem != "" {
		return r.errorf(path, "must be %s, got %s: %s", r.allowed(), r.show(s), problem)
	}
	return nil
}

// writable refuses free texts with control characters. Stored texts may have them: earlier
// versions accepted any, and such a text must not block changes of other objects.
func (r *rule) writable(path string, v Value) *Error {
	if r.values != nil || r.pattern != nil || r.check != nil {
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
func (r *rule) verifyList(path string, items []string) *Error {
	if int64(len(items)) > r.max {
		return r.errorf(path, "may have at most %d items, got %d", r.max, len(items))
	}
	seen := make(map[string]int, len(items))
	for i, item := range items {
		if item == "" {
			return r.errorf(path, "must be %s, item %d is blank", r.allowed(), i)
		}
		if err := r.verifyText(path, item); err != nil {
			return err
		}
		key := item
		if r.canon != nil {
			key = r.canon(key)
		}
		if r.same != nil {
			key = r.same(key)
		}
		if first, twice := seen[key]; twice {
			return r.errorf(path, "must not hold the same twice: item %d, %s, is item %d already", i, r.show(item), first)
		}
		seen[key] = i
	}
	return nil
}

// show is show for a text that may be a secret.
func (r *rule) show(s string) string { return show(r.shown(s)) }

func (r *rule) shown(s string) string {
	if r.hide != nil {
		return r.hide(s, false)
	}
	return s
}

func (r *rule) longest() int {
	if r.maxLen == 0 {
		return maxText
	}
	return r.maxLen
}

// allowed describes the valid values.
func (r *rule) allowed() string {
	switch {
	case r.values != nil:
		shown := slices.DeleteFunc(slices.Clone(r.values), func(s string) bool { return s == "" })
		out := "one of " + strings.Join(append(shown, r.names()...), ", ")
		if r.others != nil {
			out += " or " + r.must
		}
		return out
	case r.kind == kindNumber && r.max == maxUnbounded:
		return fmt.Sprintf("a number from %d on", r.min) + r.counts()
	case r.kind == kindNumber:
		return fmt.Sprintf("a number from %d to %d", r.min, r.max) + r.counts()
	case r.kind == kindBool:
		return "true or false"
	case r.kind == kindList && r.musts != "":
		return r.musts
	case r.must != "":
		return r.must
	}
	return fmt.Sprintf("a text of at most %d bytes", r.longest())
}

// units maps units to words.
var units = map[string]string{inSeconds: "seconds", inMinutes: "minutes", inDays: "days", inBytes: "bytes", inMiB: "MiB", inPercent: "percent", perSecond: "lines per second"}

// counts returns the unit of a number as a suffix for its bounds.
func (r *rule) counts() string {
	if word := units[r.unit]; word != "" {
		return " (" + word + ")"
	}
	return ""
}

// names returns the spellings of the empty value (e.g. NONE), shown in error messages.
func (r *rule) names() (out []string) {
	for _, word := range slices.Sorted(maps.Keys(r.normalize)) {
		if r.normalize[word] == "" && !slices.Contains(r.values, word) {
			out = append(out, word)
		}
	}
	return out
}

// hasNothing reports whether a word stands for the empty value.
func (r *rule) hasNothing() bool {
	return slices.ContainsFunc(r.values, func(word string) bool { to, is := r.normalize[word]; return is && to == "" })
}

func (r *rule) refuse(path string, raw any) *Error {
	if _, text := raw.(string); r.hide != nil && !text { // texts are masked by the callers
		return r.errorf(path, "must be %s", r.allowed())
	}
	if err := r.later(path, raw); err != nil {
		return err
	}
	return r.errorf(path, "must be %s, got %s", r.allowed(), show(raw))
}

// later returns an error if a value comes with a later version only.
func (r *rule) later(path string, raw any) *Error {
	text, _ := raw.(string)
	if why := r.planned[strings.ToLower(strings.TrimSpace(text))]; why != "" {
		return r.errorf(path, "%s", why)
	}
	return nil
}

func (r *rule) errorf(path, format string, args ...any) *Error {
	return &Error{Path: path, Field: r.name, Message: r.name + " " + fmt.Sprintf(format, args...)}
}

const maxUnbounded = 1<<31 - 1

// param describes the rule for help responses.
func (r *rule) param() Param {
	p := Param{Name: r.name, Format: r.format, PossibleValues: r.values, Description: r.about}
	if r.values != nil && r.normalize != nil {
		p.PossibleValues = slices.Clone(r.values)
		for _, word := range slices.Sorted(maps.Keys(r.normalize)) {
			if !slices.Contains(r.values, word) {
				p.PossibleValues = append(p.PossibleValues, word)
			}
		}
	}
	switch {
	case p.Format != "" || r.values != nil:
	case r.kind == kindNumber:
		p.Format = "integer"
	case r.kind == kindBool:
		p.PossibleValues = []string{"true", "false"}
	}
	if r.values == nil && (r.kind == kindNumber || r.kind == kindText && r.max != 0) {
		p.Interval = strconv.FormatInt(r.min, 10) + ","
		if r.max != maxUnbounded {
			p.Interval += strconv.FormatInt(r.max, 10)
		}
	}
	if !r.blank && !r.null && !slices.Contains(r.values, "") {
		p.Options = append(p.Options, "non_blank")
	}
	if r.kind == kindList {
		p.Options = append(p.Options, "list")
	}
	if r.required {
		p.Options = append(p.Options, "required")
	}
	return p
}
