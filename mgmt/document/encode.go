package document

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/check"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
	"github.com/sluicelb/sluice/mgmt/validate/system"
)

// writer receives a configuration in document order. Objects are items of the last opened list,
// or have a name.
type writer interface {
	open(list string, empty bool)
	item()
	object(name string)
	field(name string, v field.Value)
	end()   // of an item
	close() // of a list
	leave() // an object with a name
}

// Encode writes the canonical YAML document: fields in the order of the tables, without
// defaults. Decode returns the same configuration except for IDs and resolved addresses of
// names.
func Encode(cfg *farm.Config) ([]byte, error) {
	w := &yamlWriter{}
	walk(cfg, w, openly)
	return w.out.Bytes(), nil
}

// EncodeJSON writes the same document as indented JSON.
func EncodeJSON(cfg *farm.Config) ([]byte, error) {
	w := &jsonWriter{}
	w.out.WriteString("{")
	walk(cfg, w, openly)
	w.out.WriteString("\n}\n")
	return w.out.Bytes(), nil
}

// Shown is Encode with masked secrets.
func Shown(cfg *farm.Config) []byte { return encodeShown(cfg) }

func encodeShown(cfg *farm.Config) []byte {
	w := &yamlWriter{}
	walk(cfg, w, shown)
	return w.out.Bytes()
}

// Equal reports whether both have the same document.
func Equal(a, b *farm.Config) bool {
	x, _ := Encode(a)
	y, _ := Encode(b)
	return bytes.Equal(x, y)
}

// given returns the fields written for a service and for a section of the settings of the
// machine. Both hold secrets.
type given struct {
	service func(*farm.Service) iter.Seq2[string, field.Value]
	section func(*field.Table[farm.System], *farm.System) iter.Seq2[string, field.Value]
}

// shown masks secrets, openly writes them.
var shown = given{httpfarm.ServiceDocument.Shown, (*field.Table[farm.System]).Shown}
var openly = given{httpfarm.ServiceDocument.Given, (*field.Table[farm.System]).Given}

func walk(cfg *farm.Config, w writer, of given) {
	walkSystem(&cfg.System, w, of)
	walkChecks(cfg.Checks, w)
	w.open("farms", len(cfg.Farms) == 0)
	for i := range cfg.Farms {
		walkFarm(&cfg.Farms[i], w, of)
	}
	w.close()
}

func walkFarm(f *farm.Farm, w writer, of given) {
	w.item()
	p := profile.Of(f)
	fields(w, p.Farm().Document.Given(f))
	profiles[p.Name()].write(w, f, of)
	w.end()
}

func walkService(s *farm.Service, w writer, of given) {
	w.item()
	fields(w, of.service(s))
	walkRules(w, httpfarm.ReplaceRequest.Service, &httpfarm.ReplaceRequest.Rule, s.ReplaceRequest)
	walkRules(w, httpfarm.ReplaceResponse.Service, &httpfarm.ReplaceResponse.Rule, s.ReplaceResponse)
	walkRules(w, httpfarm.Rewrites.Service, &httpfarm.Rewrites.Rule, s.Rewrites)
	walkBackends(s.Backends, w, &httpfarm.BackendDocument)
	w.end()
}

func walkBackends(list []farm.Backend, w writer, table *field.Table[farm.Backend]) {
	if len(list) == 0 {
		return
	}
	w.open("backends", false)
	for i := range list {
		if list[i].Of != 0 {
			continue // a part of another backend
		}
		w.item()
		fields(w, table.Given(&list[i]))
		w.end()
	}
	w.close()
}

// walkRules writes a list of rules if there are any.
func walkRules[T any](w writer, name string, table *field.Table[T], rules []T) {
	if len(rules) == 0 {
		return
	}
	w.open(name, false)
	for i := range rules {
		w.item()
		fields(w, table.Given(&rules[i]))
		w.end()
	}
	w.close()
}

func fields(w writer, given iter.Seq2[string, field.Value]) {
	for name, v := range given {
		w.field(name, v)
	}
}

// walkChecks writes the checks if there are any.
func walkChecks(list []farm.Check, w writer) {
	if len(list) == 0 {
		return
	}
	w.open("checks", false)
	for i := range list {
		w.item()
		fields(w, check.Document.Given(&list[i]))
		w.end()
	}
	w.close()
}

// walkSystem writes the sections with settings.
func walkSystem(s *farm.System, w writer, of given) {
	begun := false
	for i := range system.Sections {
		section, open := &system.Sections[i], false
		for name, v := range of.section(&section.Table, s) {
			if !begun {
				w.object("system")
			}
			if !open {
				w.object(section.Name)
			}
			begun, open = true, true
			w.field(name, v)
		}
		if open {
			w.leave()
		}
	}
	if begun {
		w.leave()
	}
}

// yamlWriter writes block style, two blanks per level.
type yamlWriter struct {
	out   bytes.Buffer
	depth int  // of the fields being written
	first bool // the next field is the first of its item
}

func (w *yamlWriter) open(name string, empty bool) {
	w.key(name)
	if empty {
		w.out.WriteString(" []")
	}
	w.out.WriteByte('\n')
	w.depth += 2
}

func (w *yamlWriter) item()  { w.first = true }
func (w *yamlWriter) end()   { w.first = false }
func (w *yamlWriter) close() { w.depth -= 2 }

func (w *yamlWriter) object(name string) {
	w.key(name)
	w.out.WriteByte('\n')
	w.depth++
}

func (w *yamlWriter) leave() { w.depth-- }

func (w *yamlWriter) field(name string, v field.Value) {
	w.key(name)
	switch {
	case v.IsList():
		w.texts(v.List())
		return
	case v.IsText():
		w.out.WriteByte(' ')
		w.out.WriteString(yamlText(v.Text(), strings.Repeat("  ", w.depth+1)))
	default:
		w.out.WriteByte(' ')
		w.out.WriteString(v.String())
	}
	w.out.WriteByte('\n')
}

// texts writes a list of texts, one per line.
func (w *yamlWriter) texts(items []string) {
	if len(items) == 0 {
		w.out.WriteString(" []")
	}
	w.out.WriteByte('\n')
	for _, item := range items {
		w.out.WriteString(strings.Repeat("  ", w.depth+1) + "- ")
		w.out.WriteString(yamlText(item, strings.Repeat("  ", w.depth+2)))
		w.out.WriteByte('\n')
	}
}

func (w *yamlWriter) key(name string) {
	indent := strings.Repeat("  ", w.depth)
	if w.first {
		indent = indent[2:] + "- "
		w.first = false
	}
	w.out.WriteString(indent)
	w.out.WriteString(name)
	w.out.WriteByte(':')
}

// jsonWriter writes one field per line.
type jsonWriter struct {
	out   bytes.Buffer
	depth int
	more  bool // a comma is due before the next value
}

func (w *jsonWriter) line() {
	if w.more {
		w.out.WriteByte(',')
	}
	w.out.WriteByte('\n')
	w.out.WriteString(strings.Repeat("  ", w.depth+1))
	w.more = true
}

func (w *jsonWriter) open(name string, _ bool) {
	w.line()
	w.out.WriteString(`"` + name + `": [`)
	w.depth++
	w.more = false
}

func (w *jsonWriter) item() {
	w.line()
	w.out.WriteByte('{')
	w.depth++
	w.more = false
}

func (w *jsonWriter) end()   { w.finish('}') }
func (w *jsonWriter) close() { w.finish(']') }
func (w *jsonWriter) leave() { w.finish('}') }

func (w *jsonWriter) object(name string) {
	w.line()
	w.out.WriteString(`"` + name + `": {`)
	w.depth++
	w.more = false
}

func (w *jsonWriter) finish(bracket byte) {
	w.depth--
	if w.more {
		w.more = false
		w.line()
	}
	w.out.WriteByte(bracket)
	w.more = true
}

func (w *jsonWriter) field(name string, v field.Value) {
	if v.IsList() {
		w.open(name, false)
		for _, item := range v.List() {
			w.line()
			w.text(item)
		}
		w.close()
		return
	}
	w.line()
	w.out.WriteString(`"` + name + `": `)
	if v.IsText() {
		w.text(v.Text())
	} else {
		w.out.WriteString(v.String())
	}
}

func (w *jsonWriter) text(s string) {
	enc := json.NewEncoder(&w.out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a text cannot fail
	w.out.Truncate(w.out.Len() - 1)
}
