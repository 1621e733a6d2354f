package contracttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// single lists operations whose response is one object that contains lists.
var single = map[string]bool{
	"/farms/{farm}": true, "/farms/{farm}/summary": true, "/farms/{farm}/services/{service}": true, "/status": true, "/system/packages": true, "/schema": true, "/pending": true,
	"/farms/{farm}/explain": true, "/farms/{farm}/backends/{backend}/check": true, "/farms/{farm}/services/{service}/backends/{backend}/check": true, "/farms/{farm}/questions": true, "/system/syslog": true,
	"/certificates/ca/{authority}/status": true, "/farms/{farm}/zones/{zone}": true,
}

// Filters checks the filters of every operation that returns rows. Each documented or
// actual field of the rows must select rows by its value, and an unknown field must be
// rejected.
func Filters(t *testing.T, g *Target, d *Document) {
	s, filtered := setUp(t, g, d), 0
	for _, o := range d.Operations {
		if o.Method != "GET" || single[o.Path] || strings.HasSuffix(o.Path, "/series") || strings.HasPrefix(o.Path, "/graphs") {
			continue
		}
		names := d.rowFields(o)
		if len(names) == 0 {
			continue
		}
		filtered++
		t.Run(strings.ReplaceAll(strings.TrimPrefix(o.Path, "/"), "/", "."), func(t *testing.T) { s.filters(t, o, names) })
	}
	if filtered < 40 {
		t.Errorf("%d operations answer with rows", filtered)
	}
}

// rowFields returns the names of the fields of all rows of a response.
func (d *Document) rowFields(o *Operation) []string {
	media := object(object(object(o.responses()["200"])["content"])["application/json"])
	answer := object(d.resolved(object(media["schema"]))["properties"])
	if params := object(d.resolved(object(answer["params"]))["properties"]); len(params) > 0 {
		answer = params
	}
	fields := map[string]bool{}
	for _, field := range answer {
		for _, row := range d.variants(object(d.resolved(object(field))["items"])) {
			for name := range object(row["properties"]) {
				fields[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(fields))
}

// rows returns the rows of a response: the objects in its lists, or in the lists of its
// params.
func rows(a Answer) (out []map[string]any) {
	decoder := json.NewDecoder(bytes.NewReader(a.Raw))
	decoder.UseNumber()
	var answer map[string]any
	if decoder.Decode(&answer) != nil {
		return nil
	}
	if params := object(answer["params"]); len(params) > 0 {
		answer = params
	}
	for _, field := range answer {
		for _, row := range list(field) {
			if row := object(row); row != nil {
				out = append(out, row)
			}
		}
	}
	return out
}

func (s *stage) filters(t *testing.T, o *Operation, names []string) {
	path, all := s.at(o, "", ""), ""
	if o.query("limit") {
		all = "limit=1000"
	}
	ask := func(name, value string) Answer {
		return s.Send(t, Call{Method: "GET", Path: path + "?" + url.Values{name: {value}}.Encode() + "&" + all})
	}
	if a := ask("nonsense", "x"); a.Status != 400 || !strings.Contains(string(a.Raw), "query parameter nonsense is unknown: allowed are") {
		t.Errorf("an unknown filter: %d %.300s", a.Status, a.Raw)
	}
	whole := rows(s.Send(t, Call{Method: "GET", Path: path + "?" + all}))
	if len(whole) == 0 {
		t.Logf("%s shows nothing", path)
	}
	for _, row := range whole {
		for name := range row {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		if !o.query(name) {
			t.Errorf("the document has no filter %s", name)
			continue
		}
		for _, value := range samples(whole, name, o.selectsParts(name)) {
			s.filter(t, o, whole, name, value, ask(name, value))
		}
	}
}

// filter checks the rows selected by a value of a field.
func (s *stage) filter(t *testing.T, o *Operation, whole []map[string]any, name, value string, a Answer) {
	t.Helper()
	if a.Status != 200 {
		t.Errorf("?%s=%s: %d %.300s", name, value, a.Status, a.Raw)
		return
	}
	wanted, parts := 0, o.selectsParts(name)
	for _, row := range whole {
		if shows(row[name], value, parts) {
			wanted++
		}
	}
	found := rows(a)
	if len(found) != wanted {
		t.Errorf("?%s=%s: %d rows, want %d of %d: %.300s", name, value, len(found), wanted, len(whole), a.Raw)
	}
	for _, row := range found {
		if !shows(row[name], value, parts) {
			t.Errorf("?%s=%s: a row with %v", name, value, row[name])
		}
	}
}

// selectsParts reports whether the document says that a substring matches.
func (o *Operation) selectsParts(name string) bool {
	for _, p := range o.parameters("query") {
		if p["name"] == name {
			return strings.HasSuffix(text(p["description"]), "contains this text")
		}
	}
	return false
}

// samples returns values of a field in the rows, in query notation: whole, in upper case, and
// a substring.
func samples(rows []map[string]any, name string, parts bool) (out []string) {
	for _, row := range rows {
		for _, value := range leaves(row[name]) {
			out = append(out, value)
			if parts && len(value) > 3 {
				out = append(out, value[1:len(value)-1])
			}
			if name != "session" { // clients' own keys, compared byte by byte
				out = append(out, strings.ToUpper(value))
			}
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return slices.DeleteFunc(out[:min(len(out), 16)], func(v string) bool { return v == "" })
}

// leaves returns the strings, numbers and booleans nested in a value.
func leaves(v any) (out []string) {
	switch v := v.(type) {
	case nil:
	case []any:
		for _, one := range v {
			out = append(out, leaves(one)...)
		}
	case map[string]any:
		for _, one := range v {
			out = append(out, leaves(one)...)
		}
	default:
		out = append(out, fmt.Sprint(v))
	}
	return out
}

// shows reports whether a value of a row matches a filter.
func shows(v any, want string, parts bool) bool {
	switch v := v.(type) {
	case string:
		return strings.EqualFold(v, want) || parts && strings.Contains(strings.ToLower(v), strings.ToLower(want))
	case []any:
		return slices.ContainsFunc(v, func(one any) bool { return shows(one, want, parts) })
	case map[string]any:
		for _, one := range v {
			if shows(one, want, true) {
				return true
			}
		}
		return false
	case json.Number:
		return sameNumber(v, want)
	}
	return v != nil && strings.EqualFold(fmt.Sprint(v), want)
}

func sameNumber(v json.Number, want string) bool {
	a, _ := v.Float64()
	b, err := json.Number(want).Float64()
	return err == nil && a == b
}
