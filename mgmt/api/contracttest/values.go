package contracttest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// value is a field value in JSON.
type value string

func quoted(v any) value {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings, numbers and lists of these only
	}
	return value(b)
}

// hostile holds values of every wrong type, and strings meant to do harm as paths, shell
// words, or lines of a file or log.
var hostile = []value{
	"null", "true", "-1", "1.5", "1e400", "123456789012345678901234567890", "[]", "[[]]", "[null]", "{}", `{"a":1}`, `["a","a"]`,
	quoted(""), quoted(" "), quoted("a\nb"), quoted("a\r\nX-Evil: 1"), quoted("a\x00b"), quoted("\x1b[31mred"), quoted("\u202eexe.txt"),
	quoted("../x"), quoted("../../etc/passwd"), quoted("/etc/passwd"), quoted("-rf"), quoted("$(id)"), quoted("`id`"), quoted("a;id"), quoted("a|id"), quoted("a b"),
	quoted("0"), quoted("<script>alert(1)</script>"), quoted("%2e%2e%2f"), quoted("%s%n"), quoted("''\"\\"), quoted("ѕhop"), quoted("shop\u200b"), `"\ud800"`,
	quoted(strings.Repeat("a", 10<<10)), quoted(strings.Repeat("é", 5<<10)), quoted("999999999999"), quoted("0x10"), quoted("08"), quoted("1e3"), quoted("(?i"), quoted("(a+)+$"),
}

// forField returns the values to try in one field: valid ones, those just out of range, and
// hostile ones. The long form uses all hostile values, the short form every third, with a
// different start for each field.
func (d *Document) forField(schema map[string]any) []value {
	out := d.right(schema)
	for _, one := range d.alternatives(schema) {
		if low, is := number(one["minimum"]); is {
			out = append(out, value(fmt.Sprint(low-1)), quoted(strconv.FormatInt(low-1, 10)), quoted(strconv.FormatInt(low, 10)))
		}
		if high, is := number(one["maximum"]); is {
			out = append(out, value(fmt.Sprint(high+1)), quoted(strconv.FormatInt(high+1, 10)), quoted(strconv.FormatInt(high, 10)))
		}
		if longest, is := number(one["maxLength"]); is && longest < 64<<10 {
			out = append(out, quoted(strings.Repeat("a", int(longest))), quoted(strings.Repeat("a", int(longest)+1)))
		}
		for _, word := range list(one["enum"]) {
			if word, is := word.(string); is && word != "" {
				out = append(out, quoted(word+"x"), quoted(strings.ToUpper(word)), quoted(word+"\n"))
				break
			}
		}
	}
	step := 3
	if Long() {
		step = 1
	}
	d.turn++
	for i := d.turn % step; i < len(hostile); i += step {
		out = append(out, hostile[i])
	}
	return distinct(out)
}

// Long reports whether tests run in their long form.
func Long() bool { return os.Getenv("SLUICE_E2E_LONG") != "" }

// right returns valid values for the schema.
func (d *Document) right(schema map[string]any) (out []value) {
	schema = d.resolved(schema)
	for _, one := range append(list(schema["examples"]), schema["example"], schema["default"]) {
		if one != nil {
			out = append(out, quoted(one))
		}
	}
	for _, one := range d.alternatives(schema) {
		for _, word := range list(one["enum"]) {
			out = append(out, quoted(word))
		}
		for _, bound := range []string{"minimum", "maximum"} {
			if n, is := number(one[bound]); is {
				out = append(out, value(fmt.Sprint(n)), value(fmt.Sprintf("%d.0", n))) // the same number
			}
		}
		if items := object(one["items"]); len(items) > 0 {
			for _, item := range d.right(items) {
				out = append(out, "["+item+"]")
			}
		}
	}
	return distinct(out)
}

// alternatives returns the alternative schemas of a value.
func (d *Document) alternatives(schema map[string]any) (out []map[string]any) {
	schema = d.resolved(schema)
	for _, kind := range []string{"oneOf", "anyOf"} {
		for _, one := range list(schema[kind]) {
			out = append(out, d.alternatives(object(one))...)
		}
	}
	if len(out) == 0 {
		out = []map[string]any{schema}
	}
	return out
}

// typical returns a plausible value of a field.
func (d *Document) typical(name string, schema map[string]any) value {
	if known, is := wellKnown[name]; is {
		return known
	}
	if right := d.right(schema); len(right) > 0 {
		return right[0]
	}
	return quoted("a")
}

// typical is Document.typical, but returns the current revision, as older ones may no
// longer be stored.
func (s *stage) typical(name string, schema map[string]any) value {
	if name == "revision" {
		return value(s.revision)
	}
	return s.doc.typical(name, schema)
}

// wellKnown holds values that name objects on the stage.
var wellKnown = map[string]value{
	"farmname": `"fresh"`, "vport": `18081`, "vip": `"127.0.0.1"`, "copy_from": `"shop"`, "file": `"spare.pem"`, "session": `"192.0.2.9"`,
}

func number(v any) (int64, bool) {
	n, is := v.(json.Number)
	if !is {
		return 0, false
	}
	whole, err := n.Int64()
	return whole, err == nil
}

func distinct(values []value) (out []value) {
	seen := map[value]bool{}
	for _, v := range values {
		if !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}

// body encodes an object. The field name, if any, gets the value v.
func body(of map[string]value, name string, v value) string {
	of = maps.Clone(of)
	if name != "" {
		of[name] = v
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, string(quoted(name)+":"+of[name]))
	}
	return "{" + strings.Join(parts, ",") + "}"
}
